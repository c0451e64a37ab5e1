"""How does a bare machine get the course's own environment, and how is a half-finished one mended?

Standard library only. Nothing is installed outside the course's folder. The Python of the course's
own environment does it, and pip finishes what it had begun, so mending is installing again.
"""

from __future__ import annotations

import csv
import os
import shutil
import signal
import subprocess
import sys
import threading
import urllib.request
from collections import deque
from importlib import util
from pathlib import Path
from queue import Empty, Queue

from insidetorch import locking

from . import environment, explain
from .errors import CourseError

CPU_INDEX = "https://download.pytorch.org/whl/cpu"


def ensure(root: Path, *, extra: str, gpu: bool, lacks: list[str]) -> Path:
    """Makes the course's own environment complete where it is not, and returns its Python.

    `extra` is "lab" or "author"; `lacks` is what the running Python lacks, to be told.
    Raises CourseError where it cannot be done here.
    """
    wanted = environment.stamp_of(root, extra=extra, gpu=gpu)
    if _ready(root, wanted):
        return environment.venv_python(root)
    try:
        lock = root / ".insidetorch" / "install.lock"
        with locking.only_one(lock, waiting=explain.WAITING):
            if not _ready(root, wanted):
                _install(root, wanted, lacks=lacks)
    except OSError as error:
        raise CourseError(explain.os_error(error, root)) from None
    return environment.venv_python(root)


def _ready(root: Path, wanted: dict) -> bool:
    return (
        environment.covers(environment.read_stamp(root), wanted)
        and environment.venv_state(root) == "usable"
        and not environment.venv_lacks(root, extra=wanted["extra"])
    )


def _install(root: Path, wanted: dict, *, lacks: list[str]) -> None:
    venv = environment.venv_of(root)
    settings = environment.settings_of(root)
    state = environment.venv_state(root)
    gpu = wanted["gpu"] or bool(environment.read_stamp(root).get("gpu"))
    cpu_index = sys.platform == "linux" and not gpu and answers(CPU_INDEX + "/torch/")
    if state == "usable":
        lacks = environment.venv_lacks(root, extra=wanted["extra"])
    else:
        _refuse_where_it_cannot_be(root, state, room=explain.ROOM_NEEDED["gpu" if gpu else "cpu"])
    fault = environment.venv_fault(root) if state == "broken" else None
    print(explain.announcement(venv, state=state, lacks=lacks, fault=fault), flush=True)
    if wanted["gpu"] or state != "usable" or any(each.startswith("torch ") for each in lacks):
        unsure = sys.platform == "linux" and not cpu_index
        free = shutil.disk_usage(root).free
        print(explain.size(gpu=gpu, unsure=unsure, free=free), flush=True)
    (venv / ".course.json").unlink(missing_ok=True)
    if state == "usable":
        forget_unfinished(venv)
    else:
        _make_venv(venv, clear=state == "broken")
    torch = f"torch=={environment.tested_torch(settings)}"
    index = ["--extra-index-url", CPU_INDEX] if cpu_index else []
    # A CPU build counts as the same version, so only force replaces it by the other build.
    force = ["--force-reinstall"] if wanted["gpu"] else []
    _pip(root, ["install", *index, *force, torch], torch=torch)
    rest = environment.requirements(settings, extra=wanted["extra"])
    _pip(root, ["install", *index, *rest], torch=torch)
    point_to_course(root)
    environment.write_stamp(root, {**wanted, "gpu": gpu})
    print("Everything is installed.", flush=True)


def _refuse_where_it_cannot_be(root: Path, state: str, *, room: int) -> None:
    venv = environment.venv_of(root)
    if state == "foreign":
        raise CourseError(
            f"The course's own environment belongs into {venv}. A folder of that name is there "
            f"already, and it is not a Python environment. Give it another name, and run again."
        )
    if util.find_spec("venv") is None or util.find_spec("ensurepip") is None:
        raise CourseError(
            f"An environment was to be made with {sys.executable}. This Python has no venv module "
            f"or no pip to put into it. On Debian and Ubuntu run `sudo apt install python3-venv`; "
            f"elsewhere take a Python from https://www.python.org/downloads/. Then run again."
        )
    free = shutil.disk_usage(root).free
    if free < room:
        raise CourseError(explain.full_disk(f"{free / explain.GIB:.1f} GiB are free at {root}"))


