"""Operators that really ran, and the memory that each of them read and wrote."""

from __future__ import annotations

from dataclasses import dataclass

from .layout import Sizes
from .steps import Place


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Trace:
    """The operators of a run, in order.

    `intermediates` holds the bytes of each storage that the run made and that was gone at its end.
    `parts_unseen` says that some operators are made of others that were not seen.
    """

    found: tuple[Traced, ...]
    intermediates: tuple[int, ...] = ()
    parts_unseen: bool = False

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
