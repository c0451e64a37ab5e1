"""Which operators does this code run, and if it raises an error, which of them, and why?"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from traceback import walk_tb

from ..records import DispatchPath, Explanation, Failure, Place
from . import private, private_nodes
from .dispatch import refuse_to_run
from .failures import arguments, lacking_fake, lacking_formula, lacking_kernel, would_run
from .operators import operator_of
from .paths import path_of
from .places import is_users, place_of
from .trace import Tracer

_LONGEST = 400
_SEEN_BELOW = "The call is seen where autograd and the layers above have passed it on."


def explanation_of(fn: Callable[[], object]) -> Explanation:
    """Run some code; which operators ran, and if it raised an error, which of them, and why?

    Args: `fn`, called once, without arguments. What it raises is part of the record, and not
    raised, but for what ends a program, such as KeyboardInterrupt. To find out what would run, an
    operator of torch's that raised is run again on copies of its arguments.
    Returns an `Explanation`. Raises TypeError if `fn` cannot be called.

    >>> import torch
    >>> x = torch.ones(3, 3)
    >>> found = explanation_of(lambda: x @ x.half()).failure
    >>> [change.names + change.runs for change in found.changes]
    [('self', 'float16'), ('mat2', 'float32')]
    """
    refuse_to_run(fn, asked="An explanation")
    raised = None
    with _Watch() as watch:
        try:
            fn()
        except Exception as error:
            raised = error
    if raised is None:
        return Explanation(watch.trace)
    return Explanation(watch.trace, _failure(raised, watch))


@dataclass(frozen=True)
class _Stopped:
    """An operator that raised, with what it was given."""

    error: Exception
    overload: object
    args: tuple
    kwargs: dict
    path: DispatchPath | None
    node: str


class _Watch(Tracer):
    """Keeps the last operator that raised."""

    def __init__(self) -> None:
        super().__init__()
        self.stopped: _Stopped | None = None

    def run(self, op: Callable, args: tuple, kwargs: dict) -> object:
        try:
            return super().run(op, args, kwargs)
        except Exception as error:
            path, node = _path(op, args, kwargs), private_nodes.running_node()
            self.stopped = _Stopped(error, op, args, kwargs, path, node)
            raise


def _path(op: Callable, args: tuple, kwargs: dict) -> DispatchPath | None:
    try:
        return replace(path_of(op, *args, **kwargs), remark=_SEEN_BELOW)
    except Exception:  # looking must not change what the user's code sees
        return None


def _failure(error: Exception, watch: _Watch) -> Failure:
    told = {"error": _first_line(error), "place": _raised_at(error)}
    stopped = watch.stopped
    if stopped is None or stopped.error not in (error, error.__cause__):
        return Failure(**told, **lacking_formula(told["error"], watch.trace))
    told |= {"operator": str(stopped.overload), "path": stopped.path, "node": stopped.node}
    told["is_outer"] = stopped.error is not error
    with suppress(Exception):  # an operator of higher order, or a tensor that answers nothing
        overload, given = operator_of(stopped.overload, stopped.args, stopped.kwargs)
        with private.unseen():
            told["arguments"] = tuple(arguments(given))
            lacking = lacking_fake(stopped.error)
            lacking |= lacking_kernel(stopped.error, overload, given, stopped.path)
            told |= lacking
        told |= would_run(stopped.error, overload, given, lacks_kernel=bool(lacking))
    return Failure(**told)


def _first_line(error: Exception) -> str:
    try:
        line = re.sub(r"0x[0-9a-f]+", "0x…", str(error).partition("\n")[0])
    except Exception:
        line = "an error that cannot be printed"
    if len(line) > _LONGEST:
        line = f"{line.partition('. ')[0]} …"
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


def _raised_at(error: BaseException) -> Place | None:
    """The innermost line of the user's that was running."""
    lines = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    users = [place for place in lines if is_users(place[0])]
    return place_of(*users[-1]) if users else None
