"""From which names, frames and output histories can Python objects be reached?"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import FrameType, FunctionType, GeneratorType, TracebackType
from typing import NamedTuple

from .places import is_users

UNDERSCORES = ("_", "__", "___")
_WIDGETS = "ipywidgets.widgets.widget._instances"
_HISTORY = re.compile(r"_{1,3}|_\d+|Out|_oh")


class Root(NamedTuple):
    """A value that is held from outside; `kind`, `path`, `function`, `cell` as in a `Holder`."""

    kind: str
    path: str
    value: object
    function: str = ""
    cell: str = ""


def roots(names: Mapping[str, object], reached: Iterable[object]) -> Iterator[Root]:
    """All values that names, functions, frames and the notebook's history hold.

    Args: `names`, a namespace beside those of the modules; `reached`, objects among which the
    functions, classes, generators and kept frames are looked for.
    """
    shell = running_shell()
    yield from _of_names(names, shell)
    if shell is not None:
        yield from _of_history(shell)
    running, failed = _running_frames(), _failed_frames(shell)
    yield from _of_frames("running", running)
    yield from _of_frames("failed", failed)
    known = {id(frame) for frame in (*running, *failed)}
    for one in reached:
        kind = type(one)
        if kind is FunctionType:
            yield from _of_function(one)
        elif issubclass(kind, type):
            for key, value in list(vars(one).items()):
                yield Root("name", f"{one.__qualname__}.{key}", value)
        elif kind is GeneratorType and one.gi_frame is not None:
            yield from _of_frames("generator", [one.gi_frame], one.__qualname__)
        elif kind is FrameType and id(one) not in known and not _waits(one):
            yield from _of_frames("ended", [one])


def in_notebook() -> bool:
    """Does IPython keep a history of outputs here?"""
    return running_shell() is not None


def running_shell() -> object | None:
    """IPython's shell if it runs; never imports it."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def _of_names(names: Mapping[str, object], shell: object | None) -> Iterator[Root]:
    done = set()
    spaces = [("", names), ("", shell.user_ns)] if shell is not None else [("", names)]
    for name, module in sorted(sys.modules.items()):
        spaces.append(("" if name == "__main__" else f"{name}.", getattr(module, "__dict__", {})))
    for prefix, space in spaces:
        if id(space) in done:
            continue
        done.add(id(space))
        for key, value in list(space.items()):
            if f"{prefix}{key}" == _WIDGETS:
                yield from (Root("widget", type(one).__name__, one) for one in value.values())
            elif shell is None or prefix or not _HISTORY.fullmatch(str(key)):
                yield Root("name", f"{prefix}{key}", value)


def _of_history(shell: object) -> Iterator[Root]:
    """What IPython remembers of results: `Out`, `_` and its like, wherever it puts them."""
    outputs = shell.history_manager.output_hist  # whatever the names Out and In stand for now
    inputs = shell.history_manager.input_hist_raw
    cells = {
        id(value): _first_statement(inputs[number])
        for number, value in list(outputs.items())
        if number in range(len(inputs))
    }
    last = shell.last_execution_result
    spaces = (
        ("{}", shell.user_ns),
        ("Out", outputs),
        ("Out", vars(shell.displayhook)),
        ("Out", {} if last is None else {"Out": last.result}),
        ("user_ns_hidden[{!r}]", shell.user_ns_hidden),
    )
    for label, space in spaces:
        for key, value in list(space.items()):
            if value is not outputs and (space is outputs or _HISTORY.fullmatch(str(key))):
                path = label.format(key) if key in UNDERSCORES else "Out"
                yield Root("history", path, value, cell=cells.get(id(value), ""))


def _first_statement(cell: str) -> str:
    lines = (line.strip() for line in cell.splitlines())
    return next((line for line in lines if line and not line.startswith(("#", "%"))), "")


def _of_function(function: FunctionType) -> Iterator[Root]:
    named = list(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    code, defaults = function.__code__, function.__defaults__ or ()
    positional = code.co_varnames[: code.co_argcount]
    for name, cell in named:
        try:
            yield Root("closure", name, cell.cell_contents, function.__qualname__)
        except ValueError:  # not filled yet
            continue
    defaulted = positional[len(positional) - len(defaults) :]
    defaults = {**dict(zip(defaulted, defaults, strict=True)), **(function.__kwdefaults__ or {})}
    for name, value in defaults.items():
        yield Root("closure", name, value, function.__qualname__)


def _of_frames(kind: str, frames: Iterable[FrameType], function: str = "") -> Iterator[Root]:
    for frame in frames:
        if frame.f_code.co_flags & inspect.CO_OPTIMIZED and is_users(frame.f_code.co_filename):
            for name, value in _locals(frame).items():
                yield Root(kind, name, value, function or frame.f_code.co_qualname)


def _locals(frame: FrameType) -> dict[str, object]:
    """The variables of a function, leaving no copy of them behind in the frame.

    Up to Python 3.12 asking fills a dict that the frame keeps, and what is in it stays alive: it is
    emptied again unless somebody else has it, as a debugger or locals() does.
    """
    found = frame.f_locals
    named = dict(found)
    if type(found) is dict and sys.getrefcount(found) <= 3:  # the frame, this name, the call
        found.clear()
    return named


def _running_frames() -> list[FrameType]:
    """The frames of all threads, from the innermost outwards."""
    found = []
    for frame in sys._current_frames().values():
        while frame is not None:
            found.append(frame)
            frame = frame.f_back
    return found


def _failed_frames(shell: object | None) -> list[FrameType]:
    """The frames of the last error that nobody caught, and of those that led to it."""
    waiting: list[object] = [getattr(sys, "last_value", None), getattr(sys, "last_exc", None)]
    traces = [getattr(sys, "last_traceback", None)]
    if shell is not None:
        traces.append(getattr(getattr(shell, "InteractiveTB", None), "tb", None))
    for error in waiting:
        if error is not None:
            traces.append(error.__traceback__)
            known = set(map(id, waiting))
            waiting += [e for e in (error.__cause__, error.__context__) if id(e) not in known]
    return list({id(frame): frame for trace in traces for frame in _frames_of(trace)}.values())


def _frames_of(trace: TracebackType | None) -> Iterator[FrameType]:
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def _waits(frame: FrameType) -> bool:
    """Does the frame belong to a generator that has not ended?"""
    return bool(frame.f_code.co_flags & inspect.CO_GENERATOR)
