"""Where do lines run that join the rows of a list? Beside it, none upon another."""

from __future__ import annotations

from collections.abc import Iterable

Pair = tuple[int, int]


def lanes_of(pairs: Iterable[Pair]) -> dict[Pair, int]:
    """A lane for each pair of rows, counted from the list outwards; short ones run inside.

    Two lines share a lane only where one ends before, or in the row in which, the other begins.

    >>> lanes_of([(0, 1), (1, 2), (0, 2)])
    {(0, 1): 0, (1, 2): 0, (0, 2): 1}
    """
    lanes: list[list[Pair]] = []
    found: dict[Pair, int] = {}
    for pair in sorted(pairs, key=lambda one: (abs(one[1] - one[0]), one)):
        low, high = sorted(pair)
        free = (k for k, lane in enumerate(lanes) if all(high <= a or b <= low for a, b in lane))
        lane = next(free, len(lanes))
        if lane == len(lanes):
            lanes.append([])
        lanes[lane].append((low, high))
        found[pair] = lane
    return found
