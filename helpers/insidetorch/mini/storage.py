"""Where do the values of a tensor lie? Piece 1 of MiniTorch: storage and strides.

Sizes, strides, offsets and positions count elements; only a storage counts bytes. A dtype is a
letter of Python's `struct`: f, d (float32, float64), i, q (int32, int64) or B (uint8).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

Ints = Sequence[int]


def contiguous_strides(sizes: Ints) -> tuple[int, ...]:
    """Which strides does a fresh tensor of these sizes get?

    Args: `sizes`, one per dimension.
    Returns one stride per dimension. The last is 1; each other one is the product of the sizes to
    its right, where a size of 0 counts as 1.

    >>> contiguous_strides((2, 3, 4)), contiguous_strides((2, 0, 4)), contiguous_strides(())
    ((12, 4, 1), (4, 4, 1), ())
    """
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


class Storage:
    """What holds the values of a tensor? Bytes, without any dtype or shape.

    Args: `nbytes`, how many; all are 0 at first. They stand in `bytes`, a bytearray.

    >>> Storage(4).bytes
    bytearray(b'\\x00\\x00\\x00\\x00')
    """

    def __init__(self, nbytes: int) -> None:
        self.bytes = bytearray(nbytes)

    def elements(self, dtype: str) -> memoryview:
        """Which elements of this dtype are in the bytes?

        Returns a memoryview of the same bytes, not a copy: what is written to it is in the
        storage, and an element of one dtype is read as several of a smaller one.

        >>> storage = Storage(8)
        >>> storage.elements("i")[1] = 258
        >>> list(storage.elements("i")), len(storage.elements("d"))
        ([0, 258], 1)
        """
        return memoryview(self.bytes).cast(dtype)


class Tensor:
    """How is a storage read as a tensor? With a dtype, sizes, strides and an offset.

    Learners build `position` and `__iter__`; the rest is given.

    >>> Tensor(Storage(48), "d", (2, 3), (3, 1))
    Tensor(dtype='d', sizes=(2, 3), strides=(3, 1), offset=0)
    """

    def __init__(
        self, storage: Storage, dtype: str, sizes: Ints, strides: Ints, offset: int = 0
    ) -> None:
        from .versions import VersionCounter  # here, since a counter is built with piece 6

        self.storage, self.dtype, self.offset = storage, dtype, offset
        self.sizes, self.strides = tuple(sizes), tuple(strides)
        # Of use from piece 3 on; `accumulator` is a weak reference to a leaf's AccumulateGrad.
        self.requires_grad, self.grad, self.grad_fn, self.accumulator = False, None, None, None
        # Of use from piece 6 on; `views` are weak references to those with this base.
        self.version, self.base, self.steps, self.views = VersionCounter(), None, (), []

    def position(self, index: Ints) -> int:
        """Which element of the storage does this index read?

        Args: `index`, one number per dimension, each from 0 to its size less 1.
        Returns the offset plus, for each dimension, index times stride. Raises ValueError if the
        index has another number of dimensions than the tensor.

        >>> t = Tensor(Storage(80), "d", (2, 3), (1, 2), offset=4)
        >>> t.position((0, 0)), t.position((1, 2))
        (4, 9)
        """
        return self.offset + sum(i * s for i, s in zip(index, self.strides, strict=True))

    def __iter__(self) -> Iterator[int | float]:
        """Which values does the tensor have?

        Gives the value of every index in row-major order: the last dimension moves fastest. (The
        real torch iterates over dimension 0; this is `iter(t.flatten().tolist())` there.)

        >>> storage = Storage(6)
        >>> storage.bytes[:] = b"abcdef"
        >>> bytes(Tensor(storage, "B", (2, 3), (1, 2)))
        b'acebdf'
        """
        elements = self.storage.elements(self.dtype)
        return (elements[self.position(index)] for index in product(*map(range, self.sizes)))

    def write(self, values: Iterable[int | float]) -> None:
        """Write one value to each index, in row-major order.

        >>> t = Tensor(Storage(4), "B", (2, 2), (1, 2))
        >>> t.write([1, 2, 3, 4])
        >>> list(t.storage.bytes)
        [1, 3, 2, 4]
        """
        elements = self.storage.elements(self.dtype)
        for index, value in zip(product(*map(range, self.sizes)), values, strict=True):
            elements[self.position(index)] = value

    def __repr__(self) -> str:
        return (
            f"Tensor(dtype={self.dtype!r}, sizes={self.sizes}, strides={self.strides}, "
            f"offset={self.offset})"
        )


def permute_kernel(t: Tensor, dims: Ints) -> Tensor:
    """Which tensor has the dimensions of `t` in the order `dims`?

    Args: `dims`, every dimension of `t` once.
    Returns a tensor on the same storage with the same offset: no value is moved or copied.

    >>> permute_kernel(Tensor(Storage(24), "B", (2, 3, 4), (12, 4, 1)), (2, 0, 1))
    Tensor(dtype='B', sizes=(4, 2, 3), strides=(1, 12, 4), offset=0)
    """
    sizes, strides = [t.sizes[d] for d in dims], [t.strides[d] for d in dims]
    return Tensor(t.storage, t.dtype, sizes, strides, t.offset)
