"""Who shares a storage, as a picture: one row of bytes for each tensor."""

from __future__ import annotations

from ..records import Family, Member
from .svg import Canvas
from .text import block_text, families_sentence, first_rows, others_text
from .theme import CHAR_WIDTH, MARGIN, PAGE_WIDTH

_ROW = 24
_NOTE = 250


def aliases_svg(families: tuple[Family, ...], *, live: bool = False) -> str:
    """The picture of all families: what stands in one column is the same memory."""
    canvas, y, row = Canvas(live=live), 0.0, 0
    shown, left_out = first_rows(families)
    if not shown:
        canvas.text(MARGIN, 18, families_sentence(families))
    names = [_short(m.name) for family in shown for m in family.members]
    left = MARGIN + max(map(len, names), default=0) * CHAR_WIDTH + 10
    for number, family in enumerate(shown):
        others = f", {others_text(family)}" if family.others else ""
        canvas.text(MARGIN, y + 18, block_text(family) + others, kind="h")
        canvas.text(left, y + 34, "byte 0", kind="s")
        canvas.text(PAGE_WIDTH - _NOTE, y + 34, f"{family.block_bytes:,}", kind="s r")
        y += 38
        starts = sorted({start for member in family.members for start, _ in member.runs})
        scale = (PAGE_WIDTH - _NOTE - left) / max(family.block_bytes, 1)
        for member in family.members:
            canvas.text(MARGIN, y + 14, _short(member.name))
            for start, end in member.runs:
                canvas.cell(
                    left + start * scale,
                    y,
                    max((end - start) * scale - 1, 1.5),
                    kind="part" if member.has_holes else "used",
                    height=_ROW - 6,
                    link=f"{number}:{start}",
                    say=_say(member, start, end),
                    at=(row, starts.index(start)),
                )
            _notes(canvas, member, y)
            y += _ROW
            row += 1
        y += 14
    if left_out:
        canvas.text(MARGIN, y + 18, f"and {left_out:,} more tensors")
    return canvas.svg(families_sentence(families))


def _say(member: Member, start: int, end: int) -> str:
    what = "bytes"
    if member.has_holes:
        what = f"{member.layout.distinct * member.layout.itemsize:,} of the bytes"
    return f"{member.name} reads {what} {start:,} to {end - 1:,}; {member.role}"


def _notes(canvas: Canvas, member: Member, y: float) -> None:
    also = f", also {', '.join(member.names[1:])}" if len(member.names) > 1 else ""
    x = PAGE_WIDTH - _NOTE + 8
    layout = f"sizes {member.layout.sizes} strides {member.layout.strides}"
    canvas.text(x, y + 9, _short(layout, most=44), kind="s")
    canvas.text(x, y + 19, _short(member.role + also, most=44), kind="s")


def _short(text: str, *, most: int = 28) -> str:
    """A text that fits its column; the whole of it stands in the words beside the picture."""
    return text if len(text) <= most else text[: most - 1] + "…"
