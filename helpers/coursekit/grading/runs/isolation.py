"""How far is an answer kept from the grader, from the machine, and from other answers?"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from . import box, system_calls


@dataclass(frozen=True)
class Isolation:
    """One way to keep answers apart.

    `holds` tells what it protects against. `enter(folder, shown, hidden)` and `seal(folder)` are
    carried out by the process that is to be the kernel: before it opens its sockets, and before it
    runs the first cell. They raise OSError where the system does not allow it. `counts_processes`
    says that the system can count the processes of an answer apart from yours.
    """

    name: str
    holds: str
    enter: Callable[[Path, Sequence[Path], Sequence[Path]], None]
    seal: Callable[[Path], None]
    counts_processes: bool = True


def _change_user(folder: Path, shown: Sequence[Path], hidden: Sequence[Path]) -> None:
    if os.geteuid() != 0:
        raise PermissionError("only root can run a process as another user")
    folder.chmod(0o711)
    system_calls.leave_keys()
    # Not allowed everywhere where root can change the user.
    with suppress(OSError):
        system_calls.leave_network()


def _nothing(*_: object) -> None:
    """A process of its own is all that there is."""


ALL = {
    one.name: one
    for one in (
        Isolation(
            "namespace",
            "Answers see neither the network nor the grader's processes, and of the disk only the "
            "system's programs, Python and an empty folder in memory. To get further, they would "
            "have to find an error in Linux's kernel.",
            box.enter,
            box.seal,
        ),
        Isolation(
            "user",
            "Answers run as a user of their own, without a network where the system allows it: "
            "they cannot reach the grader's processes or those of others. They can read every file "
            "that everybody may read, such as solutions/ where it is open to all, and leave files "
            "where everybody may write, such as in /tmp.",
            _change_user,
            system_calls.become_nobody,
        ),
        Isolation(
            "process",
            "Answers run as you. Honest mistakes and casual tampering are held off; code that is "
            "written against this grader can read your files, use the network, and reach into the "
            "grader.",
            _nothing,
            _nothing,
            counts_processes=False,
        ),
    )
}
