"""Which operators ran."""

from __future__ import annotations

from dataclasses import dataclass

MOST_KINDS = 40


@dataclass(frozen=True, repr=False)
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
        shown = [f"{op} ×{n}" if n > 1 else op for op, n in self.calls[:MOST_KINDS]]
        text = ", ".join(shown) or "no operator"
        if left := len(self.calls) - len(shown):
            text += f", and {left:,} more kinds" if left > 1 else ", and 1 more kind"
        return text

    __repr__ = __str__
