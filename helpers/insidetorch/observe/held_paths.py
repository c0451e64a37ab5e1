"""By which paths are these objects held?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from heapq import heappop, heappush
from itertools import count

import torch

from ..records import GraphHold
from .referrers import DEPTH, MOST_OBJECTS, parts_of, reached_from
from .roots import Root, roots

# Of two ways that are equally short, the one through something that has a name is told.
_RANKS = ("name", "history", "widget", "closure", "generator", "running", "failed", "ended")
_VARIABLES = ("closure", "running")  # a variable that a function remembers is one of its maker too
_PARTS_OF_MODULE = re.compile(r"\._(?:parameters|modules|buffers)\['(\w+)'\]")


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
    order, waiting = count(), []
    for root in roots(names, list(reached.values())):
        if id(root.value) in reached:
            place = (0, _RANKS.index(root.kind), root.path, next(order))
            heappush(waiting, (*place, root, root.value, _variable(root)))
    most, done = MOST_OBJECTS + 4 * len(targets), set()
    while waiting and next(order) < most:
        steps, rank, path, _, root, value, holder = heappop(waiting)
        if id(value) in targets:
            found[id(value)].setdefault(holder, _hold(root, path))
        if id(value) in done or steps == DEPTH:
            continue
        done.add(id(value))
        for step, part in parts_of(value):
            if id(part) in reached:
                place = (steps + 1, rank, path + step, next(order))
                heappush(waiting, (*place, root, part, id(value)))
    return {key: tuple(holds.values()) for key, holds in found.items()}, whole and not waiting


def _variable(root: Root) -> object:
    """What tells one variable from others."""
    if root.kind in _VARIABLES:
        return _VARIABLES, root.path
    return root.kind, root.path, root.function


def _hold(root: Root, path: str) -> GraphHold:
    told = root.path if root.kind in ("history", "widget") else path
    told = _PARTS_OF_MODULE.sub(lambda m: f"[{m[1]}]" if m[1].isdigit() else f".{m[1]}", told)
    return GraphHold(root.kind, told, root.function)
