"""The one view in the page: an SVG string and a status line."""

from __future__ import annotations

from importlib.resources import files

import anywidget
import traitlets

from ..draw.svg import live_css

_BOX_CSS = """
.it-box{width:100%;gap:4px}
.it-box .widget-readout{min-width:3em;max-width:3em}
.it-picture{overflow-x:auto}
.it-status{min-height:1.5em;padding:2px 8px;white-space:pre-line}
.it-status{color:var(--jp-content-font-color1,#212121)}
"""


class SvgView(anywidget.AnyWidget):
    """Shows a live picture of `draw`; knows nothing of what it shows.

    `rev` counts the pictures: the page repaints when it changes, so that one message carries
    picture and status together.
    """

    _esm = (files(__package__) / "static" / "svgview.js").read_text(encoding="utf-8")
    _css = live_css() + _BOX_CSS
    svg = traitlets.Unicode("").tag(sync=True)
    status = traitlets.Unicode("").tag(sync=True)
    rev = traitlets.Int(0).tag(sync=True)

    def show(self, svg: str, status: str) -> None:
        """Replace the picture, in one message to the page."""
        with self.hold_sync():
            self.svg, self.status, self.rev = svg, status, self.rev + 1

    def __repr__(self) -> str:  # the inherited one holds an address, which nbval would compare
        return "SvgView()"
