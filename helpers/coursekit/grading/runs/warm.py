"""What is copied for each run? A process that has loaded pytest, Jupyter and torch, no more.

The grader starts `python -m coursekit.grading.runs.warm NUMBER` once and asks for copies through
the socket of that number. This process starts no thread and opens no other socket, without which a
copy by fork would not be safe, and no cell of a learner's runs in it.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import sys
from pathlib import Path

from . import forked_kernel
from .box import shown_places
from .isolation import ALL, Isolation
from .processes import adopt_orphans, end_children

LARGEST = 1 << 20
LOADED = (
    *("pytest", "nbval.plugin", "ipykernel.kernelapp", "ipykernel.ipkernel", "ipykernel.zmqshell"),
    *("torch", "numpy", "matplotlib.pyplot", "matplotlib_inline.backend_inline", "insidetorch"),
    *("coursekit.grading.runs.plugin", "coursekit.grading.guard"),
)


def main(channel: socket.socket) -> None:
    """Load everything, tell what this machine allows, and make copies until nobody asks."""
    load()
    # No copy needs to look for garbage in what was loaded, and the memory stays shared.
    gc.collect()
    gc.freeze()
    adopt_orphans()
    shown = shown_places(Path(__file__).parents[3])
    allowed = {one.name: trial(one, Path.cwd(), shown) for one in ALL.values()}
    # A copy that has ended leaves nothing behind.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    threads = len(list(Path("/proc/self/task").iterdir()))
    channel.send(json.dumps({"threads": threads, "allowed": allowed}).encode())
    while True:
        request, files, _, _ = socket.recv_fds(channel, LARGEST, 2)
        if not request:
            break
        if not (pid := os.fork()):
            be_a_run(json.loads(request), *files, shown=shown)
        for one in files:
            os.close(one)
        channel.send(str(pid).encode())
    end_children()


def load() -> None:
    """Import what runs need: all of insidetorch, so that no run imports it from a file."""
    for name in LOADED:
        importlib.import_module(name)
    package = sys.modules["insidetorch"]
    for one in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not one.name.endswith("__main__"):
            importlib.import_module(one.name)


def trial(isolation: Isolation, folder: Path, shown: list[Path]) -> str:
    """Why a way of isolation cannot be had here; "" where it can."""
    ours, theirs = os.pipe()
    if not (pid := os.fork()):
        try:
            isolation.enter(folder, shown, [])
            isolation.seal(folder)
            # What is imported later has to be there, and readable.
            Path(os.__file__).read_bytes()
            Path(sys.modules["torch"].__file__).read_bytes()
            os.write(theirs, b"ok")
        except BaseException as problem:
            os.write(theirs, str(problem).encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as stream:
        said = stream.read().decode(errors="replace")
    os.waitpid(pid, 0)
    return "" if said == "ok" else said or "the process ended"


def be_a_run(request: dict, told: int, log: int, *, shown: list[Path]) -> None:
    """Run nbval as a request says, with `told` as its standard output. Never returns."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, file in enumerate((os.open(os.devnull, os.O_RDONLY), told, log)):
        os.dup2(file, number)
    # The grader's socket, and all else that is not a run's.
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.environ.clear()
    os.environ.update(request["environment"])
    folder = Path(request["folder"])
    os.chdir(folder / "work")
    hidden = list(map(Path, request["hidden"]))
    forked_kernel.plant(ALL[request["isolation"]], folder, shown, hidden)
    status = sys.modules["pytest"].main(request["arguments"])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
