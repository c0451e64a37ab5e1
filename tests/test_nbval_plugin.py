"""nbval as the course uses it: what it compares, what it leaves out, and what our plugin adds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from nbformat import NotebookNode, v4

from coursekit.nbval_plugin import OUTPUT_SECONDS

DISPLAY = "from IPython.display import display\ndisplay({{{kind!r}: {value!r}}}, raw=True)"


def printing(source: str, stored: str, *tags: str) -> NotebookNode:
    """A cell whose stored output says `stored`."""
    return v4.new_code_cell(
        source,
        execution_count=1,
        outputs=[v4.new_output("stream", text=f"{stored}\n")],
        metadata={"tags": list(tags)},
    )


def showing(kind: str, value: object, stored: object) -> NotebookNode:
    """A cell that displays `value`, stored as `stored`."""
    return v4.new_code_cell(
        DISPLAY.format(kind=kind, value=value),
        execution_count=1,
        outputs=[v4.new_output("display_data", data={kind: stored})],
    )


CHEAT = """
import nbval.plugin
from coursekit import nbval_plugin
nbval.plugin.IPyNbCell.compare_outputs = lambda *given: True
"""
ENVIRONMENT = """
import os
from pathlib import Path
print(os.environ["PYTHONHASHSEED"], Path(os.environ["INSIDETORCH_PROGRESS"]).exists())
"""
TELL_TIMEOUTS = """
def pytest_terminal_summary(terminalreporter):
    waits = {item.output_timeout for item in terminalreporter._session.items}
    terminalreporter.write_line(f"waits for output: {waits}")
"""
COMPARED = {
    "the same text": (printing("print(1)", "1"), "PASSED"),
    "another text": (printing("print(1)", "2"), "FAILED"),
    "a cell that was never run": (v4.new_code_cell("print(1)"), "PASSED"),
    "our MIME": (showing("application/vnd.insidetorch.a+json", {"v": 1}, {"v": 2}), "FAILED"),
    "our MIME, the same": (showing("application/vnd.insidetorch.a+json", [1], [1]), "PASSED"),
    "html": (showing("text/html", "<b>1</b>", "<b>2</b>"), "FAILED"),
    "plain text": (showing("text/plain", "1", "2"), "FAILED"),
    "svg": (showing("image/svg+xml", "<svg/>", "<svg></svg>"), "FAILED"),
    "png": (showing("image/png", "aaaa", "bbbb"), "PASSED"),
    "a widget": (
        showing("application/vnd.jupyter.widget-view+json", {"model_id": "a"}, {"model_id": "b"}),
        "PASSED",
    ),
    "a cell that changes the comparison in its kernel": (
        v4.new_code_cell(CHEAT, execution_count=1),
        "PASSED",
    ),
    "another text after it": (printing("print(1)", "2"), "FAILED"),
}
TAGGED = {
    "the environment": (printing(ENVIRONMENT, "0 False"), "PASSED"),
    "measured": (printing("print(1)", "2", "measured"), "PASSED"),
    "measured, raising": (printing("1 / 0", "2", "measured"), "FAILED"),
    "needs what both have": (printing("print(1)", "1", "needs:compiler"), "PASSED"),
    "needs what both have, another text": (printing("print(1)", "2", "needs:compiler"), "FAILED"),
    "needs what is not here": (printing("rows = 3\nprint(1)", "2", "needs:gpu"), "SKIPPED"),
    "a name from the skipped cell": (printing("print(rows)", "3"), "PASSED"),
    "needs what is not here, raising": (printing("1 / 0", "2", "needs:gpu"), "FAILED"),
    "empty": (v4.new_code_cell(""), "PASSED"),
}
# JSON that is no tag and no list says nothing, so the cell is compared.
ODD = {
    "tags of another kind": (printing("print(1)", "1"), "PASSED"),
    "tags of another kind, another text": (printing("print(1)", "2"), "FAILED"),
}
UNBUILT = {"needs what the build lacked": (printing("print(1)", "2", "needs:compiler"), "SKIPPED")}


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> str:
    """What `pytest --nbval` says about all these cells, with warnings as errors."""
    folder = tmp_path_factory.mktemp("notebooks with spaces")
    cells = {"compared": COMPARED, "tagged": TAGGED, "unbuilt": UNBUILT, "odd": ODD}
    both = {"has": ["compiler", "gpu"]}
    notes = {"compared": both, "tagged": both, "unbuilt": {"has": []}, "odd": None}
    for name, cases in cells.items():
        notebook = v4.new_notebook(
            cells=[cell for cell, _ in cases.values()], metadata={"insidetorch": notes[name]}
        )
        for node in notebook.cells if name == "odd" else []:
            node.metadata.tags = [3]
        # Not by nbformat's own writer, which would refuse the odd ones.
        (folder / f"{name}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n", encoding="utf-8")
    (folder / "conftest.py").write_text(TELL_TIMEOUTS, encoding="utf-8")
    plugins = ["-p", "coursekit.nbval_plugin", "-p", "no:cacheprovider"]
    options = ["--nbval", "--nbval-current-env", "-v", "-rs", "--color=no"]
    # A compiler is here (any program does), a GPU is not.
    here = {"CXX": sys.executable, "CUDA_VISIBLE_DEVICES": "", "INSIDETORCH_PROGRESS": __file__}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, *options],
        cwd=folder,
        env=os.environ | here,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert run.returncode == 1, run.stdout + run.stderr
    return run.stdout


def outcomes(told: str, name: str, count: int) -> list[str]:
    found = {}
    for line in told.splitlines():
        if line.startswith(name) and "::Cell " in line:
            number, outcome = line.split("::Cell ")[1].split()[:2]
            found[int(number)] = outcome
    return [found[number] for number in range(count)]


@pytest.mark.parametrize(
    ("name", "cases"),
    [("compared", COMPARED), ("tagged", TAGGED), ("unbuilt", UNBUILT), ("odd", ODD)],
)
def test_each_cell_is_judged_as_it_should_be(told, name, cases):
    found = dict(zip(cases, outcomes(told, name, len(cases)), strict=True))
    assert found == {case: outcome for case, (_, outcome) in cases.items()}


def test_skipped_cells_say_why(told):
    assert "run, not compared: this machine has no gpu" in told
    assert "run, not compared: the build had no compiler" in told


def test_the_last_line_counts_the_cells_by_how_they_were_judged(told):
    assert (
        "notebook cells: 17 compared, 2 measured (run, not compared), "
        "3 skipped for want of a compiler or GPU (run, not compared), "
        "1 never built (run, nothing to compare)"
    ) in told


def test_a_busy_machine_gets_longer_than_five_seconds_to_show_an_output(told):
    assert f"waits for output: {{{OUTPUT_SECONDS}}}" in told
    assert OUTPUT_SECONDS > 5


def test_the_environment_is_as_before_afterwards(told):
    assert os.environ.get("INSIDETORCH_PROGRESS") != __file__
    assert not Path(__file__).with_name("progress.json").exists()
