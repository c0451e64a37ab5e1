"""The graphs that torch.compile has captured, a row of operators each, and what cut them apart."""

from __future__ import annotations

from itertools import groupby

from ..records import Compilation, CompiledGraph, Recompile
from .compilation import compilation_sentence
from .shorter import cut
from .svg import Canvas
from .text import count
from .theme import CELL_HEIGHT, CHAR_WIDTH, MARGIN, PAGE_WIDTH, SMALL_CHAR_WIDTH

_MOST_ROWS = 12
_MOST_OPERATORS = 24
_ROW = CELL_HEIGHT + 8
_LABEL = 92
_LONGEST = 92


def compilation_svg(found: Compilation, *, live: bool = False) -> str:
    """Boxes for the operators of each graph; a box with a broken border where a graph was ended.

    "" where there is nothing to draw.
    """
    runs = [(graph, len(list(same))) for graph, same in groupby(found.graphs)]
    if not runs:
        return ""
    canvas = Canvas(live=live)
    canvas.text(MARGIN, 18, compilation_sentence(found), kind="h")
    y, number, row = 32.0, 1, 0
    for graph, n in runs[:_MOST_ROWS]:
        if graph.operators:
            y, row = _graph(canvas, graph, (number, n), y, row)
            number += n
        if graph.ended_by:
            y, row = _break(canvas, graph, y, row)
    for one in found.recompiles[:_MOST_ROWS]:
        y, row = _recompile(canvas, one, y, row)
    hidden = max(len(runs) - _MOST_ROWS, 0) + max(len(found.recompiles) - _MOST_ROWS, 0)
    if hidden:
        canvas.text(MARGIN, y + 12, f"and {count(hidden, 'more row')}")
    return canvas.svg(compilation_sentence(found))


def _graph(
    canvas: Canvas, graph: CompiledGraph, numbers: tuple[int, int], y: float, row: int
) -> tuple[float, int]:
    """The operators of one graph, or of several with the same ones, in as many lines as needed."""
    first, n = numbers
    label = f"graph {first}" if n == 1 else f"graphs {first}-{first + n - 1}"
    canvas.text(MARGIN, y + 16, label)
    x, column = float(MARGIN + _LABEL), 0
    shown = [name.removeprefix("aten.") for name in graph.operators[:_MOST_OPERATORS]]
    if len(graph.operators) > _MOST_OPERATORS:
        shown.append(f"and {len(graph.operators) - _MOST_OPERATORS:,} more")
    for name in shown:
        width = len(name) * CHAR_WIDTH + 14
        if x + width > PAGE_WIDTH - MARGIN:
            x, y, row, column = float(MARGIN + _LABEL), y + _ROW - 12, row + 1, 0
        canvas.cell(
            *(x, y, width, name),
            kind="used",
            height=CELL_HEIGHT - 12,
            link=label,
            say=f"{label}: {name}",
            at=(row, column),
        )
        x, column = x + width + 4, column + 1
    return y + _ROW - 8, row + 1


def _break(canvas: Canvas, graph: CompiledGraph, y: float, row: int) -> tuple[float, int]:
    where = f"{graph.place}" if graph.place else ""
    return _note(canvas, f"break: {graph.ended_by}", where, "bad", y, row)


def _recompile(canvas: Canvas, one: Recompile, y: float, row: int) -> tuple[float, int]:
    words = f"call {one.call} compiled again: {one.guard} failed"
    return _note(canvas, words, f"{one.place}" if one.place else "", "new", y, row)


def _note(
    canvas: Canvas, words: str, where: str, kind: str, y: float, row: int
) -> tuple[float, int]:
    lines = [cut(words, _LONGEST), *([cut(where, _LONGEST + 16)] if where else [])]
    width = max(len(lines[0]) * CHAR_WIDTH, len(lines[-1]) * SMALL_CHAR_WIDTH) + 18
    canvas.cell(
        *(MARGIN + _LABEL, y, width, *lines),
        kind=kind,
        height=CELL_HEIGHT if where else CELL_HEIGHT - 12,
        link=f"note {row}",
        say=f"{words}; {where}" if where else words,
        at=(row, 0),
    )
    return y + (_ROW if where else _ROW - 12), row + 1
