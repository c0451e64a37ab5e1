"""How a tensor reads its storage, and what it finds there."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from .. import indexing

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
    def write_warning(self) -> str:
        """What happens to a write in place, where indices share elements; "" where they do not.

        torch looks for a stride of 0 only, and not in every operator: `zero_` and `fill_` write.
        """
        if not self.overlaps:
            return ""
        if any(n > 1 and s == 0 for n, s in zip(self.sizes, self.strides, strict=True)):
            return "several indices read one element, so torch refuses most writes to it in place"
        return "several indices read one element, and torch does not notice a write in place"

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
