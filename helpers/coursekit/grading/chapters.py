"""Which exercises does a chapter have, and what does its solution notebook show for each?"""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from ..errors import CourseError
from ..grade_ids import exercise_of
from ..notebook import read_notebook
from .names import syntax_tree

OBSERVATION = "application/vnd.insidetorch.observation+json"


@dataclass(frozen=True)
class Exercise:
    """One exercise: what the build noted of it, and its answer cell's id.

    `noted` is its entry in the chapter's file with the chapter's salt; `judge` names a function
    "module.function", or is ""; `check` is the source of its check, and `wanted` what that sees of
    the course's own answer; `by_hand` says that it observes which libraries an answer names;
    `problem` says why the pristine files do not allow grading it.
    """

    id: str
    title: str
    points: float
    judge: str
    stub: str
    cell_id: str
    noted: dict[str, Any]
    check: str = ""
    wanted: object = None
    by_hand: bool = False
    problem: str = ""

    def untouched(self, source: str) -> bool:
        """Is this the stub, comments and blank lines aside, or nothing at all?"""
        return _meaning(source) in (_meaning(""), _meaning(self.stub))


@dataclass(frozen=True, eq=False)
class Chapter:
    """A chapter's executed solution notebook, and its exercises in their order."""

    name: str
    notebook: NotebookNode
    exercises: dict[str, Exercise]


def read_chapters(root: Path) -> list[Chapter]:
    """All chapters with a solution notebook. Raises CourseError where there is none."""
    paths = sorted((root / "solutions").glob("*.ipynb"))
    if not paths:
        raise CourseError(
            f"Asked to grade with the solutions in {root / 'solutions'}. There is no notebook. "
            "Build them with `python course.py build`."
        )
    return [_read_chapter(root, path) for path in paths]


def grade_id(cell: NotebookNode, *, kind: str) -> str:
    """The grade id of an answer cell (kind "solution") or check cell ("grade"), "" of others."""
    found = cell.metadata.get("nbgrader") or {}
    return exercise_of(found.get("grade_id", "")) if found.get(kind) else ""


def observations(outputs: list[NotebookNode]) -> list[object]:
    """Every observation that is shown in a cell's outputs."""
    datas = [one.get("data") for one in outputs]
    return [data[OBSERVATION] for data in datas if isinstance(data, dict) and OBSERVATION in data]


def seen_in(observation: object) -> object:
    """What an observation says was seen; None where it is none."""
    return observation.get("seen") if isinstance(observation, dict) else None


def _read_chapter(root: Path, path: Path) -> Chapter:
    notebook = read_notebook(path, name=f"solutions/{path.name}")
    notes = root / "exercises" / ".course" / f"{path.stem.partition('_')[0]}.json"
    try:
        written = json.loads(notes.read_text(encoding="utf-8"))
        salt = {"salt": written["salt"]} if "salt" in written else {}
        noted = {name: {**one, **salt} for name, one in written["exercises"].items()}
        checks = {grade_id(cell, kind="grade"): cell for cell in notebook.cells}
        exercises = {
            name: _exercise(name, noted[name], cell, checks.get(f"{name}-check"))
            for cell in notebook.cells
            if (name := grade_id(cell, kind="solution"))
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise CourseError(
            f"Asked to grade chapter {path.stem}. {notes} is missing or does not describe its "
            "exercises. Build the chapter again with `python course.py build`."
        ) from None
    return Chapter(path.stem, notebook, exercises)


def _exercise(name: str, noted: dict, answer: NotebookNode, check: NotebookNode | None) -> Exercise:
    problem = ""
    shown = observations(check.get("outputs", [])) if check else []
    if check is None:
        problem = "the solution notebook has no check for it"
    elif len(shown) != 1:
        # nbval would compare nothing there, and everything would pass.
        problem = "the solution notebook holds no observation to compare with"
    return Exercise(
        id=name,
        title=noted["title"],
        points=noted["points"],
        judge=noted.get("judge") or "",
        stub=noted["stub"],
        cell_id=answer.id,
        noted=noted,
        check=check.source if check else "",
        wanted=seen_in(shown[0]) if shown else None,
        by_hand=any("uses" in seen for seen in map(seen_in, shown) if isinstance(seen, dict)),
        problem=problem,
    )


def _meaning(source: str) -> str:
    try:
        return ast.dump(syntax_tree(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source.strip()
