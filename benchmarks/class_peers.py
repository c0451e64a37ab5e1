"""Where do nbgrader and otter-grader run? Each in an environment of its own.

It sees the course's packages, torch among them, by a file with their paths: so all graders use the
same ones.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from process_tree import run

from coursekit.machine import kernel_environment

PINNED = {"nbgrader": "nbgrader==0.9.6", "otter": "otter-grader==7.0.0"}


class Failed(Exception):
    """What a peer said where it could not be measured."""


@dataclass
class Peer:
    """A peer's environment, and the folder in which it works."""

    root: Path
    python: Path
    folder: Path
    env: dict[str, str]

    def command(self, name: str, *arguments: str) -> str:
        """Run one of its commands; what it said. Raises Failed."""
        status, said = run(
            [str(self.python.with_name(name)), *arguments], folder=self.folder, env=self.env
        )
        if status:
            raise Failed(f"{name} {' '.join(arguments)} ended with {status}:\n{said[-800:]}")
        return said


def peer(name: str, *, root: Path, peers: Path, folder: Path) -> Peer:
    """Install a peer where it is not yet, and give it a folder to work in."""
    home = peers / name
    python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = subprocess.check_output([str(python), "-c", ask], text=True).strip()
    paths = [str(root / "helpers"), sysconfig.get_path("purelib")]
    Path(own, "course.pth").write_text("\n".join(paths) + "\n", encoding="utf-8")
    # nbgrader's feedback looks for the templates of pages there.
    templates = Path("share", "jupyter", "nbconvert")
    shutil.copytree(Path(sys.prefix, templates), home / templates, dirs_exist_ok=True)
    subprocess.run(
        [str(python), "-m", "pip", "install", "--quiet", PINNED[name]],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    folder.mkdir(parents=True)
    (folder / "home").mkdir()
    env = {
        **os.environ,
        **kernel_environment(folder / "home"),
        "HOME": str(folder / "home"),
        # nbgrader runs the command `alembic`.
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        "INSIDETORCH_COURSE": str(root / "exercises" / ".course"),
        "INSIDETORCH_PROGRESS": str(folder / "home" / "progress.json"),
        # As our own grader has it: one thread a kernel.
        "OMP_NUM_THREADS": "1",
    }
    return Peer(root, python, folder, env)
