"""Where do the boxes of a directed graph without cycles stand, layer by layer?

Each node stands one layer below the lowest of those that lead to it. Long edges pass the layers in
between by way points, which take part in the ordering: sweeps up and down move every node towards
the mean of its neighbours, and a last placement keeps boxes apart. The same graph gives the same
picture every time, and no step is recursive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_SWEEPS = 6
_PLACEMENTS = 6


@dataclass(frozen=True)
class Placed:
    """The middle of each node, its layer, and the way points of each edge, ends included.

    `routes[k]` belongs to `edges[k]`; a way point is (x, layer).
    """

    x: tuple[float, ...]
    layer: tuple[int, ...]
    routes: tuple[tuple[tuple[float, int], ...], ...]

    @property
    def layers(self) -> int:
        return max(self.layer, default=-1) + 1


def place(
    count: int, edges: Sequence[tuple[int, int]], widths: Sequence[float], *, gap: float = 16
) -> Placed:
    """Lay out `count` nodes.

    Args: `edges` as (from, to), which lead downwards; `widths`, how wide the box of each node is;
    `gap`, how much is free beside a box.

    >>> placed = place(3, [(0, 1), (0, 2)], [10, 10, 10], gap=2)
    >>> placed.x, placed.layer
    ((11.0, 5.0, 17.0), (0, 1, 1))
    """
    layer = _layers(count, edges)
    paths = [_path(a, b, layer) for a, b in edges]
    below: list[list[int]] = [[] for _ in layer]
    above: list[list[int]] = [[] for _ in layer]
    for path in paths:
        for a, b in pairwise(path):
            below[a].append(b)
            above[b].append(a)
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for node, row in enumerate(layer):
        rows[row].append(node)
    room = [*(width + gap for width in widths), *([gap] * (len(layer) - count))]
    _order(rows, above, below)
    x = _positions(rows, above, below, room)
    left = min((x[n] - room[n] / 2 for n in range(len(x))), default=0.0) + gap / 2
    x = [round(value - left, 1) for value in x]
    routes = tuple(tuple((x[n], layer[n]) for n in path) for path in paths)
    return Placed(tuple(x[:count]), tuple(layer[:count]), routes)


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The longest path to each node from one that nothing leads to."""
    targets: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for a, b in edges:
        targets[a].append(b)
        waiting[b] += 1
    layer, ready = [0] * count, [node for node in range(count) if not waiting[node]]
    for node in ready:
        for target in targets[node]:
            layer[target] = max(layer[target], layer[node] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    return layer


def _path(a: int, b: int, layer: list[int]) -> list[int]:
    """An edge with its way points, which are added to `layer` as further nodes."""
    first = len(layer)
    layer.extend(range(layer[a] + 1, layer[b]))
    return [a, *range(first, len(layer)), b]


def _order(rows: list[list[int]], above: list[list[int]], below: list[list[int]]) -> None:
    """Sort each layer by the mean place of the neighbours, downwards and upwards in turn."""
    place = {node: float(k) for row in rows for k, node in enumerate(row)}
    still = 0
    for sweep in range(_SWEEPS):
        if still == 2:  # neither downwards nor upwards has moved a node: nothing will
            return
        still += 1
        down = sweep % 2 == 0
        near = above if down else below
        for row in rows[1:] if down else rows[-2::-1]:
            if len(row) == 1:
                continue
            means = {
                node: sum(place[other] for other in near[node]) / len(near[node])
                if near[node]
                else place[node]
                for node in row
            }
            before = row.copy()
            row.sort(key=means.__getitem__)
            if row != before:
                still = 0
                for k, node in enumerate(row):
                    place[node] = float(k)


def _positions(
    rows: list[list[int]], above: list[list[int]], below: list[list[int]], room: list[float]
) -> list[float]:
    x = [0.0] * len(room)
    for row in rows:
        at = 0.0
        for node in row:
            x[node] = at + room[node] / 2
            at += room[node]
    for turn in range(_PLACEMENTS):
        down = turn % 2 == 0
        near = above if down else below
        for row in rows[1:] if down else rows[-2::-1]:
            wanted = [
                sum(x[other] for other in near[node]) / len(near[node]) if near[node] else x[node]
                for node in row
            ]
            for node, value in zip(row, _apart(wanted, [room[n] for n in row]), strict=True):
                x[node] = value
    return x


def _apart(wanted: list[float], room: list[float]) -> list[float]:
    """The nearest places, in order, at which boxes of these widths do not overlap.

    Least squares by pooling neighbours that are too close, from left to right.
    """
    if len(room) == 1:
        return wanted
    before, offset = [], 0.0
    for k, width in enumerate(room):
        offset += (room[k - 1] + width) / 2 if k else 0.0
        before.append(offset)
    pools: list[list[float]] = []  # mean, count
    for value, shift in zip(wanted, before, strict=True):
        pools.append([value - shift, 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            mean, count = pools.pop()
            other, n = pools.pop()
            pools.append([(mean * count + other * n) / (count + n), count + n])
    means = [mean for mean, count in pools for _ in range(int(count))]
    return [mean + shift for mean, shift in zip(means, before, strict=True)]
