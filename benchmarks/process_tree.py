"""What does work cost that other processes do: time, processor time, memory of all of them?

Everything that is started below this process counts. On Linux it adopts the processes whose parents
end before them, so that none is missed. Memory is the proportional set size, in which a page that
several processes share is counted once; elsewhere than on Linux it is what each has for itself.

The system adds up the time of processes that ended, but not of those for which no parent waited. So
each process is also looked at while it runs, and the greater sum counts: both leave something out.
"""

from __future__ import annotations

import ctypes
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

# In seconds. To look for new processes, and at their memory, takes longer than at the time of known
# ones, of which the last is missed.
EVERY = 0.08
ROUNDS = 5
PR_SET_CHILD_SUBREAPER = 36


@dataclass
class Cost:
    """Seconds by the clock and of the processors, and the memory in MB at each time."""

    wall: float = 0
    cpu: float = 0
    memory: list[tuple[float, float]] = field(default_factory=list)

    @property
    def peak(self) -> float:
        return max((size for _, size in self.memory), default=0)

    def between(self, start: float, end: float) -> list[float]:
        """The memory seen in a part of the time."""
        return [size for at, size in self.memory if start <= at <= end]


def cost_of(work: Callable[[], object]) -> Cost:
    """Do some work that other processes do, and say what it cost."""
    _adopt_orphans()
    cost, done, seen = Cost(), threading.Event(), {}
    before, start = _counted_seconds(), time.perf_counter()

    def look() -> None:
        below, rounds = [], 0
        while not done.wait(EVERY):
            if rounds % ROUNDS == 0:
                below = psutil.Process().children(recursive=True)
                cost.memory.append((time.perf_counter() - start, _megabytes_of(below)))
            seen.update(_seconds_of(below))
            rounds += 1

    looking = threading.Thread(target=look)
    looking.start()
    try:
        work()
        cost.wall = time.perf_counter() - start
    finally:
        done.set()
        looking.join()
    end_all_below()
    cost.cpu = max(_counted_seconds() - before, sum(seen.values()))
    return cost


def run(
    command: Sequence[str],
    *,
    folder: Path,
    env: Mapping[str, str],
    limit: float | None = None,
    heard: Callable[[str], None] = lambda line: None,
) -> tuple[int | None, str]:
    """Run a command: its exit status, None where it took longer than `limit`, and what it said.

    `heard` is called with each line as it comes.
    """
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=dict(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    late = threading.Event()

    def stop() -> None:
        late.set()
        _end([*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)])

    timer = threading.Timer(limit, stop) if limit else None
    if timer:
        timer.start()
    lines = []
    for line in process.stdout:
        heard(line.rstrip("\n"))
        lines.append(line)
    process.wait()
    if timer:
        timer.cancel()
    return None if late.is_set() else process.returncode, "".join(lines)


def end_all_below() -> None:
    """End and collect whatever was left running."""
    left = psutil.Process().children(recursive=True)
    _end(left)
    psutil.wait_procs(left, timeout=10)


def _adopt_orphans() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _end(processes: Sequence[psutil.Process]) -> None:
    for one in processes:
        with suppress(psutil.NoSuchProcess):
            one.kill()


def _seconds_of(processes: Sequence[psutil.Process]) -> dict[psutil.Process, float]:
    found = {}
    for one in processes:
        with suppress(psutil.Error):
            used = one.cpu_times()
            found[one] = used.user + used.system
    return found


def _megabytes_of(processes: Sequence[psutil.Process]) -> float:
    found = 0
    for one in processes:
        with suppress(psutil.Error):
            info = one.memory_full_info()
            found += getattr(info, "pss", info.uss)
    return found / 1e6


def _counted_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
