"""What all causes need: the line of a call, and who wants a gradient."""

from __future__ import annotations

import ast
import linecache
import sys
from functools import lru_cache
from pathlib import Path

from ...observe.places import place_of
from ...records import Place
from ..calls import Call, Event
from ..finding import NOTE, Finding
from ..passes import Pass
from ..patient import Patient
from ..stacks import Spot, Stack, is_users, is_users_file
from ..values import LEAF, Value


def place(spot: Spot | None) -> Place | None:
    """The line of a spot, with what stands there."""
    return None if spot is None else place_of(spot.file, spot.line)


def in_frame_of(stack: Stack, frame: Stack) -> Spot | None:
    """The line of a stack that belongs to the function whose line is innermost in `frame`.

    It is how a caller's line is found: what a helper made is told by the line that called it.
    """
    for wanted in frame:
        for spot in stack:
            if spot.code is wanted.code:
                return spot
    return stack[0] if stack else None


def where_lost(maker: Call, frame: Stack) -> Spot | None:
    """The line where a leaf became a result.

    It is the call's own line where the leaf was made in the same function, else that of the caller.
    """
    here = maker.stack[0].code if maker.stack else None
    for value, how in zip(maker.inputs, maker.standing, strict=False):
        made = value.made
        if how == LEAF and made is not None and made.spot is not None and made.spot.code is here:
            return maker.spot
    return in_frame_of(maker.stack, frame)


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
    return Finding(kind, NOTE, place(spot), (), message, fix, weight)


def first_line(one: Pass | Event) -> Spot | None:
    return one.stack[0] if one.stack else None


def files_of(patient: Patient) -> list[str]:
    """The user's files: those that called torch first, then the modules beside them."""
    found: dict[str, None] = {}
    for call in patient.history.calls:
        for spot in call.stack:
            if spot.file not in found and is_users(spot.code):
                found[spot.file] = None
    folders = {Path(file).resolve().parent for file in found}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and is_users_file(file) and Path(file).resolve().parent in folders:
            found[file] = None
    return list(found)


def in_helper(root: Value | None, failed: Call) -> Call | None:
    """The call that made a value of this size in another function than that of backward()."""
    first = maker = root.made if root is not None else None
    here = failed.stack[0].code if failed.stack else None
    while maker is not None and maker.spot is not None and maker.spot.code is here:
        older = [v for v in maker.inputs if v.shape == root.shape and v.made is not None]
        maker = older[0].made if older else None
    return maker or first
