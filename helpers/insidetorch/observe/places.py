"""Which line of the user's code is running?"""

from __future__ import annotations

import linecache
import os
import sys
from pathlib import Path
from types import FrameType

import torch

from ..records import Place

_NOT_THE_USERS = tuple(
    str(Path(module).resolve().parent) + os.sep
    for module in (torch.__file__, Path(__file__).parent)
)


def current_place(
    *, outside_functions: bool = False, known: dict[tuple[str, int], Place] | None = None
) -> Place:
    """The innermost line that belongs neither to torch nor to this package.

    A cell of a notebook is named by its first statement: its number would change. With
    `outside_functions` it is the line that applies an autograd.Function, not one in its forward.
    `known` keeps the places of one run: a line is looked up once.
    """
    found = frame = _users(sys._getframe(1))
    while outside_functions and frame.f_back is not None:
        inside = _is_forward_of_function(frame)
        frame = frame.f_back
        if inside:
            found = frame = _users(frame)
    key = found.f_code.co_filename, found.f_lineno
    if known is None:
        return place_of(*key)
    if key not in known:
        known[key] = place_of(*key)
    return known[key]


def _is_forward_of_function(frame: FrameType) -> bool:
    """Is it the forward of an autograd.Function, which apply calls, and not that of a module?"""
    code = frame.f_code
    if code.co_name != "forward" or code.co_varnames[:1] == ("self",):
        return False
    waiting = [torch.autograd.Function]
    while waiting:
        kind = waiting.pop()
        if getattr(kind.forward, "__code__", None) is code:
            return True
        waiting += kind.__subclasses__()
    return False


def is_users(file: str) -> bool:
    """Is it a file of the user's, neither torch's nor this package's?"""
    return not file.startswith(_NOT_THE_USERS)


def _users(frame: FrameType) -> FrameType:
    """The first frame of the user's from this one outwards; the outermost if there is none."""
    while frame.f_back is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def place_of(file: str, line: int) -> Place:
    """The line of a file, or of a cell, with what stands there."""
    statement = linecache.getline(file, line).strip()
    if Path(file).is_file() and "ipykernel_" not in file:
        return Place(file, line, statement)
    first = next(filter(_is_statement, linecache.getlines(file)), "").strip()
    return Place("", line, statement, first)


def _is_statement(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith(("#", "%"))
