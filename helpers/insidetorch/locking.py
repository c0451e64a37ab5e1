"""How do two processes not do the same thing at once?

The operating system holds the lock, and lets go of it when the process ends however it ends: a lock
file that was left behind is no lock. The process number in it is only there to be read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

# Windows forbids others to read a locked byte, so the lock lies far behind the process number.
LOCKED_BYTE = 1 << 20


@contextmanager
def only_one(path: Path, *, waiting: str = "") -> Iterator[None]:
    """Wait until no other process holds the lock `path`, and hold it inside the block.

    `waiting` is printed where there is something to wait for, `{owner}` being the other's process
    number. The file stays behind on purpose: removing it would let two processes lock two files
    of one name.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        if not _lock(file, wait=False):
            file.seek(0)
            owner = file.read().strip() or "unknown"
            if waiting:
                print(waiting.format(owner=owner), flush=True)
            while not _lock(file, wait=True):
                pass
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


if os.name == "nt":
    import msvcrt

    def _lock(file: TextIO, *, wait: bool) -> bool:
        file.seek(LOCKED_BYTE)
        try:
            # LK_LOCK gives up after ten seconds; the caller asks again.
            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(file: TextIO, *, wait: bool) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