def answers(url: str, *, seconds: float = 3.0) -> bool:
    """Does a web address answer in time? A thread asks, as looking up a name has no time limit."""
    replies: Queue[bool] = Queue()

    def ask() -> None:
        try:
            with urllib.request.urlopen(url, timeout=seconds) as reply:
                replies.put(reply.status == 200)
        except (OSError, ValueError):
            replies.put(False)

    threading.Thread(target=ask, daemon=True).start()
    try:
        return replies.get(timeout=seconds)
    except Empty:
        return False


def _make_venv(venv: Path, *, clear: bool) -> None:
    command = [sys.executable, "-m", "venv", *(["--clear"] if clear else []), str(venv)]
    made = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if made.returncode != 0:
        said = made.stdout + made.stderr
        print(said, file=sys.stderr)
        raise CourseError(explain.pip(said, torch="", venv=venv))


def point_to_course(root: Path) -> None:
    """Makes the environment's Python find the course's package in helpers/.

    Python reads this file in the encoding of the locale, so it must hold ASCII only, wherever the
    course lies: the path is relative. `pip install -e` would write an absolute one.
    """
    for site in environment.site_packages(environment.venv_of(root)):
        line = Path(os.path.relpath(root / "helpers", site)).as_posix() + "\n"
        (site / "insidetorch.pth").write_text(line, encoding="ascii", newline="\n")


def forget_unfinished(venv: Path) -> list[str]:
    """Makes pip install again what an interrupted run left incomplete; returns those names.

    pip takes a package for installed as soon as its dist-info folder holds METADATA, even where
    files that come later (JupyterLab's pages, a widget's script) are missing or cut short. So the
    dist-info folder of such a package is removed.
    """
    names = []
    sites = environment.site_packages(venv)
    for info in sorted(info for site in sites for info in site.glob("*.dist-info")):
        if not _is_complete(info):
            shutil.rmtree(info)
            names.append(info.name.removesuffix(".dist-info"))
    return names


def _is_complete(info: Path) -> bool:
    try:
        with (info / "RECORD").open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.reader(file) if row and not row[0].endswith(".pyc")]
        sizes = [((info.parent / path).stat().st_size, size) for path, _, size in rows]
    except (OSError, ValueError):
        return False
    return all(not recorded or size == int(recorded) for size, recorded in sizes)


def _pip(root: Path, arguments: list[str], *, torch: str) -> None:
    """Runs pip with the user's own configuration and shows what it says while it says it."""
    command = [environment.venv_python(root), "-m", "pip", *arguments]
    # `user = true` in a configuration is meant for a system Python, and stops pip in a venv.
    settings = {**os.environ, "PIP_USER": "0", "PYTHONUTF8": "1"}
    last = deque(maxlen=40)
    with subprocess.Popen(
        command, cwd=root, env=settings, stderr=subprocess.PIPE, encoding="utf-8", errors="replace"
    ) as process:
        try:
            for line in process.stderr:
                sys.stderr.write(line)
                last.append(line)
            code = process.wait()
        except KeyboardInterrupt:
            _let_it_clean_up(process)
            raise
    if code != 0:
        venv = environment.venv_of(root)
        raise CourseError(explain.pip("".join(last), torch=torch, venv=venv))


def _let_it_clean_up(process: subprocess.Popen) -> None:
    """A terminal sends Ctrl+C to pip as well; a signal to course.py alone is handed on."""
    try:
        process.communicate(timeout=3)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM if os.name == "nt" else signal.SIGINT)
        process.communicate()
