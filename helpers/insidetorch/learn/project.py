"""How do the files of a small project, written in one cell, become modules that import each other?

%%files 6.7
# file: model.py
…
# file: train.py
from model import Net
…
"""

from __future__ import annotations

import builtins
import linecache
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace

from ..observe.roots import running_shell
from .file_cells import MAGIC, files_of, odd_line_of

_texts: dict[str, dict[str, str]] = {}


class NoFiles(LookupError):
    """The cell that was to keep the files has not run, or lacks one of them."""


def project(exercise_id: str) -> SimpleNamespace:
    """The modules of the files that the cell `%%files ID` holds, imported anew at each call.

    A module is an attribute by its name. The files import each other, and neither `sys.modules`
    nor the disk knows of them. Raises NoFiles if that cell has not run, and whatever a file
    raises when it is imported.
    """
    return imported(texts_of(exercise_id), home=exercise_id)


def texts_of(exercise_id: str) -> dict[str, str]:
    """The texts of these files by their names; NoFiles if their cell has not run."""
    if exercise_id not in _texts:
        raise NoFiles(
            f"The files of {exercise_id} were asked for. The cell that begins with "
            f"%%{MAGIC} {exercise_id} has not run in this session, or it could not be read. "
            "Run it, and mend what it says."
        )
    return _texts[exercise_id]


def imported(files: Mapping[str, str], *, home: str = "", shown: bool = True) -> SimpleNamespace:
    """The modules of these files, each one run once.

    Args: `home`, what stands before the names of the files in a traceback; `shown`, whether
    tracebacks and `inspect` see the source.
    """
    modules: dict[str, ModuleType] = {}

    def load(name: str) -> ModuleType:
        if name not in modules:
            file, text = f"{home}/{name}.py".lstrip("/"), files[f"{name}.py"]
            modules[name] = module = ModuleType(name)
            module.__dict__.update(__file__=file, __builtins__={**vars(builtins), **own})
            _show(file, text if shown else None)
            with _known(module):
                exec(compile(text, file, "exec"), module.__dict__)
        return modules[name]

    def import_(name: str, *how: object, **named: object) -> ModuleType:
        if f"{name}.py" in files:
            return load(name)
        return builtins.__import__(name, *how, **named)

    own = {"__import__": import_}
    return SimpleNamespace(**{file[:-3]: load(file[:-3]) for file in files})


def keep_files(line: str, cell: str) -> None:
    """The magic `%%files ID`: keep the files of a cell for `project`.

    Raises SyntaxError, with the file and the line, where a file cannot be compiled, and ValueError
    where the cell holds no file.
    """
    home, files, odd = line.strip(), files_of(cell), odd_line_of(cell)
    _texts.pop(home, None)  # what the cell held before is not what is meant now
    if not files or not home or odd:
        found = f"It has the line `{odd}`, which names no file" if odd else "It holds no file"
        raise ValueError(
            f"A cell %%{MAGIC} {home} was run. {found if home else 'It names no exercise'}. It "
            f"begins with `%%{MAGIC} 6.7`, say, and each file with a line like `# file: model.py`. "
            "Put that line back."
        )
    for name, text in files.items():
        file = f"{home}/{name}"
        _show(file, text)
        compile(text, file, "exec")
    _texts[home] = files


def _show(file: str, text: str | None) -> None:
    """Let tracebacks show the lines of this text, or those of no text."""
    linecache.cache.pop(file, None)
    if text is not None:
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file


@contextmanager
def _known(module: ModuleType) -> Iterator[None]:
    """Meanwhile the module is found by its name, as `dataclass` asks for it; not another's name."""
    if module.__name__ in sys.modules:
        yield
        return
    sys.modules[module.__name__] = module
    try:
        yield
    finally:
        sys.modules.pop(module.__name__, None)


def offer_magic() -> None:
    """Let the running notebook, if there is one, know the magic."""
    if shell := running_shell():
        shell.register_magic_function(keep_files, "cell", MAGIC)


offer_magic()
