"""Whether a tensor can be viewed with other sizes, and why."""

from __future__ import annotations

from dataclasses import dataclass

from ..indexing import Filling
from .layout import Sizes


@dataclass(frozen=True)
class ViewRule:
    """What the view rule says of a tensor and the sizes wanted of it, and what torch says.

    `fillings` pairs chunks of merged dimensions with wanted dimensions, from the right, up to the
    first that does not fit; it is empty where a size is 0. `strides` is None where the rule finds
    none. `torch_strides` is what torch's own view has; where it has none, `refusal` holds torch's
    words.
    """

    sizes: Sizes
    strides_before: Sizes
    wanted: Sizes
    fillings: tuple[Filling, ...]
    strides: Sizes | None
    torch_strides: Sizes | None
    refusal: str = ""

    @property
    def stopped_by(self) -> Filling | None:
        """The chunk that the wanted sizes do not fill exactly; None if there is a view."""
        return None if self.strides is not None else self.fillings[-1]
