"""What one step keeps for its backward pass, line by line of the user's code."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from .layout import Sizes
from .memory import counted
from .steps import Place

MOST_ROWS = 40


@dataclass(frozen=True)
class Kept:
    """A tensor that a node keeps for its backward formula, under the name `name`.

    `nbytes` are those of its storages, which is what stays alive, however few of them a view reads.
    `storage` numbers them in the order in which they were first kept: tensors with the same number
    share memory, and only the one that is `first` adds to a sum. `made` says that an operator of
    this step made the storage; else it was there before. `place` is the line that made the node,
    None where that ran before.
    """

    node: str
    name: str
    sizes: Sizes
    dtype: str
    nbytes: int
    storage: int
    first: bool
    made: bool
    place: Place | None = None
    module: str = ""


@dataclass(frozen=True)
class LedgerLine:
    """A line of the user's code, and the bytes that the step made and this line keeps first."""

    place: Place | None
    module: str
    nbytes: int
    operators: tuple[str, ...]

    @property
    def where(self) -> str:
        """The line, with the part of the model if there is one."""
        made = "made elsewhere" if self.place is None else str(self.place)
        return f"{made} (in {self.module})" if self.module else made

    @property
    def operators_text(self) -> str:
        """The operators that keep something here, each once with how often."""
        times = Counter(self.operators)
        return ", ".join(name if n == 1 else f"{name} × {n}" for name, n in times.items())


@dataclass(frozen=True, repr=False)
class Ledger:
    """All tensors that the graph of a step keeps, in the order in which their nodes were made.

    `notes` are true sentences about what is not as usual; `reason` says why nothing is kept, if
    there is no graph.
    """

    kept: tuple[Kept, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str = ""

    @property
    def made_bytes(self) -> int:
        """The bytes of all storages that the step made and keeps: its extra memory."""
        return sum(one.nbytes for one in self.kept if one.first and one.made)

    @property
    def before_bytes(self) -> int:
        """The bytes of all kept storages that were there before: parameters, inputs."""
        return sum(one.nbytes for one in self.kept if one.first and not one.made)

    @property
    def lines(self) -> tuple[LedgerLine, ...]:
        """The lines that keep what the step made, the one with most bytes first."""
        groups: dict[tuple[Place | None, str], list[Kept]] = {}
        for one in self.kept:
            if one.first and one.made:
                groups.setdefault((one.place, one.module), []).append(one)
        found = [
            LedgerLine(
                place=place,
                module=module,
                nbytes=sum(one.nbytes for one in group),
                operators=tuple(one.node.partition("Backward")[0] for one in group),
            )
            for (place, module), group in groups.items()
        ]
        return tuple(sorted(found, key=lambda line: -line.nbytes))

    @property
    def sentence(self) -> str:
        """The two sums."""
        if self.reason:
            return f"{self.reason} So nothing is kept for a backward pass."
        return (
            f"The backward pass needs {counted(self.made_bytes, 'byte')} that this step made, and "
            f"{counted(self.before_bytes, 'byte')} from elsewhere, such as parameters."
        )

    def __str__(self) -> str:
        rows = [f"{line.nbytes:>13,}  {line.where}  [{line.operators_text}]" for line in self.lines]
        if len(rows) > MOST_ROWS:
            rest = self.lines[MOST_ROWS:]
            more = f"{sum(line.nbytes for line in rest):>13,}  {counted(len(rest), 'more line')}"
            rows = [*rows[:MOST_ROWS], more]
        if rows:
            rows.insert(0, f"{'bytes':>13}  made and kept by")
        return "\n".join([self.sentence, *rows, *self.notes])

    __repr__ = __str__
