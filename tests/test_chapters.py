"""The chapters as a learner runs them, beyond the one run that nbval compares."""

from __future__ import annotations

from pathlib import Path

import pytest
from nbformat import v4

from coursekit.execute import CellFailed, execute
from coursekit.notebook import read_notebook
from coursekit.sources import Lesson, find_lessons

LESSONS = find_lessons(Path(__file__).parents[1])


@pytest.mark.parametrize("lesson", LESSONS, ids=[lesson.name for lesson in LESSONS])
def test_all_cells_may_be_run_twice_in_one_kernel(lesson: Lesson):
    built = read_notebook(lesson.notebook, name=lesson.notebook_name)
    sources = [cell.source for cell in built.cells if cell.cell_type == "code"]
    twice = v4.new_notebook(cells=[v4.new_code_cell(source) for source in sources * 2])
    try:
        execute(twice, folder=lesson.notebook.parent)
    except CellFailed as failed:
        again = failed.index >= len(sources)
        cell = twice.cells[failed.index].source
        pytest.fail(f"{'the second' if again else 'the first'} time, this cell {failed}:\n{cell}")
