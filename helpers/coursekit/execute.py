"""What does a notebook show when it is run from top to bottom, each time the same?"""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import nbformat
from ipykernel.kernelspec import RESOURCES, get_kernel_dict
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from traitlets import default

from .machine import kernel_environment

CELL_SECONDS = 600
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


class CellFailed(Exception):
    """The cell at `index` did not run to its end; the text says why."""

    def __init__(self, index: int, why: str) -> None:
        super().__init__(why)
        self.index = index


class ThisInterpreter(KernelSpecManager):
    """Start the kernel with the running Python, whatever kernels the user has installed."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return KernelSpec(resource_dir=RESOURCES, **get_kernel_dict())


class ThisInterpreterManager(AsyncKernelManager):
    """Starts and ends such a kernel."""

    @default("kernel_spec_manager")
    def _this_interpreter(self) -> KernelSpecManager:
        return ThisInterpreter()


class InterruptibleLoop(asyncio.SelectorEventLoop):
    """Leaves Ctrl+C to asyncio, which cancels the run; nbclient would only end the kernel."""

    def add_signal_handler(self, sig: int, callback: object, *args: object) -> NoReturn:
        # What a loop on Windows does; nbclient goes on without its handler.
        raise NotImplementedError


def execute(
    notebook: NotebookNode, *, folder: Path, env: Mapping[str, str] | None = None
) -> NotebookNode:
    """Run a notebook in `folder`, `env` added to its environment; return a copy with tidy outputs.

    Raises CellFailed where a cell raises, takes too long, or ends the kernel, and
    KeyboardInterrupt, the kernel ended, on Ctrl+C.
    """
    ran = nbformat.from_dict(notebook)
    folder.mkdir(parents=True, exist_ok=True)
    at = {"index": 0}
    client = NotebookClient(
        ran,
        kernel_manager_class=ThisInterpreterManager,
        timeout=CELL_SECONDS,
        record_timing=False,
        store_widget_state=False,
        on_cell_execute=lambda cell, cell_index: at.update(index=cell_index),
    )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        whole = os.environ | kernel_environment(Path(temporary)) | dict(env or {})
        try:
            with asyncio.Runner(loop_factory=InterruptibleLoop) as runner:
                runner.run(_run(client, folder=folder, env=whole))
        except CellExecutionError as error:
            raise CellFailed(at["index"], f"raised {error.ename}: {error.evalue}") from None
        except CellTimeoutError:
            raise CellFailed(at["index"], f"ran for more than {CELL_SECONDS} s") from None
        except DeadKernelError:
            raise CellFailed(at["index"], "ended the kernel") from None
    ran.metadata = nbformat.from_dict(notebook.metadata)
    tidy(ran)
    return ran


async def _run(client: NotebookClient, *, folder: Path, env: dict[str, str]) -> None:
    try:
        # The kernel's own stderr holds notes about its transport; a cell's stderr is an output.
        await client.async_execute(cwd=str(folder), env=env, stderr=subprocess.DEVNULL)
    except DeadKernelError:
        # nbclient takes every cancellation for the end of the kernel.
        task = asyncio.current_task()
        if task and task.cancelling():
            raise asyncio.CancelledError from None
        raise


def tidy(notebook: NotebookNode) -> None:
    """Number the cells that ran 1, 2, … and keep of their outputs what is the same each time."""
    number = 0
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        number += bool(cell.source.strip())
        cell.execution_count = number if cell.source.strip() else None
        cell.outputs = merged_streams(cell.outputs)
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number
            if "data" in output:
                # It names a widget of a kernel that is gone; the text and picture beside it stay.
                output.data.pop(WIDGET_VIEW, None)
                output.metadata.pop(WIDGET_VIEW, None)


def merged_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Join a stream's neighbouring pieces: where they are cut depends on the clock."""
    merged: list[NotebookNode] = []
    for output in outputs:
        if output.output_type == "stream" and merged and merged[-1].get("name") == output.name:
            merged[-1].text += output.text
        else:
            merged.append(output)
    return merged


def keep_measured(notebook: NotebookNode, old: NotebookNode) -> None:
    """Give a cell tagged `measured` its stored outputs back while its source is the same."""
    stored = {cell.id: cell for cell in old.cells if cell.cell_type == "code" and "id" in cell}
    for cell in notebook.cells:
        before = stored.get(cell.id)
        measured = "measured" in cell.metadata.get("tags", [])
        if measured and before and before.source == cell.source and before.outputs:
            cell.outputs = before.outputs
