"""Where does an index land? The arithmetic of strided memory, on plain integers.

Sizes, strides and offsets count elements, as torch does. Nothing here needs torch; the tests
compare every function with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import NamedTuple

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


class Chunk(NamedTuple):
    """Neighbouring dimensions that step through the storage as one: `length` elements."""

    length: int
    stride: int
    dims: tuple[int, ...]


class Filling(NamedTuple):
    """Which dimensions of the wanted sizes lie in a chunk, and how many elements they fill."""

    chunk: Chunk
    wanted: tuple[int, ...]
    filled: int

    @property
    def fits(self) -> bool:
        return self.filled == self.chunk.length


def chunks(sizes: Ints, strides: Ints) -> list[Chunk]:
    """Which neighbouring dimensions merge into one? Left to right.

    Two dimensions merge if stepping once along the left one equals walking the whole right one.
    A dimension of size 1 merges with whatever stands to its right.

    >>> [chunk[:2] for chunk in chunks((2, 3, 4), (12, 4, 1))], len(chunks((3, 4), (1, 3)))
    ([(24, 1)], 2)
    """
    merged: list[Chunk] = []
    for d in range(len(sizes) - 1, -1, -1):
        size, stride = sizes[d], strides[d]
        right = merged[-1] if merged else None
        if right and (size == 1 or stride == right.length * right.stride):
            merged[-1] = Chunk(right.length * size, right.stride, (d, *right.dims))
        else:
            merged.append(Chunk(size, stride, (d,)))
    return merged[::-1]


def fillings(sizes: Ints, strides: Ints, wanted: Ints) -> list[Filling]:
    """How do the wanted sizes, read from the right, fill the chunks? Right to left.

    The list ends with the first chunk that is not filled exactly. No size is 0, and both sizes
    have the same number of elements.

    >>> [(f.chunk.length, f.filled) for f in fillings((3, 4), (1, 3), (12,))]
    [(4, 12)]
    """
    found: list[Filling] = []
    d = len(wanted)
    for chunk in reversed(chunks(sizes, strides)):
        stop, filled = d, 1
        while d > 0 and (filled < chunk.length or wanted[d - 1] == 1):
            d -= 1
            filled *= wanted[d]
        found.append(Filling(chunk, tuple(range(d, stop)), filled))
        if filled != chunk.length:
            break
    return found


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
    for filling in fillings(sizes, strides, wanted):
        if not filling.fits:
            return None
        step = filling.chunk.stride
        for d in reversed(filling.wanted):
            result[d] = step
            step *= wanted[d]
    return tuple(result)


def inferred(numel: int, wanted: Ints) -> tuple[int, ...]:
    """The wanted sizes with the number that a -1 among them stands for.

    Raises ValueError where `numel` values cannot have these sizes.

    >>> inferred(12, (3, -1))
    (3, 4)
    """
    known = prod(size for size in wanted if size != -1)
    holes = sum(size == -1 for size in wanted)
    if holes == 1 and known > 0 and numel % known == 0:
        return tuple(numel // known if size == -1 else size for size in wanted)
    negative = any(size < -1 for size in wanted)
    if holes or negative or known != numel:
        why = f"They hold {known:,}"
        if negative:
            why = "No size but -1, which is left open, can be negative"
        elif holes:
            why = "Only one size can be left open, and the others must divide the number of values"
        raise ValueError(
            f"The sizes {tuple(wanted)} were asked for {numel:,} values. {why}. Give sizes whose "
            f"product is {numel:,}."
        )
    return tuple(wanted)
