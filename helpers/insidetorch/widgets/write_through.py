"""Who sees a write? Write through one alias of a tensor and watch all the others."""

from __future__ import annotations

import ipywidgets

from ..observe.writing import WAYS, write_through
from ..records import Write
from .explorer import Explorer
from .show import Picture, picture_of

ONE, ALL = "set one value to 100", "add 100 to every value"


class WriteThrough(Explorer):
    """A 3 × 4 tensor `a` and twelve ways to reach its values; write through one, watch them all.

    Cells that changed say what they were. Cells with a dotted border lie in memory of their own.
    Hover a cell to see which others read the same bytes. The tensors belong to the widget and are
    made anew for each write.

    >>> WriteThrough("a.clone()").view.status
    'a.clone()[0, 0] = 100: seen through a.clone().'
    """

    def __init__(self, way: str = "a.t()") -> None:
        if way not in WAYS:
            raise ValueError(
                f"A write through {way!r} was asked. There are {len(WAYS)} ways to write. Choose "
                f"from {', '.join(WAYS)}."
            )
        self.way = ipywidgets.Dropdown(options=list(WAYS), value=way, description="write to")
        self.what = ipywidgets.ToggleButtons(options=[ONE, ALL], style={"button_width": "190px"})
        self.place = ipywidgets.IntSlider(description="value", min=0, max=0)
        self._fit()
        super().__init__(
            ipywidgets.HBox([self.way, self.place], layout={"flex_flow": "row wrap"}),
            self.what,
            watch=(self.place, self.what),
        )
        self.way.observe(self._on_way, "value")
        self.what.observe(self._fit, "value")

    @property
    def write(self) -> Write:
        """The write that the controls describe, made on fresh tensors."""
        return write_through(self.way.value, self.place.value if self.what.value == ONE else None)

    def picture(self, *, live: bool) -> Picture:
        """Every reader after the write."""
        return picture_of(self.write, live=live)

    def _on_way(self, _change: object) -> None:
        with self.together():
            self._fit()

    def _fit(self, _change: object = None) -> None:
        """One place for each value of what is written to."""
        readers = write_through(self.way.value, None).readers
        count = next(len(r.before) for r in readers if r.name == self.way.value)
        self.place.value, self.place.max = min(self.place.value, count - 1), count - 1
        self.place.layout.display = "" if self.what.value == ONE else "none"
