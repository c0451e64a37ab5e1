"""A batch in parts, as a table: what each part adds to `.grad`."""

from __future__ import annotations

from ..records import Accumulation, Part
from .svg import Canvas
from .text import count, value_text
from .theme import CELL_HEIGHT, MARGIN

_COLUMNS = (("samples", 90), ("the loss times", 110), ("adds", 170), (".grad holds then", 170))
_LABEL = 90
_TOP = 48.0


def accumulation_sentence(found: Accumulation) -> str:
    """Whether the parts give the gradient of the whole batch, and the same weights."""
    same = "the gradient of the whole batch" if found.equal else "not that of the whole batch"
    text = f"{count(len(found.parts), 'part')}: .grad holds {_vector(found.parts[-1].after)}, "
    text += f"{same}, {_vector(found.whole)}." if not found.equal else f"{same}."
    ends = [
        f"{name} is at {'the same' if found.same_weights(name) else 'other'} weights"
        for name in found.weights
    ]
    return f"{text} After three such steps {' and '.join(ends)}."


def accumulation_text(found: Accumulation) -> str:
    """A line for each part, the whole batch, and the weights after three steps."""
    lines = [accumulation_sentence(found)]
    for number, part in enumerate(found.parts, 1):
        lines.append(
            f"  part {number}: {_samples(part)}, its loss times {part.factor}, adds "
            f"{_vector(part.added)}; .grad holds {_vector(part.after)}"
        )
    lines.append(f"  whole batch: {_vector(found.whole)}")
    for name, (parts, whole) in found.weights.items():
        lines.append(
            f"  weights after three steps of {name}: {_vector(parts)}, on the whole batch "
            f"{_vector(whole)}"
        )
    return "\n".join(lines)


def accumulation_svg(found: Accumulation, *, title: str, live: bool = False) -> str:
    """The table; the last row is the whole batch, marked where the parts do not give it."""
    canvas = Canvas(live=live)
    canvas.text(MARGIN, 18, title, kind="h")
    left = MARGIN + _LABEL
    for name, width in _COLUMNS:
        canvas.text(left + (width - 6) / 2, 40, name, kind="s m")
        left += width
    rows = [_row(number, part) for number, part in enumerate(found.parts, 1)]
    rows.append(("whole batch", ("", "", "", _vector(found.whole))))
    for number, (label, cells) in enumerate(rows):
        y, left = _TOP + number * (CELL_HEIGHT - 6), float(MARGIN + _LABEL)
        last = number == len(rows) - 1
        canvas.text(MARGIN, y + 18, label)
        for column, ((name, width), text) in enumerate(zip(_COLUMNS, cells, strict=True)):
            if text:
                canvas.cell(
                    left,
                    y,
                    width - 6,
                    text,
                    kind=("used" if found.equal else "bad") if last else _kind(column),
                    height=CELL_HEIGHT - 10,
                    link=f"row {number}",
                    say=f"{label}, {name}: {text}",
                    at=(number, column),
                )
            left += width
    return canvas.svg(title)


def _row(number: int, part: Part) -> tuple[str, tuple[str, ...]]:
    return (
        f"part {number}",
        (_samples(part), part.factor, _vector(part.added), _vector(part.after)),
    )


def _kind(column: int) -> str:
    return "free" if column < 2 else "part" if column == 2 else "used"


def _samples(part: Part) -> str:
    return (
        str(part.samples) if part.counted == part.samples else f"{part.counted} of {part.samples}"
    )


def _vector(values: tuple[float, ...]) -> str:
    return f"[{', '.join(value_text(round(value, 6) + 0.0) for value in values)}]"
