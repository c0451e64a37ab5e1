"""Who shares a storage, as a picture: one row of bytes for each tensor."""

from __future__ import annotations

from ..records import Family, Member
from .svg import Canvas
from .text import families_sentence, others_text
from .theme import CHAR_WIDTH, MARGIN, PAGE_WIDTH

_ROW = 24
_NOTE = 250


def aliases_svg(families: tuple[Family, ...], *, live: bool = False) -> str:
    """The picture of all families: what stands in one column is the same memory."""
    canvas, y, row = Canvas(live=live), 0.0, 0
    if not families:
        canvas.text(MARGIN, 18, families_sentence(families))
    names = [_short(m.name) for family in families for m in family.members]
    left = MARGIN + max(map(len, names), default=0) * CHAR_WIDTH + 10
    for number, family in enumerate(families):
        others = f", {others_text(family)}" if family.others else ""
        canvas.text(MARGIN, y + 18, f"storage of {family.storage_bytes:,} bytes{others}", kind="h")
        canvas.text(left, y + 34, "byte 0", kind="s")
        canvas.text(PAGE_WIDTH - _NOTE, y + 34, f"{family.storage_bytes:,}", kind="s r")
        y += 38
        for member, runs in zip(family.members, family.runs, strict=True):
            _member(canvas, number, family, member, runs, (left, y), row)
            y += _ROW
            row += 1
        y += 14
    return canvas.svg(families_sentence(families))


def _member(
    canvas: Canvas,
    number: int,
    family: Family,
    member: Member,
    runs: tuple[tuple[int, int], ...],
    corner: tuple[float, float],
    row: int,
) -> None:
    left, y = corner
    scale = (PAGE_WIDTH - _NOTE - left) / max(family.storage_bytes, 1)
    canvas.text(MARGIN, y + 14, _short(member.name))
    for column, (start, end) in enumerate(runs):
        canvas.cell(
            left + start * scale,
            y,
            max((end - start) * scale - 1, 1.5),
            kind="used",
            height=_ROW - 6,
            link=f"{number}:{start}",
            say=f"{member.name} reads bytes {start:,} to {end - 1:,}; {member.role}",
            at=(row, column),
        )
    layout = member.layout
    also = f", also {', '.join(member.names[1:])}" if len(member.names) > 1 else ""
    note = PAGE_WIDTH - _NOTE + 8
    canvas.text(note, y + 9, f"{layout.sizes} {layout.strides}", kind="s")
    canvas.text(note, y + 19, _short(member.role + also, most=44), kind="s")


def _short(text: str, *, most: int = 28) -> str:
    """A text that fits its column; the whole of it stands in the words beside the picture."""
    return text if len(text) <= most else text[: most - 1] + "…"
