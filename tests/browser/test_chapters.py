"""Tier 3: every notebook of the course, run from the start in a real JupyterLab."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from harness import LabServer, Notebook

COURSE = Path(__file__).parents[2]
NOTEBOOKS = COURSE / "notebooks"
CHAPTERS = sorted(
    file.relative_to(NOTEBOOKS).as_posix()
    for file in NOTEBOOKS.rglob("*.ipynb")
    if ".ipynb_checkpoints" not in file.parts
)


@pytest.fixture
def copy(lab: LabServer) -> str:
    """The notebooks of a copy of the course, so that none of its own is changed."""
    root = lab.root / "course"
    for place in ("notebooks", "exercises/.course"):
        shutil.copytree(COURSE / place, root / place, dirs_exist_ok=True)
    (root / "helpers" / "insidetorch").mkdir(parents=True, exist_ok=True)
    shutil.copy(COURSE / "course.py", root)
    return "course/notebooks"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_runs_from_the_start(
    open_notebook: Callable[..., Notebook], copy: str, chapter: str
) -> None:
    opened = open_notebook(f"{copy}/{chapter}")
    opened.restart_run_all()
    assert opened.output_errors() == []
    assert opened.widget_errors() == []
