"""How does `pytest --nbval` compare a course notebook, and what does it leave out?"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest
from nbval.plugin import IPyNbCell

from . import machine
from .notebook import noted
from .tags import needs_of, strings_in

# nbval waits 5 s for a cell's output to arrive; a busy machine needs longer.
OUTPUT_SECONDS = 120
KIND = "notebook cell"
SAID = {
    "compared": "compared",
    "measured": "measured (run, not compared)",
    "skipped": "skipped for want of a compiler or GPU (run, not compared)",
    "unrun": "never built (run, nothing to compare)",
}

environment = pytest.StashKey[tuple[tempfile.TemporaryDirectory, dict[str, str | None]]]()
reason = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Start every kernel as the build does."""
    if not config.getoption("nbval", default=False):
        return
    folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    ours = machine.kernel_environment(Path(folder.name))
    config.stash[environment] = folder, {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)


def pytest_unconfigure(config: pytest.Config) -> None:
    if environment not in config.stash:
        return
    folder, before = config.stash[environment]
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    folder.cleanup()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say for each cell of a notebook how it is judged."""
    for item in items:
        if isinstance(item, IPyNbCell):
            item.output_timeout = OUTPUT_SECONDS
            item.user_properties.append((KIND, _judge(item)))


def _judge(item: IPyNbCell) -> str:
    if not item.cell.source.strip():
        return "empty"
    if item.cell.execution_count is None:
        return "unrun"
    tags = strings_in(item.cell.metadata.get("tags"))
    built_with = strings_in(noted(item.parent.nb).get("has"))
    for need in needs_of(tags):
        if need not in built_with or not machine.has(need):
            where = "this machine has" if need in built_with else "the build had"
            item.stash[reason] = f"run, not compared: {where} no {need}"
    if reason in item.stash:
        item.options["check"] = False
        return "skipped"
    if "measured" in tags:
        item.options["check"] = False
        return "measured"
    return "compared"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Run a cell whose need is missing, so that later cells find its names; then skip it."""
    result = yield
    if reason in item.stash:
        pytest.skip(item.stash[reason])
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count the cells by how they were judged."""
    counts = Counter(
        dict(report.user_properties)[KIND]
        for outcome in ("passed", "failed", "skipped")
        for report in terminalreporter.stats.get(outcome, [])
        if KIND in dict(report.user_properties) and report.when == "call"
    )
    said = [f"{counts[kind]} {words}" for kind, words in SAID.items() if counts[kind]]
    if said:
        terminalreporter.write_line(f"notebook cells: {', '.join(said)}")
