"""The operators of a run as a table: what each was given, made, read and wrote."""

from __future__ import annotations

from collections.abc import Iterator

from ..records import Trace, Traced
from .shorter import cut
from .svg import Canvas
from .text import count, wrapped
from .theme import CELL_HEIGHT, CHAR_WIDTH, MARGIN, SMALL_CHAR_WIDTH

# The longest text in a column: what is longer is cut there, and stands whole in the row's sentence.
_COLUMNS = {"operator": 31, "given": 36, "returned": 22, "bytes read, written": 27}
_TOP = 50.0
_MOST = 80
_INSIDE, _GAP = 8, 6


def trace_svg(trace: Trace, *, live: bool = False) -> str:
    """A row for each operator; rows that use one result light up together. "" for none."""
    if not trace.found:
        return ""
    canvas = Canvas(live=live)
    canvas.text(MARGIN, 18, trace.sentence, kind="h")
    shown = trace.found[:_MOST]
    rows = [_texts(one) for one in shown]
    widths = [
        max(SMALL_CHAR_WIDTH * len(name), *(_width(row[column]) for row in rows)) + 2 * _INSIDE
        for column, name in enumerate(_COLUMNS)
    ]
    lefts = [MARGIN + sum(widths[:k]) + k * _GAP for k in range(len(widths))]
    for left, width, name in zip(lefts, widths, _COLUMNS, strict=True):
        canvas.text(left + width / 2, 44, name, kind="s m")
    for number, (one, texts) in enumerate(zip(shown, rows, strict=True)):
        _row(canvas, one, number, list(zip(lefts, widths, texts, strict=True)))
    y = canvas.height + 18
    for number, line in enumerate(_below(trace)):
        canvas.text(MARGIN, y + number * 15, line)
    return canvas.svg(trace.sentence)


def _texts(one: Traced) -> list[tuple[str, str]]:
    """What stands in the cells of a row: a text, and a smaller one below it."""
    texts = (
        (one.operator, one.node or one.place.statement),
        (", ".join(_short(str(t)) for t in one.given) or "nothing", ""),
        (", ".join(_short(str(t)) for t in one.returned) or "nothing", ""),
        (f"{one.read:,}, {one.written:,}", "a view" if not one.moved and not one.made else ""),
    )
    return [
        (cut(text, most), cut(small, int(most * CHAR_WIDTH / SMALL_CHAR_WIDTH)))
        for (text, small), most in zip(texts, _COLUMNS.values(), strict=True)
    ]


def _width(texts: tuple[str, str]) -> float:
    text, small = texts
    return max(len(text) * CHAR_WIDTH, len(small) * SMALL_CHAR_WIDTH)


def _row(
    canvas: Canvas, one: Traced, number: int, cells: list[tuple[float, float, tuple[str, str]]]
) -> None:
    y = _TOP + number * (CELL_HEIGHT + 2)
    storage = one.made or max((t.storage for t in one.returned), default=0)
    for column, (left, width, texts) in enumerate(cells):
        canvas.cell(
            *(left, y, width, *filter(None, texts)),
            kind="part" if one.node else "used" if one.moved else "free",
            link=f"storage {storage}" if storage else f"row {number}",
            say=f"{one}; {one.where}" + (f". {one.remark}" if one.remark else ""),
            at=(number, column),
        )


def _below(trace: Trace) -> Iterator[str]:
    """What stands below the rows."""
    if len(trace) > _MOST:
        yield f"And {count(len(trace) - _MOST, 'more operator')}."
    for one in trace.found[:_MOST]:
        if one.remark:
            yield from wrapped(f"{one.operator}: {one.remark}")
    for note in trace.notes:
        yield from wrapped(note)


def _short(text: str) -> str:
    return text.replace("float32 ", "")
