"""Who is told when torch.autograd.backward is called?"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Protocol

import torch


class Watch(Protocol):
    """What is told: its own thread's calls by `called`, those of other threads by `missed`."""

    thread: int

    def called(self, plain: Callable, tensors: object, *args: object, **how: object) -> None: ...

    def missed(self) -> None: ...


_lock = threading.Lock()
_watches: list[Watch] = []
_plain: Callable = torch.autograd.backward


def begin(watch: Watch) -> None:
    """Tell this watch of every call from now on. Several may watch, in several threads."""
    global _plain
    with _lock:
        if not _watches:
            _plain = torch.autograd.backward
            torch.autograd.backward = _backward
        _watches.append(watch)


def end(watch: Watch) -> None:
    """Tell it no more. With the last one the function is torch's own again, or the user's."""
    with _lock:
        _watches.remove(watch)
        if not _watches and torch.autograd.backward is _backward:
            torch.autograd.backward = _plain


def _backward(tensors: object, *args: object, **how: object) -> None:
    thread = threading.get_ident()
    watching = list(_watches)
    mine = [watch for watch in watching if watch.thread == thread]
    for watch in watching:
        if watch.thread != thread:
            watch.missed()
    call = _plain
    for watch in mine:  # the innermost is asked first, and calls the one around it
        call = partial(watch.called, call)
    return call(tensors, *args, **how)
