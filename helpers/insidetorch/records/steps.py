"""What operators did with memory, and from which line of the user's code."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from .layout import Sizes
from .memory import counted


@dataclass(frozen=True)
class Place:
    """A line of the user's code.

    `file` is its path, or "" in a notebook cell, which is named by its first statement, `cell`. In
    its text that statement stands once, where it is the line itself.
    """

    file: str
    line: int
    statement: str
    cell: str = ""

    def __str__(self) -> str:
        where = PurePath(self.file).name if self.file else f"cell {self.cell!r}"
        if not self.file and not self.cell:
            return f"code without source, line {self.line}"
        if not self.file and self.statement == self.cell:
            return f"{where}, line {self.line}"
        return f"{where}, line {self.line}: {self.statement}"


@dataclass(frozen=True)
class Step:
    """One operator and what it did with memory.

    `effect` is "view" (the result reads the storage of an input), "write" (into an input), "copy"
    (values of an input in new memory, converted where the dtype changes) or "new" (computed values
    in new memory). `nbytes` counts all results, `sizes` and `strides` are those of the first; where
    there is no result, of what was written to. `node` names the node of the graph that ran it in a
    backward pass, and is "" in a forward pass.
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
        size = counted(self.nbytes, "byte")
        return f"{self.operator}: {self.effect} of {size}{phase}\n  {self.place}"


@dataclass(frozen=True, repr=False)
class Steps:
    """Operators in the order in which they ran.

    `parts_unseen` says that some of them are made of others that were not seen.
    """

    found: tuple[Step, ...]
    parts_unseen: bool = False

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, index: int) -> Step:
        return self.found[index]

    @property
    def nbytes(self) -> int:
        """The bytes of all results together."""
        return sum(step.nbytes for step in self.found)

    def __str__(self) -> str:
        lines = [*map(str, self.found)] or ["none"]
        if self.parts_unseen:
            lines.append(
                "In inference mode operators arrive whole, and copies inside of them are not seen: "
                "run this under torch.no_grad() instead."
            )
        return "\n".join(lines)

    __repr__ = __str__
