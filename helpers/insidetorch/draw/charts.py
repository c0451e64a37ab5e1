"""Measured numbers as a chart, through matplotlib, in the style of the other pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO

import matplotlib
from matplotlib.figure import Figure

from .shorter import amount

_STYLE = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "svg.hashsalt": "insidetorch",
    "font.family": "monospace",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
# Colours that stay apart for every kind of colour vision; the marks tell the same.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
_MARKS = ("o", "s", "^", "D")


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
        return _svg(figure)


def lines(
    places: Sequence[float],
    values: Mapping[str, Sequence[float]],
    *,
    title: str,
    x: str,
    y: str,
    unit: str = "B",
) -> str:
    """Lines over common places as SVG text, both axes logarithmic, with a legend.

    The places are counts of `unit`.
    """
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(7.5, 3.4), layout="constrained")
        axes = figure.add_subplot()
        for (name, line), colour, mark in zip(values.items(), _COLOURS, _MARKS, strict=False):
            axes.loglog(places, line, color=colour, marker=mark, label=name)
        axes.legend(frameon=False, loc="upper left")
        axes.yaxis.set_major_formatter(lambda value, _place: _number(value))
        axes.set_xticks(places, [amount(place, unit) for place in places])
        axes.minorticks_off()
        axes.set_title(title, loc="left", fontweight="bold")
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        return _svg(figure)


def points(values: Mapping[str, tuple[float, float]], *, title: str, x: str, y: str) -> str:
    """Named points as SVG text, with a line from the origin through the first of them."""
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(7.5, 3.6), layout="constrained")
        axes = figure.add_subplot()
        right = max(place for place, _ in values.values()) * 1.45
        first, height = next(iter(values.values()))
        axes.plot([0, right], [0, right * height / first], color="#8a8a8a", linestyle=":")
        for number, (name, (place, value)) in enumerate(values.items()):
            colour, mark = _COLOURS[number % len(_COLOURS)], _MARKS[number % len(_MARKS)]
            axes.plot([place], [value], color=colour, marker=mark, linestyle="")
            axes.annotate(name, (place, value), xytext=(8, -3), textcoords="offset points")
        axes.set_xlim(0, right)
        axes.set_ylim(0, max(value for _, value in values.values()) * 1.15)
        axes.xaxis.set_major_formatter(lambda value, _place: amount(value, "B"))
        axes.yaxis.set_major_formatter(lambda value, _place: _number(value))
        axes.set_title(title, loc="left", fontweight="bold")
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        return _svg(figure)


def _svg(figure: Figure) -> str:
    out = StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
