"""Which notebook does nbval run: the pristine solution with the learner's answers in it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

import nbformat
from nbformat import NotebookNode, v4

from .chapters import OBSERVATION, Chapter, grade_id, observations
from .check_cells import first_cell, graded_check, imports_of
from .helper_cells import Helper
from .names import names_of

# Where the plugin finds which unit a cell belongs to, whether it is a check, and its judge.
NOTE = "insidetorch_grading"


def graft(
    chapter: Chapter,
    answers: dict[str, list[str]],
    helpers: Sequence[Helper],
    units: Collection[str],
) -> NotebookNode:
    """The chapter's notebook with the answers of `units`, and stubs in place of the others.

    `units` are exercises and helper cells. Helper cells stand before the first answer that needs
    them, and before all others a hidden one that remembers what the checks lean on.
    """
    imports: list[ast.stmt] = []
    cells = []
    waiting = [helper for helper in helpers if helper.unit in units]
    for cell in chapter.notebook.cells:
        if cell.cell_type != "code":
            continue
        name = grade_id(cell, kind="solution")
        if not name:
            imports += imports_of(cell.source)
            cells.append(_pristine(cell, chapter, imports, units))
            continue
        if name not in units:
            cells.append(_cell(chapter.exercises[name].stub, unit=""))
            continue
        now = [helper for helper in waiting if name in helper.needed_by]
        waiting = [helper for helper in waiting if helper not in now]
        cells += [_cell(helper.source, unit=helper.unit) for helper in now]
        cells += [_cell(source, unit=name) for source in answers[name]]
    return v4.new_notebook(cells=[_cell(first_cell(imports), unit=""), *cells])


def solutions_of(chapter: Chapter) -> dict[str, list[str]]:
    """The course's own answers."""
    return {
        name: [cell.source]
        for cell in chapter.notebook.cells
        if (name := grade_id(cell, kind="solution"))
    }


def _cell(source: str, *, unit: str) -> NotebookNode:
    """A cell that runs and is not compared: nbval leaves a cell that was never run alone."""
    return v4.new_code_cell(source, metadata={NOTE: {"unit": unit, "check": False}})


def _pristine(
    cell: NotebookNode, chapter: Chapter, imports: Sequence[ast.stmt], units: Collection[str]
) -> NotebookNode:
    name = grade_id(cell, kind="grade").removesuffix("-check")
    exercise = chapter.exercises.get(name)
    if exercise is None or exercise.problem:
        return _cell(cell.source, unit="")
    if name not in units:
        # Nobody asks what a stub does, but what its check imports may be used below.
        return _cell("\n".join(map(ast.unparse, imports_of(cell.source))), unit="")
    [observation] = observations(cell.outputs)
    shown = v4.new_output("display_data", data={OBSERVATION: nbformat.from_dict(observation)})
    note = {"unit": name, "check": True, "judge": exercise.judge}
    source = graded_check(
        cell.source,
        imports=imports,
        answers=names_of(exercise.stub).defined,
        by_hand=exercise.by_hand,
    )
    return v4.new_code_cell(source, execution_count=1, outputs=[shown], metadata={NOTE: note})
