"""How do tracebacks and warnings look as they would without the doctor?"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType, TracebackType

_HERE = str(Path(__file__).parent) + os.sep


def forget_doctor(error: BaseException | None, seen: set[int] | None = None) -> None:
    """Take the doctor's frames out of an exception's traceback, and of those it is chained to."""
    seen = set() if seen is None else seen
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    error.__traceback__ = without_doctor(error.__traceback__)
    parts = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    for other in (error.__cause__, error.__context__, *parts):
        forget_doctor(other, seen)


def without_doctor(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the doctor's frames, and without those that led torch to the doctor."""
    kept: list[TracebackType] = []
    while trace is not None:
        if not _is_doctors(trace.tb_frame.f_code):
            kept.append(trace)
        elif kept and _asks_mode(kept[-1].tb_frame.f_code):
            del kept[-2:]  # a function of torch's that asks for modes first, and runs again below
        trace = trace.tb_next
    for one in reversed(kept):
        trace = TracebackType(trace, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return trace


def _is_doctors(code: CodeType) -> bool:
    return code.co_filename.startswith(_HERE)


def _asks_mode(code: CodeType) -> bool:
    return code.co_name == "handle_torch_function"


@contextmanager
def unnoticed() -> Iterator[None]:
    """Warnings of torch's name the line that called it, and threads fail without the doctor."""
    show, hook = warnings.showwarning, threading.excepthook

    def showwarning(message, category, filename, lineno, file=None, line=None):
        frame = _caller(filename) if filename.startswith(_HERE) else None
        if frame is None:
            show(message, category, filename, lineno, file, line)
            return
        names = frame.f_globals
        warnings.warn_explicit(
            message, category, frame.f_code.co_filename, frame.f_lineno,
            module=names.get("__name__", "<unknown>"),
            registry=names.setdefault("__warningregistry__", {}),
        )  # fmt: skip

    def excepthook(args):
        forget_doctor(args.exc_value)
        pruned = (args.exc_type, args.exc_value, without_doctor(args.exc_traceback), args.thread)
        hook(threading.ExceptHookArgs(pruned))

    # Python's own filters see a warning again where it belongs: here each has to come through.
    warnings.filterwarnings("always", module=r"insidetorch\.doctor\.")
    warnings.showwarning, threading.excepthook = showwarning, excepthook
    try:
        yield
    finally:
        if warnings.showwarning is showwarning:
            warnings.showwarning = show
        if threading.excepthook is excepthook:
            threading.excepthook = hook


def _caller(filename: str) -> FrameType | None:
    """The frame that called torch, where a warning names a file of the doctor's."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename != filename:
        frame = frame.f_back
    while frame is not None and _is_doctors(frame.f_code):
        frame = frame.f_back
    if frame is not None and _asks_mode(frame.f_code):
        frame = frame.f_back and frame.f_back.f_back
    return frame
