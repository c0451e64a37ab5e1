"""Runs the script of a case and keeps what a learner could look at: names, a function's locals."""

from __future__ import annotations

import json
import random
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, ModuleType

import numpy
import torch

# A folder each, with the healthy twin in `fixed/`; cases.json says what they are about.
CASES = Path(__file__).parent / "cases"
RECORDS = {r["id"]: r for r in json.loads((CASES / "cases.json").read_text(encoding="utf-8"))}


@dataclass
class Run:
    """A script that has run, to its end or up to its error.

    `names` is its namespace; `inside` holds the locals of the watched function when it was last
    left, by a return or by an error.
    """

    names: dict[str, object]
    inside: dict[str, object] = field(default_factory=dict)
    error: Exception | None = None
    warnings: list[str] = field(default_factory=list)

    def value(self, expression: str, **known: object) -> object:
        """The value of an expression in the script's names, the function's, and `known`."""
        return eval(expression, {**self.names, **self.inside, **known})

    def shows_symptom(self, record: dict) -> bool:
        """Did the script do what its record expects: raise, warn, or end with the check true?"""
        expect, warn = record["expect"], record["warn"]
        if warn is not None and not any(warn in text for text in self.warnings):
            return False
        if expect["type"] == "silent":
            return self._holds(record["post"], expect["check"])
        return type(self.error).__name__ == expect["exc"] and expect["match"] in str(self.error)

    def is_healthy(self, record: dict) -> bool:
        """Did the twin end with the check of its record true?"""
        return self._holds(record["fixed_post"], record["fixed_check"])

    def _holds(self, post: str, check: str) -> bool:
        if self.error:
            raise self.error
        exec(post, self.names)
        return bool(eval(check, self.names))


@contextmanager
def running(folder: Path, *, watch: str = "") -> Iterator[Run]:
    """Run `main.py` of a folder in this process, and put everything back at the end of the block.

    Args: `watch`, the name of a function of the folder's files whose locals are wanted.
    Yields a `Run`. The state of torch's compiler stays: what compiles needs a process of its own.
    """
    path, module = folder / "main.py", ModuleType("__main__")
    code = compile(path.read_text(encoding="utf-8"), str(path), "exec")
    module.__file__ = str(path)
    run, tracer, always = Run(vars(module)), sys.gettrace(), torch.is_warn_always_enabled()
    with _put_back(folder), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        torch.set_warn_always(True)  # else torch warns of some things once in a process
        sys.modules["__main__"] = module
        sys.path.insert(0, str(folder))
        try:
            if watch:
                sys.settrace(_Watcher(folder, watch, run))
            exec(code, run.names)
        except Exception as error:
            run.error = error
        finally:
            sys.settrace(tracer)
            torch.set_warn_always(always)
        run.warnings += [str(w.message) for w in warned]
        yield run


class _Watcher:
    """A tracer that keeps the locals of one function each time it is left."""

    def __init__(self, folder: Path, watch: str, run: Run) -> None:
        self.folder, self.watch, self.run = str(folder), watch, run

    def __call__(self, frame: FrameType, event: str, _arg: object) -> _Watcher | None:
        code = frame.f_code
        if code.co_name != self.watch or not code.co_filename.startswith(self.folder):
            return None
        if event == "return":
            self.run.inside = dict(frame.f_locals)
        return self


@contextmanager
def _put_back(folder: Path) -> Iterator[None]:
    """Modules, paths, generators, modes and dtype: what a script may change, as it was before."""
    main, path, no_bytecode = sys.modules["__main__"], list(sys.path), sys.dont_write_bytecode
    python, array, dtype = random.getstate(), numpy.random.get_state(), torch.get_default_dtype()
    sys.dont_write_bytecode = True
    try:
        with torch.random.fork_rng(devices=[]), torch.set_grad_enabled(True):
            yield
    finally:
        sys.modules["__main__"], sys.path[:], sys.dont_write_bytecode = main, path, no_bytecode
        random.setstate(python)
        numpy.random.set_state(array)
        torch.set_default_dtype(dtype)
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None)).startswith(str(folder)):
                del sys.modules[name]
