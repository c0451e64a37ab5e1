"""Two expressions for the same values as rows of boxes, as wide as the bytes that they move."""

from __future__ import annotations

from ..records import FusedWay, Fusion, Way
from .shorter import amount, cut
from .svg import Canvas
from .text import count
from .theme import CHAR_WIDTH, MARGIN, PAGE_WIDTH

_WIDE = PAGE_WIDTH - 2 * MARGIN - 20
_LEAST = 4.0
_MOST = 40
_ROW = 84.0


def fusion_sentence(found: Fusion) -> str:
    """What the second expression and the compiler save."""
    first, *others = found.ways
    text = f"{_ran(first)}, {_per_element(first.trace.moved, found)}"
    for way in others:
        text += f"; {_ran(way)}, {_per_element(way.trace.moved, found)}; {found.difference}"
        text += _time(way)
    if found.fused:
        text += f". Compiled: {_fused_words(found.fused, found)}{_time(found.fused)}"
    return f"{text}."


def fusion_text(found: Fusion) -> str:
    """A line for each way: its operators, its bytes, what it makes on the way."""
    lines = [
        f"a, b and c are float32 of sizes {found.sizes}, {found.elements:,} elements; w is 64 × 64."
    ]
    for way in found.ways:
        ran = ", ".join(one.removeprefix("aten.") for one in way.operators[:_MOST]) or "nothing"
        if len(way.operators) > _MOST:
            ran += f" and {count(len(way.operators) - _MOST, 'more operator')}"
        lines += [f"{way.name}: {way.code}", f"  runs {ran}"]
        lines.append(
            f"  reads {way.trace.read:,} and writes {count(way.trace.written, 'byte')}, "
            f"{_per_element(way.trace.moved, found)}; {_left_over(way)}{_time(way)}"
        )
    if found.difference:
        lines.append(f"results: {found.difference}")
    if found.fused:
        lines.append(f"compiled: {_fused_words(found.fused, found)}{_time(found.fused)}")
    return "\n".join(lines)


def fusion_svg(found: Fusion, *, live: bool = False) -> str:
    """A row for each way, a box for each operator; the lengths are on one scale."""
    canvas = Canvas(live=live)
    most = max([way.trace.moved for way in found.ways] + [(found.fused and found.fused.moved) or 0])
    scale = _WIDE / max(most, 1)
    canvas.text(MARGIN, 18, f"bytes moved, on {found.elements:,} elements", kind="h")
    y = 42.0
    for row, way in enumerate(found.ways):
        canvas.text(MARGIN, y, f"{way.name}: {cut(way.code, 100)}")
        words = f"{count(len(way.operators), 'operator')}, {_per_element(way.trace.moved, found)}, "
        canvas.text(MARGIN, y + 15, f"{words}{_left_over(way)}{_time(way)}", kind="s")
        _boxes(canvas, way, row, y + 22, scale)
        y += _ROW
    if found.fused:
        _fused_row(canvas, found, y, scale, len(found.ways))
    return canvas.svg(fusion_sentence(found))


def _boxes(canvas: Canvas, way: Way, row: int, y: float, scale: float) -> None:
    x = float(MARGIN)
    moving = [one for one in way.trace.found if one.moved]
    for column, one in enumerate(moving[:_MOST]):
        width = max(one.moved * scale, _LEAST)
        name = one.operator.removeprefix("aten.")
        fits = len(name) * CHAR_WIDTH < width
        canvas.cell(
            *(x, y, width),
            *((name, f"{amount(one.moved)}") if fits else ()),
            kind="used",
            link=f"{row} {column}",
            say=f"{one.operator} reads {one.read:,} and writes {count(one.written, 'byte')}",
            at=(row, column),
        )
        x += width
    if rest := moving[_MOST:]:
        moved = sum(one.moved for one in rest)
        words = f"{count(len(rest), 'more operator')}"
        canvas.cell(
            *(x, y, max(moved * scale, (len(words) + 2) * CHAR_WIDTH)),
            *(words, amount(moved)),
            kind="part",
            link=f"{row} rest",
            say=f"{words}, {moved:,} bytes",
            at=(row, _MOST),
        )


def _fused_row(canvas: Canvas, found: Fusion, y: float, scale: float, row: int) -> None:
    fused = found.fused
    canvas.text(MARGIN, y, "compiled: as written, by torch.compile")
    words = fused.skipped or _fused_words(fused, found)
    canvas.text(MARGIN, y + 15, f"{cut(words, 130)}{_time(fused)}", kind="s")
    if fused.moved is not None:
        width = max(fused.moved * scale, _LEAST)
        fits = len("1 kernel") * CHAR_WIDTH < width
        canvas.cell(
            *(MARGIN, y + 22, width),
            *(("1 kernel", amount(fused.moved)) if fits else ()),
            kind="new",
            link="compiled",
            say=f"One kernel, {fused.moved:,} bytes if it moves each tensor and its result once",
            at=(row, 0),
        )


def _ran(way: Way) -> str:
    return f"{way.code}: {count(len(way.operators), 'operator')}"


def _per_element(nbytes: int, found: Fusion) -> str:
    return f"{nbytes / max(found.elements, 1):.4g} bytes for each element"


def _left_over(way: Way) -> str:
    gone = way.trace.intermediates
    if not gone:
        return "no intermediate result"
    return f"{count(len(gone), 'intermediate result')} of {count(sum(gone), 'byte')}"


def _fused_words(fused: FusedWay, found: Fusion) -> str:
    if fused.skipped:
        return fused.skipped.rstrip(".")
    words = count(fused.kernels or 0, "generated kernel")
    if not fused.kernels:
        return f"{words}: torch or a library has those of its operators, or they compute nothing"
    if fused.moved is None:
        return words
    words += f", {_per_element(fused.moved, found)}"
    return f"{words} if it moves each tensor named, and its result, once"


def _time(way: Way | FusedWay) -> str:
    if way.ratio is None:
        return ""
    return f"; measured now, {way.ratio:.2f} of the time of the expression as written"
