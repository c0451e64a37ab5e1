"""Which indices of a large tensor does a picture show?"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .indexing import Ints


def edge_indices(sizes: Ints, *, whole: int = 144, elided: int = 40) -> tuple[Ints, ...]:
    """Which indices of each dimension does a picture show?

    Everything up to `whole` elements; beyond that the first and the last few along each
    dimension, as numpy prints large arrays, and in outer dimensions only the first where there
    are too many: at most `elided` cells in all. -1 marks a gap.

    >>> edge_indices((2, 3)), edge_indices((1000,))
    (((0, 1), (0, 1, 2)), ((0, 1, 2, -1, 997, 998, 999),))
    """
    if prod(sizes) <= whole and max(sizes, default=0) <= 36:
        return tuple(tuple(range(size)) for size in sizes)
    for outer, inner in ((3, 3), (2, 3), (1, 3), (1, 2), (1, 1)):
        edges = [outer] * (len(sizes) - 2) + [inner] * min(len(sizes), 2)
        shown = [_ends(size, edge) for size, edge in zip(sizes, edges, strict=True)]
        if _cells(shown) <= elided:
            break
    for d, size in enumerate(sizes):
        if _cells(shown) > elided and size > 1:
            shown[d] = (0, -1)
    return tuple(shown)


def without_gaps(shown: Sequence[Ints]) -> list[tuple[int, ...]]:
    """The shown indices of each dimension without the gaps between them.

    >>> without_gaps(edge_indices((2, 1000)))
    [(0, 1), (0, 1, 2, 997, 998, 999)]
    """
    return [tuple(i for i in dim if i >= 0) for dim in shown]


def _ends(size: int, edge: int) -> tuple[int, ...]:
    if size <= 2 * edge + 1:
        return tuple(range(size))
    return (*range(edge), -1, *range(size - edge, size))


def _cells(shown: Sequence[Ints]) -> int:
    return prod(map(len, without_gaps(shown)))
