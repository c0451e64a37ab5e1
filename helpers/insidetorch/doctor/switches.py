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
_MOST_SWITCHES = 1_000
_CONTEXTS = torch.no_grad.__enter__.__code__.co_filename


class Switches:
    """The switches of the gradient mode that are in force, outermost first."""

    def __init__(self) -> None:
        self._switches: list[Switch] = []

    def off(self) -> Switch | None:
        """The switch that has gradients off now; None while they are on."""
        if torch.is_grad_enabled():
            return None
        offs = (one for one in reversed(self._switches) if not one.on)
        return next(offs, Switch(False, None, ""))

    def called(self, on: bool, frame: FrameType | None) -> None:
        """Torch's own switch was called from this frame: by a `with`, a decorator or a call."""
        frame = _context_of(frame)
        what = frame.f_code.co_name if frame is not None else ""
        if what in ("__exit__", "__call__"):  # a decorator switches back at once
            self.leave()
            return
        if what != "__enter__" or isinstance(frame.f_locals.get("self"), _FUNCTION):
            again = Switch(on, switch_spot(frame), switch_name(frame))
            if self._switches[-1:] == [again]:
                return
        self.enter(on, frame)

    def enter(self, on: bool, frame: FrameType | None, *, name: str = "") -> None:
        """Gradients are on or off from here on, until `leave`."""
        self._switches.append(Switch(on, switch_spot(frame), name or switch_name(frame)))
        del self._switches[:-_MOST_SWITCHES]

    def leave(self) -> None:
        """What had been switched last is over."""
        if self._switches:
            self._switches.pop()


_FUNCTION = torch.set_grad_enabled  # which switches already when it is made


def _context_of(frame: FrameType | None) -> FrameType | None:
    """The frame that acts: no_grad and enable_grad call `set_grad_enabled` for it."""
    made = frame is not None and frame.f_code is _FUNCTION.__init__.__code__
    if made and frame.f_back is not None and frame.f_back.f_code.co_filename == _CONTEXTS:
        return frame.f_back
    return frame


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
