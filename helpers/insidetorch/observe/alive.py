"""Which nodes of the graph are alive, and which steps lead to each of them?"""

from __future__ import annotations

import gc
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch.autograd.graph import Node, get_gradient_edge

from . import depth, private, private_nodes
from .graph import MOST_NODES
from .memory import has_graph


class Target(NamedTuple):
    """A living tensor or node, the node of the graph that it stands for, and the step of that.

    `leaf` is the tensor whose gradient it is, None for all others.
    """

    value: object
    node: object
    made: int
    leaf: torch.Tensor | None = None


class Reached(NamedTuple):
    """The nodes below some targets, and for each of them what leads to it.

    `made` is the step of each node, 0 for what was made before, None for those of leaves. `above`
    holds one bit for each step whose targets lead to the node from further up.
    """

    nodes: list[object]
    made: list[int | None]
    above: list[int]
    place: dict[object, int]
    whole: bool


def targets_since(starts: Sequence[int]) -> list[Target]:
    """All living tensors and nodes that the steps have made which began at these numbers.

    The numbers are autograd's own, which it counts up for each node that this thread makes.
    """
    wanted: dict[type, bool] = {}  # asking each object anew would take long
    found = []
    for one in gc.get_objects():
        kind = type(one)
        try:
            if kind not in wanted:
                wanted[kind] = issubclass(kind, torch.Tensor | Node)
            target = _target(one, starts) if wanted[kind] else None
        except Exception:  # a view that was written to in a way that autograd refuses
            continue
        if target is not None and target.made:
            found.append(target)
    return found


def _target(one: object, starts: Sequence[int]) -> Target | None:
    """What a living tensor or node stands for; None where there is no graph behind it."""
    value, node, leaf = one, one, None
    if issubclass(type(one), torch.Tensor):
        if one.is_leaf:
            leaf, value = one, private.grad(one)
        if value is None or not has_graph(value):
            return None
        node = get_gradient_edge(value).node
    made = _made_in(node, starts)
    return None if made is None else Target(value, node, made, leaf)


def _made_in(node: object, starts: Sequence[int]) -> int | None:
    """Which step made it? 0 for one from before; None for that of a leaf, which no step makes."""
    if hasattr(node, "variable"):
        return None
    return bisect_right(starts, private_nodes.sequence_nr(node))


def reached_by(
    targets: Sequence[Target], starts: Sequence[int], holds: Callable[[Target], bool]
) -> Reached:
    """All nodes below the targets.

    Args: `holds(target)` says whether something is known to hold it. A target that nothing holds
    and that others lead to is part of their graph, and leads to nothing of its own.
    """
    nodes, edges, place, whole = _walk([target.node for target in targets])
    waits = [0] * len(nodes)
    for below in edges:
        for k in below:
            waits[k] += 1
    own = [0] * len(nodes)
    for target in targets:
        at = place[target.node]
        if holds(target) or not waits[at]:
            own[at] |= 1 << target.made
    above, ready = [0] * len(nodes), [k for k, n in enumerate(waits) if not n]
    while ready:  # a node comes after all that lead to it
        at = ready.pop()
        for k in edges[at]:
            above[k] |= above[at] | own[at]
            waits[k] -= 1
            if not waits[k]:
                ready.append(k)
    return Reached(nodes, [_made_in(node, starts) for node in nodes], above, place, whole)


def _walk(
    roots: Sequence[object],
) -> tuple[list[object], list[list[int]], dict[object, int], bool]:
    """All nodes below the roots, breadth first, the places of those right below each of them."""
    nodes: list[object] = list(dict.fromkeys(roots))
    place = {node: k for k, node in enumerate(nodes)}
    edges: list[list[int]] = []
    if not nodes:
        return nodes, edges, place, True
    depths, room, whole = [0] * len(nodes), depth.room(nodes[0]), True
    for node, below in zip(nodes, depths, strict=False):  # both grow while they are read
        edges.append([])
        for target, _ in node.next_functions:
            if target is None:
                continue
            if target not in place:
                if len(nodes) >= MOST_NODES or below + 1 >= room:
                    whole = False
                    continue
                place[target] = len(nodes)
                nodes.append(target)
                depths.append(below + 1)
            edges[-1].append(place[target])
    depth.looked_at(nodes[0], nodes[-1], depths[-1])
    return nodes, edges, place, whole
