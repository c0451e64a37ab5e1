"""Can these sizes be a view? Sizes, strides and wanted sizes against the rule and torch."""

from __future__ import annotations

from collections.abc import Sequence

import ipywidgets
import torch

from ..observe.presets import VIEW_SOURCES, tensor_with, view_source
from ..observe.viewing import view_rule
from .explorer import Explorer
from .show import Picture, picture_of, show

FREE = "sizes and strides of your own"


def explain_view(t: torch.Tensor, sizes: int | Sequence[int]) -> Picture:
    """Can `t.view(sizes)` succeed, and which dimension stops it if not?

    Args: `sizes`, of which one may be -1.
    Returns a `Picture`: the chunks of dimensions that merge, the wanted sizes that fill them, the
    verdict of the rule, and torch's own.
    Raises TypeError if `t` is no tensor or has no strides, ValueError where the tensor has another
    number of values than the sizes.

    >>> print(explain_view(torch.arange(6).reshape(2, 3).t(), (6,)).alt)
    Sizes (3, 2) with strides (1, 3), viewed as (6,): no view, only a copy. Dimension 0 stops it: \
one step along it moves 1 element, and the 2 elements to its right span 6.
    """
    return show(view_rule(t, (sizes,) if isinstance(sizes, int) else sizes))


class ViewExplorer(Explorer):
    """Sizes and strides against wanted sizes: which dimensions merge, and is there a view?

    Choose an operator under "view of": sizes and strides become those that torch gave its result on
    `a`, a tensor of sizes (2, 3, 4). Then write numbers of your own, separated by commas; one
    wanted size may be -1. Below the rule's verdict stands what torch itself answers.

    >>> print(ViewExplorer("a.transpose(0, 1)", wanted=(6, 4)).picture(live=False).alt[-76:])
    one step along it moves 4 elements, and the 2 elements to its right span 24.
    """

    def __init__(self, source: str = "a", *, wanted: Sequence[int] = (-1, 4)) -> None:
        if source not in VIEW_SOURCES:
            raise ValueError(
                f"The source {source!r} was asked of a ViewExplorer. It has {len(VIEW_SOURCES)} "
                f"of them. Choose from {', '.join(VIEW_SOURCES)}."
            )
        self.source = ipywidgets.Dropdown(
            options=[*VIEW_SOURCES, FREE], value=source, description="view of"
        )
        self.sizes, self.strides = _numbers("sizes"), _numbers("strides")
        self.wanted = _numbers("wanted", wanted)
        self._quiet = True
        self._move_to_source()
        super().__init__(
            ipywidgets.HBox([self.source, self.wanted], layout={"flex_flow": "row wrap"}),
            ipywidgets.HBox([self.sizes, self.strides], layout={"flex_flow": "row wrap"}),
            watch=(self.wanted,),
        )
        for box in (self.sizes, self.strides):
            box.observe(self._on_numbers, "value")
        self.source.observe(self._on_source, "value")

    def picture(self, *, live: bool) -> Picture:
        """What rule and torch say of the numbers; a sentence where they make no tensor."""
        try:
            t = tensor_with(_parsed(self.sizes), _parsed(self.strides))
            return picture_of(view_rule(t, _parsed(self.wanted)), live=live)
        except ValueError as error:
            return Picture("", str(error), str(error))

    def _on_source(self, _change: object) -> None:
        if self.source.value != FREE:
            with self.together():
                self._move_to_source()

    def _on_numbers(self, _change: object) -> None:
        if not self._quiet:
            self.source.value = FREE
            self.refresh()

    def _move_to_source(self) -> None:
        layout = view_source(self.source.value)
        self.sizes.value = ", ".join(map(str, layout.sizes))
        self.strides.value = ", ".join(map(str, layout.strides))


def _numbers(description: str, value: Sequence[int] = ()) -> ipywidgets.Text:
    return ipywidgets.Text(
        value=", ".join(map(str, value)),
        description=description,
        placeholder="none: a single value",
        layout={"width": "300px"},
    )


def _parsed(box: ipywidgets.Text) -> tuple[int, ...]:
    words = box.value.replace("(", " ").replace(")", " ").replace(",", " ").split()
    try:
        return tuple(int(word) for word in words)
    except ValueError:
        raise ValueError(
            f"{box.value!r} stands under {box.description}. It holds more than whole numbers. "
            "Write whole numbers, separated by commas."
        ) from None
