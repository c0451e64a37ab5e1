"""How does nbval compare a grafted notebook? pytest loads this in the process that runs nbval.

Only observations are compared, after the exercise's judge, if it has one. What happens is told line
by line, so that the grader knows which cell was running however this process ends.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Generator
from functools import partial
from importlib import import_module

import pytest
from nbformat import NotebookNode, v4
from nbval.plugin import IPyNbCell, NbCellError

from ..chapters import OBSERVATION, observations
from ..graft import NOTE
from . import forked_kernel
from .limits import limit_resources
from .processes import adopt_orphans, end_children
from .watch import Watch, cannot_go_on

LONGEST_TOLD = 70_000
CELL_FILE = re.compile(r"\([0-9]+\.py, line")

channel = pytest.StashKey[int]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, None, None]:
    """Keep the standard output for what is told, out of the kernel's reach, and set the limits."""
    early_config.stash[channel] = os.dup(1)
    os.dup2(2, 1)
    limit_resources()
    adopt_orphans()
    forked_kernel.use()
    return (yield)


def pytest_unconfigure() -> None:
    # What has left the tree of processes is below this one, as long as this one lives.
    end_children()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let no marker or tag in an answer decide how its cell is run or compared."""
    for item in items:
        if isinstance(item, IPyNbCell):
            item.options.update(skip=False, check_exception=False, check=_note(item)["check"])
            judge = _function(_note(item).get("judge"))
            item.compare_outputs = partial(_compare, item, judge)


def pytest_collection_finish(session: pytest.Session) -> None:
    # It holds what right answers show, and the kernel starts in its folder.
    for path in {item.path for item in session.items}:
        path.unlink()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: IPyNbCell) -> Generator[None, object, object]:
    _tell(item.config, event="start", unit=_note(item)["unit"])
    Watch(item.parent).begin()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: IPyNbCell, call: pytest.CallInfo
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    raised = call.excinfo and call.excinfo.value
    if call.when == "setup" and raised:
        _tell(item.config, event="stop", unit="", why=f"the kernel did not start: {raised}")
        pytest.exit("no kernel")
    if call.when != "call":
        return report
    if why := cannot_go_on(item, raised):
        _tell(item.config, event="stop", unit=_note(item)["unit"], why=why)
        pytest.exit(why)
    outputs = item.test_outputs or []
    shown = observations(outputs)
    _tell(
        item.config,
        event="ran",
        unit=_note(item)["unit"],
        check=_note(item)["check"],
        right=raised is None,
        error=_said(item, raised)[:1000],
        seen=json.dumps(shown[0])[:LONGEST_TOLD] if shown else "",
    )
    return report


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    # 0 and 1: every cell ran, and what it showed was compared.
    if exitstatus in (0, 1):
        _tell(session.config, event="finished")


def canonical(outputs: list[NotebookNode], judge: Callable[[object], object]) -> list[NotebookNode]:
    """The observations among outputs as JSON text, so that 1, 1.0 and true are three things."""
    shown = []
    for one in observations(outputs):
        if isinstance(one, dict) and "seen" in one:
            one = {**one, "seen": judge(one["seen"])}
        text = json.dumps(one, sort_keys=True)
        shown.append(v4.new_output("display_data", data={OBSERVATION: text}))
    return shown


def _compare(
    item: IPyNbCell,
    judge: Callable[[object], object],
    outputs: list[NotebookNode],
    reference: list[NotebookNode],
) -> bool:
    return IPyNbCell.compare_outputs(item, canonical(outputs, judge), canonical(reference, judge))


def _function(name: str | None) -> Callable[[object], object]:
    if not name:
        return lambda seen: seen
    module, _, function = name.rpartition(".")
    return getattr(import_module(module), function)


def _said(item: IPyNbCell, raised: BaseException | None) -> str:
    """What is told of a cell that failed: of a check why, of another cell what it did."""
    outputs = item.test_outputs or []
    errors = [one for one in outputs if one.output_type == "error"]
    # A cell's file has another name each time.
    errors = [CELL_FILE.sub("(line", f"{one.ename}: {one.evalue}") for one in errors]
    is_check = _note(item)["check"]
    if errors:
        return errors[0] if is_check else f"raised {errors[0]}"
    # That outputs differ is no news where an answer is not right.
    if raised is None or str(raised) == "Cell outputs differ":
        return ""
    if isinstance(raised, NbCellError):
        return str(raised) if is_check else f"failed: {raised}"
    if is_check:
        return f"what the check saw cannot be judged ({raised})"
    return f"showed what cannot be read ({raised})"


def _note(item: IPyNbCell) -> dict:
    return item.cell.metadata[NOTE]


def _tell(config: pytest.Config, **event: object) -> None:
    os.write(config.stash[channel], (json.dumps(event) + "\n").encode())
