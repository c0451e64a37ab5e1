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
from collections.abc import Mapping
from types import ModuleType, SimpleNamespace

from ..observe.roots import running_shell
from .file_cells import MAGIC, files_of

_texts: dict[str, dict[str, str]] = {}


def project(exercise_id: str) -> SimpleNamespace:
    """The modules of the files that the cell `%%files ID` holds, imported anew at each call.

    A module is an attribute by its name. The files import each other, and neither `sys.modules`
    nor the disk knows of them. Raises LookupError if that cell has not run, and whatever a file
    raises when it is imported.
    """
    return imported(texts_of(exercise_id))


def texts_of(exercise_id: str) -> dict[str, str]:
    """The texts of these files by their names; LookupError if their cell has not run."""
    if exercise_id not in _texts:
        raise LookupError(
            f"The files of {exercise_id} were asked for. The cell that begins with "
            f"%%{MAGIC} {exercise_id} has not run in this session. Run it first."
        )
    return _texts[exercise_id]


def imported(files: Mapping[str, str]) -> SimpleNamespace:
    """The modules of these files, each one run once."""
    modules: dict[str, ModuleType] = {}

    def load(name: str) -> ModuleType:
        if name not in modules:
            file, text = f"{name}.py", files[f"{name}.py"]
            modules[name] = module = ModuleType(name)
            module.__dict__.update(__file__=file, __builtins__={**vars(builtins), **own})
            # So that a traceback shows the line.
            linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
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
    files = files_of(cell)
    if not files or not line.strip():
        raise ValueError(
            f"A cell %%{MAGIC} {line.strip()} was run. It needs the id of an exercise, and each of "
            "its files begins with a line such as `# file: model.py`. Put that line back."
        )
    for file, text in files.items():
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        compile(text, file, "exec")
    _texts[line.strip()] = files


if shell := running_shell():
    shell.register_magic_function(keep_files, "cell", MAGIC)
