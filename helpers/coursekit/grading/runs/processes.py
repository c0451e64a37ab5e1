"""Which processes has a run started, and how are they ended?

They are known by a token in their environment, which each hands on, and by their parents: on Linux
nbval's process takes the place of a parent that has ended, so that one which left the tree with an
empty environment is found as well. Only a process that does both, and whose answer also ended
nbval's process, is lost; elsewhere one that does both.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress

import psutil

TOKEN = "INSIDETORCH_GRADING"
ROUNDS = 20
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of every process below this one whose own parent ends (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_children() -> None:
    """End every process below this one."""
    _end(lambda: _below(psutil.Process()))


def end_run(nbval: psutil.Process, token: str) -> None:
    """End every process that a run has started, nbval's last of all: it holds the orphans."""
    _end(lambda: [*(one for one in _with_token(token) if one != nbval), *_below(nbval)])
    _end(lambda: _with_token(token))


def count_below(process: psutil.Process) -> int:
    """How many processes are below this one?"""
    return len(_below(process))


def memory_below(process: psutil.Process) -> int:
    """How many bytes of memory do the processes below this one take? What they share counts once.

    0 where the system does not tell.
    """
    found = 0
    for one in _below(process):
        with suppress(psutil.Error, AttributeError):
            found += one.memory_full_info().pss
    return found


def end_strays(parent: psutil.Process, kept: Collection[psutil.Process]) -> None:
    """End the processes below `parent` that none of the `kept` ones holds any more."""

    def strays() -> Iterator[psutil.Process]:
        with suppress(psutil.Error):
            for one in parent.children():
                if one not in kept and _runs(one):
                    yield one
                    yield from _below(one)

    _end(strays)


def _end(find: Callable[[], Iterable[psutil.Process]]) -> None:
    """Kill what is found, and in the next round what they have started meanwhile."""
    for _ in range(ROUNDS):
        found = set(find())
        for process in found:
            with suppress(psutil.Error):
                process.kill()
        if not found:
            return
        psutil.wait_procs(found, timeout=5)


def _below(process: psutil.Process) -> list[psutil.Process]:
    with suppress(psutil.Error):
        return [one for one in process.children(recursive=True) if _runs(one)]
    return []


def _with_token(token: str) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if _runs(process) and process.environ().get(TOKEN) == token:
                yield process


def _runs(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return process.status() != psutil.STATUS_ZOMBIE
    return False
