"""What the real engine did in one backward pass, step by step."""

from __future__ import annotations

from dataclasses import dataclass

from .graph import Graph
from .layout import Sizes, Value
from .steps import Place


@dataclass(frozen=True)
class Gradient:
    """A gradient on its way. `values` holds all of a small one in row-major order, else nothing.

    `norm` is the square root of the sum of squares; None where there is no number for it.
    """

    dtype: str
    sizes: Sizes
    norm: float | None
    values: tuple[Value, ...] = ()


@dataclass(frozen=True)
class BackwardStep:
    """One node that ran.

    `received` is what arrived, one gradient for each output of the operator, merged where several
    edges led to it; `sent` what left along each edge; None where nothing flowed. `ready` lists the
    queue before the node was chosen, the next one first, and `missing` the nodes that have received
    something and still wait, each with the number of edges that it waits for. For a leaf `before`
    and `after` are what its `.grad` held. `returned` is what a formula written in Python returned
    for each edge that leads somewhere, before the engine fitted it to sizes, and `formula` the line
    on which it returned; both None for torch's own.
    """

    node: int
    received: tuple[Gradient | None, ...]
    sent: tuple[Gradient | None, ...]
    ready: tuple[int, ...] = ()
    missing: tuple[tuple[int, int], ...] = ()
    before: Gradient | None = None
    after: Gradient | None = None
    returned: tuple[Gradient | None, ...] | None = None
    formula: Place | None = None


@dataclass(frozen=True, repr=False)
class Backward:
    """The steps of a backward pass through a graph, in the order in which they ran.

    `as_modelled` tells whether that is the order of the model in `insidetorch.engine`; where it is
    not, no step has `ready` or `missing`. `roots` holds the values that were differentiated, and
    `error` what the pass raised, if it did.
    """

    graph: Graph
    steps: tuple[BackwardStep, ...]
    as_modelled: bool
    error: str = ""
    roots: tuple[Gradient, ...] = ()

    def __repr__(self) -> str:
        return f"<Backward of {len(self.steps):,} steps; show() tells them>"
