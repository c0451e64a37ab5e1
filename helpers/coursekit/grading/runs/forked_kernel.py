"""How does a kernel start without a start? It is a copy of a process that has loaded everything.

A seed is made before nbval's process does anything else. When nbval asks Jupyter for a kernel,
Jupyter asks this provisioner, which is its interface for other ways to run one, and the seed
becomes the kernel. It talks through sockets in a folder, so it needs no network.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from jupyter_client.provisioning import LocalProvisioner
from jupyter_client.provisioning.factory import KernelProvisionerFactory

from insidetorch.learn import project

from .isolation import Isolation
from .limits import limit_resources

NAME = "insidetorch-forked"
READY = b"ready"
LARGEST = 1 << 16

_seed: Seed | None = None


class Seed:
    """A process that can become a kernel; afterwards it is used like a `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(
        self, isolation: Isolation, folder: Path, shown: Sequence[Path], hidden: Sequence[Path]
    ) -> None:
        self.folder = folder
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.returncode: int | None = None
        self.pid = os.fork()
        if not self.pid:
            self.channel.close()
            _be_a_kernel(theirs, isolation, folder, partial(isolation.enter, folder, shown, hidden))
        theirs.close()

    def grow(self, connection: dict[str, Any]) -> None:
        """Become the kernel of a connection. Raises RuntimeError where that is not possible."""
        connection = connection | {"key": connection["key"].decode()}
        self.channel.send(json.dumps(connection).encode())
        if (reply := self.channel.recv(LARGEST)) != READY:
            raise RuntimeError(reply.decode(errors="replace") or "it ended")

    def poll(self) -> int | None:
        if self.returncode is None:
            self._collect(os.WNOHANG)
        return self.returncode

    def wait(self) -> int | None:
        if self.returncode is None:
            self._collect(0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _collect(self, options: int) -> None:
        try:
            pid, status = os.waitpid(self.pid, options)
        except ChildProcessError:  # somebody else has waited for it
            self.returncode = 0
            return
        if pid:
            self.returncode = os.waitstatus_to_exitcode(status)


class ForkedKernel(LocalProvisioner):
    """Starts a kernel from the seed of this process. There is one, so it starts once."""

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        self.parent.transport = "ipc"
        self.parent.ip = str(_seed.folder / "shared" / "kernel")
        return await super().pre_launch(**kwargs)

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> dict[str, Any]:
        _seed.grow(self.connection_info)
        self.process, self.pid = _seed, _seed.pid
        self.pgid = os.getpgid(_seed.pid)
        return self.connection_info

    async def wait(self) -> int | None:
        # As in the class above, without a tenth of a second between two looks.
        while await self.poll() is None:
            await asyncio.sleep(0.005)
        self.process = None
        return _seed.returncode


def plant(
    isolation: Isolation, folder: Path, shown: Sequence[Path], hidden: Sequence[Path]
) -> None:
    """Make the seed of the kernel of this process, while nothing else runs in it."""
    global _seed
    _seed = Seed(isolation, folder, shown, hidden)


def use() -> None:
    """Let Jupyter start its kernel from the seed, where there is one."""
    if _seed is None:
        return
    factory = KernelProvisionerFactory.instance()
    entry = EntryPoint(NAME, f"{__name__}:{ForkedKernel.__name__}", factory.GROUP_NAME)
    factory.provisioners[NAME] = entry
    factory.default_provisioner_name = NAME


def _be_a_kernel(
    channel: socket.socket, isolation: Isolation, folder: Path, enter: Callable[[], None]
) -> None:
    """Wait for a connection, and serve it as a kernel. Never returns."""
    from ipykernel.kernelapp import IPKernelApp

    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nowhere, number)
        connection = channel.recv(LARGEST)
        if not connection:
            os._exit(0)
        enter()
        os.chdir(folder / "work")
        file = folder / "home" / "kernel.json"
        file.write_bytes(connection)
        app = IPKernelApp.instance()
        app.initialize(["-f", str(file)])
        # Loaded before there was a notebook that could have learnt it.
        project.offer_magic()
        isolation.seal(folder)
        limit_resources(processes=isolation.counts_processes)
        channel.send(READY)
        channel.close()
    except BaseException as problem:
        with suppress(OSError):
            channel.send(f"{type(problem).__name__}: {problem}".encode()[:LARGEST])
        os._exit(1)
    app.start()
    os._exit(0)
