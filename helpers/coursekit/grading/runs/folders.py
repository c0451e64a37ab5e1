"""Where does a run take place? In a folder that is thrown away, with a copy of our packages.

A kernel that imported them from the course's folder could read the solutions beside them; a grader
of one checkout could run the packages of another.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from compileall import compile_dir
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from py_compile import PycInvalidationMode

PACKAGES = ("coursekit", "insidetorch")


EMPTY = ("work", "home", "shared", "box")
# A socket's path has 107 bytes at most, a folder's name and "/shared/kernel-5" about 30.
LONGEST_PATH = 70
SHORT = "/tmp"


@contextmanager
def throw_away_folder() -> Iterator[Path]:
    """A folder as `prepare` makes it, which is removed in the end."""
    folder = new_folder("grade-")
    try:
        prepare(folder)
        yield folder
    finally:
        remove(folder)


def new_folder(prefix: str) -> Path:
    """A temporary folder whose path is short enough for the kernel's sockets in it."""
    usual = tempfile.gettempdir()
    too_long = len(os.fsencode(usual)) > LONGEST_PATH and os.access(SHORT, os.W_OK)
    return Path(tempfile.mkdtemp(prefix=prefix, dir=SHORT if too_long else usual))


def prepare(folder: Path) -> None:
    """Make the folders of a run: `work` and `home` are an answer's; in `shared` lie the kernel's
    sockets, and on `box` its file system is put together, if it gets one of its own."""
    for name in EMPTY:
        (folder / name).mkdir()


def remove(folder: Path) -> None:
    """Remove a folder, however deeply folders are nested in it. What cannot be removed stays."""
    with suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    number = 0
    while folder.is_dir():
        before = number
        for entry in _entries(folder):
            # A path as long as the nesting would be too long: all is moved to the top first.
            for inner in _entries(entry) if _is_folder(entry) else []:
                number += 1
                with suppress(OSError):
                    _open(inner)
                    inner.rename(folder / f"moved {number}")
            with suppress(OSError):
                _open(entry)
                entry.rmdir() if _is_folder(entry) else entry.unlink()
        with suppress(OSError):
            folder.rmdir()
        if number == before:
            return


@cache
def packages() -> Path:
    """One compiled copy of our packages, for all runs of this process."""
    folder = Path(tempfile.mkdtemp(prefix="grade-packages-"))
    atexit.register(remove, folder)
    for name in PACKAGES:
        source = Path(__file__).parents[3] / name
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, folder / name, ignore=ignored)
    # A run writes no compiled code, and the copies of these files are not newer than it.
    compile_dir(folder, quiet=2, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
    # Another user's answer may read it, too.
    folder.chmod(0o755)
    return folder


def _entries(folder: Path) -> list[Path]:
    with suppress(OSError):
        _open(folder)
        return list(folder.iterdir())
    return []


def _open(path: Path) -> None:
    """Allow everything; where a link leads is left alone."""
    if not path.is_symlink():
        path.chmod(0o700)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
