"""Which storage elements does a layout read, as a set? Counted exactly, without listing them.

A footprint is kept as nested progressions where that is possible: a start and, from the outermost
to the innermost, (stride, size) pairs of which each stride is larger than all that lies inside.
Then sets of 10^8 elements are counted and compared in microseconds. Where strides interleave in
another way, a set of bits stands in for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

from .indexing import Ints, span

Steps = tuple[tuple[int, int], ...]

# Below this many elements a set of bits is as quick as anything.
_FEW = 1 << 16
_MOST_BLOCKS = 64


class _Irregular(Exception):
    """The progressions do not fit one another: the set of bits has to tell."""


def element_set(sizes: Ints, strides: Ints, offset: int = 0) -> int:
    """Which storage elements are read? Bit k of the result is set if element k is.

    Exact for any overlap, and quick: a dimension of n steps costs about log2(n) shifts of the set.
    No element number may be negative.

    >>> bin(element_set((2, 2), (1, 2), offset=1)), bin(element_set((3, 3), (1, 1)))
    ('0b11110', '0b11111')
    """
    reach = span(sizes, strides, offset)
    if reach is None:
        return 0
    reached = 1 << reach[0]
    for size, stride in zip(sizes, strides, strict=True):
        steps = 1
        while steps < size and stride:
            more = min(steps, size - steps)
            reached |= reached << more * abs(stride)
            steps += more
    return reached


def distinct_elements(sizes: Ints, strides: Ints) -> int:
    """How many different storage elements are read?

    >>> distinct_elements((3, 3), (1, 1)), distinct_elements((1000, 3), (0, 1))
    (5, 3)
    """
    if 0 in sizes:
        return 0
    try:
        return _size(nested(sizes, strides))
    except _Irregular:
        dims = [(abs(s), n) for n, s in zip(sizes, strides, strict=True) if n > 1 and s]
        step = gcd(*(stride for stride, _ in dims))
        return element_set([n for _, n in dims], [s // step for s, _ in dims]).bit_count()


def common_elements(a: tuple[Ints, Ints, int], b: tuple[Ints, Ints, int]) -> int:
    """How many storage elements do two layouts, each (sizes, strides, offset), both read?

    >>> common_elements(((5,), (2,), 0), ((5,), (2,), 1))
    0
    >>> common_elements(((10**4, 10**4), (10**4, 1), 0), ((10**8,), (3,), 0))
    33333334
    """
    spans = span(*a), span(*b)
    if None in spans or spans[0][1] < spans[1][0] or spans[1][1] < spans[0][0]:
        return 0
    if max(last - first for first, last in spans) > _FEW:
        try:
            (first, _), (second, _) = spans
            return _common(first, nested(*a[:2]), second, nested(*b[:2]))
        except _Irregular:
            pass
    return (element_set(*a) & element_set(*b)).bit_count()


def nested(sizes: Ints, strides: Ints) -> Steps:
    """The progressions, outermost first, that reach the same elements from the first one.

    Raises _Irregular where the strides interleave in another way.

    >>> nested((4, 3, 2), (2, 0, 8)), nested((3, 3), (1, 1))
    (((2, 8),), ((1, 5),))
    """
    dims = sorted((abs(s), n) for n, s in zip(sizes, strides, strict=True) if n > 1 and s)
    steps: list[tuple[int, int]] = []
    for stride, size in dims:
        if steps and stride % steps[-1][0] == 0 and stride <= prod(steps[-1]):
            inner, length = steps[-1]
            steps[-1] = (inner, length + stride // inner * (size - 1))
        elif stride > _extent(steps):
            steps.append((stride, size))
        else:
            raise _Irregular
    return tuple(reversed(steps))


def _size(steps: Sequence[tuple[int, int]]) -> int:
    return prod(size for _, size in steps)


def _extent(steps: Sequence[tuple[int, int]]) -> int:
    """How far the last element lies from the first."""
    return sum(stride * (size - 1) for stride, size in steps)


def _common(a: int, a_steps: Steps, b: int, b_steps: Steps) -> int:
    """Count what two nested footprints with first elements a and b have in common."""
    if a + _extent(a_steps) < b or b + _extent(b_steps) < a:
        return 0
    if _is_run(a_steps):
        return _within(b, b_steps, a, a + _extent(a_steps))
    if _is_run(b_steps):
        return _within(a, a_steps, b, b + _extent(b_steps))
    if len(a_steps) == len(b_steps) == 1:
        return _meetings(a, *a_steps[0], b, *b_steps[0])
    if a_steps[0][0] < b_steps[0][0]:
        a, a_steps, b, b_steps = b, b_steps, a, a_steps
    (stride, size), *a_inner = a_steps
    (b_stride, b_size), *b_inner = b_steps
    if stride == b_stride:
        return _in_step(a, size, tuple(a_inner), b, b_size, tuple(b_inner), stride)
    ratio, uneven = divmod(stride, b_stride)
    if not uneven and b_size > ratio:
        # Cut the smaller steps of b into groups that are as long as a step of a, and a rest.
        groups, rest = divmod(b_size, ratio)
        whole = ((stride, groups), (b_stride, ratio), *b_inner)
        found = _common(a, a_steps, b, whole[groups == 1 :])
        tail = ((b_stride, rest), *b_inner) if rest > 1 else tuple(b_inner)
        return found + (_common(a, a_steps, b + groups * stride, tail) if rest else 0)
    # Only the blocks of a that reach into b count.
    first = max(0, -((a + _extent(a_inner) - b) // stride))
    last = min(size - 1, (b + _extent(b_steps) - a) // stride)
    if last - first >= _MOST_BLOCKS:
        raise _Irregular
    blocks = range(first, last + 1)
    return sum(_common(a + i * stride, tuple(a_inner), b, b_steps) for i in blocks)


def _is_run(steps: Steps) -> bool:
    """Is it one element, or elements side by side?"""
    return not steps or (len(steps) == 1 and steps[0][0] == 1)


def _within(start: int, steps: Steps, low: int, high: int) -> int:
    """How many elements of a nested footprint lie from low to high?"""
    if not steps:
        return int(low <= start <= high)
    (stride, size), *inner = steps
    extent = _extent(inner)
    touched = range(
        max(0, -((start + extent - low) // stride)), min(size, (high - start) // stride + 1)
    )
    inside = range(
        max(0, -((start - low) // stride)), min(size, (high - extent - start) // stride + 1)
    )
    if not inside:
        return sum(_within(start + i * stride, tuple(inner), low, high) for i in touched)
    partly = (*range(touched.start, inside.start), *range(inside.stop, touched.stop))
    found = sum(_within(start + i * stride, tuple(inner), low, high) for i in partly)
    return len(inside) * _size(inner) + found


def _in_step(a: int, a_size: int, a_in: Steps, b: int, b_size: int, b_in: Steps, step: int) -> int:
    """Count where the blocks of both follow one another at the same stride."""
    apart, found = b - a, 0
    lowest, highest = -((_extent(b_in) + apart) // step), (_extent(a_in) - apart) // step
    for ahead in range(lowest, highest + 1):
        pairs = min(a_size, b_size - ahead) - max(0, -ahead)
        if pairs > 0:
            found += pairs * _common(0, a_in, apart + ahead * step, b_in)
    return found


def _meetings(a: int, a_stride: int, a_size: int, b: int, b_stride: int, b_size: int) -> int:
    """How many numbers do two progressions have in common? By the Chinese remainder theorem."""
    step = gcd(a_stride, b_stride)
    if (b - a) % step:
        return 0
    modulus = b_stride // step
    meet = a + a_stride * ((b - a) // step * pow(a_stride // step, -1, modulus) % modulus)
    period = a_stride * modulus
    low = max(a, b)
    high = min(a + (a_size - 1) * a_stride, b + (b_size - 1) * b_stride)
    first = meet - (meet - low) // period * period
    return max(0, (high - first) // period + 1)
