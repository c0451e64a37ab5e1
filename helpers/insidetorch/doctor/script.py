"""How does Python run a script, a folder or a module as its main program?"""

from __future__ import annotations

import builtins
import runpy
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from .stacks import is_users, own


class NoProgram(Exception):
    """There is nothing to run; `status` is what Python exits with where it is so."""

    status = 1


class Script:
    """A program: a script, a folder or archive with a `__main__.py`, or a module for `-m`.

    Args: `name`, its path or its dotted name; `args`, its command line; `as_module`.
    """

    def __init__(self, name: str, args: list[str], *, as_module: bool) -> None:
        self.name = name
        self.args = args
        self.as_module = as_module
        self.module = ModuleType("__main__")

    def run(self) -> None:
        """Run it; what it raises comes out of here. Raises NoProgram where there is none."""
        sys.argv = [self.name, *self.args]
        if self.as_module:
            code = self._module()
        else:
            path = Path.cwd() / self.name
            spec = PathFinder.find_spec("__main__", [str(path)])
            code = self._file(path) if spec is None else self._folder(path, spec)
        if not is_users(code):  # it lies among installed libraries: the user runs it all the same
            own(Path(code.co_filename).resolve().parent)
        vars(self.module)["__builtins__"] = builtins
        sys.modules["__main__"] = self.module
        exec(code, vars(self.module))

    def _file(self, path: Path) -> CodeType:
        if path.is_dir():
            raise NoProgram(f"There is no __main__.py in {str(path)!r}.")
        try:
            source = path.read_bytes()
        except OSError as error:
            missing = NoProgram(f"{str(path)!r} cannot be read: {error.strerror}.")
            missing.status = 2
            raise missing from None
        if not sys.flags.safe_path:
            sys.path[0] = str(path.resolve().parent)
        vars(self.module).update(
            __file__=str(path), __cached__=None, __loader__=SourceFileLoader("__main__", str(path))
        )
        return compile(source, str(path), "exec", dont_inherit=True)

    def _folder(self, path: Path, spec: ModuleSpec) -> CodeType:
        sys.path[0] = str(path)
        self._take(spec)
        return spec.loader.get_code("__main__")

    def _module(self) -> CodeType:
        if not sys.flags.safe_path:
            sys.path[0] = str(Path.cwd())
        _, spec, code = runpy._get_module_details(self.name, NoProgram)
        self._take(spec)
        sys.argv[0] = spec.origin
        return code

    def _take(self, spec: ModuleSpec) -> None:
        vars(self.module).update(
            __spec__=spec, __package__=spec.parent, __loader__=spec.loader,
            __file__=spec.origin, __cached__=spec.cached,
        )  # fmt: skip
