"""When do other sizes need no copy? Piece 2 of MiniTorch: views.

Every kernel returns a tensor on the storage of its tensor, or refuses; only `contiguous` copies.
"""

from __future__ import annotations

from math import prod

from .given import alias, new
from .storage import Ints, Tensor, contiguous_strides


def view_strides(sizes: Ints, strides: Ints, wanted: Ints) -> tuple[int, ...] | None:
    """Which strides read the same values, in the same order, at the wanted sizes?

    Args: `sizes` and `strides` of a tensor; `wanted`, sizes from 0 up.
    Returns one stride per wanted size, or None where no strides can do it: the wanted sizes, taken
    from the right, must fill every chunk of the tensor exactly.

    >>> view_strides((2, 3), (3, 1), (3, 2)), view_strides((3, 4), (4, 1), (3, 2, 2))
    ((2, 1), (4, 2, 1))
    >>> print(view_strides((2, 3), (1, 2), (6,)))
    None
    """
    if prod(wanted) != prod(sizes):
        return None
    if 0 in sizes:  # no value, no order: torch keeps the strides of the same sizes
        return tuple(strides) if tuple(wanted) == tuple(sizes) else contiguous_strides(wanted)
    found, left = [], list(wanted)
    for length, stride in _chunks(sizes, strides):
        filled = 1
        while left and (filled < length or left[-1] == 1):
            found.append(filled * stride)
            filled *= left.pop()
        if filled != length:
            return None
    return tuple(reversed(found))


def _chunks(sizes: Ints, strides: Ints) -> list[tuple[int, int]]:
    """The chunks, right to left: how many elements, and the stride from one to the next.

    A dimension joins the chunk to its right if one step along it equals a walk through the whole
    chunk. One of size 1 always joins, since nobody steps along it.

    >>> _chunks((2, 3, 4), (12, 4, 1)), _chunks((2, 3, 4), (4, 8, 1)), _chunks((), ())
    ([(24, 1)], [(4, 1), (3, 8), (2, 4)], [(1, 1)])
    """
    chunks = []
    length, step = 1, strides[-1] if strides else 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if size == 1 or stride == length * step:
            length *= size
        else:
            chunks.append((length, step))
            length, step = size, stride
    return [*chunks, (length, step)]


def view_kernel(t: Tensor, sizes: Ints) -> Tensor:
    """Which tensor reads the values of `t` at other sizes, without a copy?

    Args: `sizes`; one of them may be -1, for what the others leave.
    Raises ValueError for sizes of another number of values, and where only a copy could do it.

    >>> view_kernel(new(range(6), (2, 3)), (3, -1))
    Tensor(dtype='d', sizes=(3, 2), strides=(2, 1), offset=0)
    """
    sizes = _inferred(t, sizes)
    strides = view_strides(t.sizes, t.strides, sizes)
    if strides is None:
        raise ValueError(
            f"A tensor of sizes {t.sizes} and strides {t.strides} was asked to be viewed as "
            f"{sizes}. No strides read its values in that order. Use reshape, which copies them."
        )
    return alias(t, sizes, strides)


def expand_kernel(t: Tensor, sizes: Ints) -> Tensor:
    """Which tensor repeats `t` along dimensions of size 1 and along new ones, without a copy?

    Args: `sizes`, where -1 keeps the size of `t`. New dimensions come on the left.
    Returns a tensor with stride 0 along every repeated dimension.
    Raises ValueError where a size other than 1 would change, or a dimension go.

    >>> rows = expand_kernel(new([1, 2], (2, 1)), (4, -1, 3))
    >>> rows.sizes, rows.strides
    ((4, 2, 3), (0, 1, 0))
    """
    lead = len(sizes) - len(t.sizes)
    wanted = [t.sizes[d - lead] if n == -1 and d >= lead else n for d, n in enumerate(sizes)]
    if (lead < 0 or min(wanted, default=0) < 0) or any(
        size not in (1, wanted[lead + d]) for d, size in enumerate(t.sizes)
    ):
        raise ValueError(
            f"A tensor of sizes {t.sizes} was asked to be expanded to {tuple(sizes)}. Only a size "
            "of 1 can change, none can go, and a new one on the left counts from 0 up. "
            "Keep the others, or give -1 for them."
        )
    strides = [s if t.sizes[d] == wanted[lead + d] else 0 for d, s in enumerate(t.strides)]
    for d in reversed(range(lead)):  # one of size 1 repeats nothing: its stride is as in a view
        strides.insert(0, wanted[d + 1] * strides[0] if wanted[d] == 1 and strides else 0)
    return alias(t, wanted, strides)


