"""Can a running cell hang nbval? Here is what keeps it from that: time, output, a kernel's end.

nbval waits 2000 s for a reply, reads outputs without end, and does not notice a dead kernel.
"""

from __future__ import annotations

from collections import deque
from queue import Empty
from time import monotonic

from nbval.plugin import IPyNbCell, IPyNbFile

from .limits import TOO_LONG

LARGEST_OUTPUT = 5_000_000
MESSAGE_SIZE = 200
LOOK_EVERY = 0.2
# The kernel has replied by then; only a very busy machine takes long to deliver the output.
OUTPUT_SECONDS = 60


class CannotGoOn(Exception):
    """Why the kernel is of no use for the cells that follow."""


class Watch:
    """Stands between nbval and the kernel while one cell runs."""

    def __init__(self, notebook: IPyNbFile) -> None:
        self.notebook = notebook
        self.kernel = notebook.kernel
        self.waiting: deque[dict] = deque()
        self.size = 0

    def begin(self) -> None:
        """Take the place of the two functions by which nbval waits."""
        self.kernel.await_reply = self.await_reply
        self.notebook.get_kernel_message = self.next_output

    def await_reply(self, msg_id: str, timeout: float) -> None:
        """Wait for the reply, reading outputs meanwhile. Raises CannotGoOn."""
        end = monotonic() + timeout
        while True:
            self._read_outputs(end)
            try:
                message = self.kernel.get_message("shell", timeout=LOOK_EVERY)
            except Empty:
                if not self.kernel.is_alive():
                    raise CannotGoOn("it ended the kernel") from None
                if monotonic() > end:
                    raise CannotGoOn(f"{TOO_LONG} {timeout:g} s") from None
                continue
            if message["parent_header"].get("msg_id") == msg_id:
                return

    def next_output(self, timeout: float | None = None) -> dict:
        """The next output, those first that came before the reply."""
        del timeout  # nbval's own 5 s are too short for a busy machine
        if self.waiting:
            return self.waiting.popleft()
        try:
            return self._counted(self.kernel.get_message("iopub", timeout=OUTPUT_SECONDS))
        except Empty:
            raise CannotGoOn("its output did not come to an end") from None

    def _read_outputs(self, end: float) -> None:
        while monotonic() < end:
            try:
                self.waiting.append(self._counted(self.kernel.get_message("iopub", timeout=0)))
            except Empty:
                return

    def _counted(self, message: dict) -> dict:
        self.size += MESSAGE_SIZE + len(str(message["content"]))
        if self.size > LARGEST_OUTPUT:
            raise CannotGoOn(f"it showed more than {LARGEST_OUTPUT // 1_000_000} MB")
        return message


def cannot_go_on(item: IPyNbCell, raised: BaseException | None) -> str:
    """Why the cells after this one cannot run; "" where they can."""
    if isinstance(raised, CannotGoOn):
        return str(raised)
    if not item.parent.kernel.is_alive():
        return "it ended the kernel"
    return ""
