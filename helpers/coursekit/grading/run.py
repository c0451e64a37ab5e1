"""What does nbval tell of a notebook, when its code may hang, crash or fill the disk?

nbval runs in a process of its own, in a throw-away folder, with a bare environment. However it
ends, what it started is ended too.
"""

from __future__ import annotations

import json
import os
import site
import subprocess
import sys
from pathlib import Path
from secrets import token_hex
from threading import Thread
from time import monotonic
from typing import BinaryIO

import nbformat
import psutil
from nbformat import NotebookNode

from ..machine import kernel_environment
from .folders import throw_away_folder
from .limits import Limits
from .processes import TOKEN, end_run
from .verdicts import Check, Run

KEPT = [
    *("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CUDA_VISIBLE_DEVICES"),
    *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "NUMBER_OF_PROCESSORS"),
]
MOST_TOLD = 8 << 20
LOOK_EVERY = 0.1
# A cell that has taken all its time is told within a moment, if anything can be told.
SILENCE = 10
# Two kernels that start at once can choose the same port; then one of them ends.
TRIES = 3
OPTIONS = [
    *("-p", "coursekit.grading.quick_start", "-p", "nbval.plugin"),
    *("-p", "coursekit.grading.plugin", "-p", "no:cacheprovider"),
    *("--nbval", "--nbval-current-env", "--noconftest", "--color=no", "-q", "--tb=no"),
]


class CannotRun(Exception):
    """Why no cell of a notebook could be run on this machine."""


def run_nbval(notebook: NotebookNode, *, limits: Limits) -> Run:
    """Run a grafted notebook and return what is known of it, however it ended.

    Raises CannotRun where no cell ran: then the answers are not to blame.
    """
    for _ in range(TRIES):
        if limits.stop.is_set():
            raise CannotRun("grading was stopped")
        run = _run_once(notebook, limits)
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


def _run_once(notebook: NotebookNode, limits: Limits) -> Run:
    token = token_hex(16)
    with throw_away_folder() as folder:
        path = folder / "work" / "notebook.ipynb"
        # JSON can hold half a surrogate pair, UTF-8 cannot.
        text = nbformat.writes(notebook).encode("utf-8", errors="replace")
        path.write_bytes(text)
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8", newline="\n")
        command = [sys.executable, "-P", "-m", "pytest", *OPTIONS, "-c", str(folder / "pytest.ini")]
        command += [f"--nbval-cell-timeout={limits.cell}", str(path)]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=folder / "work",
                env=environment(folder, token),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
            nbval, heard = psutil.Process(process.pid), Heard(process.stdout)
            try:
                why = _wait(process, heard, limits)
            finally:
                end_run(nbval, token)
                process.wait()
                told = heard.everything()
        run = read_events(told)
        if not run.finished and not run.why:
            run.why = why
            if not told:
                log_end = (folder / "log").read_text(encoding="utf-8", errors="replace")[-600:]
                run.why = f"nbval did not start: {log_end.strip()}"
        return run


def _wait(process: subprocess.Popen, heard: Heard, limits: Limits) -> str:
    """Wait for nbval's end, and return why it ended, if it ended too early."""
    end = monotonic() + limits.notebook
    while True:
        try:
            process.wait(LOOK_EVERY)
            return "it ended the grader's process"
        except subprocess.TimeoutExpired:
            now = monotonic()
        if limits.stop.is_set():
            return "grading was stopped"
        if now > end:
            return f"the notebook took longer than {limits.notebook:g} s"
        if heard.last and now > heard.last + limits.cell + SILENCE:
            return "it kept the grader's process from going on"


def environment(folder: Path, token: str) -> dict[str, str]:
    """A bare environment: nothing of the user's is named in it, and every home is temporary."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    homes = ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TMPDIR", "TEMP", "TMP")
    home = folder / "home"
    return {
        **kept,
        **dict.fromkeys(homes, str(home)),
        **kernel_environment(home),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTER_NO_CONFIG": "1",
        "JUPYTER_PLATFORM_DIRS": "1",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "OMP_NUM_THREADS": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(folder / "helpers"),
        "PYTHONUSERBASE": site.getuserbase(),
        "PYTHONUTF8": "1",
        TOKEN: token,
    }


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
