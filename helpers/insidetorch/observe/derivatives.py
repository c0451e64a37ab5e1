"""Which graph stands behind a derivative of this function?"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from ..records import Derivative, Graph
from .backward import gradient_of
from .graph import graph_of, nodes_below


def derivative_of(
    fn: Callable[[torch.Tensor], torch.Tensor],
    given: object,
    order: int = 1,
    *,
    create_graph: bool = True,
    names: Mapping[str, object] | None = None,
) -> Derivative:
    """Differentiate the sum of a function's values `order` times by its argument.

    Args: `fn` takes a tensor and returns one; `given`, its values, float32; `create_graph`, whether
    the last of the gradients is recorded too (those before it have to be); `names`, further tensors
    that `fn` uses.
    Returns a `Derivative`; where torch refuses, its words.
    Raises ValueError if `order` is negative; what `fn` raises passes through.

    >>> [derivative_of(lambda x: x**3, 2.0, k).value.values for k in range(4)]
    [(8.0,), (12.0,), (12.0,), (6.0,)]

    Source: torch.autograd.grad (2.13).
    """
    if order < 0:
        raise ValueError(
            f"A derivative of order {order} was asked. There is none below 0, the function itself. "
            "Give 0 or more."
        )
    with torch.random.fork_rng(devices=[]), torch.inference_mode(False), torch.enable_grad():
        x = torch.as_tensor(given, dtype=torch.float32).detach().clone().requires_grad_()
        value, below = fn(x), []
        if not isinstance(value, torch.Tensor):
            raise TypeError(
                f"A derivative of what a function returns was asked. It returned a "
                f"{type(value).__name__}, and only a tensor has one. Return a tensor."
            )
        for k in range(order):
            below = nodes_below([value]) if value.requires_grad else []
            record = create_graph or k < order - 1
            try:
                (value,) = torch.autograd.grad(
                    value, x, torch.ones_like(value), create_graph=record
                )
            except RuntimeError as error:
                return Derivative(k + 1, None, Graph((), ()), refusal=str(error).partition("\n")[0])
        graph = graph_of(value, names={**(names or {}), "x": x})
        kept = {node: None for node in below}
        there = nodes_below([value]) if graph.nodes else []
        numbers = tuple(k for k, node in enumerate(there) if node in kept)
        return Derivative(order, gradient_of(value), graph, numbers)
