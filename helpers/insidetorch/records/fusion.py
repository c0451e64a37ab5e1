"""Ways to compute the same values: the operators that each runs, and the bytes that it moves."""

from __future__ import annotations

from dataclasses import dataclass

from .layout import Sizes
from .trace import Trace


@dataclass(frozen=True)
class Way:
    """One way to compute a value.

    `name` says which one it is, `code` is its expression, and `trace` holds the operators that ran.
    `ratio` is its time as a part of that of the first way; None for that one, and where nothing
    was measured.
    """

    name: str
    code: str
    trace: Trace
    ratio: float | None = None

    @property
    def operators(self) -> tuple[str, ...]:
        """The operators that moved memory, in order."""
        return tuple(one.operator for one in self.trace.found if one.moved)


@dataclass(frozen=True)
class FusedWay:
    """What the compiler makes of a way.

    `kernels` counts the kernels that it generated, and `code` is their source. `moved` are the
    bytes of the tensors that the expression names and of its result, each once, which one kernel
    moves if it reads all of each; None for another number of kernels. `skipped` says why there is
    no kernel, else "".
    """

    kernels: int | None
    moved: int | None
    code: str = ""
    skipped: str = ""
    ratio: float | None = None


@dataclass(frozen=True)
class Fusion:
    """The same values in several ways, on tensors of `sizes`.

    `difference` says in words how the results compare; it is "" where there is only one way.
    `fused` is None where the compiler was not asked.
    """

    sizes: Sizes
    ways: tuple[Way, ...]
    difference: str = ""
    fused: FusedWay | None = None

    @property
    def elements(self) -> int:
        product = 1
        for size in self.sizes:
            product *= size
        return product
