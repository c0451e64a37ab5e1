"""By which paths are these objects held?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

import torch

from ..records import GraphHold
from .referrers import DEPTH, MOST_OBJECTS, parts_of, reached_from
from .roots import Root, roots

# Of two ways that are equally short, the one through something that has a name is told.
_RANKS = ("name", "history", "widget", "closure", "generator", "running", "failed", "ended")
_VARIABLES = ("closure", "running")  # a variable that a function remembers is one of its maker too
_PARTS_OF_MODULE = re.compile(r"\._(?:parameters|modules|buffers)\['(\w+)'\]")


class Inside(NamedTuple):
    """The object that holds another one, and the path to it."""

    value: object
    path: str


class Way(NamedTuple):
    """A way to a target: where it begins, its path, and what the target is in; None for a root."""

    root: Root
    path: str
    target: object
    inside: Inside | None


def paths_to(
    targets: dict[int, object], leaves: list[torch.Tensor], names: Mapping[str, object]
) -> tuple[dict[int, tuple[GraphHold, ...]], bool]:
    """Each way in which something holds these objects, the shortest first, and if those are all.

    Args: `targets`, objects by number; `leaves`, those whose gradients are among them; `names`, a
    namespace beside those that `roots` knows. Of what one container holds, each object gets one
    path: that by the shortest way to the container.

    >>> loss = torch.ones(1)
    >>> paths_to({id(loss): loss}, [], {"run": {"losses": [loss]}})[0][id(loss)][0].path
    "run['losses'][0]"
    """
    reached, whole = reached_from(targets, leaves)
    found: dict[int, dict[object, GraphHold]] = {key: {} for key in targets}
    ways, all_of_them = ways_to(targets, reached, names)
    for way in ways:
        holder = _variable(way.root) if way.inside is None else id(way.inside.value)
        hold = GraphHold(way.root.kind, told_path(way), way.root.function)
        found[id(way.target)].setdefault(holder, hold)
    return {key: tuple(holds.values()) for key, holds in found.items()}, whole and all_of_them


def ways_to(
    targets: Mapping[int, object],
    reached: Mapping[int, object],
    names: Mapping[str, object],
    *,
    again: tuple[type, ...] = (),
    through: bool = True,
) -> tuple[list[Way], bool]:
    """The ways from all roots to these targets, the shortest first, and if those are all.

    Args: `reached`, the objects that lead to a target, by number; `again`, the types of objects
    that are entered by each way and not only by the first; `through`, whether a way may lead
    through a target to another.
    """
    order, waiting, found = count(), [], []
    for root in roots(names, list(reached.values())):
        if id(root.value) in reached:
            place = (0, _RANKS.index(root.kind), root.path, next(order))
            heappush(waiting, (*place, root, root.value, None))
    most = MOST_OBJECTS + 4 * len(targets)
    done = {id(names)}  # its items are names, whatever else leads to them
    while waiting and next(order) < most:
        steps, rank, path, _, root, value, inside = heappop(waiting)
        if id(value) in targets:
            found.append(Way(root, path, value, inside))
            if not through:
                continue
        if id(value) in done or steps == DEPTH:
            continue
        if not issubclass(type(value), again):
            done.add(id(value))
        for step, part in parts_of(value):
            if id(part) in reached:
                place = (steps + 1, rank, path + step, next(order))
                heappush(waiting, (*place, root, part, Inside(value, path)))
    return found, not waiting


def told_path(way: Way) -> str:
    """The path as it is told: a part of a module by its name."""
    path = way.root.path if way.root.kind in ("history", "widget") else way.path
    return _PARTS_OF_MODULE.sub(lambda m: f"[{m[1]}]" if m[1].isdigit() else f".{m[1]}", path)


def _variable(root: Root) -> object:
    """What tells one variable from others."""
    if root.kind in _VARIABLES:
        return _VARIABLES, root.path
    return root.kind, root.path, root.function
