"""Which line of the user's code is running?"""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import FrameType

import torch

from ..records import Place

_NOT_THE_USERS = tuple(
    str(Path(module).resolve().parent) for module in (torch.__file__, Path(__file__).parent)
)


def current_place() -> Place:
    """The innermost line that belongs neither to torch nor to this package.

    A cell of a notebook is named by its first statement: its number would change.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_NOT_THE_USERS):
        frame = frame.f_back
    return place_of(frame.f_code.co_filename, frame.f_lineno)


def place_of(file: str, line: int) -> Place:
    """The line of a file, or of a cell, with what stands there."""
    statement = linecache.getline(file, line).strip()
    if Path(file).is_file() and "ipykernel_" not in file:
        return Place(file, line, statement)
    first = next(filter(_is_statement, linecache.getlines(file)), "").strip()
    return Place("", line, statement, first)


def _is_statement(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith(("#", "%"))
