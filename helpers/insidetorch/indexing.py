"""Where does an index land? The arithmetic of strided memory, on plain integers.

Sizes, strides and offsets count elements, as torch does. Nothing here needs torch; the tests
compare every function with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

Ints = Sequence[int]


def contiguous_strides(sizes: Ints) -> tuple[int, ...]:
    """Which strides does a fresh tensor of these sizes get?

    The last dimension has stride 1; each other stride is the product of the sizes to its right,
    where a size of 0 counts as 1.

    >>> contiguous_strides((2, 3, 4))
    (12, 4, 1)

    Source: c10/core/Contiguity.h and TensorImpl::empty_tensor_restride (2.13).
    """
    strides = [1] * len(sizes)
    for d in range(len(sizes) - 2, -1, -1):
        strides[d] = strides[d + 1] * max(sizes[d + 1], 1)
    return tuple(strides)


def element_offset(index: Ints, strides: Ints, offset: int = 0) -> int:
    """Which storage element does this index read?

    Raises ValueError if the index has another number of dimensions than the strides.

    >>> element_offset((1, 2), (6, 1))
    8
    """
    if len(index) != len(strides):
        raise ValueError(
            f"The index {tuple(index)} was asked of strides {tuple(strides)}. An index needs one "
            f"number per dimension, here {len(strides)}. Give {len(strides)} numbers."
        )
    return offset + sum(i * stride for i, stride in zip(index, strides, strict=True))


def indices(sizes: Ints) -> Iterator[tuple[int, ...]]:
    """Every index of a tensor of these sizes, the last dimension moving fastest."""
    return product(*(range(size) for size in sizes))


def elements(sizes: Ints, strides: Ints, offset: int = 0) -> Iterator[int]:
    """Which storage elements does a tensor read, in the order of its values?

    >>> list(elements((2, 3), (1, 2)))
    [0, 2, 4, 1, 3, 5]
    """
    return (element_offset(index, strides, offset) for index in indices(sizes))


def span(sizes: Ints, strides: Ints, offset: int = 0) -> tuple[int, int] | None:
    """What are the first and the last storage element that are read? None for an empty tensor.

    >>> span((4, 6), (6, 1))
    (0, 23)
    """
    if 0 in sizes:
        return None
    reach = [(size - 1) * stride for size, stride in zip(sizes, strides, strict=True)]
    return offset + sum(min(r, 0) for r in reach), offset + sum(max(r, 0) for r in reach)


def chunks(sizes: Ints, strides: Ints) -> list[tuple[int, int]]:
    """Which neighbouring dimensions merge into one? Left to right, as (elements, stride).

    Two dimensions merge if stepping once along the left one equals walking the whole right one.
    A dimension of size 1 merges with whatever stands to its right.

    >>> chunks((2, 3, 4), (12, 4, 1)), chunks((3, 4), (1, 3))
    ([(24, 1)], [(3, 1), (4, 3)])
    """
    merged: list[tuple[int, int]] = []
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if merged and (size == 1 or stride == merged[-1][0] * merged[-1][1]):
            merged[-1] = (merged[-1][0] * size, merged[-1][1])
        else:
            merged.append((size, stride))
    return merged[::-1]


def view_strides(sizes: Ints, strides: Ints, wanted: Ints) -> tuple[int, ...] | None:
    """Which strides does `t.view(wanted)` have? None where no strides can do it.

    The wanted sizes, read from the right, must fill each chunk of merged dimensions exactly.

    >>> view_strides((4, 2), (4, 1), (2, 2, 2)), view_strides((3, 4), (1, 3), (12,))
    ((8, 4, 1), None)

    Source: at::detail::computeStride in aten/src/ATen/TensorUtils.cpp (2.13).
    """
    if prod(sizes) != prod(wanted):
        return None
    if 0 in sizes:
        return tuple(strides) if tuple(sizes) == tuple(wanted) else contiguous_strides(wanted)
    result = [1] * len(wanted)
    d = len(wanted) - 1
    for length, stride in reversed(chunks(sizes, strides)):
        filled = 1
        while d >= 0 and (filled < length or wanted[d] == 1):
            result[d] = filled * stride
            filled *= wanted[d]
            d -= 1
        if filled != length:
            return None
    return tuple(result)


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
