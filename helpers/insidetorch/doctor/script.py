"""Run a user's script as Python would, under the doctor's eyes."""

from __future__ import annotations

import sys
import types
from importlib.util import find_spec
from pathlib import Path

from .stacks import own


class Script:
    """A program: a file, or a module that `python -m` would run.

    Args: `name`, its path or its dotted name; `args`, its command line; `as_module`.
    Raises FileNotFoundError or ImportError where there is no such program.
    """

    def __init__(self, name: str, args: list[str], *, as_module: bool) -> None:
        self.package = ""
        if as_module:
            self.path, self.package = _module_file(name)
            self.folder = str(Path.cwd())
        else:
            self.path = name
            if not Path(name).is_file():
                raise FileNotFoundError(name)
            self.folder = str(Path(name).resolve().parent)
        own(Path(self.path).resolve().parent)
        self.module = types.ModuleType("__main__")
        self.args = args

    def run(self) -> None:
        """Run it; what it raises comes out of here."""
        source = Path(self.path).read_bytes()
        code = compile(source, self.path, "exec", dont_inherit=True)
        names = vars(self.module)
        names.update(__file__=self.path, __builtins__=__builtins__)
        if self.package:
            names["__package__"] = self.package
        sys.argv = [self.path, *self.args]
        sys.path[0] = self.folder
        sys.modules["__main__"] = self.module
        exec(code, names)


def _module_file(name: str) -> tuple[str, str]:
    sys.path.insert(0, str(Path.cwd()))
    spec = find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = find_spec(f"{name}.__main__")
    if spec is None or spec.origin is None:
        raise ImportError(f"no module named {name}")
    return spec.origin, spec.parent or ""
