"""Which results require a gradient: operators down, modes across."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..records import Tracked
from .svg import Canvas
from .theme import CELL_HEIGHT, CHAR_WIDTH, MARGIN, SMALL_CHAR_WIDTH

_WIDTH = 118
_TOP = 62.0


def tracked_sentence(found: Tracked, predicted: bool | None = None) -> str:
    """What torch says, and whether it was predicted."""
    where = f"`{found.operator}`, {found.mode}".replace("`", "")
    if found.refusal:
        told = f"{where}: torch refuses. {found.refusal}"
    else:
        told = f"{where}: requires_grad is {found.requires_grad}; {_why(found)}."
    if predicted is None:
        return told
    return f"{'As you said.' if predicted == found.requires_grad else 'Not as you said.'} {told}"


def tracking_text(rows: Sequence[Sequence[Tracked]]) -> str:
    """The whole table."""
    modes = [found.mode for found in rows[0]]
    width = max(len(row[0].operator) for row in rows)
    lines = [f"{'':{width}}  {'  '.join(modes)}"]
    for row in rows:
        cells = "  ".join(_word(found).ljust(len(found.mode)) for found in row)
        lines.append(f"{row[0].operator:{width}}  {cells}".rstrip())
    return "\n".join(lines)


def tracking_svg(
    rows: Sequence[Sequence[Tracked]],
    *,
    title: str,
    shown: Mapping[tuple[str, str], bool | None] | None = None,
    chosen: tuple[str, str] | None = None,
    live: bool = False,
) -> str:
    """The table; `shown` holds the cells that are revealed, each with what was predicted.

    Without `shown` all are. The chosen cell has a thick border.
    """
    canvas = Canvas(live=live)
    canvas.text(MARGIN, 18, title, kind="h")
    left = MARGIN + max(len(row[0].operator) for row in rows) * CHAR_WIDTH + 12
    for column, found in enumerate(rows[0]):
        words, middle = found.mode.split(" inside "), left + column * _WIDTH + _WIDTH / 2
        canvas.text(middle, 40, words[0], kind="s m")
        if len(words) > 1:
            canvas.text(middle, 54, f"inside {words[1]}", kind="s m")
    for number, row in enumerate(rows):
        y = _TOP + number * (CELL_HEIGHT + 4)
        canvas.text(MARGIN, y + 22, row[0].operator)
        for column, found in enumerate(row):
            key = (found.operator, found.mode)
            known = shown is None or key in shown
            lines = (_word(found), _small(found)) if known else ("?", "")
            kind = "free" if not known or not found.requires_grad else "used"
            say = tracked_sentence(found, (shown or {}).get(key)) if known else "not yet revealed"
            if known and shown and shown[key] is not None and shown[key] != found.requires_grad:
                kind, lines = "bad", (lines[0], "not as you said")
            elif key == chosen:
                kind = "new"
            canvas.cell(
                left + column * _WIDTH,
                y,
                _WIDTH - 6,
                *lines,
                kind=kind,
                link=found.operator,
                say=f"{found.operator}, {found.mode}: {say}",
                at=(number, column),
            )
    return canvas.svg(title)


def _word(found: Tracked) -> str:
    return "error" if found.refusal else str(found.requires_grad)


def _small(found: Tracked) -> str:
    most = int(_WIDTH / SMALL_CHAR_WIDTH) - 1
    if found.node:
        return found.node[:most]
    if not found.requires_grad:
        return "no history"
    return "a view, no node" if found.is_view else "a leaf"


def _why(found: Tracked) -> str:
    if found.node:
        return f"its node is {found.node}"
    if found.requires_grad and found.is_view:
        return "it is a view and says what its base says, but no node leads back"
    if found.requires_grad:
        return "it is a new leaf, asked to require one"
    return "no node was made: it has no history"
