"""Which line of the user's code keeps a tensor: in an attribute, a list or a dictionary?"""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Callable, Container, Iterator
from types import FrameType, ModuleType

import torch

from ...observe.places import place_of
from ...records import Place
from ..calls import Call
from ..patient import Patient
from ..stacks import Spot, Stack
from .common import files_of, place, tree_of

# An assignment to an attribute, or to a place in a container.
_STORES = re.compile(r"[\w, ]*\w+(\.\w+|\[.*\])[^=]*=[^=]")
_FILLING = {"append", "extend", "add", "insert", "appendleft", "setdefault"}


def storing_line(maker: Call, *, below: Stack = ()) -> Spot | None:
    """The line that stores what a call made: the innermost that assigns to a part of something.

    Args: `below`, lines of functions where the search ends.
    """
    ends = {spot.code for spot in below}
    for spot in maker.stack:
        if spot.code in ends:
            return None
        if _STORES.match(place(spot).statement):
            return spot
    return None


def keeping_line(patient: Patient, t: torch.Tensor | None) -> Place | None:
    """The line that put a tensor where an object keeps it, itself or in a container."""
    ran = {spot.file for call in patient.history.calls for spot in call.stack}
    for name, itself in _attributes(t) if t is not None else ():
        found = _first(patient, name, _sets if itself else _fills, files=ran)
        if found is not None:
            return found
    return None


def _attributes(part: object, *, itself: bool = True) -> Iterator[tuple[str, bool]]:
    """The names of the attributes that hold an object `itself`, or a container with it."""
    for one in gc.get_referrers(part):
        own = one if isinstance(one, dict) and _is_of_an_object(one) else _own(one)
        if own is not None:
            yield from ((name, itself) for name, held in own.items() if held is part)
        elif itself and isinstance(one, (dict, list)) and "__builtins__" not in one:
            yield from _attributes(one, itself=False)


def _is_of_an_object(attributes: dict) -> bool:
    """Is a dictionary the attributes of an object?"""
    return any(_own(one) is attributes for one in gc.get_referrers(attributes))


def _own(one: object) -> dict | None:
    """The attributes of an object that keeps things: no module, no frame."""
    if isinstance(one, (FrameType, ModuleType)):
        return None
    try:
        return vars(one)
    except Exception:  # it has none, or its class is broken
        return None


def line_that_fills(patient: Patient, path: str) -> Place | None:
    """The line that puts something into a container of this name."""
    return _first(patient, re.split(r"\[", path)[0].rpartition(".")[2], _fills)


def setting_line(patient: Patient, name: str) -> Place | None:
    """The line that sets an attribute of this name."""
    return _first(patient, name, _sets)


def _first(
    patient: Patient, name: str, does: Callable[[ast.AST, str], bool], *, files: Container = ()
) -> Place | None:
    """The first line, of these files or of all the user's, that does something to this name."""
    for file in files_of(patient):
        tree = tree_of(file) if not files or file in files else None
        for node in ast.walk(tree) if tree else ():
            if does(node, name):
                return place_of(file, node.lineno)
    return None


def _sets(node: ast.AST, name: str) -> bool:
    """Is it an assignment to an attribute, of something that is computed?"""
    return (
        isinstance(node, ast.Assign)
        and not isinstance(node.value, ast.Constant)
        and any(isinstance(t, ast.Attribute) and t.attr == name for t in node.targets)
    )


def _fills(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        held = node.func.value
        return node.func.attr in _FILLING and (_named(held) == name)
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(isinstance(t, ast.Subscript) and _named(t.value) == name for t in targets) or (
            isinstance(node, ast.AugAssign) and _named(node.target) == name
        )
    return False


def _named(node: ast.AST) -> str:
    if isinstance(node, ast.Subscript):
        return _named(node.value)
    return getattr(node, "id", getattr(node, "attr", ""))
