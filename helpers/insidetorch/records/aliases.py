"""Who shares memory with whom."""

from __future__ import annotations

from dataclasses import dataclass

from .layout import Layout
from .memory import counted


@dataclass(frozen=True)
class Member:
    """A tensor of a family: the names it is reached by, its layout, what it is to the base.

    `runs` gives the bytes of the block that it reads as (start, end) pairs; where `has_holes` they
    are too many to list, and the one run only spans them.
    """

    names: tuple[str, ...]
    layout: Layout
    role: str
    runs: tuple[tuple[int, int], ...]
    has_holes: bool

    @property
    def name(self) -> str:
        return self.names[0]


@dataclass(frozen=True)
class Family:
    """All tensors found on one block of memory.

    `others` counts the holders that were not found by name: a base without a name, a tensor in a
    place that was not looked into. `storages` is more than 1 where torch has several storage
    objects over the same memory, as for two tensors made from one NumPy array.
    """

    block_bytes: int
    members: tuple[Member, ...]
    others: int = 0
    storages: int = 1

    @property
    def read_bytes(self) -> int:
        """How many bytes of the block the members reach, holes within a run of one counted."""
        covered, end = 0, 0
        for start, stop in sorted(run for member in self.members for run in member.runs):
            covered += max(0, stop - max(start, end))
            end = max(end, stop)
        return covered

    @property
    def is_kept_by_a_part(self) -> bool:
        """Do the members read less than half of the memory that they keep alive?"""
        return 2 * self.read_bytes < self.block_bytes


@dataclass(frozen=True)
class Relation:
    """What two tensors, a and b, have in common.

    `common_bytes` counts the bytes that both read; `a_bytes` and `b_bytes` those that each reads.
    `recorded` is what torch has recorded of views: "b of a", "a of b", "both of one" or "".
    `one_counter` tells whether a write through one moves the version of the other, which is how
    autograd notices it; None where one of them keeps no version.
    """

    same_storage: bool
    a_bytes: int
    b_bytes: int
    common_bytes: int
    same_object: bool = False
    recorded: str = ""
    one_counter: bool | None = False

    @property
    def words(self) -> str:
        """The memory that they share, in one phrase."""
        common = counted(self.common_bytes, "byte")
        if not self.same_storage and self.common_bytes:
            return f"on two storage objects that have {common} in common"
        if not self.same_storage:
            return "on different storages"
        if self.common_bytes == 0:
            return "on one storage, without a byte in common"
        if self.common_bytes == self.a_bytes == self.b_bytes:
            return f"reading the same {common}"
        return f"on one storage, with {common} in common"
