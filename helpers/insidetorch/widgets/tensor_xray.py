"""What does this live tensor look like from inside, now?"""

from __future__ import annotations

import ipywidgets
import torch

from ..observe.layout import layout_of
from .explorer import Explorer
from .show import Picture, picture_of


class TensorXRay(Explorer):
    """Any tensor beside its storage, with a button that reads its memory again.

    A tensor of more than two dimensions can be walked block by block. The widget keeps the tensor
    alive and only reads it.

    >>> print(TensorXRay(torch.zeros(2, 3).t()).view.status.partition(".")[0])
    A 3 × 2 float32 tensor with strides (1, 3) at offset 0
    """

    def __init__(self, t: torch.Tensor) -> None:
        self.tensor = t
        self.outer: tuple[ipywidgets.IntSlider, ...] = ()
        self.again = ipywidgets.Button(description="Read again", icon="refresh")
        self.blocks = ipywidgets.ToggleButtons(options=["all blocks", "one block"])
        self._sliders = ipywidgets.HBox(layout={"flex_flow": "row wrap"})
        self._quiet = True
        self._fit()
        super().__init__(
            ipywidgets.HBox([self.again, self.blocks]), self._sliders, watch=(self.blocks,)
        )
        self.again.on_click(self._on_again)
        self.blocks.observe(self._fit, "value")

    def picture(self, *, live: bool) -> Picture:
        """The tensor as its memory is at this moment."""
        one = self.outer and self.blocks.value == "one block"
        outer = tuple(slider.value for slider in self.outer) if one else None
        return picture_of(self.tensor, live=live, outer=outer)

    def _on_again(self, _button: object) -> None:
        with self.together():
            self._fit()

    def _fit(self, _change: object = None) -> None:
        """One slider for each outer dimension that the tensor has now, shown for one block only."""
        sizes = _outer_sizes(self.tensor)
        if [slider.max + 1 for slider in self.outer] != list(sizes):
            self.outer = tuple(
                ipywidgets.IntSlider(max=size - 1, description=f"index[{d}]")
                for d, size in enumerate(sizes)
            )
            for slider in self.outer:
                slider.observe(self.refresh, "value")
            self._sliders.children = self.outer
        self.blocks.layout.display = "" if sizes else "none"
        self._sliders.layout.display = "" if self.blocks.value == "one block" else "none"


def _outer_sizes(t: torch.Tensor) -> tuple[int, ...]:
    """The sizes of all dimensions but the last two; none where there are no blocks to choose."""
    try:
        sizes = layout_of(t).sizes
    except Exception:  # the picture says what there is to say
        return ()
    return () if 0 in sizes else sizes[:-2]
