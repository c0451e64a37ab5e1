"""Two expressions for the same values: which operators run, and how many bytes do they move?"""

from __future__ import annotations

from html import escape

import ipywidgets

from ..observe.fusion import PRESETS, fusion_of
from ..records import Fusion
from .explorer import Explorer
from .show import Picture, picture_of

ROWS = (1, 16, 256, 1024, 4096, 16384, 65536)


class FusionLab(Explorer):
    """Write an expression of a, b, c and w, and another one for the same values; torch runs both.

    The boxes are the operators that really ran, as wide as the bytes that they move. "Compile"
    hands the first expression to torch.compile, which takes seconds, and shows the code that it
    wrote. "Measure" compares times on this machine, now.

    >>> lab = FusionLab()
    >>> lab.view.status.partition("; ")[0]
    'a * b + c: 2 operators, 24 bytes for each element'
    """

    def __init__(self, written: str = "", instead: str = "", *, rows: int = 16384) -> None:
        first, second = (written, instead) if written or instead else next(iter(PRESETS.values()))
        style, wide = {"description_width": "80px"}, {"width": "680px"}
        self.preset = ipywidgets.Dropdown(
            options=[("choose", ""), *((name, name) for name in PRESETS)],
            description="examples",
            style=style,
        )
        self.rows = ipywidgets.Dropdown(
            options=[(f"{n:,} × 64", n) for n in sorted({*ROWS, rows})],
            value=rows,
            description="sizes",
            style=style,
        )
        text = {"continuous_update": False, "style": style, "layout": wide}
        self.written = ipywidgets.Text(value=first, description="as written", **text)
        self.instead = ipywidgets.Text(value=second, description="instead", **text)
        self.compile = ipywidgets.Button(description="Compile")
        self.measure = ipywidgets.Button(description="Measure")
        self.code = ipywidgets.HTML()
        self._fused = self._measured = False
        self._last: tuple[object, Fusion] | None = None
        super().__init__(
            ipywidgets.HBox([self.preset, self.rows], layout={"flex_flow": "row wrap"}),
            *(self.written, self.instead),
            ipywidgets.HBox([self.compile, self.measure]),
            watch=(),
        )
        self.children = (*self.children, self.code)
        self.preset.observe(self._on_preset, "value")
        for control in (self.rows, self.written, self.instead):
            control.observe(self._on_change, "value")
        self.compile.on_click(self._on_compile)
        self.measure.on_click(self._on_measure)

    @property
    def fusion(self) -> Fusion:
        """What the controls say, run now; with the compiler and times where they were asked for."""
        asked = (self.written.value, self.instead.value, self.rows.value)
        asked += (self._fused, self._measured)
        if self._last is None or self._last[0] != asked:
            self._last = None  # what fails leaves nothing behind
            written, instead, rows, fused, measured = asked
            found = fusion_of(written, instead, rows=rows, fused=fused, measured=measured)
            self._last = asked, found
        return self._last[1]

    def picture(self, *, live: bool) -> Picture:
        """A row of boxes for each way; what cannot be computed is a sentence without a picture."""
        try:
            return picture_of(self.fusion, live=live)
        except ValueError as error:
            return Picture("", str(error), str(error))

    def _on_preset(self, change: dict) -> None:
        if not change["new"]:
            return
        with self.together():
            self.written.value, self.instead.value = PRESETS[change["new"]]
        self.preset.value = ""  # so that the same example can be chosen again

    def _on_change(self, _change: object) -> None:
        self._fused = self._measured = False
        self.code.value = ""
        self.refresh()

    def _on_compile(self, _button: object) -> None:
        self.view.show(self.view.svg, "Compiling; the first time this takes up to a minute …")
        self._fused, self._measured = True, False
        self.refresh()
        if self._last and self._last[1].fused:
            self.code.value = f"<pre>{escape(self._last[1].fused.code)}</pre>"

    def _on_measure(self, _button: object) -> None:
        self.view.show(self.view.svg, "Measuring …")
        self._measured = True
        self._last = None  # measured anew each time
        self.refresh()
