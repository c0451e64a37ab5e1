"""What one write does to every reader of the memory, as a picture and in words."""

from __future__ import annotations

from ..records import Reader, Write
from .svg import Canvas
from .text import value_text
from .theme import CELL_HEIGHT, CHAR_WIDTH, MARGIN, PAGE_WIDTH

_WIDTH = 44
_GAP = 22


def write_sentence(write: Write) -> str:
    """Who saw the write, and whose version moved."""
    if write.refusal:
        return f"{write.statement}: torch refuses: {write.refusal}"
    saw = [reader.name for reader in write.readers if reader.changed]
    missed = [r.name for r in write.readers if r.changed and r.version_before == r.version_after]
    text = f"{write.statement}: seen through {', '.join(saw)}."
    if missed:
        text += f" Values changed and no version moved: {', '.join(missed)}."
    return text


def write_text(write: Write) -> str:
    """A line for each reader: its values, where they changed, and its version."""
    lines = [f"{write.statement}{f': torch refuses: {write.refusal}' if write.refusal else ''}"]
    for reader in write.readers:
        pairs = zip(reader.before, reader.after, strict=True)
        values = "  ".join(
            value_text(new) if old == new else f"{value_text(old)}→{value_text(new)}"
            for old, new in pairs
        )
        lines.append(f"  {reader.name:20} {_version(reader):22} {values}")
    return "\n".join(lines)


def write_svg(write: Write, *, live: bool = False) -> str:
    """A block of cells for each reader; cells on the same byte light up together."""
    canvas = Canvas(live=live)
    canvas.text(MARGIN, 18, write.statement, kind="h")
    left, top, bottom, row = float(MARGIN), 38.0, 38.0, 0
    for number, reader in enumerate(write.readers):
        columns = reader.sizes[-1] if reader.sizes else 1
        width = max(columns * (_WIDTH + 2), len(reader.name) * CHAR_WIDTH, 150)
        if left > MARGIN and left + width > PAGE_WIDTH:
            left, top, row = float(MARGIN), bottom + 18, row + 4
        kind = "h" if reader.name == write.through else ""
        canvas.text(left, top + 10, reader.name, kind=kind)
        canvas.text(left, top + 24, _version(reader), kind="s")
        for place, (old, new) in enumerate(zip(reader.before, reader.after, strict=True)):
            r, c = divmod(place, columns)
            own = reader.bytes[place] < 0
            canvas.cell(
                left + c * (_WIDTH + 2),
                top + 32 + r * (CELL_HEIGHT + 2),
                _WIDTH,
                value_text(new),
                *([f"was {value_text(old)}"] if old != new else []),
                kind="new" if old != new else ("free" if own else "used"),
                link=f"{number}:{place}" if own else str(reader.bytes[place]),
                say=_say(reader, place),
                at=(row + r, number * 8 + c),
            )
        rows = -(-len(reader.before) // columns)
        bottom = max(bottom, top + 32 + rows * (CELL_HEIGHT + 2))
        left += width + _GAP
    return canvas.svg(write_sentence(write))


def _version(reader: Reader) -> str:
    if reader.version_before is None:
        return "no version counter"
    if reader.version_before == reader.version_after:
        return f"version {reader.version_after}"
    return f"version {reader.version_before} → {reader.version_after}"


def _say(reader: Reader, place: int) -> str:
    old, new, byte = reader.before[place], reader.after[place], reader.bytes[place]
    where = "memory of its own" if byte < 0 else f"byte {byte} of the storage of a"
    value = value_text(new) if old == new else f"{value_text(new)}, was {value_text(old)}"
    return f"{reader.name}, value {place}: {value}, in {where}"
