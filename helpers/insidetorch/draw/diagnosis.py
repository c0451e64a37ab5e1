"""The lines of one's own step as a list: the values go down on its left, the gradient comes back
up on its right, and ends where it is cut."""

from __future__ import annotations

from ..records import Diagnosis, PathLine
from .diagnosis_text import (
    calls_text,
    diagnosis_sentence,
    line_text,
    shortened,
    trained_texts,
)
from .lanes import lanes_of
from .shorter import cut
from .svg import Canvas
from .text import wrapped
from .theme import CHAR_WIDTH, MARGIN, SMALL_CHAR_WIDTH

_LANE = 12  # between two lines that run side by side
_TOP, _GAP = 56, 8
_BOX = 600
_SMALL = 13
_KINDS = {"fine": "gf", "zero": "gz", "not finite": "gn"}


def diagnosis_svg(one: Diagnosis, *, live: bool = False, chosen: int | None = None) -> str:
    """The picture of one backward pass; `chosen` is the number of a finding to be told. "" for
    one without lines."""
    if not one.lines:
        return ""
    shown = shortened(one)
    canvas = Canvas(live=live)
    rows = [*(_row_texts(line) for line in shown.lines), [str(shown.place or "the loss")]]
    heights = [16 + _SMALL * (len(texts) - 1) + 10 for texts in rows]
    # A live picture has its sentence beside it.
    said = [] if live else wrapped(diagnosis_sentence(one))
    top = _TOP - (30 if live else 0)
    tops = [top + sum(heights[:k]) + _GAP * k for k in range(len(rows))]
    down, up = lanes_of(shown.values), lanes_of(shown.gradients)
    left = MARGIN + _LANE * (max(down.values(), default=0) + 2)
    for number, text in enumerate(said[:2]):
        more = " …" if number == 1 and len(said) > 2 else ""
        canvas.text(MARGIN, 16 + 15 * number, text + more, kind="h")
    canvas.text(left, top - 6, "values go down", kind="s")
    canvas.text(left + _BOX, top - 6, "the gradient comes up", kind="s r")
    for (a, b), lane in down.items():
        x = left - _LANE * (lane + 1)
        here, there = _out(tops, heights, a), _in(tops, heights, b)
        canvas.arrow([(left, here), (x, here), (x, there), (left, there)])
    right = left + _BOX
    for (a, b), lane in up.items():
        x = right + _LANE * (lane + 1)
        kind = _KINDS[shown.lines[b].gradient] if b < len(shown.lines) else "gf"
        here, there = _in(tops, heights, a), _out(tops, heights, b)
        canvas.arrow([(right, here), (x, here), (x, there), (right, there)], kind=kind)
    found = {f.line for f in one.findings} if chosen is None else {shown.findings[chosen].line}
    for number, texts in enumerate(rows):
        line = shown.lines[number] if number < len(shown.lines) else None
        _row(canvas, (left, tops[number], heights[number]), texts, line, number,
             marked=number in found)  # fmt: skip
    y = canvas.height + 20
    for text in _below(one, chosen):
        canvas.text(MARGIN, y, text)
        y += 15
    return canvas.svg(diagnosis_sentence(one))


def _row_texts(line: PathLine) -> list[str]:
    """What stands in the box of a line: the line, what it calls, and its leaves."""
    words = f"{calls_text(line)}" + ("" if line.gradient != "none" else "; no gradient comes back")
    return [line_text(line), words, *trained_texts(line.trained)]


def _out(tops: list[float], heights: list[float], number: int) -> float:
    return tops[number] + heights[number] * 0.7


def _in(tops: list[float], heights: list[float], number: int) -> float:
    return tops[number] + heights[number] * 0.3


def _row(
    canvas: Canvas, box: tuple[float, float, float], texts: list[str], line: PathLine | None,
    number: int, *, marked: bool,
) -> None:  # fmt: skip
    x, y, height = box
    mark = ""
    if line is not None and line.cut:
        mark = f"CUT: {line.cut}" if marked else f"ends here: {line.cut}"
    say = "; ".join(texts) + (f". {mark}" if mark else "")
    canvas.cell(
        x, y, _BOX, kind=_kind(line, marked=marked), height=height, link=f"line {number}",
        say=say, at=(number, 0),
    )  # fmt: skip
    room = _BOX - (len(mark) + 2) * CHAR_WIDTH if mark else _BOX
    first, *small = texts
    canvas.text(x + 6, y + 15, cut(first, int((room - 12) / CHAR_WIDTH)))
    if mark:
        canvas.text(x + _BOX - 6, y + 15, mark, kind="w r" if marked else "r")
    for k, text in enumerate(small, 1):
        longest = int((_BOX - 12) / SMALL_CHAR_WIDTH)
        canvas.text(x + 6, y + 15 + _SMALL * k, cut(text, longest), kind="s")


def _kind(line: PathLine | None, *, marked: bool) -> str:
    if line is None:
        return "free"
    if marked:
        return "bad"
    return {"fine": "used", "zero": "part", "not finite": "bad", "none": "free"}[line.gradient]


def _below(one: Diagnosis, chosen: int | None) -> list[str]:
    """What stands below the lines: leaves that nothing read, and the finding that is told."""
    told: list[str] = []
    told.append("Solid: a gradient came back. Dotted: none. Dashed and orange: a finding.")
    for text in trained_texts(one.unread):
        told += wrapped(f"Not read on the way to this loss: {text}")
    if chosen is not None:
        found = one.findings[chosen]
        where = str(found.place) if found.place else "no line of your code"
        told += ["", *wrapped(f"{found.severity} ({found.kind}), {where}")]
        told += [*wrapped(found.message), *wrapped(f"To do: {found.fix}")]
    return told
