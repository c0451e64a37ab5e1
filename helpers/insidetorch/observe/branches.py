"""Which graph does this function leave for this input?"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping

import torch

from ..records import Branch, CodeLine, Graph
from .graph import graph_of
from .places import place_of
from .recorder import ForwardRecorder

_MOST_TEXT = 60


def branch_of(
    fn: Callable[[torch.Tensor], torch.Tensor],
    given: object,
    *,
    names: Mapping[str, object] | None = None,
) -> Branch:
    """Call a function on a new leaf with these values, and look at the graph behind its result.

    Args: `fn` takes a tensor and returns one; `given`, a number, nested lists of numbers or a
    tensor, whose values the leaf gets as float32; `names`, further tensors that `fn` uses.
    Returns a `Branch` with each line of `fn` and the nodes that it made. Random numbers inside `fn`
    are the same each time, and the generator is put back.
    Raises TypeError if `fn` returns no tensor; what `fn` raises passes through.

    >>> branch_of(lambda x: x * 2 if x > 0 else x.exp(), -1.0).graph.nodes[0].name
    'ExpBackward0'
    """
    argument = _argument(fn)
    with (
        torch.random.fork_rng(devices=[]),
        torch.inference_mode(False),
        torch.enable_grad(),
        ForwardRecorder() as forward,
    ):
        leaf = torch.as_tensor(given, dtype=torch.float32).detach().clone().requires_grad_()
        result = fn(leaf)
    if not isinstance(result, torch.Tensor):
        raise TypeError(
            f"The graph of a call of {getattr(fn, '__name__', 'a function')} was asked. "
            f"It returned a {type(result).__name__}, and only a tensor has a graph. "
            "Return a tensor."
        )
    graph = graph_of(result, names={**(names or {}), argument: leaf}, forward=forward)
    return Branch(argument, _text(given), _text(result), graph, _lines(fn, graph))


def _argument(fn: Callable) -> str:
    """The name of the first argument; "x" where there is no signature, as of torch.sin."""
    try:
        return next(iter(inspect.signature(fn).parameters), "x")
    except ValueError:
        return "x"


def _lines(fn: Callable, graph: Graph) -> tuple[CodeLine, ...]:
    """The lines of a function with the nodes that were made from them; none without a source."""
    try:
        texts, first = inspect.getsourcelines(fn)
    except (OSError, TypeError):
        return ()
    where = place_of(fn.__code__.co_filename, first)
    made: dict[int, list[str]] = {}
    for node in reversed(graph.nodes):
        at = node.place
        if at is not None and (at.file, at.cell) == (where.file, where.cell):
            made.setdefault(at.line, []).append(node.name)
    return tuple(
        CodeLine(number, text.rstrip(), tuple(made.get(number, ())))
        for number, text in enumerate(texts, first)
    )


def _rounded(value: object) -> object:
    """Numbers with four significant digits, in lists as deep as they are."""
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _text(value: object) -> str:
    text = str(_rounded(value.tolist()) if isinstance(value, torch.Tensor) else value)
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]} …"
