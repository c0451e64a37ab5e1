"""One call of a function: its lines with the nodes that they made, above the graph."""

from __future__ import annotations

from ..records import Branch
from .folding import items_of
from .graph import draw_items
from .graph_text import graph_sentence, graph_text
from .svg import Canvas
from .theme import CHAR_WIDTH, MARGIN

_LINE = 16
_GUTTER = 16
_GAP = 24


def branch_sentence(branch: Branch) -> str:
    """What was given, what came out, how large the graph is."""
    call = f"{branch.argument} = {branch.given} gives {branch.result}"
    return f"{call}: {graph_sentence(branch.graph)}"


def branch_text(branch: Branch) -> str:
    """The lines of the function, those that made nodes marked with them; the graph."""
    width = max((len(line.text) for line in branch.lines), default=0)
    lines = [
        f"{'>' if line.nodes else ' '} {line.text.ljust(width)}  {', '.join(line.nodes)}".rstrip()
        for line in branch.lines
    ]
    return "\n".join([branch_sentence(branch), *lines, graph_text(branch.graph)])


def branch_svg(branch: Branch, *, live: bool = False) -> str:
    """The function's text, a mark and the nodes beside each line that made some; the graph."""
    canvas = Canvas(live=live)
    canvas.text(MARGIN, 18, branch_sentence(branch), kind="h")
    indent = min((_indent(line.text) for line in branch.lines if line.text), default=0)
    right = max((len(line.text) for line in branch.lines), default=0) - indent
    y = 42.0
    for line in branch.lines:
        inside = _indent(line.text)
        left = MARGIN + _GUTTER
        canvas.text(left + (inside - indent) * CHAR_WIDTH, y, line.text[inside:])
        if line.nodes:
            canvas.text(MARGIN, y, "▸")
            canvas.text(left + right * CHAR_WIDTH + _GAP, y, ", ".join(line.nodes), kind="s")
        y += _LINE
    draw_items(canvas, branch.graph, items_of(branch.graph), top=y, notes={})
    return canvas.svg(branch_sentence(branch))


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
