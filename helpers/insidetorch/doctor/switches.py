"""Who has switched gradients off?"""

from __future__ import annotations

import linecache
import re
from pathlib import PurePath
from types import CodeType, FrameType

import torch

from .calls import Switch
from .stacks import Spot, is_users

_MOST_DECORATORS = 12  # lines above a function


class Switches:
    """The switches of the gradient mode that are in force, outermost first."""

    def __init__(self) -> None:
        self._switches: list[Switch] = []

    def off(self) -> Switch | None:
        """The switch that has gradients off now; None while they are on."""
        if torch.is_grad_enabled():
            return None
        return self._switches[-1] if self._switches else Switch(False, None, "")

    def set(self, on: bool, frame: FrameType | None, *, name: str = "") -> None:
        """Torch's own switch was called from this frame: by a `with`, a decorator or a call."""
        if frame is not None and frame.f_code.co_name == "__exit__":
            self.restore(on)
            return
        new = Switch(on, switch_spot(frame), name or switch_name(frame))
        if not self._switches or self._switches[-1] != new:
            self._switches.append(new)

    def restore(self, on: bool) -> None:
        """What had been switched last is over, and gradients are on or off as before."""
        while self._switches and self._switches[-1].on != on:
            self._switches.pop()


def switch_spot(frame: FrameType | None) -> Spot | None:
    """The user's line that switches gradients: the call, the `with`, or the decorator."""
    while frame is not None:
        if frame.f_code.co_name == "decorate_context" and "func" in frame.f_locals:
            code = getattr(frame.f_locals["func"], "__code__", None)
            if code is not None:
                return Spot(code, _decorator_line(code))
        if is_users(frame.f_code):
            return Spot(frame.f_code, frame.f_lineno)
        frame = frame.f_back
    return None


def _decorator_line(code: CodeType) -> int:
    """The line of the decorator that switches gradients, of all those above a function."""
    line = code.co_firstlineno
    for number in range(line, line + _MOST_DECORATORS):
        text = linecache.getline(code.co_filename, number).strip()
        if text.startswith(("def ", "async def ", "class ")):
            break
        if re.match(r"@.*(no_grad|inference_mode|set_grad_enabled)", text):
            return number
    return line


def switch_name(frame: FrameType | None) -> str:
    """What switches: no_grad, set_grad_enabled, or a part of torch's, by its name."""
    name = type(frame.f_locals.get("self")).__name__ if frame is not None else ""
    for _ in range(4):
        if frame is None:
            break
        path = PurePath(frame.f_code.co_filename)
        if path.name == "checkpoint.py" or path.parent.name == "distributions":
            return "checkpoint" if path.name == "checkpoint.py" else "distributions"
        frame = frame.f_back
    return name
