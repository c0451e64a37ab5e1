"""Which results require a gradient? Predict, then let torch say."""

from __future__ import annotations

import ipywidgets

from ..draw.tracking import tracked_sentence, tracking_svg, tracking_text
from ..observe.tracking import MODES, OPERATORS, tracked
from ..records import Tracked
from .explorer import Explorer
from .show import Picture

_OPEN, _YES, _NO = "?", "it will", "it will not"


class RequiresGradTable(Explorer):
    """Operators down, modes across: does the result require a gradient?

    Choose a cell, say what you expect, and torch runs it. "Reveal all" runs the rest. The two ticks
    say which of the inputs require a gradient; changing one covers the table again.

    >>> table = RequiresGradTable()
    >>> table.operator.value, table.expected.value = "x > 0", "it will"
    >>> table.view.status.partition(":")[0]
    'Not as you said. x > 0, no mode'
    """

    def __init__(self) -> None:
        self._shown: dict[tuple[str, str], bool | None] = {}
        self.x = ipywidgets.Checkbox(value=True, description="x requires grad", indent=False)
        self.w = ipywidgets.Checkbox(value=True, description="w requires grad", indent=False)
        self.operator = ipywidgets.Dropdown(options=list(OPERATORS), description="run")
        self.mode = ipywidgets.Dropdown(options=list(MODES), description="under")
        self.expected = ipywidgets.ToggleButtons(
            options=[_OPEN, _YES, _NO],
            description="require a gradient?",
            style={"button_width": "80px", "description_width": "140px"},
        )
        self.reveal = ipywidgets.Button(description="Reveal all")
        wrap = {"flex_flow": "row wrap"}
        super().__init__(
            ipywidgets.HBox([self.operator, self.mode, self.x, self.w], layout=wrap),
            ipywidgets.HBox([self.expected, self.reveal], layout=wrap),
            watch=(),
        )
        for control in (self.x, self.w):
            control.observe(self._on_flag, "value")
        for control in (self.operator, self.mode):
            control.observe(self._on_cell, "value")
        self.expected.observe(self._on_expected, "value")
        self.reveal.on_click(self._on_reveal)

    @property
    def rows(self) -> list[list[Tracked]]:
        """What torch says of every cell, with the inputs as the ticks say."""
        flags = {"x": self.x.value, "w": self.w.value}
        return [[tracked(op, mode, **flags) for mode in MODES] for op in OPERATORS]

    def picture(self, *, live: bool) -> Picture:
        """The table; live, only what was predicted or revealed is uncovered."""
        rows, chosen = self.rows, (self.operator.value, self.mode.value)
        title = f"Does the result require a gradient? {_inputs(self.x.value, self.w.value)}"
        text = f"{title}\n{tracking_text(rows)}"
        if not live:
            return Picture(tracking_svg(rows, title=title), title, text)
        svg = tracking_svg(rows, title=title, shown=self._shown, chosen=chosen, live=True)
        if chosen not in self._shown:
            said = f"{chosen[0]}, {chosen[1]}: what do you expect?"
            return Picture(svg, said, text)
        [found] = [f for row in rows for f in row if (f.operator, f.mode) == chosen]
        return Picture(svg, tracked_sentence(found, self._shown[chosen]), text)

    def _on_expected(self, change: dict) -> None:
        if change["new"] != _OPEN:
            self._shown[self.operator.value, self.mode.value] = change["new"] == _YES
            self.refresh()

    def _on_cell(self, _change: object) -> None:
        with self.together():
            said = self._shown.get((self.operator.value, self.mode.value))
            self.expected.value = {True: _YES, False: _NO, None: _OPEN}[said]

    def _on_flag(self, _change: object) -> None:
        with self.together():
            self._shown.clear()
            self.expected.value = _OPEN

    def _on_reveal(self, _button: object) -> None:
        for op in OPERATORS:
            for mode in MODES:
                self._shown.setdefault((op, mode), None)
        self.refresh()


def _inputs(x: bool, w: bool) -> str:
    if x and w:
        return "x and w do."
    if not x and not w:
        return "Neither x nor w does."
    return "x does, w does not." if x else "w does, x does not."
