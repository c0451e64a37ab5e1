"""Which lines of the user's code led to a call?"""

from __future__ import annotations

import site
import sys
import sysconfig
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

import torch

_PATHS = sysconfig.get_paths()
_LIBRARIES = tuple(
    dict.fromkeys(
        str(Path(folder).resolve())
        for folder in (
            *(_PATHS[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")),
            *site.getsitepackages(),
            Path(torch.__file__).parent,
            Path(__file__).parent.parent,
        )
    )
)


class Spot(NamedTuple):
    """A line that was running: its code and its number."""

    code: CodeType
    line: int

    @property
    def file(self) -> str:
        return self.code.co_filename


Stack = tuple[Spot, ...]  # innermost first; the user's lines only

_HERE = str(Path(__file__).parent)
_users: dict[CodeType, bool] = {}
_own: list[str] = []


def own(folder: str | Path) -> None:
    """Code below this folder is the user's, even where it lies among installed libraries."""
    _own.append(str(Path(folder).resolve()))
    _users.clear()


def is_users(code: CodeType) -> bool:
    """Is it code of the user's: neither torch's, nor Python's, nor an installed library's?"""
    known = _users.get(code)
    if known is None:
        known = _users[code] = is_users_file(code.co_filename)
    return known


def is_users_file(file: str) -> bool:
    """Is it a file of the user's?"""
    if file.startswith("<"):
        return file.startswith(("<stdin>", "<ipython", "<doctest"))
    path = str(Path(file).resolve())
    if path.startswith(tuple(_own)):
        return not path.startswith(_LIBRARIES[-1:])
    return not path.startswith(_LIBRARIES)


def stack_of(frame: FrameType | None) -> Stack:
    """The user's lines from this frame outwards."""
    found = []
    known = _users
    while frame is not None:
        code = frame.f_code
        users = known.get(code)
        if users is None:
            users = is_users(code)
        if users:
            found.append(Spot(code, frame.f_lineno))
        frame = frame.f_back
    return tuple(found)


def stack_here() -> Stack:
    """The user's lines that led here."""
    return stack_of(sys._getframe(1))


def torch_frame() -> FrameType | None:
    """The innermost frame that is not the doctor's."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return frame


def called_by_user() -> bool:
    """Did the user's own code call torch here, and not torch itself or a library?"""
    frame = torch_frame()
    return frame is not None and is_users(frame.f_code)
