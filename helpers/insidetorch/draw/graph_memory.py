"""Which graphs are alive after each step, as a picture: one column of boxes for each step."""

from __future__ import annotations

from ..records import AfterStep, GraphHold, GraphsOverSteps, StepGraph
from .graph_memory_text import elided, step_graph_text, total_text
from .shorter import amount, cut
from .svg import Canvas
from .theme import MARGIN, PAGE_WIDTH, SMALL_CHAR_WIDTH

_HEIGHT, _GAP = 44.0, 5.0
_WIDEST = 128.0
_TOP = 36.0


def graph_memory_svg(
    found: GraphsOverSteps, *, title: str = "graphs that are alive", live: bool = False
) -> str:
    """The columns; a graph has the same link in all of them. The oldest graph stands lowest.

    Where there are more than twelve columns, or boxes in one, those in the middle are left out.
    """
    canvas = Canvas(live=live)
    canvas.text(MARGIN, 18, title, kind="h")
    columns = elided(found.after)
    stacks = [[] if after is None else elided(after.graphs) for after in columns]
    highest = max([1, *map(len, stacks)])
    bottom = _TOP + highest * (_HEIGHT + _GAP)
    shown = len(columns) + bool(found.failed)
    width = min(_WIDEST, (PAGE_WIDTH - 2 * MARGIN) / shown - _GAP)
    for column, (after, stack) in enumerate(zip(columns, stacks, strict=True)):
        x = MARGIN + column * (width + _GAP)
        _foot(canvas, x + width / 2, bottom, after)
        for row, graph in enumerate([] if after is None else stack or [None]):
            y = bottom - (row + 1) * (_HEIGHT + _GAP)
            at = (highest - 1 - row, column)
            _box(canvas, x, y, width, graph, after, at)
    if found.failed:
        x, y = MARGIN + len(columns) * (width + _GAP), bottom - _HEIGHT - _GAP
        lines = (f"step {found.failed}", "raised", cut(found.error, _room(width)))
        canvas.cell(
            x,
            y,
            width,
            *lines,
            kind="bad",
            height=_HEIGHT,
            link="error",
            say=f"Step {found.failed} raised {found.error}.",
            at=(highest - 1, len(columns)),
        )
    legend = "The oldest graph stands lowest. A dashed box keeps no bytes: its nodes are alive."
    canvas.text(MARGIN, bottom + 44, legend, kind="s")
    return canvas.svg(title)


def _foot(canvas: Canvas, middle: float, bottom: float, after: AfterStep | None) -> None:
    """Below a column: which step has ended, and all bytes."""
    if after is None:
        canvas.text(middle, bottom + 12, "…", kind="s m")
        return
    canvas.text(middle, bottom + 12, f"after {after.step}", kind="s m")
    more = "" if after.whole else "≥ "
    canvas.text(middle, bottom + 25, more + amount(after.nbytes), kind="s m")


def _box(
    canvas: Canvas,
    x: float,
    y: float,
    width: float,
    graph: StepGraph | None,
    after: AfterStep,
    at: tuple[int, int],
) -> None:
    """One graph; or that there is none; or how many boxes are left out here."""
    if graph is None:
        left_out = len(after.graphs) - len(elided(after.graphs)) + 1
        lines = (f"… {left_out:,}", "more") if after.graphs else ("none",)
        kind, link, say = (
            "free",
            f"rest {after.step}",
            f"After step {after.step}: {total_text(after)}.",
        )
        if after.graphs:
            say = f"After step {after.step}: the graphs of {left_out:,} more steps."
    else:
        name = f"step {graph.made}" if graph.made else "before"
        lines = (name, amount(graph.nbytes), _holder(graph.holds, _room(width)))
        kind, link = "used" if graph.nbytes else "part", f"graph {graph.made}"
        say = f"After step {after.step}, {step_graph_text(graph)}."
    canvas.cell(x, y, width, *lines, kind=kind, height=_HEIGHT, link=link, say=say, at=at)


def _room(width: float) -> int:
    return int((width - 2) / SMALL_CHAR_WIDTH)


def _holder(holds: tuple[GraphHold, ...], room: int) -> str:
    """Who holds it, in a word, and how many more do; what leads to the graph itself comes first."""
    first, others = holds[0], sum(not hold.through for hold in holds[1:])
    words = {"cycle": "a cycle", "hidden": "unseen", "history": "output history"}
    word = f"in step {first.through}" if first.through else words.get(first.kind, first.path)
    more = f" +{others}" if others else ""
    return cut(word, room - len(more)) + more
