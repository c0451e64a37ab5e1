"""How are the files of a script drawn, so that a line can be pointed at and chosen?"""

from __future__ import annotations

from collections.abc import Mapping

from .svg import Canvas
from .theme import CHAR_WIDTH, MARGIN

_ROW = 22
_NUMBER = 34
_GAP = 18  # for the mark of the chosen line


def code_svg(
    files: Mapping[str, str], *, live: bool, chosen: tuple[str, int] | None = None, label: str
) -> str:
    """Numbered lines, one file below another.

    `chosen`, a file and a line, gets an arrow and a thick border.
    """
    canvas, y, row = Canvas(live), MARGIN, 0
    for name, text in files.items():
        canvas.text(MARGIN, y + 14, name, kind="h")
        y += _ROW
        for number, line in enumerate(text.splitlines(), 1):
            here = (name, number) == chosen
            canvas.cell(
                MARGIN + _GAP,
                y,
                _NUMBER,
                str(number),
                kind="new" if here else "free",
                height=_ROW,
                link=f"{name} {number}",
                say=f"{name}, line {number}: {line.strip() or 'empty'}",
                at=(row, 0),
            )
            if here:
                canvas.text(MARGIN, y + 16, "→")
            indent = len(line) - len(line.lstrip())
            x = MARGIN + _GAP + _NUMBER + 10 + indent * CHAR_WIDTH
            canvas.text(x, y + 16, line.strip())
            y, row = y + _ROW, row + 1
        y += _ROW // 2
    return canvas.svg(label)
