"""The operators of a run as a table: what each was given, made, read and wrote."""

from __future__ import annotations

from collections.abc import Iterator

from ..records import Trace, Traced
from .shorter import cut
from .svg import Canvas
from .text import count, wrapped
from .theme import CELL_HEIGHT, MARGIN

_COLUMNS = (("operator", 230), ("given", 230), ("returned", 150), ("bytes read, written", 170))
_TOP = 62.0
_MOST = 80
_LONGEST = 34


def trace_sentence(trace: Trace) -> str:
    """How many operators moved how many bytes, and what they made on the way."""
    if not trace.found:
        return "No operator ran."
    text = f"{count(len(trace), 'operator')} read {count(trace.read, 'byte')} and wrote "
    text += f"{trace.written:,}"
    if trace.intermediates:
        n, size = len(trace.intermediates), sum(trace.intermediates)
        text += f"; {count(n, 'intermediate result')} of {count(size, 'byte')} is gone at the end"
        text = text.replace(" is gone", " are gone") if n > 1 else text
    return f"{text}."


def trace_text(trace: Trace) -> str:
    """A line for each operator, under the line of code or the node that ran it."""
    lines, where = [trace_sentence(trace)], ""
    for one in trace.found[:_MOST]:
        if (now := _where(one)) != where:
            lines.append(f"  {now}")
            where = now
        lines.append(f"    {_call(one)}; reads {one.read:,}, writes {one.written:,} bytes")
        if one.remark:
            lines.append(f"      {one.remark}")
    if len(trace) > _MOST:
        lines.append(f"and {len(trace) - _MOST:,} more operators")
    if trace.parts_unseen:
        lines.append("In inference mode operators arrive whole: those inside of them are not seen.")
    return "\n".join(lines)


def trace_svg(trace: Trace, *, live: bool = False) -> str:
    """A row for each operator; rows that use one result light up together. "" for none."""
    if not trace.found:
        return ""
    canvas = Canvas(live=live)
    canvas.text(MARGIN, 18, trace_sentence(trace), kind="h")
    left = float(MARGIN)
    for name, width in _COLUMNS:
        canvas.text(left + (width - 6) / 2, 44, name, kind="s m")
        left += width
    for number, one in enumerate(trace.found[:_MOST]):
        _row(canvas, one, number)
    y = canvas.height + 18
    for number, line in enumerate(_below(trace)):
        canvas.text(MARGIN, y + number * 15, line)
    return canvas.svg(trace_sentence(trace))


def _below(trace: Trace) -> Iterator[str]:
    """What stands below the rows."""
    if len(trace) > _MOST:
        yield f"and {len(trace) - _MOST:,} more operators"
    for one in trace.found[:_MOST]:
        if one.remark:
            yield from wrapped(f"{one.operator}: {one.remark}")


def _row(canvas: Canvas, one: Traced, number: int) -> None:
    y, left = _TOP - 12 + number * (CELL_HEIGHT + 2), float(MARGIN)
    storage = one.made or max((t.storage for t in one.returned), default=0)
    cells = (
        (one.operator, cut(one.node or one.place.statement, _LONGEST)),
        (", ".join(_short(str(t)) for t in one.given) or "nothing", ""),
        (", ".join(_short(str(t)) for t in one.returned) or "nothing", ""),
        (f"{one.read:,}, {one.written:,}", "a view" if not one.moved and not one.made else ""),
    )
    for column, ((_, width), lines) in enumerate(zip(_COLUMNS, cells, strict=True)):
        canvas.cell(
            left,
            y,
            width - 6,
            *(cut(line, _LONGEST) for line in lines if line),
            kind="part" if one.node else "used" if one.moved else "free",
            link=f"storage {storage}" if storage else f"row {number}",
            say=f"{_call(one)}; {_where(one)}; reads {one.read:,}, writes {one.written:,} bytes"
            + (f". {one.remark}" if one.remark else ""),
            at=(number, column),
        )
        left += width


def _call(one: Traced) -> str:
    given = ", ".join(map(str, one.given)) or "nothing"
    returned = ", ".join(map(str, one.returned)) or "nothing"
    return f"{one.operator}: {given} → {returned}"


def _where(one: Traced) -> str:
    return f"in backward, {one.node}" if one.node else str(one.place)


def _short(text: str) -> str:
    return text.replace("float32 ", "")
