"""Which tensor is it? The same one in every call, without keeping it alive."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import torch

from ..observe import private

if TYPE_CHECKING:
    from .calls import Call

DEAD, LIVE, LEAF = 0, 1, 2  # how a tensor stands to autograd: outside, a result, a leaf


class Memory:
    """One storage, from its first tensor to its last."""

    __slots__ = ("key", "values", "writes")

    def __init__(self, key: int) -> None:
        self.key = key
        self.values: list[Value] = []
        self.writes: list[tuple[Call, Value]] = []


class Value:
    """One tensor, or one number that has left torch; what it was when it was first seen."""

    __slots__ = (
        "dtype", "leaf", "made", "memory", "number", "parameter", "readers", "ref", "shape",
        "wrote",
    )  # fmt: skip

    def __init__(self, number: int, t: torch.Tensor | None, memory: Memory | None) -> None:
        self.number = number
        self.memory = memory
        self.made: Call | None = None
        self.wrote: list[Call] = []  # calls that changed it in place
        self.readers: list[Call] = []
        self.leaf = False
        self.parameter = isinstance(t, torch.nn.Parameter)
        self.ref = _nothing if t is None else weakref.ref(t)
        self.shape = () if t is None else t.shape
        self.dtype = None if t is None else t.dtype

    @property
    def tensor(self) -> torch.Tensor | None:
        """The tensor itself, if it still lives."""
        return self.ref()

    def __repr__(self) -> str:
        return f"Value({self.number}, {tuple(self.shape)}, {self.dtype})"


def _nothing() -> None:
    return None


class Values:
    """All tensors that were seen, by identity."""

    def __init__(self) -> None:
        self._by_id: dict[int, Value] = {}
        self._memories: dict[int, Memory] = {}
        self.count = 0
        self.unreadable = False  # were there tensors whose memory cannot be asked for?

    def of(self, t: torch.Tensor, *, inputs: tuple[Value, ...] = ()) -> Value:
        """The value of a tensor. One that is new shares the memory of an input where it does."""
        known = self._by_id.get(id(t))
        if known is not None and known.ref() is t:
            return known
        self.count += 1
        value = Value(self.count, t, self._memory(t, inputs))
        if value.memory is not None:
            value.memory.values.append(value)
        if t.requires_grad and t.is_leaf:
            value.leaf = True
        self._by_id[id(t)] = value
        return value

    def known(self, t: torch.Tensor) -> Value | None:
        """The value of a tensor that was seen before; None for another."""
        found = self._by_id.get(id(t))
        return found if found is not None and found.ref() is t else None

    def plain(self) -> Value:
        """A value that is no tensor: a number or an array that has left torch."""
        self.count += 1
        return Value(self.count, None, None)

    def moved(self, t: torch.Tensor) -> None:
        """The tensor has another storage now."""
        value = self.of(t)
        value.memory = self._memory(t, ())
        if value.memory is not None:
            value.memory.values.append(value)

    def _memory(self, t: torch.Tensor, inputs: tuple[Value, ...]) -> Memory | None:
        try:
            key = private.storage_id(t)
        except (RuntimeError, NotImplementedError):  # sparse tensors, those of a transform
            self.unreadable = True
            return None
        known = self._memories.get(key)
        if known is not None and (
            any(one.memory is known for one in inputs) or self._lives(known, key)
        ):
            return known
        known = self._memories[key] = Memory(key)
        return known

    def _lives(self, memory: Memory, key: int) -> bool:
        """Does a tensor of this memory live? Else its number was given to another."""
        for value in memory.values:
            t = value.ref()
            if t is not None and private.storage_id(t) == key:
                return True
        return False

    def forget(self, last: int) -> None:
        """Drop what is known of tensors that are gone, and of calls up to this one."""
        self._by_id = {key: v for key, v in self._by_id.items() if v.ref() is not None}
        for v in self._by_id.values():
            v.readers = [call for call in v.readers if call.number > last]
            v.wrote = [call for call in v.wrote if call.number > last]
            if v.memory is not None:
                v.memory.writes = [one for one in v.memory.writes if one[0].number > last]
                v.memory.values = [one for one in v.memory.values if one.ref() is not None]
        living = {id(v.memory) for v in self._by_id.values()}
        self._memories = {k: m for k, m in self._memories.items() if id(m) in living}
