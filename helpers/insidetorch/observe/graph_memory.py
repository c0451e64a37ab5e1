"""Which graphs are alive after each step of a loop, and who holds them?"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from traceback import walk_tb
from types import MethodType

from ..records import GraphsOverSteps, Place
from . import private_nodes
from .backward import first_sentence
from .graph_look import GraphLook
from .places import is_users, place_of


def graph_memory(
    step: Callable[..., object],
    *,
    steps: int = 6,
    names: Mapping[str, object] | None = None,
    inputs: object = None,
) -> GraphsOverSteps:
    """Which graphs are alive after each step of this loop, and who holds them?

    Args: `step`, called `steps` times: with the number of the call, from 0 as in a `for` loop over
    `range`, if it takes an argument. `names`, a namespace to look into beside those of all modules
    and of the notebook. `inputs`, tensors that live anyway, alone or in lists, tuples and dicts,
    such as the batch: their bytes are not counted.
    Returns `GraphsOverSteps`. Before each look Python's garbage collector runs, and what `step`
    returned is let go. An error of `step` ends the loop and is part of the record. What another
    thread has made counts as made before the first step. Looking runs no operator, and keeps
    nothing alive.
    Raises TypeError if `step` cannot be called so, ValueError for less than one step.

    >>> import torch
    >>> w, losses = torch.ones(1000, requires_grad=True), []
    >>> found = graph_memory(lambda: losses.append(w.exp().sum()), steps=3)
    >>> [after.nbytes for after in found.after]
    [4000, 8000, 12000]

    Source: torch.autograd.graph.Node, its sequence number and saved tensors (2.13).
    """
    call = _caller(step)
    if steps < 1:
        raise ValueError(
            f"The graphs after {steps} steps were asked. A loop without a step leaves nothing to "
            "look at. Ask for at least one step."
        )
    spaces = {"step": step, **(names or {})}
    if type(step) is MethodType:
        spaces = {"self": step.__self__, **spaces}
    look = GraphLook(spaces, inputs)
    after, failed, error, place = [], 0, "", None
    for number in range(1, steps + 1):
        look.starts.append(private_nodes.next_sequence_nr())
        try:
            call(number - 1)
        except Exception as raised:
            failed, place = number, _raised_at(raised)
            error = ": ".join(filter(None, (type(raised).__name__, first_sentence(raised))))
            break
        after.append(look(number))
    return GraphsOverSteps(tuple(after), failed, error, place)


def _caller(step: Callable[..., object]) -> Callable[[int], object]:
    """A call of the step with its number, or without where it takes none."""
    if not callable(step):
        raise TypeError(
            f"The graphs over steps of a {type(step).__name__} were asked. It cannot be called. "
            "Give a function that runs one step."
        )
    try:
        parameters = inspect.signature(step).parameters.values()
    except ValueError:  # a builtin
        parameters = ()
    collects = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [p for p in parameters if p.default is p.empty and p.kind not in collects]
    if len(needed) > 1 or any(p.kind == p.KEYWORD_ONLY for p in needed):
        raise TypeError(
            "The graphs over steps were asked of a function that needs "
            f"{', '.join(p.name for p in needed)}. A step is given its number at most. Wrap it in "
            "a function of one argument or none."
        )
    return (lambda number: step(number)) if needed else (lambda _number: step())


def _raised_at(error: BaseException) -> Place | None:
    """The innermost line of the user's that was running."""
    lines = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    users = [at for at in lines if is_users(at[0])]
    return place_of(*users[-1]) if users else None
