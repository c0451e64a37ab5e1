"""Operators that really ran, and the memory that each of them read and wrote."""

from __future__ import annotations

from dataclasses import dataclass

from .layout import Sizes
from .memory import counted
from .steps import Place

MOST_OPERATORS = 40
MOST_TENSORS = 8


@dataclass(frozen=True, repr=False)
class Operand:
    """A tensor that an operator was given or returned; `nbytes` are the bytes that it reads.

    `storage` numbers the storages that the run has made, 0 for one that was there before.
    """

    dtype: str
    sizes: Sizes
    nbytes: int
    storage: int = 0

    def __str__(self) -> str:
        return f"{self.dtype} {self.sizes}"

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class Traced:
    """One operator that ran.

    `read` and `written` count the distinct bytes of memory that it has to touch, nothing for a
    view; `made` is the number of the new storage that it wrote, 0 for none. `node` names the node
    of the graph that ran it in a backward pass, "" in a forward pass. `remark` says what may
    surprise about its values, "" if nothing does.
    """

    operator: str
    given: tuple[Operand, ...]
    returned: tuple[Operand, ...]
    read: int
    written: int
    made: int
    place: Place
    node: str = ""
    remark: str = ""

    @property
    def moved(self) -> int:
        return self.read + self.written

    @property
    def where(self) -> str:
        """The line of code that ran it, or the node."""
        return f"in backward, {self.node}" if self.node else str(self.place)

    def __str__(self) -> str:
        given, returned = (
            ", ".join(map(str, tensors[:MOST_TENSORS])) + _more(len(tensors) - MOST_TENSORS)
            for tensors in (self.given, self.returned)
        )
        return (
            f"{self.operator}: {given or 'nothing'} → {returned or 'nothing'}; "
            f"reads {self.read:,}, writes {counted(self.written, 'byte')}"
        )

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class Trace:
    """The operators of a run, in order.

    `intermediates` holds the bytes of each storage that the run made and that was gone at its end.
    `parts_unseen` says that some operators are made of others that were not seen. `on_meta` says
    that some tensors were on the meta device, where bytes are counted and none is moved.
    """

    found: tuple[Traced, ...]
    intermediates: tuple[int, ...] = ()
    parts_unseen: bool = False
    on_meta: bool = False

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, index: int) -> Traced:
        return self.found[index]

    @property
    def read(self) -> int:
        return sum(one.read for one in self.found)

    @property
    def written(self) -> int:
        return sum(one.written for one in self.found)

    @property
    def moved(self) -> int:
        """The bytes read and written: where memory is the limit, the time goes with them."""
        return self.read + self.written

    @property
    def sentence(self) -> str:
        """How many operators moved how many bytes, and what they made on the way."""
        if not self.found:
            return "No operator ran."
        text = f"{counted(len(self), 'operator')} read {counted(self.read, 'byte')} and wrote "
        text += f"{self.written:,}"
        if made := len(self.intermediates):
            text += f"; {counted(made, 'intermediate result')} of "
            text += f"{counted(sum(self.intermediates), 'byte')} "
            text += "is gone at the end" if made == 1 else "are gone at the end"
        return f"{text}."

    @property
    def notes(self) -> tuple[str, ...]:
        """What holds for the whole run, and is not as usual."""
        notes = []
        if self.parts_unseen:
            notes.append(
                "In inference mode operators arrive whole: those inside of them are not seen."
            )
        if self.on_meta:
            notes.append(
                "A tensor on the meta device has no memory: the bytes are those that it would have "
                "elsewhere."
            )
        return tuple(notes)

    def __str__(self) -> str:
        lines, where = [self.sentence], ""
        for one in self.found[:MOST_OPERATORS]:
            if one.where != where:
                where = one.where
                lines.append(f"  {where}")
            lines.append(f"    {one}")
            if one.remark:
                lines.append(f"      {one.remark}")
        if len(self) > MOST_OPERATORS:
            lines.append(f"And {counted(len(self) - MOST_OPERATORS, 'more operator')}.")
        return "\n".join([*lines, *self.notes])

    __repr__ = __str__


def _more(left: int) -> str:
    """The end of a list that `left` more belong to."""
    return f" and {left:,} more" if left > 0 else ""
