"""How does the course open in JupyterLab, and at which notebook?"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from . import labcheck, machine
from .arguments import parser
from .environment import ROOT
from .errors import CourseError

if TYPE_CHECKING:
    from jupyter_server.serverapp import ServerApp


def main(argv: Sequence[str]) -> int:
    """Carries out `course.py lab` and returns its exit status."""
    args = parser().parse_args(["lab", *argv])
    if args.check:
        return labcheck.main()
    try:
        notebook = choose_notebook(ROOT, name=args.notebook)
        if args.port is not None:
            refuse_taken_port(args.port)
        serve(ROOT, notebook, port=args.port, browser=not args.no_browser)
    except CourseError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def notebooks(root: Path, *, folder: str = "notebooks") -> list[str]:
    """Which notebooks are there? Returns their paths from the course's folder, in order."""
    found = sorted((root / folder).rglob("*.ipynb"))
    return [
        path.relative_to(root).as_posix()
        for path in found
        if ".ipynb_checkpoints" not in path.parts
    ]


def choose_notebook(root: Path, *, name: str | None) -> str:
    """Which notebook opens? The one named, else the one that the learner was in, else the first.

    `name` is a notebook's name or path, or a part of its name that only one has; an exercise such
    as 1.3 means the notebook that it stands in. Raises CourseError where no notebook, or more than
    one, has that name.
    """
    folder = "notebooks"
    if name is not None and re.fullmatch(r"\d+\.\d+", name):
        _check_exercise(root, name)
        folder, name = "exercises", f"{int(name.partition('.')[0]):02d}_"
    elif name is not None and "exercises" in Path(name).parts:
        folder = "exercises"
    known = {path: Path(path).stem for path in notebooks(root, folder=folder)}
    if not known:
        raise CourseError(
            f"A notebook was to be opened from {root / folder}. There is none. Get the course "
            f"anew, or build the notebooks with `python course.py build`."
        )
    if name is None:
        last = last_notebook(root)
        return next((path for path, stem in known.items() if stem == last), next(iter(known)))
    asked = Path(name).name.removesuffix(".ipynb")
    whole = [path for path, stem in known.items() if stem == asked]
    found = whole or [path for path, stem in known.items() if asked in stem]
    if len(found) != 1:
        meant = "No notebook has" if not found else "More than one notebook has"
        coming = "" if found else "; later chapters are coming"
        raise CourseError(
            f"The notebook {name!r} was asked for. {meant} that name. "
            f"Name one of these: {', '.join(found or known.values())}{coming}."
        )
    return found[0]


def _check_exercise(root: Path, exercise_id: str) -> None:
    """Raises CourseError for an exercise that its chapter does not have."""
    file = root / "exercises" / ".course" / f"{int(exercise_id.partition('.')[0]):02d}.json"
    if not file.exists():
        return  # the chapter is not there, which is told for its notebook
    known = list(json.loads(file.read_text(encoding="utf-8"))["exercises"])
    if exercise_id not in known:
        raise CourseError(
            f"The exercise {exercise_id} was asked for. Its chapter has none of that number. "
            f"Name one of these: {', '.join(known)}."
        )


def last_notebook(root: Path) -> str | None:
    """In which notebook was the learner last? None where that is not known.

    A file that cannot be read is told and left as it is.
    """
    path = root / ".insidetorch" / "progress.json"
    try:
        last = json.loads(path.read_text(encoding="utf-8"))["last"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError) as error:
        print(
            f"Your progress was to be read from {path}. It cannot be ({error}). It is left as it "
            f"is, and the course opens at its first chapter.",
            file=sys.stderr,
        )
        return None
    return last if isinstance(last, str) else None


def refuse_taken_port(port: int) -> None:
    """Raises CourseError where another program has the port, and names one that is free."""
    if not 1 <= port <= 65535:
        raise CourseError(
            f"The port {port} was asked for. Ports go from 1 to 65535. Try --port 8888."
        )
    if not _is_free(port):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            free = probe.getsockname()[1]
        raise CourseError(
            f"The port {port} was asked for. Another program uses it, or it is reserved. "
            f"Take --port {free}, which is free, or leave --port out."
        )


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        if os.name == "posix":
            # A port that a server has just left counts as free, as it does for JupyterLab.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def options(root: Path, notebook: str, *, port: int | None, browser: bool) -> list[str]:
    """What is JupyterLab told on its command line?"""
    given = [
        f"--ServerApp.root_dir={root}",
        f"--LabApp.default_url=/lab/tree/{quote(notebook)}",
        f"--ServerApp.open_browser={browser}",
        # No question about news of Jupyter at each start.
        "--LabApp.news_url=None",
    ]
    if port is not None:
        given += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # In a container there is often no user but root, and JupyterLab would refuse.
        given.append("--ServerApp.allow_root=True")
    return given


@contextmanager
def stderr_into(log: Path, *, anew: bool) -> Iterator[None]:
    """What this process and its kernels write to stderr goes into `log` from here on.

    After the block too, as threads of the server speak late; an exception gets the terminal back.
    """
    terminal = os.dup(2)
    with log.open("w" if anew else "a", encoding="utf-8") as file:
        sys.stderr.flush()
        os.dup2(file.fileno(), 2)
    try:
        yield
    except BaseException:
        sys.stderr.flush()
        os.dup2(terminal, 2)
        raise
    finally:
        os.close(terminal)


def open_already(root: Path) -> str | None:
    """At which address is a JupyterLab of this course open? None where none is known."""
    from jupyter_server.serverapp import list_running_servers

    for server in list_running_servers():
        if Path(server.get("root_dir", "")) == root:
            return f"{server['url']}lab?token={server['token']}"
    return None


def serve(root: Path, notebook: str, *, port: int | None, browser: bool) -> None:
    """Runs JupyterLab until Ctrl+C. What it has to say goes into a log; the address is printed.

    Raises CourseError where JupyterLab does not start.
    """
    print("Starting JupyterLab ...", flush=True)
    from jupyterlab.labapp import LabApp

    other = open_already(root)
    if other:
        print(f"JupyterLab of this course is already open at {other}\nThis is a second one.")
    log = root / ".insidetorch" / "jupyterlab.log"
    log.parent.mkdir(exist_ok=True)
    opens = browser and machine.has_browser()
    with stderr_into(log, anew=not other):
        try:
            server = LabApp.initialize_server(
                argv=options(root, notebook, port=port, browser=opens)
            )
        except SystemExit:
            raise CourseError(
                f"JupyterLab was to be started in {root}. It has stopped at once. "
                f"The reason is in {log}."
            ) from None
        _run_until_stopped(server, log=log, no_browser=browser and not opens)
    print("\nJupyterLab has stopped. Come back with: python course.py lab")


def _run_until_stopped(server: ServerApp, *, log: Path, no_browser: bool) -> None:
    # JupyterLab would ask whether it is meant; one Ctrl+C is enough here. An exception from the
    # handler could be lost in a callback, so it asks the server to stop.
    signal.signal(signal.SIGINT, lambda _signal, _frame: server.stop(from_signal=True))

    def announce() -> None:
        print(f"JupyterLab is at {server.public_url}")
        if no_browser:
            print("No browser was found here. Open that address in one.")
        print(f"Ctrl+C here stops it. Its messages are in {log}", flush=True)

    # The server listens only once its loop runs, and the loop keeps the order of what it is given.
    server.io_loop.add_callback(announce)
    server.start()
