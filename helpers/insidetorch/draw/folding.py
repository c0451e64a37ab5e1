"""Which nodes of a graph are shown as one? The repeated steps of a loop or of a stack of layers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..records import Graph, Node

_LONGEST = 64
_FEWEST_REPEATS = 3


@dataclass(frozen=True)
class Item:
    """What is drawn as one box: the nodes of one step, and how often the step is repeated.

    `nodes` holds all of its nodes, the first `step` of them those of the first repeat.
    """

    nodes: tuple[int, ...]
    step: int
    times: int = 1


def items_of(graph: Graph, *, fold: bool = True) -> list[Item]:
    """The inner nodes in the order youngest first, repeated steps as one item.

    Two steps repeat one another if they have the same nodes with the same edges, to the nodes
    beside them and to leaves of the same name but for its numbers.
    """
    order = sorted((n for n in graph.nodes if not n.is_leaf), key=lambda n: -n.age)
    if not fold:
        return [Item((node.number,), 1) for node in order]
    place = {node.number: k for k, node in enumerate(order)}
    signs = [_sign(graph, node, place) for node in order]
    items, k = [], 0
    while k < len(order):
        step, times = _repeat(signs, k)
        items.append(Item(tuple(n.number for n in order[k : k + step * times]), step, times))
        k += step * times
    return items


def _sign(graph: Graph, node: Node, place: dict[int, int]) -> tuple:
    """What makes two nodes equal: name, sizes, and where their edges lead, relative to them."""
    edges = []
    for edge in node.edges:
        if edge is None:
            edges.append(None)
        elif graph.nodes[edge.target].is_leaf:
            edges.append(re.sub(r"\d+", "#", graph.nodes[edge.target].leaf))
        else:
            edges.append((place[edge.target] - place[node.number], edge.output_nr))
    return node.name, node.outputs, tuple(edges)


def _repeat(signs: Sequence[tuple], start: int) -> tuple[int, int]:
    """The step that is repeated most from here on: its length, and how often; (1, 1) for none."""
    best = (1, 1)
    for step in range(1, min(_LONGEST, (len(signs) - start) // _FEWEST_REPEATS) + 1):
        end = start + step
        while end < len(signs) and signs[end] == signs[end - step]:
            end += 1
        times = (end - start) // step
        if times >= _FEWEST_REPEATS and times * step > best[0] * best[1]:
            best = (step, times)
    return best
