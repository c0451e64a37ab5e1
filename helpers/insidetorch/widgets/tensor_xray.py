"""What does this live tensor look like from inside, now?"""

from __future__ import annotations

import ipywidgets
import torch

from ..observe.layout import NoStorageError, layout_of
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
        sizes = _outer_sizes(t)
        self.blocks = ipywidgets.ToggleButtons(
            options=["all blocks", "one block"], layout={"display": "" if sizes else "none"}
        )
        self.outer = [
            ipywidgets.IntSlider(
                max=size - 1, description=f"index[{d}]", layout={"display": "none"}
            )
            for d, size in enumerate(sizes)
        ]
        self.again = ipywidgets.Button(description="Read again", icon="refresh")
        super().__init__(
            ipywidgets.HBox([self.again, self.blocks]),
            ipywidgets.HBox(self.outer, layout={"flex_flow": "row wrap"}),
            watch=(self.blocks, *self.outer),
        )
        self.again.on_click(self.refresh)
        self.blocks.observe(self._on_blocks, "value")

    def picture(self, *, live: bool) -> Picture:
        """The tensor as its memory is at this moment."""
        one = self.blocks.value == "one block"
        outer = tuple(slider.value for slider in self.outer) if one else None
        return picture_of(self.tensor, live=live, outer=outer)

    def _on_blocks(self, change: dict) -> None:
        for slider in self.outer:
            slider.layout.display = "" if change["new"] == "one block" else "none"


def _outer_sizes(t: torch.Tensor) -> tuple[int, ...]:
    """The sizes of all dimensions but the last two; none where there are no blocks to choose."""
    try:
        sizes = layout_of(t).sizes
    except NoStorageError:
        return ()
    return () if 0 in sizes else sizes[:-2]
