"""A browser, a JupyterLab, and notebooks made for one test.

Skipped where no Chromium is found; INSIDETORCH_BROWSER=required makes that a failure. A test that
fails runs once more; one that passes only then is named at the end as flaky.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path

import nbformat
import pytest
from harness import KERNEL, THEMES, Browser, LabServer, Notebook

from coursekit.machine import find_chromium

HERE = Path(__file__).parent
screenshots = pytest.StashKey[Path]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder, and run them last.

    Last, because Playwright keeps an event loop running in the main thread: a test that calls
    asyncio.run after it would fail.
    """
    for item in filter(_is_ours, items):
        item.add_marker(pytest.mark.browser)
        item.add_marker(pytest.mark.flaky(reruns=1))
    items.sort(key=_is_ours)


def _is_ours(item: pytest.Item) -> bool:
    return HERE in item.path.parents


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep a picture of every open page of a failed test."""
    report = yield
    if report.failed and "browser" in item.funcargs:
        for number, page in enumerate(item.funcargs["browser"].pages()):
            file = item.config.stash[screenshots] / f"{_file_name(item.name)}-{number}.png"
            page.screenshot(path=file, full_page=True)
            report.sections.append(("screenshot", str(file)))
    return report


def _file_name(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the tests that failed once and then passed."""
    passed = {report.nodeid for report in terminalreporter.stats.get("passed", ())}
    again = {report.nodeid for report in terminalreporter.stats.get("rerun", ())}
    for name in sorted(again & passed):
        terminalreporter.write_line(f"FLAKY {name}: failed, then passed", yellow=True)


@pytest.fixture(scope="session")
def browser(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Browser]:
    """Headless Chromium."""
    chromium = find_chromium()
    if chromium is None:
        lacking = "no Chromium found; install one, or name it in INSIDETORCH_CHROMIUM"
        if os.environ.get("INSIDETORCH_BROWSER") == "required":
            pytest.fail(lacking)
        pytest.skip(lacking)
    pytestconfig.stash[screenshots] = tmp_path_factory.mktemp("screenshots")
    with Browser(chromium) as started:
        yield started


@pytest.fixture(scope="session")
def lab(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """A JupyterLab that serves an empty folder."""
    with LabServer(tmp_path_factory.mktemp("lab")) as server:
        yield server


@pytest.fixture
def open_notebook(lab: LabServer, browser: Browser) -> Iterator[Callable[..., Notebook]]:
    """`open_notebook(path, theme=…)` opens a file that lies in the folder of `lab`."""
    yield partial(browser.open, lab)
    browser.close_pages()
    lab.end_kernels()
    lab.progress.unlink(missing_ok=True)


@pytest.fixture
def notebook(
    lab: LabServer, open_notebook: Callable[..., Notebook], request: pytest.FixtureRequest
) -> Callable[..., Notebook]:
    """`notebook(*cells, theme=…)` opens a new notebook with these code cells, and runs them."""

    def make(*cells: str, theme: str = THEMES[0]) -> Notebook:
        name = f"{_file_name(request.node.name)}.ipynb"
        new = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(source) for source in cells], metadata=KERNEL
        )
        nbformat.write(new, lab.root / name)
        found = open_notebook(name, theme=theme)
        found.run_all()
        assert found.output_errors() == []
        return found

    return make
