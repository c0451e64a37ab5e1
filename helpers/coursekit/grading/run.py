"""What does nbval tell of a notebook, when its code may hang, crash or fill the disk?

nbval runs in a process of its own, in a throw-away folder, with a bare environment. However it
ends, everything that it started is ended too.
"""

from __future__ import annotations

import json
import os
import site
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from threading import Thread
from typing import BinaryIO

import nbformat
import psutil
from nbformat import NotebookNode

from ..machine import kernel_environment
from .limits import Limits
from .verdicts import Check, Run

# Every process below a run has it, however it left the tree of processes.
TOKEN = "INSIDETORCH_GRADING"
KEPT = [
    *("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CUDA_VISIBLE_DEVICES"),
    *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "NUMBER_OF_PROCESSORS"),
]
MOST_TOLD = 8 << 20
ROUNDS = 20
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
        run = _run_once(notebook, limits)
        if run.started:
            return run
    raise CannotRun(run.why)


def _run_once(notebook: NotebookNode, limits: Limits) -> Run:
    token = token_hex(16)
    with tempfile.TemporaryDirectory(prefix="grade-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        (folder / "work").mkdir()
        path = folder / "work" / "notebook.ipynb"
        # JSON can hold half a surrogate pair, UTF-8 cannot.
        text = nbformat.writes(notebook).encode("utf-8", errors="replace")
        path.write_bytes(text)
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8", newline="\n")
        command = [sys.executable, "-P", "-m", "pytest", *OPTIONS, "-c", str(folder / "pytest.ini")]
        command += [f"--nbval-cell-timeout={limits.cell}", str(path)]
        told: list[bytes] = []
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
            reader = Thread(target=_read, args=(process.stdout, told), daemon=True)
            reader.start()
            try:
                process.wait(limits.notebook)
                why = "it ended the grader's process"
            except subprocess.TimeoutExpired:
                why = f"the notebook took longer than {limits.notebook:g} s"
            finally:
                end_processes(token)
                process.wait()
                reader.join()
                process.stdout.close()
        run = read_events(b"".join(told))
        if not run.finished and not run.why:
            run.why = why
            if not told:
                log_end = (folder / "log").read_text(encoding="utf-8", errors="replace")[-600:]
                run.why = f"nbval did not start: {log_end.strip()}"
        return run


def environment(folder: Path, token: str) -> dict[str, str]:
    """A bare environment: nothing of the user's is named in it, and every home is temporary."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    homes = ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TMPDIR", "TEMP", "TMP")
    home = folder / "home"
    home.mkdir()
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
        "PYTHONUSERBASE": site.getuserbase(),
        "PYTHONUTF8": "1",
        TOKEN: token,
    }


def end_processes(token: str) -> None:
    """End every process that a run has started: what they start meanwhile, in the next round."""
    for _ in range(ROUNDS):
        found = list(_processes(token))
        for process in found:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        if not found:
            return
        psutil.wait_procs(found, timeout=5)


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


def _read(stream: BinaryIO, told: list[bytes]) -> None:
    size = 0
    while chunk := stream.read1(1 << 16):
        size += len(chunk)
        if size <= MOST_TOLD:
            told.append(chunk)


def _processes(token: str) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            if process.environ().get(TOKEN) == token:
                yield process
        except (psutil.Error, OSError):
            continue
