"""The graph that one call of a function leaves, beside the lines of the function."""

from __future__ import annotations

from dataclasses import dataclass

from .graph import Graph


@dataclass(frozen=True)
class CodeLine:
    """A line of a function, and the names of the nodes that it made in this call."""

    number: int
    text: str
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class Branch:
    """One call: what was given, what came out, the graph, and the lines of the function.

    `argument` is the name of the function's argument; `lines` is empty where there is no source.
    """

    argument: str
    given: str
    result: str
    graph: Graph
    lines: tuple[CodeLine, ...]
