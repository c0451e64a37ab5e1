"""What two tensors have in common, and where they differ."""

from __future__ import annotations

from dataclasses import dataclass

from .aliases import Family, Relation
from .layout import Index, Layout, Sizes, Value


@dataclass(frozen=True)
class Values:
    """How the values of two tensors compare.

    `order` is "equal" (at every index), "recut" (other sizes, the same values in row-major order),
    "permuted" (a permutation of a's dimensions read in row-major order, `dims`), "moved" (the same
    values elsewhere), "different", or "unknown" with the reason in `why`; `repeated` says that
    values occur more than once, so that an order is no proof. `unequal` counts the
    indices at which they differ; `at` is the first of them, `found` what stands there in a and b,
    and `origin` the index of a at which b's value stands, where there is just one.
    """

    order: str
    unequal: int = 0
    at: Index | None = None
    found: tuple[Value, Value] | None = None
    origin: Index | None = None
    dims: Index = ()
    why: str = ""
    repeated: bool = False


@dataclass(frozen=True)
class Comparison:
    """Two tensors side by side.

    `a` and `b` are layouts, or a sentence for what has none; `relation` is None then. `broadcast`
    holds the sizes of an elementwise operation on both, None where they do not fit. `families`
    is what a map of both shows.
    """

    names: tuple[str, str]
    a: Layout | str
    b: Layout | str
    relation: Relation | None
    broadcast: Sizes | None
    values: Values | None
    families: tuple[Family, ...] = ()
