"""Which nodes of the graph are alive, and which steps lead to each of them?"""

from __future__ import annotations

import gc
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch.autograd.graph import Node, get_gradient_edge

from . import depth, private, private_nodes
from .graph import MOST_NODES
from .memory import has_graph

_MOST_UNHELD = 200  # of tensors that nothing seems to hold, which are mostly parts of graphs


class Target(NamedTuple):
    """A living tensor or node by number, the node that it stands for, and the step of that."""

    key: int
    node: object
    made: int


class Reached(NamedTuple):
    """The nodes below some targets, and what leads to each of them.

    `made` is the step of each node, 0 for what was made before, None for those of leaves. `above`
    holds one bit for each step whose targets lead to the node from further up. `unheld` are the
    targets that are held in a way that is not known: no other one leads to them.
    """

    nodes: list[object]
    made: list[int | None]
    above: list[int]
    place: dict[object, int]
    unheld: list[Target]
    whole: bool


def living(starts: Sequence[int]) -> tuple[dict[int, object], dict[int, torch.Tensor]]:
    """All living tensors with a graph, and nodes of the steps that Python has looked at, by number.

    And the leaves of those tensors that are gradients. No tensor is asked for its node: torch
    cannot free a deep graph of which that was done. `starts`, as in `targets_of`.
    """
    wanted: dict[type, bool] = {}  # asking each object anew would take long
    values, leaves = {}, {}
    for one in gc.get_objects():
        kind = type(one)
        try:
            if kind not in wanted:
                wanted[kind] = issubclass(kind, torch.Tensor | Node)
            if not wanted[kind]:
                continue
            if not issubclass(kind, torch.Tensor):
                if _made_in(one, starts):
                    values[id(one)] = one
                continue
            leaf = one if one.is_leaf else None
            t = one if leaf is None else private.grad(leaf)
            if t is not None and has_graph(t):
                values[id(t)] = t
                if leaf is not None:
                    leaves[id(t)] = leaf
        except Exception:  # a view that was written to in a way that autograd refuses
            continue
    return values, leaves


def targets_of(
    values: dict[int, object], keys: Sequence[int], starts: Sequence[int]
) -> list[Target]:
    """What these tensors and nodes stand for, the newest first; none from before the first step.

    Args: `starts`, for each step the number of its first node, which autograd counts by thread.
    """
    found = []
    for key in keys:
        try:
            value = values[key]
            is_tensor = issubclass(type(value), torch.Tensor)
            node = get_gradient_edge(value).node if is_tensor else value
            if made := _made_in(node, starts):
                found.append(Target(key, node, made))
        except Exception:  # as above
            continue
    return sorted(found, key=lambda target: -private_nodes.sequence_nr(target.node))


def _made_in(node: object, starts: Sequence[int]) -> int | None:
    """Which step made it? 0 for one from before; None for that of a leaf, which no step makes."""
    if hasattr(node, "variable"):
        return None
    return bisect_right(starts, private_nodes.sequence_nr(node))


def reached_by(
    values: dict[int, object], held: Sequence[int], unheld: Sequence[int], starts: Sequence[int]
) -> Reached:
    """All nodes below what is held, and below what else is alive and not among these.

    Args: the numbers of the `values` that are `held` in a known way, and of those that are not;
    of these a node tells nothing, since its graph may hold it.
    """
    targets = targets_of(values, held, starts)
    walk = _Walk()
    for target in targets:
        walk.below(target.node)
    others = []
    unheld = [key for key in unheld if issubclass(type(values[key]), torch.Tensor)]
    for target in targets_of(values, unheld[-_MOST_UNHELD:], starts):
        if target.node not in walk.place:
            walk.below(target.node)
            others.append(target)
    own = [0] * len(walk.nodes)
    for target in (*targets, *others):
        own[walk.place[target.node]] |= 1 << target.made
    made = [_made_in(node, starts) for node in walk.nodes]
    return Reached(walk.nodes, made, _above(walk.edges, own), walk.place, others, walk.whole)


def _above(edges: list[list[int]], own: list[int]) -> list[int]:
    """For each node the bits of all that lead to it."""
    waits = [0] * len(edges)
    for below in edges:
        for k in below:
            waits[k] += 1
    above, ready = [0] * len(edges), [k for k, n in enumerate(waits) if not n]
    while ready:  # a node comes after all that lead to it
        at = ready.pop()
        for k in edges[at]:
            above[k] |= above[at] | own[at]
            waits[k] -= 1
            if not waits[k]:
                ready.append(k)
    return above


class _Walk:
    """All nodes below one root after the other, and the places of those right below each node."""

    def __init__(self) -> None:
        self.nodes: list[object] = []
        self.edges: list[list[int]] = []
        self.place: dict[object, int] = {}
        self.whole = True
        self._room = 0

    def below(self, root: object) -> None:
        """Walk breadth first, as deep as `depth` lets; the newest root has to come first."""
        if root in self.place:
            return
        first = len(self.nodes)
        if not first:
            self._room = depth.room(root)
        self._add(root)
        depths = [0]
        for at, deep in enumerate(depths, first):  # it grows while it is read
            for target, _ in self.nodes[at].next_functions:
                if target is None:
                    continue
                if target not in self.place:
                    if len(self.nodes) >= MOST_NODES or deep + 1 >= self._room:
                        self.whole = False
                        continue
                    self._add(target)
                    depths.append(deep + 1)
                self.edges[at].append(self.place[target])
        depth.looked_at(root, self.nodes[-1], depths[-1])

    def _add(self, node: object) -> None:
        self.place[node] = len(self.nodes)
        self.nodes.append(node)
        self.edges.append([])
