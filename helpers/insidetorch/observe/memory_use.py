"""Which memory does an operator meet, and how many bytes of it are read together?"""

from __future__ import annotations

from collections.abc import Sequence, Set

import torch

from .. import footprint
from . import private

_FEW = 1 << 28  # bits of all sets together
_NEAR = 16


class Memory:
    """A tensor as an operator meets it.

    `storages` are the storages that hold its values, none where it has no addresses; `nbytes` the
    distinct bytes that it reads in them, and `sizes` its sizes, () where it has several. A sparse
    tensor reads those of its parts.
    """

    __slots__ = ("nbytes", "sizes", "storages", "t")

    def __init__(self, t: torch.Tensor) -> None:
        self.t, self.storages, self.sizes = t, (), ()
        try:
            if t.is_nested and t.layout is torch.strided:  # one tensor in a storage, of many sizes
                self.storages = (private.storage_id(t),)
                self.nbytes = t.numel() * t.element_size()
                return
            self.sizes = tuple(t.shape)
            if t.layout is torch.strided and _is_plain(t):
                self.storages = (private.storage_id(t),)
                self.nbytes = _distinct_bytes(t)
                return
            parts = [part for part in private.parts(t) if part is not t]
            self.storages = tuple(map(private.storage_id, parts))
            self.nbytes = sum(map(_distinct_bytes, parts))
        except (NotImplementedError, RuntimeError):  # functorch, and layouts without a storage
            self.storages = ()
        if not self.storages:
            self.nbytes = t.numel() * t.element_size()

    def is_new(self, before: Set[int]) -> bool:
        """Is its memory none of those that were there before?"""
        return not before.issuperset(self.storages) if self.storages else self.t.is_mkldnn

    @property
    def in_bytes(self) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """Sizes, strides and offset of the bytes that it reads in its one storage."""
        t, size = self.t, self.t.element_size()
        strides = (*(stride * size for stride in t.stride()), 1)
        return (*self.sizes, size), strides, t.storage_offset() * size


def bytes_together(memories: Sequence[Memory]) -> int:
    """The distinct bytes that these read together.

    Exact where two overlap, or many in a storage that is not large; else those that overlap with
    more than one other may be counted twice.

    >>> x = torch.ones(4)
    >>> bytes_together([Memory(x), Memory(x), Memory(x[:2].expand(9, 2)), Memory(x + 1)])
    32
    """
    if len(memories) == 1:
        return memories[0].nbytes
    if len(memories) == 2 and memories[0].storages != memories[1].storages:
        return memories[0].nbytes + memories[1].nbytes
    alone: dict[object, list[Memory]] = {}
    for one in memories:
        key = one.storages if len(one.storages) == 1 and not one.t.is_nested else id(one.t)
        alone.setdefault(key, []).append(one)
    return sum(
        group[0].nbytes if len(group) == 1 or not isinstance(key, tuple) else _in_one(group)
        for key, group in alone.items()
    )


def _in_one(group: Sequence[Memory]) -> int:
    """The distinct bytes that these read in their common storage."""
    layouts = list({one.in_bytes: one.nbytes for one in group}.items())
    if len(layouts) == 1:
        return layouts[0][1]
    if len(layouts) > 2 and len(layouts) * group[0].t.untyped_storage().nbytes() < _FEW:
        every = 0
        for layout, _ in layouts:
            every |= footprint.element_set(*layout)
        return every.bit_count()
    total = 0
    for k, (layout, nbytes) in enumerate(layouts):
        near = layouts[max(0, k - _NEAR) : k]
        total += nbytes
        total -= max((footprint.common_elements(layout, other) for other, _ in near), default=0)
    return total


def _is_plain(t: torch.Tensor) -> bool:
    return type(t) is torch.Tensor or not any(isinstance(size, torch.SymInt) for size in t.shape)


def _distinct_bytes(t: torch.Tensor) -> int:
    if t.is_contiguous():
        return t.numel() * t.element_size()
    return footprint.distinct_elements(tuple(t.shape), tuple(t.stride())) * t.element_size()
