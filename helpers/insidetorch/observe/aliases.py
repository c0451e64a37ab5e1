"""Who else reads this memory?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import gcd

import torch

from .. import indexing
from ..records import Family, Layout, Member, Relation
from . import private
from .layout import NoStorageError, layout_of

_DEPTH = 3
_LENGTH = 1000


def relation(a: torch.Tensor, b: torch.Tensor) -> Relation:
    """Do two tensors share memory, and exactly how much of it?

    Returns a `Relation`; its `common_bytes` counts bytes that both read, exactly: two tensors
    that take turns in one storage have none.
    Raises what `layout_of` raises.

    >>> x = torch.arange(6)
    >>> relation(x[::2], x[1::2]).common_bytes, relation(x[:4], x[2:]).common_bytes
    (0, 16)
    """
    first, second = layout_of(a), layout_of(b)
    a_bytes, b_bytes = (r.distinct * r.itemsize for r in (first, second))
    if private.storage_id(a) != private.storage_id(b):
        return Relation(False, a_bytes, b_bytes, 0)
    unit = gcd(first.itemsize, second.itemsize)
    common = _units(first, unit) & _units(second, unit)
    return Relation(True, a_bytes, b_bytes, common.bit_count() * unit)


def _units(layout: Layout, unit: int) -> int:
    """The set of the pieces of `unit` bytes that the tensor reads, as a bit for each."""
    wide = layout.itemsize // unit
    strides = (*(s * wide for s in layout.strides), 1)
    return indexing.element_set((*layout.sizes, wide), strides, layout.offset * wide)


def families(named: Mapping[str, object], *, alone: bool = False) -> tuple[Family, ...]:
    """Which of these objects hold tensors that share a storage?

    Args: `named` maps names to any objects: tensors, modules, and lists, tuples and dicts of them,
    three levels deep. `alone` also gives storages with one tensor.
    Returns the families in the order of their first name. Tensors without addresses are left out.

    >>> x = torch.zeros(2, 3)
    >>> [[m.name for m in f.members] for f in families({"x": x, "row": x[0], "y": x + 1})]
    [['x', 'row']]
    """
    groups: dict[int, list[tuple[list[str], torch.Tensor]]] = {}
    for name, t in tensors_in(named):
        try:
            layout_of(t)
        except (NoStorageError, RuntimeError):
            continue
        group = groups.setdefault(private.storage_id(t), [])
        same = next((names for names, other in group if other is t), None)
        if same is None:
            group.append(([name], t))
        else:
            same.append(name)
    return tuple(_family(g) for g in groups.values() if alone or len(g) > 1)


def tensors_in(named: Mapping[str, object]) -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor that these names reach, with the expression that reaches it."""
    for name, value in named.items():
        yield from _reach(name, value, _DEPTH)


def _reach(name: str, value: object, depth: int) -> Iterator[tuple[str, torch.Tensor]]:
    if issubclass(type(value), torch.Tensor):
        yield name, value
        if value.is_leaf and value.grad is not None:
            yield f"{name}.grad", value.grad
    elif isinstance(value, torch.nn.Module):
        for path, t in (*value.named_parameters(), *value.named_buffers()):
            yield from _reach(f"{name}.{path}", t, depth)
    elif depth and isinstance(value, dict) and len(value) <= _LENGTH:
        for key, item in value.items():
            yield from _reach(f"{name}[{key!r}]", item, depth - 1)
    elif depth and isinstance(value, list | tuple) and len(value) <= _LENGTH:
        for i, item in enumerate(value):
            yield from _reach(f"{name}[{i}]", item, depth - 1)


def _family(group: list[tuple[list[str], torch.Tensor]]) -> Family:
    layouts = [layout_of(t) for _, t in group]
    members = tuple(
        Member(tuple(names), layout, _role(t, group))
        for (names, t), layout in zip(group, layouts, strict=True)
    )
    others = private.storage_users(group[0][1]) - len(group)
    return Family(layouts[0].storage_bytes, members, tuple(map(_runs, layouts)), others)


def _role(t: torch.Tensor, group: list[tuple[list[str], torch.Tensor]]) -> str:
    """What the tensor is to the others, as far as autograd records it."""
    root = private.base(t)
    if root is None:
        is_base = any(private.base(other) is t for _, other in group)
        return "base of the views" if is_base else "no base recorded"
    names = next((names for names, other in group if other is root), None)
    return f"view of {names[0]}" if names else "view of an unnamed tensor"


def _runs(layout: Layout, *, most: int = 64) -> tuple[tuple[int, int], ...]:
    """The bytes that are read, as (start, end) pairs.

    Each element apart where the storage has few, runs of neighbours where it has more, and only
    the hull of all where there are more than `most` runs.
    """
    if layout.span is None:
        return ()
    if layout.fits and layout.storage_elements <= most:
        read = indexing.element_set(layout.sizes, layout.strides, layout.offset)
        starts = (k * layout.itemsize for k in range(read.bit_length()) if read >> k & 1)
        return tuple((start, start + layout.itemsize) for start in starts)
    starts = [layout.span[0]]
    length = 1
    for size, stride in sorted(
        ((n, abs(s)) for n, s in zip(layout.sizes, layout.strides, strict=True) if n > 1 and s),
        key=lambda dim: dim[1],
    ):
        if stride <= length:
            length = max(length, (size - 1) * stride + length)
        elif len(starts) * size > most:
            first, last = layout.span
            return ((first * layout.itemsize, (last + 1) * layout.itemsize),)
        else:
            starts = [s + i * stride for i in range(size) for s in starts]
    return tuple((s * layout.itemsize, (s + length) * layout.itemsize) for s in sorted(starts))
