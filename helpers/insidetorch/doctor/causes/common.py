"""What all causes need: the line of a call, and who wants a gradient."""

from __future__ import annotations

import ast
import linecache
from functools import lru_cache

from ...observe.places import place_of
from ...records import Place
from ..calls import Call, Event
from ..finding import NOTE, Finding
from ..passes import Pass
from ..patient import Patient
from ..stacks import Spot, Stack, is_users


def place(spot: Spot | None) -> Place | None:
    """The line of a spot, with what stands there."""
    return None if spot is None else place_of(spot.file, spot.line)


def place_at(call: Call | None) -> Place | None:
    """The innermost line of the user's that made a call."""
    return None if call is None else place(call.spot)


def in_frame_of(stack: Stack, frame: Stack) -> Spot | None:
    """The line of a stack that belongs to the function whose line is innermost in `frame`.

    It is how a caller's line is found: what a helper made is told by the line that called it.
    """
    for wanted in frame:
        for spot in stack:
            if spot.code is wanted.code:
                return spot
    return stack[0] if stack else None


@lru_cache(maxsize=64)
def tree_of(file: str) -> ast.Module | None:
    """The syntax tree of a file or a cell; None where it has none."""
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None


def statement_at(spot: Spot) -> ast.stmt | None:
    """The innermost statement that a line belongs to."""
    return enclosing(spot, ast.stmt)


def enclosing(spot: Spot, kind: type | tuple[type, ...]) -> ast.stmt | None:
    """The innermost statement of a kind that a line lies in."""
    tree = tree_of(spot.file)
    found = [
        node for node in (ast.walk(tree) if tree else ())
        if isinstance(node, kind) and node.lineno <= spot.line <= (node.end_lineno or 0)
    ]  # fmt: skip
    return max(found, key=lambda node: node.lineno, default=None)


def text_of(spot: Spot) -> str:
    """What stands on a line."""
    return linecache.getline(spot.file, spot.line).strip()


def note(kind: str, spot: Spot | None, message: str, fix: str, weight: float = 20) -> Finding:
    return Finding(kind, NOTE, place(spot), "", message, fix, weight)


def first_line(one: Pass | Event) -> Spot | None:
    return one.stack[0] if one.stack else None


def files_of(patient: Patient) -> list[str]:
    """The user's files that ran."""
    found: dict[str, None] = {}
    for call in patient.history.calls:
        for spot in call.stack:
            if spot.file not in found and is_users(spot.code):
                found[spot.file] = None
    return list(found)
