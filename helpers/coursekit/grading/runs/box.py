"""How is a process kept to itself? In a box: a small file system, its own processes, no network.

Linux's namespaces do it, entered by the system calls that `unshare` and `bubblewrap` make. Those
two start a program; a copy of a warm process has to make the calls itself.
"""

from __future__ import annotations

import os
import signal
import site
import sys
from collections.abc import Sequence
from pathlib import Path

from .system_calls import (
    MS_BIND,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_PRIVATE,
    MS_REC,
    become_nobody,
    change_root,
    drop_rights,
    end_with_parent,
    enter_namespaces,
    leave_keys,
    mount,
    read_only,
    start_own_network,
    user_of,
)

# What an answer can fill; it lies in memory.
SIZE = 256 << 20
FILES = 20_000
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store")
SETTINGS = ("alternatives", "fonts", "ld.so.cache", "localtime")
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


def shown_places(packages: Path) -> list[Path]:
    """What a box has of the machine, to read: the system's programs, Python, and `packages`."""
    wanted = [
        *map(Path, SYSTEM),
        *(Path("/etc") / name for name in SETTINGS),
        *(Path("/dev") / name for name in DEVICES),
        *map(Path, (sys.prefix, sys.base_prefix, *site.getsitepackages())),
        Path(site.getusersitepackages()),
        packages,
    ]
    both = [one for path in wanted for one in (path, path.resolve())]
    return [one for one in dict.fromkeys(both) if one.exists()]


def enter(folder: Path, shown: Sequence[Path], hidden: Sequence[Path] = ()) -> None:
    """Go on in a box, where of the machine nothing but the `shown` places is to be seen, to read.

    The `hidden` ones are empty, wherever they lie. What was `folder` is empty there, but for
    `shared`, which is the same inside and outside. The calling process stays outside and waits for
    the copy of it that returns from here. Raises OSError where the system does not allow it.
    """
    user = user_of(folder) if os.geteuid() == 0 else os.getuid()
    leave_keys()
    enter_namespaces()
    if inside := os.fork():
        _end_as(inside)
    end_with_parent()
    _furnish(folder, shown, hidden, user=user)
    start_own_network()


def seal(folder: Path) -> None:
    """Close the box from within: nothing outside can be written, and never again be mounted."""
    read_only(folder / "shared")
    if os.geteuid() == 0:
        become_nobody(folder)
    drop_rights()


def _furnish(folder: Path, shown: Sequence[Path], hidden: Sequence[Path], *, user: int) -> None:
    """Build the box's file system out of a new one in memory, and make it the only one."""
    mount(None, Path("/"), None, MS_REC | MS_PRIVATE)
    base = folder / "box"
    options = f"size={SIZE},nr_inodes={FILES},mode=755"
    mount("tmpfs", base, "tmpfs", MS_NOSUID | MS_NODEV, options)
    there: list[Path] = []
    for path in shown:
        if not any(path.is_relative_to(one) for one in there):
            read_only(_bind(path, base))
            there.append(path)
    for path in hidden:
        # But for what would hide Python as well.
        if any(path.is_relative_to(one) for one in there) and not any(
            one.is_relative_to(path) for one in there
        ):
            _cover(_in(base, path))
    for name in ("proc", "dev/shm", "dev/pts", "etc", "tmp"):
        (base / name).mkdir(parents=True, exist_ok=True)
    for name in ("dev/shm", "tmp"):
        (base / name).chmod(0o1777)
    mount("proc", base / "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    # IPython runs `!command` in a terminal.
    options = "newinstance,ptmxmode=0666,mode=620"
    mount("devpts", base / "dev" / "pts", "devpts", MS_NOSUID | MS_NOEXEC, options)
    (base / "dev" / "ptmx").symlink_to("pts/ptmx")
    (base / "dev" / "fd").symlink_to("/proc/self/fd")
    _write(base / "etc" / "passwd", f"learner:x:{user}:{user}::{folder / 'home'}:/bin/sh\n")
    _write(base / "etc" / "group", f"learner:x:{user}:\n")
    _write(base / "etc" / "hosts", "127.0.0.1 localhost\n")
    _bind(folder / "shared", base)
    for name in ("work", "home"):
        _in(base, folder / name).mkdir()
    change_root(base)
    os.chdir(folder / "work")


def _cover(place: Path) -> None:
    """Put something empty over a place in the box."""
    if place.is_dir():
        mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV, "size=4k,mode=755")
        read_only(place)
    elif place.exists():
        mount(os.devnull, place, None, MS_BIND)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _bind(path: Path, base: Path) -> Path:
    """Show a place in the box, and all that is mounted below it."""
    target = _in(base, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    mount(str(path), target, None, MS_BIND | MS_REC)
    return target


def _in(base: Path, path: Path) -> Path:
    return base / path.relative_to("/")


def _end_as(inside: int) -> None:
    """Wait for a process and end as it does; signals reach it by itself, in the same group."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.closerange(0, 256)
    _, status = os.waitpid(inside, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
