"""The view rule as a picture and in words: chunks of merged dimensions, and what fills them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..indexing import Filling, chunks
from ..records import ViewRule
from .svg import Canvas
from .text import count, wrapped
from .theme import CELL_HEIGHT, MARGIN

_WIDTH = 92
_GAP = 14
_LABEL = 100
_ROWS = {"dimensions": 34.0, "chunks": 86.0, "wanted": 138.0}


def view_sentence(rule: ViewRule) -> str:
    """The verdict in one or two sentences."""
    asked = f"Sizes {rule.sizes} with strides {rule.strides_before}, viewed as {rule.wanted}:"
    if rule.strides is not None:
        return f"{asked} a view with strides {rule.strides}."
    return f"{asked} no view, only a copy. {_why_not(rule)}"


def view_text(rule: ViewRule) -> str:
    """Every chunk, what fills it, the verdict, and torch's own answer."""
    lines = [f"sizes {rule.sizes}, strides {rule.strides_before}, wanted {rule.wanted}"]
    lines += [f"  {_filling_text(rule, filling)}" for filling in rule.fillings]
    if rule.strides is not None:
        lines.append(f"a view with strides {rule.strides}")
    else:
        lines += [_why_not(rule), "no view: reshape would copy"]
    return "\n".join([*lines, torch_text(rule)])


def torch_text(rule: ViewRule) -> str:
    """What torch itself answers."""
    if rule.torch_strides is None:
        return f"torch: {rule.refusal}"
    return f"torch: a view with strides {tuple(rule.torch_strides)}"


def view_svg(rule: ViewRule, *, live: bool = False) -> str:
    """Three rows that stand below one another: dimensions, chunks, wanted dimensions."""
    canvas = Canvas(live=live)
    canvas.text(MARGIN, 18, view_sentence(rule).partition(". ")[0].rstrip("."), kind="h")
    for name, y in _ROWS.items():
        canvas.text(MARGIN, y + 22, name)
    left = float(MARGIN + _LABEL)
    for number, rows in enumerate(_columns(rule)):
        width = max(map(len, rows)) * (_WIDTH + 2) - 2
        for boxes, y in zip(rows, _ROWS.values(), strict=True):
            _row(canvas, boxes, left, y, width, link=f"chunk {number}")
        left += width + _GAP
    y = _ROWS["wanted"] + CELL_HEIGHT + 22
    reason = [] if rule.strides is not None else [_why_not(rule)]
    for line in (line for text in (*reason, torch_text(rule)) for line in wrapped(text)):
        canvas.text(MARGIN, y, line)
        y += 16
    return canvas.svg(view_sentence(rule))


@dataclass(frozen=True)
class _Box:
    lines: tuple[str, ...]
    say: str
    at: tuple[int, int]
    kind: str = "used"


def _columns(rule: ViewRule) -> list[tuple[list[_Box], list[_Box], list[_Box]]]:
    """For each chunk the boxes of its dimensions, its own, and those of what would fill it.

    Wanted dimensions that no chunk was asked for stand in a column of their own, on the left.
    """
    fillings = {filling.chunk: filling for filling in rule.fillings}
    used = [d for filling in rule.fillings for d in filling.wanted]
    spare = range(min(used, default=len(rule.wanted)))
    columns = [([], [], [_wanted_box(rule, d, "free") for d in spare])] if spare else []
    for chunk in chunks(rule.sizes, rule.strides_before) if rule.fillings else []:
        filling = fillings.get(chunk)
        kind = "used" if filling is None or filling.fits else "bad"
        say = _filling_text(rule, filling) if filling else f"{_dims(chunk.dims)}: not reached"
        lines = count(chunk.length, "element"), f"{chunk.stride} apart"
        dims = [_dim_box(rule, d) for d in chunk.dims]
        wanted = [_wanted_box(rule, d, kind) for d in (filling.wanted if filling else ())]
        columns.append((dims, [_Box(lines, say, (1, chunk.dims[0]), kind)], wanted))
    return columns


def _dim_box(rule: ViewRule, d: int) -> _Box:
    size, stride = rule.sizes[d], f"stride {rule.strides_before[d]}"
    return _Box((f"{size}", stride), f"dimension {d}: size {size}, {stride}", (0, d))


def _wanted_box(rule: ViewRule, d: int, kind: str) -> _Box:
    size = rule.wanted[d]
    stride = "" if rule.strides is None else f"stride {rule.strides[d]}"
    lines = (f"{size}", stride) if stride else (f"{size}",)
    return _Box(lines, f"wanted dimension {d}: size {size}, {stride or 'no stride'}", (2, d), kind)


def _row(
    canvas: Canvas, boxes: list[_Box], left: float, y: float, width: float, *, link: str
) -> None:
    """Boxes side by side, together as wide as their column."""
    each = (width + 2) / max(len(boxes), 1)
    for k, box in enumerate(boxes):
        canvas.cell(
            left + k * each,
            y,
            each - 2,
            *box.lines,
            kind=box.kind,
            link=link,
            say=box.say,
            at=box.at,
        )


def _filling_text(rule: ViewRule, filling: Filling) -> str:
    chunk = filling.chunk
    merge = f"{_dims(chunk.dims)} merge{'' if len(chunk.dims) > 1 else 's with none'}"
    held = f"{count(chunk.length, 'element')}, {chunk.stride} apart"
    sizes = " × ".join(str(rule.wanted[d]) for d in filling.wanted)
    if not filling.wanted:
        return f"{merge}: {held}; no wanted dimension is left for it"
    ends = "fill it" if len(filling.wanted) > 1 else "fills it"
    if not filling.fits:
        ends = f"would put {count(filling.filled, 'element')} there"
    return f"{merge}: {held}; wanted {sizes} {ends}"


def _why_not(rule: ViewRule) -> str:
    """Which dimension stops it."""
    chunk, filled = rule.stopped_by.chunk, rule.stopped_by.filled
    left = chunk.dims[0] - 1
    if left < 0 or filled < chunk.length:
        return (
            f"The wanted sizes cut the chunk of {_dims(chunk.dims).lower()} at {filled} of its "
            f"{count(chunk.length, 'element')}."
        )
    return (
        f"Dimension {left} stops it: one step along it moves "
        f"{count(rule.strides_before[left], 'element')}, "
        f"and the {chunk.length} elements to its right span {chunk.length * chunk.stride}."
    )


def _dims(dims: Sequence[int]) -> str:
    if len(dims) == 1:
        return f"Dimension {dims[0]}"
    return f"Dimensions {', '.join(map(str, dims[:-1]))} and {dims[-1]}"
