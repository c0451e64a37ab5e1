"""What one write does to everything that may read the same memory."""

from __future__ import annotations

from dataclasses import dataclass

from .layout import Sizes, Value


@dataclass(frozen=True)
class Reader:
    """One way to reach the values: what it showed before a write and after it.

    `bytes` gives for each value the byte of the written storage that it reads, -1 in memory of its
    own. The versions are None where there is no counter.
    """

    name: str
    sizes: Sizes
    before: tuple[Value, ...]
    after: tuple[Value, ...]
    bytes: tuple[int, ...]
    version_before: int | None
    version_after: int | None

    @property
    def changed(self) -> int:
        """How many of its values changed."""
        return sum(old != new for old, new in zip(self.before, self.after, strict=True))


@dataclass(frozen=True)
class Write:
    """A write in place, and all readers in their order; `refusal` holds torch's words, if any."""

    statement: str
    through: str
    readers: tuple[Reader, ...]
    refusal: str = ""
