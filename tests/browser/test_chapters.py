"""Tier 3: every notebook of the course, run from the start in a real JupyterLab."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from harness import LabServer, Notebook

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
CHAPTERS = sorted(
    file.relative_to(NOTEBOOKS).as_posix()
    for file in NOTEBOOKS.rglob("*.ipynb")
    if ".ipynb_checkpoints" not in file.parts
)


@pytest.fixture
def copy(lab: LabServer) -> str:
    """The name of a copy of all notebooks, so that none of the course's own is changed."""
    shutil.copytree(NOTEBOOKS, lab.root / "notebooks", dirs_exist_ok=True)
    return "notebooks"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_runs_from_the_start(
    open_notebook: Callable[..., Notebook], copy: str, chapter: str
) -> None:
    opened = open_notebook(f"{copy}/{chapter}")
    opened.restart_run_all()
    assert opened.output_errors() == []
    assert opened.widget_errors() == []
