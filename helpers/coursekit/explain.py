"""What does an installation tell: what it is about to do, why it failed, and what helps?"""

from __future__ import annotations

import errno
import platform
import re
import sys
from pathlib import Path

GIB = 1 << 30
WAITING = "Another course.py (process {owner}) is installing. Waiting for it."
# Measured on Linux with the CPU build: 1.3 GiB for `lab`, 1.5 GiB for `author`.
ROOM_NEEDED = {"cpu": 2 * GIB, "gpu": 9 * GIB}


def announcement(venv: Path, *, state: str, lacks: list[str], fault: str | None) -> str:
    """What is made or completed, where, and why?

    `lacks` is what the environment lacks where it is "usable", else what the running Python lacks;
    `fault` is why a "broken" environment cannot be used.
    """
    why = "; ".join(lacks[:3]) + (f"; and {len(lacks) - 3} more" if len(lacks) > 3 else "")
    if state == "usable":
        reason = f" ({why})" if why else ""
        return f"The course completes its own Python environment in {venv}{reason}."
    lines = [f"The course makes its own Python environment in {venv}"]
    if fault:
        lines += [f"The one that is there cannot be used, and is made anew. It said: {fault}"]
    lines += [f"{sys.executable} stays as it is; it lacks what is needed ({why or 'CUDA'})."]
    return "\n".join(lines)


def size(*, gpu: bool, unsure: bool, free: int) -> str:
    """How much is there to download, and how much disk does it take?

    `unsure` where pip may take the CUDA build unasked; `free` is the free disk in bytes.
    """
    if gpu:
        return "Several GB to download, 9 GB on disk."
    usual = "About 200 MB to download, 1.5 GB on disk."
    if not unsure:
        return usual
    room = f"; {free / GIB:.1f} GiB are free" if free < ROOM_NEEDED["gpu"] else ""
    return (
        f"{usual}\nPyTorch's index of CPU builds did not answer, so pip may take a CUDA build: "
        f"several GB to download, 9 GB on disk{room}. Ctrl+C stops it."
    )


def os_error(error: OSError, root: Path) -> str:
    """Why could nothing be written, and what helps?"""
    if error.errno == errno.ENOSPC:
        return full_disk(f"the disk of {root} is full")
    return (
        f"The course writes its environment and your progress below {root}. That is not possible "
        f"({error}). Copy the course into a folder that you may write to, and run it there."
    )


def pip(said: str, *, torch: str, venv: Path) -> str:
    """Why has pip or venv failed, judged by its last lines, and what helps?"""
    if re.search(r"No space left on device|Errno 28|not enough space", said):
        return full_disk(f"the disk of {venv.parent} (or the one for temporary files) is full")
    if re.search(r"Failed to establish|NewConnection|NameResolution|timed out|Max retries", said):
        return (
            f"The packages were to be fetched for {venv}. The network or the package index did not "
            f"answer. Repeat the same command when you are online, or run course.py with a Python "
            f"that has the packages already."
        )
    if torch and re.search(r"No matching distribution found for torch\b", said):
        here = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
        if "from versions: none" in said:
            return (
                f"pip was asked for {torch}. The package index in use offers no torch at all for "
                f"{here}. Check the network, a proxy, and PIP_INDEX_URL and PIP_NO_INDEX (`pip "
                f"config list` shows them), and repeat the same command."
            )
        return (
            f"pip was asked for {torch}. The package index has other versions only for {here}. "
            f"Remove {venv} and run course.py with another Python, such as python3.13 course.py, "
            f"or py -3.13 course.py on Windows."
        )
    if re.search(r"Permission denied|Read-only file system", said):
        return os_error(PermissionError(f"{venv} cannot be written"), venv.parent)
    return (
        f"The environment {venv} could not be completed. The lines above say why. "
        f"When that is put right, repeat the same command: it goes on where it stopped."
    )


def full_disk(fact: str) -> str:
    return (
        f"The environment needs about {ROOM_NEEDED['cpu'] // GIB} GiB of free disk (9 GiB with "
        f"CUDA), but {fact}. Make room, and repeat the same command: it goes on where it stopped."
    )
