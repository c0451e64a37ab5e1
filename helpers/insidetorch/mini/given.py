"""What are learners handed? The parts of MiniTorch that make tensors, compute and sum."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from math import prod

from .storage import Ints, Storage, Tensor, contiguous_strides

ITEMSIZE = {"f": 4, "d": 8, "i": 4, "q": 8, "B": 1}


def new(values: Iterable[int | float], sizes: Ints, dtype: str = "d") -> Tensor:
    """Make a contiguous tensor with a storage of its own.

    Args: `values` in row-major order; `sizes`; `dtype`, one of f, d, i, q, B.
    Raises ValueError for another dtype, or if there is not one value for each index.

    >>> t = new(range(6), (2, 3))
    >>> t, list(t)
    (Tensor(dtype='d', sizes=(2, 3), strides=(3, 1), offset=0), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    """
    values = list(values)
    if dtype not in ITEMSIZE:
        raise ValueError(
            f"A new tensor was asked for with dtype {dtype!r}. MiniTorch has the dtypes "
            f"{', '.join(ITEMSIZE)}. Give one of these."
        )
    if len(values) != prod(sizes):
        raise ValueError(
            f"A new tensor of sizes {tuple(sizes)} was asked for with {len(values)} values. "
            f"It has {prod(sizes)} indices. Give one value for each."
        )
    strides = contiguous_strides(sizes)
    t = Tensor(Storage(prod(sizes) * ITEMSIZE[dtype]), dtype, sizes, strides)
    t.write(values)
    return t


def alias(t: Tensor, sizes: Ints, strides: Ints, offset: int | None = None) -> Tensor:
    """Read the storage of `t` in another way; without an offset, from that of `t`.

    >>> row = alias(new(range(6), (2, 3)), (3,), (1,), 3)
    >>> list(row)
    [3.0, 4.0, 5.0]
    """
    return Tensor(t.storage, t.dtype, sizes, strides, t.offset if offset is None else offset)


def broadcast(a: Ints, b: Ints) -> tuple[int, ...]:
    """Which sizes fit both `a` and `b`? A missing size counts as 1, and a 1 becomes the other.

    Raises ValueError if two sizes differ and neither is 1.

    >>> broadcast((2, 1), (3,)), broadcast((1,), (0,))
    ((2, 3), (0,))
    """
    dims = max(len(a), len(b))
    pairs = list(zip(_filled(a, dims), _filled(b, dims), strict=True))
    if any(x != y and 1 not in (x, y) for x, y in pairs):
        raise ValueError(
            f"Sizes {tuple(a)} and {tuple(b)} were asked to be broadcast. From the right, two of "
            "them differ and neither is 1. Give sizes that are equal, 1 or missing there."
        )
    return tuple(y if x == 1 else x for x, y in pairs)


def pointwise(fn: Callable[..., int | float]) -> Callable[..., Tensor]:
    """Make a kernel that applies `fn` to the values of its tensors, index by index.

    The kernel broadcasts its tensors and returns a new one of their dtype. It raises TypeError if
    they have several: MiniTorch promotes no types.

    >>> add = pointwise(lambda x, y: x + y)
    >>> list(add(new([1, 2], (2, 1)), new([10, 20, 30], (3,))))
    [11.0, 21.0, 31.0, 12.0, 22.0, 32.0]
    """

    def kernel(*tensors: Tensor) -> Tensor:
        dtypes = sorted({t.dtype for t in tensors})
        if len(dtypes) > 1:
            raise TypeError(
                f"A pointwise kernel was asked for tensors of dtypes {', '.join(dtypes)}. "
                "MiniTorch promotes no types. Make all of them with one dtype."
            )
        sizes: tuple[int, ...] = ()
        for t in tensors:
            sizes = broadcast(sizes, t.sizes)
        return new(map(fn, *(_expanded(t, sizes) for t in tensors)), sizes, dtypes[0])

    return kernel


def sum_kernel(t: Tensor, dims: Ints) -> Tensor:
    """Add up the values along `dims`, which are counted from 0 and stay with size 1.

    Returns a new tensor: of dtype q (int64) for integers, as in torch. No `dims` sum nothing up.

    >>> rows = sum_kernel(new(range(6), (2, 3)), (1,))
    >>> rows.sizes, list(rows)
    ((2, 1), [3.0, 12.0])
    """
    kept = [1 if d in dims else size for d, size in enumerate(t.sizes)]
    total = new([0] * prod(kept), kept, t.dtype if t.dtype in ("f", "d") else "q")
    elements, target = total.storage.elements(total.dtype), _expanded(total, t.sizes)
    for value, index in zip(t, product(*map(range, t.sizes)), strict=True):
        elements[target.position(index)] += value
    return total


def sum_to(t: Tensor, sizes: Ints) -> Tensor:
    """Undo a broadcast: add up the values of `t` wherever `sizes` had been stretched.

    Returns `t` itself if it has these sizes. Raises ValueError if they do not broadcast to its own.

    >>> column = sum_to(new(range(6), (2, 3)), (2, 1))
    >>> column.sizes, list(column)
    ((2, 1), [3.0, 12.0])
    """
    if t.sizes == tuple(sizes):
        return t
    lead = len(t.sizes) - len(sizes)
    filled = _filled(sizes, len(t.sizes))
    if lead < 0 or any(want not in (1, have) for want, have in zip(filled, t.sizes, strict=True)):
        raise ValueError(
            f"A tensor of sizes {t.sizes} was asked to be summed to {tuple(sizes)}. These do not "
            "broadcast to its own sizes. Give sizes that do."
        )
    stretched = [d for d, want in enumerate(filled) if want != t.sizes[d]]
    total = sum_kernel(t, stretched)
    return alias(total, sizes, total.strides[lead:])


def _filled(sizes: Ints, dims: int) -> tuple[int, ...]:
    """The sizes with a 1 for every dimension that is missing on the left."""
    return (1,) * (dims - len(sizes)) + tuple(sizes)


def _expanded(t: Tensor, sizes: Ints) -> Tensor:
    """`t` read at larger sizes: a dimension that is stretched has stride 0."""
    lead = len(sizes) - len(t.sizes)
    steps = [
        s if have == want else 0
        for s, have, want in zip(t.strides, t.sizes, sizes[lead:], strict=True)
    ]
    return alias(t, sizes, [0] * lead + steps)
