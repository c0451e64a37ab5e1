"""What operators did with memory, and from which line of the user's code."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from .layout import Sizes


@dataclass(frozen=True)
class Place:
    """A line of the user's code.

    `file` is its path, or "" in a notebook cell, which is named by its first statement, `cell`.
    """

    file: str
    line: int
    statement: str
    cell: str = ""

    def __str__(self) -> str:
        where = PurePath(self.file).name if self.file else f"cell {self.cell!r}"
        return f"{where}, line {self.line}: {self.statement}"


@dataclass(frozen=True)
class Step:
    """One operator and what it did with memory.

    `effect` is "view" (the result reads the storage of an input), "write" (into an input), "copy"
    (the same values in new memory) or "new" (other values in new memory). `nbytes`, `sizes` and
    `strides` are those of the result; `node` names the node of the graph that ran it in a backward
    pass, and is "" in a forward pass.
    """

    operator: str
    effect: str
    place: Place
    nbytes: int
    sizes: Sizes
    strides: Sizes
    node: str = ""

    def __str__(self) -> str:
        phase = f" in backward, by {self.node}" if self.node else ""
        return f"{self.operator}: {self.effect} of {self.nbytes:,} bytes{phase}\n  {self.place}"


@dataclass(frozen=True)
class Steps:
    """Operators in the order in which they ran."""

    found: tuple[Step, ...]

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, index: int) -> Step:
        return self.found[index]

    @property
    def nbytes(self) -> int:
        """The bytes of all results together."""
        return sum(step.nbytes for step in self.found)

    def __str__(self) -> str:
        return "\n".join(map(str, self.found)) or "none"