def narrow_kernel(t: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Which tensor has only `length` indices of a dimension, from `start` on?

    Args: `dim` and `start`, which count from 0.
    Returns a tensor whose offset is that of the first index kept; the strides stay.
    Raises ValueError for a dimension or an index that `t` does not have.

    >>> narrow_kernel(new(range(6), (2, 3)), 1, 1, 2)
    Tensor(dtype='d', sizes=(2, 2), strides=(3, 1), offset=1)
    """
    if dim not in range(len(t.sizes)) or not 0 <= start <= start + length <= t.sizes[dim]:
        raise ValueError(
            f"A tensor of sizes {t.sizes} was asked for {length} indices of dimension {dim} from "
            f"{start} on. It does not have all of these. Count both from 0, within its sizes."
        )
    sizes = [length if d == dim else size for d, size in enumerate(t.sizes)]
    return alias(t, sizes, t.strides, t.offset + start * t.strides[dim])


def contiguous(t: Tensor) -> Tensor:
    """Which tensor has the values of `t` with the strides of a fresh one?

    Returns `t` itself if it has them, else a new tensor. Only strides that are stepped along
    count: none of a dimension of size 1, and none at all where there is no value.

    >>> t = new(range(6), (2, 3))
    >>> contiguous(t) is t, contiguous(alias(t, (3, 2), (1, 3)))
    (True, Tensor(dtype='d', sizes=(3, 2), strides=(2, 1), offset=0))
    """
    dims = list(zip(t.sizes, t.strides, contiguous_strides(t.sizes), strict=True))
    if 0 in t.sizes or all(size == 1 or have == want for size, have, want in dims):
        return t
    return new(t, t.sizes, t.dtype)


def reshape(t: Tensor, sizes: Ints) -> Tensor:
    """Which tensor has the values of `t` at other sizes, with a copy only where it must be?

    Args: `sizes`; one of them may be -1, for what the others leave.
    Returns a view of `t` if there is one, else a view of its contiguous copy.
    Raises ValueError for sizes of another number of values.

    >>> t = new(range(6), (2, 3))
    >>> reshape(t, (6,)).storage is t.storage, list(reshape(alias(t, (3, 2), (1, 3)), (-1,)))
    (True, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0])
    """
    sizes = _inferred(t, sizes)
    no_view = view_strides(t.sizes, t.strides, sizes) is None
    return view_kernel(contiguous(t) if no_view else t, sizes)


def _inferred(t: Tensor, sizes: Ints) -> tuple[int, ...]:
    """The sizes for the values of `t`, with the number that a -1 among them stands for."""
    count, known = prod(t.sizes), prod(size for size in sizes if size != -1)
    whole = tuple(sizes)
    if whole.count(-1) == 1 and known > 0:
        whole = tuple(count // known if size == -1 else size for size in whole)
    if min(whole, default=0) < 0 or prod(whole) != count:
        raise ValueError(
            f"A tensor of {count} values was asked for the sizes {tuple(sizes)}. Their product is "
            "the number of values, and one -1 stands for the only size that makes it so. "
            f"Give sizes whose product is {count}."
        )
    return whole
