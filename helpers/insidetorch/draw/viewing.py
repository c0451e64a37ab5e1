"""The view rule as a picture and in words: chunks of merged dimensions, and what fills them."""

from __future__ import annotations

from collections.abc import Sequence

from ..indexing import Filling, chunks
from ..records import ViewRule
from .svg import Canvas
from .text import count, wrapped
from .theme import CELL_HEIGHT, MARGIN

_WIDTH = 78
_GAP = 14
_LABEL = 100


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
    rows = {"dimensions": 34.0, "chunks": 34.0 + 52, "wanted": 34.0 + 104}
    for name, y in rows.items():
        canvas.text(MARGIN, y + 22, name)
    merged = chunks(rule.sizes, rule.strides_before) if rule.fillings else []
    by_chunk = {filling.chunk: filling for filling in rule.fillings}
    left = float(MARGIN + _LABEL)
    first = min((d for f in rule.fillings for d in f.wanted), default=len(rule.wanted))
    if first:
        left = _boxes(canvas, rule, range(first), left, rows["wanted"], "free") + _GAP
    for number, chunk in enumerate(merged):
        filling = by_chunk.get(chunk)
        dims = [(f"{rule.sizes[d]}", f"stride {rule.strides_before[d]}") for d in chunk.dims]
        wanted = filling.wanted if filling else ()
        width = max(len(dims), len(wanted)) * (_WIDTH + 2) - 2
        each = (width + 2) / len(dims) - 2
        for k, (size, stride) in enumerate(dims):
            canvas.cell(
                left + k * (each + 2),
                rows["dimensions"],
                each,
                size,
                stride,
                kind="used",
                link=f"chunk {number}",
                say=f"dimension {chunk.dims[k]}: size {size}, {stride}",
                at=(0, chunk.dims[k]),
            )
        canvas.cell(
            left,
            rows["chunks"],
            width,
            count(chunk.length, "element"),
            f"{chunk.stride} apart",
            kind="used" if filling is None or filling.fits else "bad",
            link=f"chunk {number}",
            say=_filling_text(rule, filling) if filling else f"{_dims(chunk.dims)}: not reached",
            at=(1, number),
        )
        if wanted:
            kind = "used" if filling.fits else "bad"
            _boxes(canvas, rule, wanted, left, rows["wanted"], kind, number, width)
        left += width + _GAP
    y = rows["wanted"] + CELL_HEIGHT + 22
    reason = [] if rule.strides is not None else [_why_not(rule)]
    for line in (line for text in (*reason, torch_text(rule)) for line in wrapped(text)):
        canvas.text(MARGIN, y, line)
        y += 16
    return canvas.svg(view_sentence(rule))


def _boxes(
    canvas: Canvas,
    rule: ViewRule,
    dims: Sequence[int],
    left: float,
    y: float,
    kind: str,
    chunk: int = -1,
    width: float = 0,
) -> float:
    """The wanted dimensions of one chunk, as wide together as the chunk; returns the right end."""
    each = (width + 2) / len(dims) - 2 if width else _WIDTH
    for k, d in enumerate(dims):
        stride = "" if rule.strides is None else f"stride {rule.strides[d]}"
        canvas.cell(
            left + k * (each + 2),
            y,
            each,
            str(rule.wanted[d]),
            *filter(None, [stride]),
            kind=kind,
            link=f"chunk {chunk}",
            say=f"wanted dimension {d}: size {rule.wanted[d]}"
            + (f", {stride}" if stride else ", no stride found"),
            at=(2, d),
        )
    return left + len(dims) * (each + 2) - 2


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
