"""Measured numbers as a chart, through matplotlib, in the style of the other pictures."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO

import matplotlib
from matplotlib.figure import Figure

_STYLE = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "svg.hashsalt": "insidetorch",
    "font.family": "monospace",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def bars(values: Mapping[str, float], *, title: str, unit: str) -> str:
    """Horizontal bars as SVG text, one for each name, its number written beside it."""
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(7.5, 0.9 + 0.38 * len(values)), layout="constrained")
        axes = figure.add_subplot()
        drawn = axes.barh(list(values), list(values.values()), color="#56b4e9", edgecolor="#2f8fc4")
        axes.bar_label(drawn, [_number(value) for value in values.values()], padding=4)
        axes.invert_yaxis()
        axes.margins(x=0.12)
        axes.set_title(title, loc="left", fontweight="bold")
        axes.set_xlabel(unit)
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
