"""What crosses a layer: frozen records of what torch said, read by text, picture and test alike.

Sizes, strides, offsets and elements count elements of the tensor's dtype; a count of bytes says
`_bytes`. Tuples keep torch's order.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from . import indexing

Sizes = tuple[int, ...]
Index = tuple[int, ...]
Value = bool | int | float | complex | str | None


@dataclass(frozen=True)
class Layout:
    """How a tensor reads its storage.

    `overlaps` tells whether two indices read the same element; `distinct` counts the elements
    that are read at all. `version` is None for inference tensors, which keep no version.
    `quantizer` is "" or says scale and zero point.
    """

    type_name: str
    dtype: str
    device: str
    sizes: Sizes
    strides: Sizes
    offset: int
    itemsize: int
    storage_bytes: int
    distinct: int
    version: int | None = 0
    requires_grad: bool = False
    is_leaf: bool = True
    is_view: bool = False
    is_contiguous: bool = True
    is_channels_last: bool = False
    is_conj: bool = False
    is_neg: bool = False
    is_inference: bool = False
    quantizer: str = ""

    @property
    def numel(self) -> int:
        return prod(self.sizes)

    @property
    def nbytes(self) -> int:
        """Bytes of the values if each had memory of its own: torch's `t.nbytes`."""
        return self.numel * self.itemsize

    @property
    def storage_elements(self) -> int:
        """How many whole elements of this dtype the storage holds."""
        return self.storage_bytes // self.itemsize

    @property
    def overlaps(self) -> bool:
        return self.distinct < self.numel

    @property
    def span(self) -> tuple[int, int] | None:
        """The first and the last storage element that are read; None for an empty tensor."""
        return indexing.span(self.sizes, self.strides, self.offset)

    @property
    def needed_bytes(self) -> int:
        """Up to which byte the storage must reach for every index to have memory."""
        return 0 if self.span is None else (self.span[1] + 1) * self.itemsize

    @property
    def fits(self) -> bool:
        return self.span is None or (self.span[0] >= 0 and self.needed_bytes <= self.storage_bytes)

    def element(self, index: Index) -> int:
        """The storage element that this index reads."""
        return indexing.element_offset(index, self.strides, self.offset)

    def byte(self, index: Index) -> int:
        """The byte of the storage at which this index's element starts."""
        return self.element(index) * self.itemsize

    def formula(self, index: Index) -> str:
        """The address spelled out: offset, then index times stride for each dimension."""
        steps = "".join(f" + {i}·{s}" for i, s in zip(index, self.strides, strict=True))
        return f"{self.offset}{steps} = {self.element(index)}"


@dataclass(frozen=True)
class Cell:
    """One value of a tensor: its index, the storage element it reads, and what it finds there.

    `value` is None where there is no memory behind the address, and text (bytes in hexadecimal)
    for a dtype that has no numbers of its own.
    """

    index: Index
    element: int
    value: Value


@dataclass(frozen=True)
class StorageCell:
    """One element of a storage, read with the tensor's dtype; `used` if the tensor reads it."""

    element: int
    value: Value
    used: bool


@dataclass(frozen=True)
class XRay:
    """A tensor beside its storage.

    `shown` lists the shown indices of each dimension, -1 for a gap; `cells` holds their values in
    row-major order; `storage` the shown elements in ascending order, with gaps where numbers are
    missing. `refusal` is torch's own error if it will not make this tensor.
    """

    layout: Layout
    shown: tuple[Index, ...]
    cells: tuple[Cell, ...]
    storage: tuple[StorageCell, ...]
    refusal: str = ""

    @property
    def elided(self) -> bool:
        return len(self.cells) < self.layout.numel


@dataclass(frozen=True)
class Member:
    """A tensor of a family: the names it is reached by, its layout, what it is to the base."""

    names: tuple[str, ...]
    layout: Layout
    role: str

    @property
    def name(self) -> str:
        return self.names[0]


@dataclass(frozen=True)
class Family:
    """All tensors found on one storage.

    `runs` gives each member's bytes as (start, end) pairs; `others` counts the holders that were
    not found by name: a base without a name, a tensor in a place that was not looked into.
    """

    storage_bytes: int
    members: tuple[Member, ...]
    runs: tuple[tuple[tuple[int, int], ...], ...]
    others: int = 0


@dataclass(frozen=True)
class Relation:
    """What two tensors have in common.

    `common_bytes` counts the bytes that both read; `a_bytes` and `b_bytes` those that each reads.
    """

    same_storage: bool
    a_bytes: int
    b_bytes: int
    common_bytes: int

    @property
    def words(self) -> str:
        """The relation in one phrase."""
        if not self.same_storage:
            return "on different storages"
        if self.common_bytes == 0:
            return "on one storage, without a byte in common"
        if self.common_bytes == self.a_bytes == self.b_bytes:
            return f"reading the same {self.common_bytes:,} bytes"
        return f"on one storage, with {self.common_bytes:,} bytes in common"


@dataclass(frozen=True)
class OperatorCount:
    """Which operators ran, by full name in order of first use, and how often each."""

    calls: tuple[tuple[str, int], ...]

    @property
    def total(self) -> int:
        return sum(n for _, n in self.calls)

    def __getitem__(self, name: str) -> int:
        """How often the operator ran; 0 if it did not. `name` may leave out the overload."""
        return sum(n for op, n in self.calls if name in (op, op.rpartition(".")[0]))

    def __str__(self) -> str:
        return ", ".join(f"{op} ×{n}" if n > 1 else op for op, n in self.calls) or "no operator"
