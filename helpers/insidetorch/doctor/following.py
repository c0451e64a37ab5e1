"""A mode of torch's that follows a run into other threads and into what torch runs without it."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.overrides import TorchFunctionMode

from .switches import Switches
from .values import Value


class Here(threading.local):
    """What holds for one thread.

    `modules` are weak references to the modules that run, innermost last; `inner` is what the
    forward of a custom function reads; `quiet` is set where an optimizer works, `telling` and `via`
    in one of torch's methods that are told of; `inside` is the backward pass that runs.
    """

    def __init__(self) -> None:
        self.modules: list[weakref.ref] = []
        self.switches = Switches()
        self.inner: dict[Value, int] | None = None
        self.quiet = False
        self.telling = False
        self.via = ""
        self.stepping: list[tuple[torch.Tensor, int]] = []
        self.inside = 0
        self.outside = 0
        self.active = False


class Following(TorchFunctionMode):
    """A function mode that can be entered in several threads, and in a function of torch's."""

    def __init__(self) -> None:
        super().__init__()
        self.here = Here()
        self.threads = 0  # other threads that were followed
        self.unfollowed = 0  # functions that ran unseen
        self.stopped = False
        _all.add(self)

    def __enter__(self) -> Following:
        self.here.active = True
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.here.active = bool(self.here.outside)

    def watching(self) -> bool:
        """Is what this thread runs being recorded?"""
        return self.here.active and not self.stopped

    @contextmanager
    def away(self) -> Iterator[None]:
        """Torch has put the mode aside to run a function that may run the user's code."""
        self.here.outside += 1
        try:
            yield
        finally:
            self.here.outside -= 1

    @contextmanager
    def again(self) -> Iterator[None]:
        """Record also what runs inside of such a function."""
        here = self.here
        if not here.outside:
            yield
            return
        outside, here.outside = here.outside, 0
        try:
            with self:
                yield
        finally:
            here.outside, here.active = outside, True

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Run something unseen: a compiler would take the mode for a part of the user's code."""
        if not self.here.active or self.here.outside:  # torch has put it aside already
            yield
            return
        self.unfollowed += 1
        self.__exit__(None, None, None)
        try:
            yield
        finally:
            self.__enter__()

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Record what another thread runs, which begins here."""
        self.threads += 1
        with self:
            yield


_all: weakref.WeakSet[Following] = weakref.WeakSet()


def _stop() -> None:
    """A child process works on its own, unseen."""
    for mode in _all:
        mode.stopped = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_stop)
