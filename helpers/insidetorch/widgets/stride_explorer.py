"""What do sizes, strides and offset do? Presets that are real operators, then free numbers."""

from __future__ import annotations

import ipywidgets

from ..observe.presets import DTYPES, PRESETS, preset_layout, small_tensor
from ..observe.xray import strided_xray
from ..records import XRay
from .explorer import Explorer
from .show import Picture, picture_of

_MOST_DIMS = 4
FREE = "sizes and strides of your own"


class StrideExplorer(Explorer):
    """A 4 × 6 tensor `a` over 24 elements, and every way to read its storage.

    Choose an operator: the sliders move to the sizes, strides and offset that torch gave its
    result. Then move the sliders: torch.as_strided makes that tensor, or says why it will not.
    The tensor belongs to the widget; none of yours is touched.

    >>> print(StrideExplorer("a[:, 1]").xray.layout.formula((2,)))
    1 + 2·6 = 13
    """

    def __init__(self, preset: str = "a", *, dtype: str = "int64") -> None:
        for asked, known, what in ((preset, PRESETS, "operator"), (dtype, DTYPES, "dtype")):
            if asked not in known:
                raise ValueError(
                    f"The {what} {asked!r} was asked of a StrideExplorer. It has {len(known)} of "
                    f"them. Choose from {', '.join(known)}."
                )
        self.preset = ipywidgets.Dropdown(
            options=[*PRESETS, FREE], value=preset, description="read as"
        )
        self.dtype = ipywidgets.Dropdown(options=list(DTYPES), value=dtype, description="dtype")
        self.dims = _slider("dimensions", 0, _MOST_DIMS)
        self.offset = _slider("offset", -1, 24)
        self.sizes = [_slider(f"size[{d}]", 0, 7) for d in range(_MOST_DIMS)]
        self.strides = [_slider(f"stride[{d}]", -1, 24) for d in range(_MOST_DIMS)]
        self._quiet = True
        self._move_to_preset()
        columns = [ipywidgets.VBox(pair) for pair in zip(self.sizes, self.strides, strict=True)]
        super().__init__(
            ipywidgets.HBox([self.preset, self.dtype]),
            ipywidgets.HBox([self.dims, self.offset]),
            ipywidgets.HBox(columns, layout={"flex_flow": "row wrap"}),
            watch=(self.dtype,),
        )
        for slider in (self.dims, self.offset, *self.sizes, *self.strides):
            slider.observe(self._on_slider, "value")
        self.preset.observe(self._on_preset, "value")
        self.dims.observe(self._hide_unused, "value")
        self._hide_unused()

    @property
    def xray(self) -> XRay:
        """What the controls say now, made by torch or refused by it."""
        count = self.dims.value
        sizes = tuple(slider.value for slider in self.sizes[:count])
        strides = tuple(slider.value for slider in self.strides[:count])
        return strided_xray(small_tensor(self.dtype.value), sizes, strides, self.offset.value)

    def picture(self, *, live: bool) -> Picture:
        """The tensor that the controls describe, beside its storage."""
        return picture_of(self.xray, live=live)

    def _on_preset(self, _change: object) -> None:
        if self.preset.value != FREE:
            with self.together():
                self._move_to_preset()

    def _on_slider(self, _change: object) -> None:
        if not self._quiet:
            self.preset.value = FREE
            self.refresh()

    def _move_to_preset(self) -> None:
        """Set every control to what torch gives the result of the chosen operator."""
        layout = preset_layout(self.preset.value, self.dtype.value)
        self.dims.value, self.offset.value = len(layout.sizes), layout.offset
        for sliders, values in ((self.sizes, layout.sizes), (self.strides, layout.strides)):
            for slider, value in zip(sliders, values, strict=False):
                slider.value = value

    def _hide_unused(self, _change: object = None) -> None:
        for d in range(_MOST_DIMS):
            shown = "" if d < self.dims.value else "none"
            self.sizes[d].layout.display = self.strides[d].layout.display = shown


def _slider(description: str, low: int, high: int) -> ipywidgets.IntSlider:
    return ipywidgets.IntSlider(
        min=low, max=high, value=max(low, 1), description=description, layout={"width": "260px"}
    )
