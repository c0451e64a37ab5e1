"""How is a process kept to itself? In a box: a small file system, its own processes, no network.

Linux's namespaces do it, entered by the system calls that `unshare` and `bubblewrap` make. Those
two start a program; a copy of a warm process has to make the calls itself.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import site
import sys
from collections.abc import Iterable
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
APART = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
MNT_DETACH = 2
MOUNT_ATTR_RDONLY = 1
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
MOUNT_SETATTR = 442
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
CAPABILITY_VERSION = 0x20080522

# Far above the numbers that systems give to users; each process takes one of its own.
FIRST_USER = 1_900_000_000
# What an answer can fill; it lies in memory.
SIZE = 256 << 20
FILES = 20_000
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store")
SETTINGS = ("alternatives", "fonts", "group", "ld.so.cache", "localtime", "passwd")
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


def shown_places(packages: Path) -> list[Path]:
    """What a box has of the machine, to read: the system's programs, Python, and `packages`."""
    wanted = [
        *map(Path, SYSTEM),
        *(Path("/etc") / name for name in SETTINGS),
        *(Path("/dev") / name for name in DEVICES),
        *map(Path, (sys.prefix, sys.base_prefix, *site.getsitepackages())),
        packages,
    ]
    both = [one for path in wanted for one in (path, path.resolve())]
    return [one for one in dict.fromkeys(both) if one.exists()]


def enter(folder: Path, shown: Iterable[Path]) -> None:
    """Go on in a box, where nothing else of the machine is to be seen.

    What was `folder` is empty there, but for `shared`, which is the same inside and outside. The
    calling process stays outside and waits for the copy of it that returns from here. Raises
    OSError where the system does not allow it.
    """
    uid, gid, root = os.getuid(), os.getgid(), os.geteuid() == 0
    _call("unshare", APART if root else APART | CLONE_NEWUSER)
    if not root:
        # Who enters stays who it is, with no right over anything outside.
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1", encoding="ascii")
    if inside := os.fork():
        _end_as(inside)
    _call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    _furnish(folder, shown)


def seal(folder: Path) -> None:
    """Close the box from within: nothing outside can be written, and never again be mounted."""
    _read_only(folder / "shared")
    if os.geteuid() == 0:
        become_nobody(folder)
    _call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    _call("capset", header, (ctypes.c_uint32 * 6)())


def leave_network() -> None:
    """Go on without a network. Raises OSError where that is not allowed."""
    _call("unshare", CLONE_NEWNET)


def become_nobody(folder: Path) -> None:
    """Become a user who is nobody else, and who owns `work` and `home` in the folder, for good."""
    user = FIRST_USER + os.getpid() % 1_000_000
    for name in ("work", "home"):
        for path in (folder / name, *(folder / name).rglob("*")):
            os.chown(path, user, user, follow_symlinks=False)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def _furnish(folder: Path, shown: Iterable[Path]) -> None:
    """Build the box's file system out of a new one in memory, and make it the only one."""
    _mount(None, Path("/"), None, MS_REC | MS_PRIVATE)
    base = folder / "box"
    options = f"size={SIZE},nr_inodes={FILES},mode=755"
    _mount("tmpfs", base, "tmpfs", MS_NOSUID | MS_NODEV, options)
    there: list[Path] = []
    for path in shown:
        if not any(path.is_relative_to(one) for one in there):
            _read_only(_bind(path, base))
            there.append(path)
    for name in ("proc", "dev/shm", "tmp"):
        (base / name).mkdir(parents=True, exist_ok=True)
    for name in ("dev/shm", "tmp"):
        (base / name).chmod(0o1777)
    _mount("proc", base / "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    (base / "dev" / "fd").symlink_to("/proc/self/fd")
    _bind(folder / "shared", base)
    for name in ("work", "home"):
        _in(base, folder / name).mkdir()
    _pivot(base)
    os.chdir(folder / "work")


def _bind(path: Path, base: Path) -> Path:
    """Show a place in the box, and all that is mounted below it."""
    target = _in(base, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    _mount(str(path), target, None, MS_BIND | MS_REC)
    return target


def _in(base: Path, path: Path) -> Path:
    return base / path.relative_to("/")


def _pivot(base: Path) -> None:
    """Make `base` the root; the old one, put onto the same place, is taken away."""
    os.chdir(base)
    if platform.machine() not in PIVOT_ROOT:
        raise OSError(f"no number of pivot_root is known for {platform.machine()}")
    _call("syscall", PIVOT_ROOT[platform.machine()], b".", b".")
    _call("umount2", b".", MNT_DETACH)
    os.chdir("/")


def _read_only(path: Path) -> None:
    """Allow no writing below a mount, nor below those in it."""
    attributes = (ctypes.c_uint64 * 4)(MOUNT_ATTR_RDONLY)
    size = ctypes.sizeof(attributes)
    _call("syscall", MOUNT_SETATTR, AT_FDCWD, bytes(path), AT_RECURSIVE, attributes, size)


def _mount(
    source: str | None, target: Path, kind: str | None, flags: int, options: str | None = None
) -> None:
    texts = [one and os.fsencode(one) for one in (source, target, kind, options)]
    _call("mount", *texts[:3], ctypes.c_ulong(flags), texts[3])


def _call(name: str, *arguments: object) -> None:
    """One of the C library's functions. Raises OSError where it fails."""
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _end_as(inside: int) -> None:
    """Wait for a process and end as it does; signals reach it by itself, in the same group."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.closerange(0, 256)
    _, status = os.waitpid(inside, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
