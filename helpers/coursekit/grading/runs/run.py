"""What does nbval tell of a notebook, when its code may hang, crash or fill the disk?

nbval runs in a process of its own, in a throw-away folder, with a bare environment. However it
ends, what it started is ended too.
"""

from __future__ import annotations

import json
import os
from secrets import token_hex
from threading import Thread
from time import monotonic
from typing import BinaryIO

import nbformat
import psutil
from nbformat import NotebookNode

from ..verdicts import Check, Run
from .folders import throw_away_folder
from .limits import MEMORY, MOST_PROCESSES, Limits
from .processes import count_below, memory_below
from .starters import Starter

MOST_TOLD = 8 << 20
LOOK_EVERY = 0.02
COUNT_EVERY = 1
# A cell that has taken all its time is told within a moment, if anything can be told.
SILENCE = 10
# Two kernels that start at once can choose the same port; then one of them ends.
TRIES = 3
OPTIONS = [
    *("-p", "coursekit.grading.runs.quick_start", "-p", "nbval.plugin"),
    *("-p", "coursekit.grading.runs.plugin", "-p", "no:cacheprovider"),
    *("--nbval", "--nbval-current-env", "--noconftest", "--color=no", "-q", "--tb=no"),
]


class CannotRun(Exception):
    """Why no cell of a notebook could be run on this machine."""


def run_nbval(notebook: NotebookNode, *, limits: Limits, starter: Starter) -> Run:
    """Run a grafted notebook and return what is known of it, however it ended.

    Raises CannotRun where no cell ran: then the answers are not to blame.
    """
    for _ in range(TRIES):
        if limits.stop.is_set():
            raise CannotRun("grading was stopped")
        run = _run_once(notebook, limits, starter)
        if run.started:
            return run
    raise CannotRun(run.why)


class Heard:
    """What the plugin tells, as it comes, and when it last told something."""

    def __init__(self, stream: BinaryIO) -> None:
        self.parts: list[bytes] = []
        self.last = 0.0
        self.stream = stream
        self.reader = Thread(target=self._read, daemon=True)
        self.reader.start()

    def everything(self) -> bytes:
        """All of it, once no process is left that could tell more."""
        self.reader.join()
        self.stream.close()
        return b"".join(self.parts)

    def _read(self) -> None:
        size = 0
        while chunk := self.stream.read1(1 << 16):
            self.last = monotonic()
            size += len(chunk)
            if size <= MOST_TOLD:
                self.parts.append(chunk)


def _run_once(notebook: NotebookNode, limits: Limits, starter: Starter) -> Run:
    token = token_hex(16)
    with throw_away_folder() as folder:
        path = folder / "work" / "notebook.ipynb"
        # JSON can hold half a surrogate pair, UTF-8 cannot.
        path.write_bytes(nbformat.writes(notebook).encode("utf-8", errors="replace"))
        settings = folder / "pytest.ini"
        settings.write_text("[pytest]\n", encoding="utf-8", newline="\n")
        arguments = [*OPTIONS, "-c", str(settings), f"--nbval-cell-timeout={limits.cell}"]
        ours, theirs = os.pipe()
        heard = Heard(os.fdopen(ours, "rb"))
        try:
            with (folder / "log").open("wb") as log, os.fdopen(theirs, "wb") as tell:
                files = tell.fileno(), log.fileno()
                nbval = starter.start(folder, [*arguments, str(path)], token, *files)
            try:
                why = _wait(nbval, heard, limits)
            finally:
                starter.end(nbval, token)
                nbval.wait()
        finally:
            told = heard.everything()
        run = read_events(told)
        if not run.finished:
            # What was told while the grader ended the run is not the reason.
            run.why = why or run.why or "it ended the grader's process"
            if not told:
                log_end = (folder / "log").read_text(encoding="utf-8", errors="replace")[-600:]
                run.why = f"nbval did not start: {log_end.strip()}"
        return run


def _wait(process: psutil.Process, heard: Heard, limits: Limits) -> str:
    """Wait for nbval's end, and return why it has to be ended; "" where it ended by itself."""
    end = monotonic() + limits.notebook
    next_count = monotonic() + COUNT_EVERY
    while True:
        try:
            process.wait(LOOK_EVERY)
            return ""
        except psutil.TimeoutExpired:
            now = monotonic()
        if limits.stop.is_set():
            return "grading was stopped"
        if now > end:
            return f"the notebook took longer than {limits.notebook:g} s"
        if now > next_count:
            next_count = now + COUNT_EVERY
            if count_below(process) > MOST_PROCESSES:
                return f"it started more than {MOST_PROCESSES} processes"
            if memory_below(process) > MEMORY:
                return f"it took more than {MEMORY >> 30} GB of memory"
        if heard.last and now > heard.last + limits.cell + SILENCE:
            return "it kept the grader's process from going on"


def read_events(told: bytes) -> Run:
    """What the plugin told, up to where it was cut off."""
    run, running = Run(), None
    for line in told.split(b"\n")[:-1]:
        event = json.loads(line)
        kind, unit = event["event"], event.get("unit", "")
        if kind == "start":
            run.started, running = True, unit
        elif kind == "ran":
            running = None
            if event["check"]:
                run.checks[unit] = Check(event["right"], event["error"], event["seen"])
            elif event["error"]:
                run.raised.setdefault(unit, event["error"])
        elif kind == "stop":
            run.stopped, run.why, running = unit, event["why"], None
        else:
            run.finished = True
    run.stopped = run.stopped or running or ""
    return run
