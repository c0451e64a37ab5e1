"""Which operators ran."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
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
        return ", ".join(f"{op} ×{n}" if n > 1 else op for op, n in self.calls) or "no operator"
