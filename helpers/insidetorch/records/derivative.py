"""A derivative of some order, and the graph behind it."""

from __future__ import annotations

from dataclasses import dataclass

from .backward import Gradient
from .graph import Graph


@dataclass(frozen=True)
class Derivative:
    """The derivative of order `order`; 0 is the function's value.

    `kept` says which nodes of `graph` stood in the graph of the order below; the others were added
    while the gradient was computed. `refusal` holds torch's words where there is none.
    """

    order: int
    value: Gradient | None
    graph: Graph
    kept: tuple[int, ...] = ()
    refusal: str = ""
