"""The notebooks of an exercise set: with stubs, with solutions, with wrong answers."""

from __future__ import annotations

from collections.abc import Callable

import nbformat
from nbformat import NotebookNode, v4

from ..cells import cell_ids, new_node
from ..grade_ids import grade_id_of
from ..notebook import KERNEL, LANGUAGE
from .exercise import Exercise, ExerciseSet

_STARS = 3


def notebook_of(found: ExerciseSet, answer_of: Callable[[Exercise], str]) -> NotebookNode:
    """A notebook that has not run, each answer cell holding what `answer_of` gives."""
    return _notebook(found, lambda exercise: _cells(exercise, answer_of(exercise)))


def trial_of(found: ExerciseSet) -> NotebookNode:
    """A notebook in which every check meets the stub, each wrong answer, and the solution."""

    def every(exercise: Exercise) -> list[NotebookNode]:
        cells = [v4.new_code_cell(exercise.setup)] if exercise.setup else []
        for _, _, answer in exercise.trials():
            cells += [v4.new_code_cell(answer), v4.new_code_cell(exercise.check_cell)]
        return cells

    return _notebook(found, every)


def _notebook(
    found: ExerciseSet, cells_of: Callable[[Exercise], list[NotebookNode]]
) -> NotebookNode:
    prose = [item for item in found.items if not isinstance(item, Exercise)]
    ids = iter(cell_ids(prose))
    nodes = []
    for item in found.items:
        if isinstance(item, Exercise):
            nodes += cells_of(item)
        else:
            nodes.append(new_node(item, item.source, id=next(ids)))
    ours = {"kernelspec": KERNEL, "language_info": LANGUAGE}
    return v4.new_notebook(cells=nodes, metadata=nbformat.from_dict(ours))


def _cells(exercise: Exercise, answer: str) -> list[NotebookNode]:
    dashed = grade_id_of(exercise.id)
    locked = {"editable": False, "deletable": False}
    setup = [v4.new_code_cell(exercise.setup, id=f"setup-{dashed}")] if exercise.setup else []
    return [
        v4.new_markdown_cell(_statement(exercise), id=f"statement-{dashed}", metadata=locked),
        *setup,
        v4.new_code_cell(
            answer, id=f"answer-{dashed}", metadata={"nbgrader": _grading(dashed, answer=True)}
        ),
        v4.new_code_cell(
            exercise.check_cell,
            id=f"check-{dashed}",
            # Folded away: what stands below it is the verdict, which a learner looks for.
            metadata={
                **locked,
                "jupyter": {"source_hidden": True},
                "nbgrader": {
                    **_grading(f"{dashed}-check", answer=False),
                    "points": exercise.about["points"],
                },
            },
        ),
    ]


def _grading(grade_id: str, *, answer: bool) -> dict[str, object]:
    """What nbgrader's schema 3 says of a cell."""
    return {
        "grade_id": grade_id,
        "solution": answer,
        "grade": not answer,
        "locked": not answer,
        "task": False,
        "schema_version": 3,
    }


def _statement(exercise: Exercise) -> str:
    about = exercise.about
    stars = "●" * about["difficulty"] + "○" * (_STARS - about["difficulty"])
    core = "core" if about["core"] else "extra"
    points = f"{about['points']} point{'' if about['points'] == 1 else 's'}"
    facts = (
        f"*{core} · {about['kind']} · difficulty {stars} · {about['minutes']} minutes · {points}*"
    )
    return f"## {exercise.id} · {about['title']}\n\n{facts}\n\n{exercise.statement}"
