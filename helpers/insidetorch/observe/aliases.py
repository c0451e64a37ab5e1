"""Who else reads this memory?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

import torch

from .. import footprint
from ..records import Family, Index, Layout, Member, Relation
from . import private
from .layout import layout_of
from .reach import tensors_in

_MOST_RUNS = 64


def relation(a: torch.Tensor, b: torch.Tensor) -> Relation:
    """Do two tensors share memory, and exactly how much of it?

    Returns a `Relation`: the bytes that both read, counted exactly (two tensors that take turns in
    one storage have none), whether torch records one as a view of the other, and whether they have
    one version counter. Addresses are compared, so two tensors made from one NumPy array are seen
    to share it; no element is read and no operator runs.
    Raises what `layout_of` raises.

    >>> x = torch.arange(6)
    >>> relation(x[::2], x[1::2]).common_bytes, relation(x[:4], x[2:]).common_bytes
    (0, 16)
    """
    first, second = layout_of(a), layout_of(b)
    with private.unseen():
        return _relation(a, b, first, second)


def _relation(a: torch.Tensor, b: torch.Tensor, first: Layout, second: Layout) -> Relation:
    same = private.storage_id(a) == private.storage_id(b)
    apart = private.address(b) - private.address(a)
    near = -second.storage_bytes < apart < first.storage_bytes
    unit = gcd(first.itemsize, second.itemsize, apart)
    common = 0
    if near and first.fits and second.fits and first.device == second.device:
        common = unit * footprint.common_elements(
            _units(first, unit, max(-apart, 0)), _units(second, unit, max(apart, 0))
        )
    a_bytes, b_bytes = (r.distinct * r.itemsize for r in (first, second))
    return Relation(
        same_storage=same,
        a_bytes=a_bytes,
        b_bytes=b_bytes,
        common_bytes=common,
        same_object=a is b,
        recorded=_recorded(a, b),
        one_counter=private.share_version(a, b),
    )


def _recorded(a: torch.Tensor, b: torch.Tensor) -> str:
    """Which of them is a view of the other, as autograd keeps it."""
    a_base, b_base = private.base(a), private.base(b)
    if b_base is a:
        return "b of a"
    if a_base is b:
        return "a of b"
    return "both of one" if a_base is not None and a_base is b_base else ""


def _units(layout: Layout, unit: int, after: int) -> tuple[Index, Index, int]:
    """How a tensor reads pieces of `unit` bytes, where its storage begins `after` bytes on."""
    wide = layout.itemsize // unit
    strides = (*(s * wide for s in layout.strides), 1)
    return (*layout.sizes, wide), strides, layout.offset * wide + after // unit


def families(named: Mapping[str, object], *, alone: bool = False) -> tuple[Family, ...]:
    """Which of these objects hold tensors that share memory?

    Args: `named` maps names to any objects: tensors, modules, and lists, tuples and dicts of them,
    three levels deep. A tensor that shares with no other is given if it keeps alive more than
    twice what it reads, or if `alone` asks for all.
    Returns the families in the order of their first name. Tensors without addresses are left out.

    >>> x = torch.zeros(2, 3)
    >>> [[m.name for m in f.members] for f in families({"x": x, "row": x[0], "y": x + 1})]
    [['x', 'row']]
    """
    found: dict[int, _Found] = {}
    for name, t in tensors_in(named):
        if id(t) in found:
            found[id(t)].names.append(name)
            continue
        try:
            layout = layout_of(t)
            found[id(t)] = _Found([name], t, layout, private.storage_id(t), private.address(t))
        except Exception:  # no addresses, or a subclass that does not answer
            continue
    all_families = map(_family, _blocks(list(found.values())))
    return tuple(f for f in all_families if alone or len(f.members) > 1 or f.is_kept_by_a_part)


@dataclass(frozen=True)
class _Found:
    """A tensor that names reach, with its layout and the addresses of its storage."""

    names: list[str]
    t: torch.Tensor
    layout: Layout
    storage: int
    start: int

    @property
    def end(self) -> int:
        return self.start + self.layout.storage_bytes

    @property
    def memory(self) -> tuple[str, int, int]:
        return self.layout.device, self.start, self.storage


def _blocks(found: list[_Found]) -> list[list[_Found]]:
    """The tensors grouped by memory, groups and members in the order in which they were found.

    Storages with bytes in common belong together; one without bytes stands for itself.
    """
    blocks: list[list[_Found]] = []
    device, storage, end = "", 0, 0
    for f in sorted(found, key=lambda f: f.memory):
        if f.storage == storage or (f.layout.device == device and f.start < end):
            blocks[-1].append(f)
            end = max(end, f.end)
        else:
            blocks.append([f])
            end = f.end
        device, storage = f.layout.device, f.storage
    place = {id(f): i for i, f in enumerate(found)}
    ordered = [sorted(block, key=lambda f: place[id(f)]) for block in blocks]
    return sorted(ordered, key=lambda block: place[id(block[0])])


def _family(block: list[_Found]) -> Family:
    start, end = min(f.start for f in block), max(f.end for f in block)
    storages = {f.storage: f.t for f in block}
    names = {id(f.t): f.names[0] for f in block}
    bases = {id(private.base(f.t)) for f in block}
    members = []
    for f in block:
        root = private.base(f.t)
        if root is not None:
            role = f"view of {names.get(id(root), 'an unnamed tensor')}"
        else:
            role = "base of the views" if id(f.t) in bases else "no base recorded"
        members.append(Member(tuple(f.names), f.layout, role, *_runs(f.layout, f.start - start)))
    return Family(
        block_bytes=end - start,
        members=tuple(members),
        others=sum(map(private.storage_users, storages.values())) - len(block),
        storages=len(storages),
    )


def _runs(layout: Layout, after: int) -> tuple[tuple[tuple[int, int], ...], bool]:
    """The bytes that are read, and whether the runs have holes; the block starts `after` earlier.

    Each element apart where the storage has few, runs of neighbours where it has more, and one
    run over all where those are too many.
    """
    if layout.span is None:
        return (), False
    if layout.fits and layout.storage_elements <= _MOST_RUNS:
        read = footprint.element_set(layout.sizes, layout.strides, layout.offset)
        starts, length = [k for k in range(read.bit_length()) if read >> k & 1], 1
    else:
        starts, length = _merged(layout)
    size = layout.itemsize
    runs = tuple((after + s * size, after + (s + length) * size) for s in sorted(starts))
    return runs, len(runs) == 1 and length > layout.distinct


def _merged(layout: Layout) -> tuple[list[int], int]:
    """Runs of neighbouring elements: where they start, and how long each is."""
    first, last = layout.span
    starts, length = [first], 1
    dims = [(s, n) for n, s in zip(layout.sizes, layout.strides, strict=True) if n > 1 and s]
    for stride, size in sorted(dims):
        if stride <= length:
            length = (size - 1) * stride + length
        elif len(starts) * size > _MOST_RUNS:
            return [first], last - first + 1
        else:
            starts = [s + i * stride for i in range(size) for s in starts]
    return starts, length
