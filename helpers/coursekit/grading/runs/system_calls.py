"""Which system calls put a process apart from the machine (Linux)?

They are those that `unshare` and `bubblewrap` make. Each raises OSError where it is not allowed.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import socket
import struct
from contextlib import suppress
from pathlib import Path
from zlib import crc32

try:
    import fcntl
except ImportError:  # Windows, where nothing of this is called
    fcntl = None

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
# Calls that the C library has no function for, by machine.
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
KEYCTL = {"x86_64": 250, "aarch64": 219}
KEYCTL_JOIN_SESSION_KEYRING = 1
SIOCSIFFLAGS, IFF_UP_AND_RUNNING = 0x8914, 0x41
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
CAPABILITY_VERSION = 0x20080522

# Far above the numbers that systems give to users; each run takes one of its own.
FIRST_USER = 1_900_000_000


def leave_network() -> None:
    """Go on without a network. Raises OSError where that is not allowed."""
    call("unshare", CLONE_NEWNET)


def become_nobody(folder: Path) -> None:
    """Become a user who is nobody else, and who owns `work` and `home` in the folder, for good."""
    user = user_of(folder)
    for name in ("work", "home"):
        for path in (folder / name, *(folder / name).rglob("*")):
            os.chown(path, user, user, follow_symlinks=False)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    # Whoever changes the user no longer ends with the parent, unless that is said once more.
    end_with_parent()


def user_of(folder: Path) -> int:
    """The number of the user who owns a run in this folder, where root can choose it."""
    return FIRST_USER + crc32(folder.name.encode()) % 1_000_000


def leave_keys() -> None:
    """Leave the keys that the system holds for whoever has started the grader."""
    number = KEYCTL.get(platform.machine())
    # Containers often forbid it; then there is no way to the keys either.
    with suppress(OSError):
        call("syscall", number or -1, KEYCTL_JOIN_SESSION_KEYRING, None)


def change_root(base: Path) -> None:
    """Make `base` the root; the old one, put onto the same place, is taken away."""
    os.chdir(base)
    if platform.machine() not in PIVOT_ROOT:
        raise OSError(f"no number of pivot_root is known for {platform.machine()}")
    call("syscall", PIVOT_ROOT[platform.machine()], b".", b".")
    call("umount2", b".", MNT_DETACH)
    os.chdir("/")


def read_only(path: Path) -> None:
    """Allow no writing below a mount, nor below those in it."""
    attributes = (ctypes.c_uint64 * 4)(MOUNT_ATTR_RDONLY)
    size = ctypes.sizeof(attributes)
    call("syscall", MOUNT_SETATTR, AT_FDCWD, bytes(path), AT_RECURSIVE, attributes, size)


def mount(
    source: str | None, target: Path, kind: str | None, flags: int, options: str | None = None
) -> None:
    texts = [one and os.fsencode(one) for one in (source, target, kind, options)]
    call("mount", *texts[:3], ctypes.c_ulong(flags), texts[3])


def start_own_network() -> None:
    """Let a process reach itself by 127.0.0.1; there is nobody else in its network."""
    request = struct.pack("16sH14x", b"lo", IFF_UP_AND_RUNNING)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        fcntl.ioctl(one, SIOCSIFFLAGS, request)


def call(name: str, *arguments: object) -> None:
    """One of the C library's functions. Raises OSError where it fails."""
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def drop_rights() -> None:
    """Give up every right that goes beyond those of an ordinary user, for good."""
    call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    call("capset", header, (ctypes.c_uint32 * 6)())


def enter_namespaces() -> None:
    """Let what this process starts be apart: its processes, mounts, network, users.

    Root needs no namespace of users. Anybody else stays who it is in one, with no right over
    anything outside.
    """
    uid, gid, root = os.getuid(), os.getgid(), os.geteuid() == 0
    call("unshare", APART if root else APART | CLONE_NEWUSER)
    if not root:
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1", encoding="ascii")


def end_with_parent() -> None:
    """Let this process end when its parent does."""
    call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
