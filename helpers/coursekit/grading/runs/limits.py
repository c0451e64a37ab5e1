"""How much time, memory and disk may an answer take, and which of these limits are there here?"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from threading import Event

MEMORY = 6 << 30
FILE_SIZE = 64 << 20
MOST_PROCESSES = 256
# How it is told that a cell has used up its time.
TOO_LONG = "it took longer than"


@dataclass(frozen=True)
class Limits:
    """How long may one cell take, and a whole notebook? In seconds. `stop` ends every run."""

    cell: float = 20
    notebook: float = 240
    stop: Event = field(default_factory=Event, compare=False)


def limit_resources(*, processes: bool = False) -> None:
    """Limit the memory and the file size of this process, and of each that it starts.

    `processes` limits their number as well: where the user has no other ones.
    """
    limits = _resources()
    if not processes:
        limits.pop("processes", None)
    for limit, most in limits.values():
        import resource

        _, hard = resource.getrlimit(limit)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (most, most))


def lacking() -> list[str]:
    """The limits that this system does not have."""
    return [name for name in ("memory", "file size") if name not in _resources()]


def _resources() -> dict[str, tuple[int, int]]:
    if sys.platform == "win32":
        return {}
    import resource

    found = {"file size": (resource.RLIMIT_FSIZE, FILE_SIZE)}
    if sys.platform == "linux":
        # Elsewhere it does not count memory that is mapped. And not RLIMIT_AS: a CUDA build
        # reserves far more addresses than it uses.
        found["memory"] = (resource.RLIMIT_DATA, MEMORY)
        found["processes"] = (resource.RLIMIT_NPROC, MOST_PROCESSES)
    return found
