"""What does a tensor look like from inside: its shown values, and the storage behind them?"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import torch

from .. import eliding, footprint
from ..records import Cell, Index, Layout, StorageCell, XRay
from . import private
from .layout import layout_of
from .memory_reader import logical, values_at

_WHOLE_STORAGE = 144


def xray_of(t: torch.Tensor, *, outer: Index | None = None) -> XRay:
    """What does this tensor look like from inside?

    Args: `t`, any tensor; `outer`, an index of all dimensions but the last two: show only that
    block. Large tensors are elided: the first and the last few indices of each dimension.
    Returns an `XRay`: layout, shown values with their addresses, the storage beside them.
    Raises what `layout_of` raises, IndexError if `outer` is no index of the outer dimensions.

    >>> [cell.element for cell in xray_of(torch.arange(6).reshape(2, 3).t()).cells]
    [0, 3, 1, 4, 2, 5]
    """
    layout = layout_of(t)
    with private.unseen():
        return _read(t, layout, outer)


def strided_xray(t: torch.Tensor, sizes: Index, strides: Index, offset: int) -> XRay:
    """What does torch.as_strided(t, sizes, strides, offset) look like, or why does torch refuse?

    Returns the x-ray of the result. Where torch raises, the x-ray shows what was asked: cells
    outside the storage have no value, and `refusal` holds torch's own words.
    """
    try:
        with private.unseen():
            made = torch.as_strided(t, sizes, strides, offset)
        return xray_of(made)
    except RuntimeError as error:
        refusal = str(error).partition("\n")[0]
    asked = replace(
        layout_of(t),
        sizes=tuple(sizes),
        strides=tuple(strides),
        offset=offset,
        distinct=footprint.distinct_elements(sizes, strides),
        is_contiguous=False,
        is_channels_last=False,
    )
    with private.unseen():
        return replace(_read(t, asked, None), refusal=refusal)


def _read(t: torch.Tensor, layout: Layout, outer: Index | None) -> XRay:
    shown = _shown(layout, outer)
    at = list(product(*eliding.without_gaps(shown)))
    elements = [layout.element(index) for index in at]
    found = [logical(t, i, v) for i, v in zip(at, values_at(t, elements), strict=True)]
    cells = tuple(Cell(*row) for row in zip(at, elements, found, strict=True))
    return XRay(layout, shown, cells, _storage_row(t, layout, elements))


def _shown(layout: Layout, outer: Index | None) -> tuple[Index, ...]:
    # A complex value is twice as wide, and many small blocks need many labels.
    few = 20 if layout.dtype.startswith("complex") or len(layout.sizes) > 4 else 40
    if outer is None:
        return eliding.edge_indices(layout.sizes, elided=few)
    sizes = layout.sizes[:-2]
    if len(outer) != len(sizes) or not all(0 <= i < n for i, n in zip(outer, sizes, strict=True)):
        raise IndexError(
            f"Block {outer} of a tensor with sizes {layout.sizes} was asked. Its outer dimensions "
            f"are {sizes}. Give one index for each of them."
        )
    return (*((i,) for i in outer), *eliding.edge_indices(layout.sizes[-2:], elided=few))


def _storage_row(t: torch.Tensor, layout: Layout, elements: list[int]) -> tuple[StorageCell, ...]:
    """The whole storage if it is short, else the elements behind the shown cells, and its ends."""
    count = layout.storage_elements
    used = {*elements, *(layout.span or ())}
    if count <= _WHOLE_STORAGE:
        places = range(count)
        if layout.fits:
            read = footprint.element_set(layout.sizes, layout.strides, layout.offset)
            used = {k for k in places if read >> k & 1}
    else:
        places = sorted(k for k in {*elements, 0, count - 1} if 0 <= k < count)
    values = values_at(t, list(places))
    return tuple(StorageCell(k, v, k in used) for k, v in zip(places, values, strict=True))
