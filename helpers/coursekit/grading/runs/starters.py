"""How does the grader start a run: as a new process, or as a copy of one that is warm?

Both run the same nbval with the same plugin. A copy takes a fraction of the time, and its kernel
can be kept apart from the machine; the plain way works on every system.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import Protocol

import psutil

from .bare import environment
from .folders import new_folder, prepare, remove
from .processes import end_run, end_strays

LARGEST = 1 << 16
# Loading torch takes seconds, and many more where the disk is slow.
SECONDS_TO_LOAD = 120
TRIES = 3


class Starter(Protocol):
    """Starts nbval's process for a run, and ends what a run has started."""

    isolation: str
    why: str
    hidden: Sequence[Path]

    def start(
        self, folder: Path, arguments: list[str], token: str, told: int, log: int
    ) -> psutil.Process:
        """Run nbval in `folder`, with its standard output and error into these two files.

        Raises OSError where no process can be started.
        """

    def end(self, process: psutil.Process, token: str) -> None:
        """End the process and all that it has started."""

    def close(self) -> None:
        """End what was started for all runs."""


class Plain:
    """Starts a new process for each run, which loads everything itself.

    `why` tells why there is nothing better, where there could be.
    """

    isolation = "process"

    def __init__(self, why: str = "") -> None:
        self.why = why
        self.hidden: Sequence[Path] = ()

    def start(
        self, folder: Path, arguments: list[str], token: str, told: int, log: int
    ) -> psutil.Process:
        return psutil.Popen(
            [sys.executable, "-P", "-m", "pytest", *arguments],
            cwd=folder / "work",
            env=environment(folder, token),
            stdin=subprocess.DEVNULL,
            stdout=told,
            stderr=log,
            start_new_session=True,
        )

    def end(self, process: psutil.Process, token: str) -> None:
        end_run(process, token)
        # Somebody else may have waited for it: so it knows that it has ended.
        process.poll()

    def close(self) -> None:
        """Nothing was started for all runs."""


class Warm:
    """Starts copies of a process that has loaded everything (Linux).

    Raises OSError where there can be none. `allowed` says for each way of isolation why it cannot
    be had here, or "". Whoever sets `isolation` chooses among them. `hidden` are places that no
    answer sees in a box, even where they lie in one that it needs.
    """

    why = ""

    def __init__(self, isolation: str = "process") -> None:
        self.isolation = isolation
        self.hidden: Sequence[Path] = ()
        self.lock = Lock()
        self.running: set[psutil.Process] = set()
        self._load()

    def start(
        self, folder: Path, arguments: list[str], token: str, told: int, log: int
    ) -> psutil.Process:
        request = {
            "arguments": arguments,
            "environment": environment(folder, token),
            "folder": str(folder),
            "hidden": [str(path) for path in self.hidden],
            "isolation": self.isolation,
        }
        with self.lock:
            for _ in range(TRIES):
                with suppress(OSError):
                    process = self._copy(request, told, log)
                    self.running.add(process)
                    return process
                # Something has killed the warm process; what it started before goes on.
                self._unload()
                self._load()
        raise OSError("the warm process has ended again and again")

    def end(self, process: psutil.Process, token: str) -> None:
        end_run(process, token)
        with self.lock:
            self.running.discard(process)
            end_strays(self.parent, self.running)

    def close(self) -> None:
        with self.lock:
            self._unload()

    def _load(self) -> None:
        """Start the process, and wait until it has loaded everything."""
        self.folder = new_folder("grade-warm-")
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.channel.settimeout(SECONDS_TO_LOAD)
        self.parent = None
        try:
            with theirs:
                self.parent = self._start(theirs.fileno())
            told = json.loads(self._reply())
            self.allowed: dict[str, str] = told["allowed"]
            if told["threads"] != 1:
                raise OSError(f"what it loads has started {told['threads'] - 1} threads")
        except BaseException:
            self._unload()
            raise

    def _start(self, channel: int) -> psutil.Popen:
        prepare(self.folder)
        with (self.folder / "log").open("wb") as log:
            return psutil.Popen(
                [sys.executable, "-P", "-m", "coursekit.grading.runs.warm", str(channel)],
                cwd=self.folder,
                env=environment(self.folder, token_hex(16)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[channel],
                start_new_session=True,
            )

    def _copy(self, request: dict, told: int, log: int) -> psutil.Process:
        socket.send_fds(self.channel, [json.dumps(request).encode()], [told, log])
        return psutil.Process(int(self._reply()))

    def _reply(self) -> bytes:
        reply = self.channel.recv(LARGEST)
        if not reply:
            raise OSError("the warm process has ended")
        return reply

    def _unload(self) -> None:
        self.channel.close()
        remove(self.folder)
        if self.parent is None:
            return
        with suppress(psutil.TimeoutExpired):
            # It ends by itself, and everything below it.
            self.parent.wait(10)
        end_strays(self.parent, set())
        with suppress(psutil.Error):
            self.parent.kill()
            self.parent.wait(10)
        self.parent.poll()
