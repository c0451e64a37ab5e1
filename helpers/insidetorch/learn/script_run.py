"""What does a script print, raise and leave behind when it runs in this process?"""

from __future__ import annotations

import io
import linecache
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from types import ModuleType, TracebackType

from .put_back import put_back

_one_at_a_time = Lock()


@dataclass
class ScriptRun:
    """A script that has run, to its end or up to its error.

    `names` is its namespace, `printed` what it wrote to the standard output, `warnings` what it
    warned of. The traceback of `error` holds the script's own lines only.
    """

    names: dict[str, object] = field(default_factory=dict)
    printed: str = ""
    error: BaseException | None = None
    warnings: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        lines = [self.printed.rstrip()] if self.printed.strip() else []
        lines += [f"warning: {_first_sentence(text)}" for text in self.warnings]
        if self.error is not None:
            for frame in traceback.extract_tb(self.error.__traceback__):
                lines.append(f"{Path(frame.filename).name}, line {frame.lineno}: {frame.line}")
            lines += traceback.format_exception_only(self.error)[-1].rstrip().splitlines()
        return "\n".join(lines) or "It ran to its end and printed nothing."


def run_script(folder: Path, steps: Sequence[str] = ()) -> ScriptRun:
    """Run `main.py` of a folder, then `steps` in its namespace, and put this process back.

    What the script or a step raises is kept in the `ScriptRun`. Raises RuntimeError while another
    script runs.
    """
    if not _one_at_a_time.acquire(blocking=False):
        raise RuntimeError(
            f"The script of {folder.name} was asked to run. Another one runs at this moment, and "
            "two would mix up what both change. Wait until it has ended."
        )
    try:
        return _run(folder, steps)
    finally:
        _one_at_a_time.release()


def _run(folder: Path, steps: Sequence[str]) -> ScriptRun:
    path, module, printed = folder / "main.py", ModuleType("__main__"), io.StringIO()
    module.__file__ = str(path)
    run = ScriptRun(vars(module))
    with put_back(folder), warnings.catch_warnings(record=True) as warned, redirect_stdout(printed):
        warnings.simplefilter("always")
        sys.modules["__main__"], sys.argv[:] = module, [str(path)]
        try:
            exec(compile(path.read_bytes(), str(path), "exec"), run.names)
            for step in steps:
                exec(step, run.names)
        except (Exception, SystemExit) as error:
            run.error = error.with_traceback(_lines_of(folder, error.__traceback__))
        run.warnings += [str(w.message) for w in warned]
    run.printed = printed.getvalue()
    linecache.checkcache()
    return run


def _lines_of(folder: Path, whole: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that lies in files of this folder."""
    own: list[TracebackType] = []
    while whole is not None:
        if Path(whole.tb_frame.f_code.co_filename).parent == folder:
            own.append(whole)
        whole = whole.tb_next
    kept = None
    for place in reversed(own):
        kept = TracebackType(kept, place.tb_frame, place.tb_lasti, place.tb_lineno)
    return kept


def _first_sentence(warning: str) -> str:
    """A warning without the place in torch's sources that it ends with."""
    return warning.partition(" (Triggered internally")[0].partition("\n")[0]
