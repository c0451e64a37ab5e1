"""Which memory does an operator meet, and what does its signature say that it does to it?"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .. import footprint
from . import private
from .dispatch import operands, operator_name

# These read as much as they return, whatever they choose from.
_CHOOSING = frozenset(
    f"aten.{name}"
    for name in ("index", "index_select", "gather", "embedding", "take", "masked_select", "slice")
)
# These overwrite what they are given without reading it.
_FILLING = frozenset(
    f"aten.{name}_"
    for name in (
        *("copy", "fill", "zero", "normal", "uniform", "bernoulli", "random", "exponential"),
        *("geometric", "cauchy", "log_normal"),
    )
)
# These take memory and leave in it what was there.
_TAKING = frozenset(
    f"aten.{name}"
    for name in ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty")
) | {"aten.new_empty_strided"}
_NOTHING = frozenset({"aten.lift_fresh", "aten.alias", "aten.detach"})


class Memory:
    """A tensor as an operator meets it.

    `storages` are the storages that hold its values, none where it has no addresses, and `nbytes`
    the distinct bytes that it reads in them. A sparse tensor reads those of its parts.
    """

    __slots__ = ("nbytes", "storages", "t")

    def __init__(self, t: torch.Tensor) -> None:
        self.t = t
        try:
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

    def is_same(self, other: Memory) -> bool:
        """Do both read the same elements in the same order?"""
        a, b = self.t, other.t
        if a is b:
            return True
        return (
            len(self.storages) == 1
            and (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())
            and a.storage_offset() == b.storage_offset()
        )

    def common_bytes(self, other: Memory) -> int:
        """The bytes that two tensors over one storage both read."""
        if self.t.dtype != other.t.dtype or len(self.storages) > 1:
            return 0
        pair = ((tuple(t.shape), tuple(t.stride()), t.storage_offset()) for t in (self.t, other.t))
        return footprint.common_elements(*pair) * self.t.element_size()


def bytes_together(memories: Sequence[Memory]) -> int:
    """The distinct bytes that these read together.

    Two that overlap are counted exactly; of three in one storage, equal ones are counted once.

    >>> x = torch.ones(4)
    >>> bytes_together([Memory(x), Memory(x), Memory(x[:2].expand(9, 2)), Memory(x + 1)])
    32
    """
    if len(memories) == 1:
        return memories[0].nbytes
    total, counted = 0, []
    for one in memories:
        near = [other for other in counted if other.storages == one.storages or other.t is one.t]
        if any(one.is_same(other) for other in near if other.storages or other.t is one.t):
            continue
        total += one.nbytes
        if near and one.storages:
            total -= max(one.common_bytes(other) for other in near)
        counted.append(one)
    return total


class Signature:
    """What the name and the schema of an operator say: looked up once for many calls."""

    __slots__ = (
        "_writes",
        "is_choosing",
        "is_nothing",
        "is_out",
        "is_taking",
        "is_whole",
        "name",
        "reads_none",
    )

    def __init__(self, op: object) -> None:
        self.name = ".".join(operator_name(op).split(".")[:2])
        arguments = getattr(getattr(op, "_schema", None), "arguments", ())
        moves = private.writes(op) and torch.Tag.inplace_view not in getattr(op, "tags", ())
        self._writes = [
            (k, argument.name)
            for k, argument in enumerate(arguments)
            if moves and argument.alias_info is not None and argument.alias_info.is_write
        ]
        # What is only written to is not read.
        self.is_out = self.name in _FILLING or any(argument.is_out for argument in arguments)
        self.is_choosing = self.name in _CHOOSING
        self.is_taking = self.name in _TAKING
        self.is_nothing = self.name in _NOTHING
        self.is_whole = private.arrives_whole(op)
        self.reads_none = self.name.endswith("_like") or self.name.startswith("aten.new_")

    def written(self, args: tuple, kwargs: dict) -> list[torch.Tensor]:
        """The arguments of a call that the operator writes to."""
        found: list[torch.Tensor] = []
        for k, name in self._writes:
            found += operands(args[k] if k < len(args) else kwargs.get(name))
        return found


def _is_plain(t: torch.Tensor) -> bool:
    return type(t) is torch.Tensor or not any(isinstance(size, torch.SymInt) for size in t.shape)


def _distinct_bytes(t: torch.Tensor) -> int:
    if t.is_contiguous():
        return t.numel() * t.element_size()
    return footprint.distinct_elements(tuple(t.shape), tuple(t.stride())) * t.element_size()
