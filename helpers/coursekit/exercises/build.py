"""How does a source of exercises become notebooks, and are the stored ones up to date?"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from nbformat import NotebookNode

from ..errors import CourseError
from ..files import back_up, write_atomically
from ..grade_ids import exercise_of
from ..notebook import read_notebook, text_of_file
from .derive import notebook_of
from .exercise import ExerciseSet
from .parse import read_set
from .verdicts import chapter_data, observed, run, source_digest


def build_exercises(root: Path, name: str, *, force: bool = False) -> str:
    """Build exercises/, solutions/ and what checks know, for one chapter; returns what to tell.

    Raises CourseError, and writes nothing, where the source breaks a rule, a check cannot tell
    answers apart, or the exercise notebook holds answers (`force` backs it up and builds).
    """
    found = read_set(root, name)
    data, solutions_file, exercises_file = _files(found)
    solved = solved_in(found)
    if solved and not force:
        raise CourseError(
            f"Asked to build exercises/{name}.ipynb. Its answers to {', '.join(solved)} are not "
            "the stubs, so somebody has worked in it. Build with --force, which keeps a backup."
        )
    with tempfile.TemporaryDirectory() as folder:
        known = chapter_data(found, data=Path(folder))
        Path(folder, data.name).write_text(_json(known), encoding="utf-8", newline="\n")
        solutions = run(found, notebook_of(found, lambda e: e.solution), data=Path(folder))
    if solved:
        back_up(root, exercises_file, name=f"{name}-exercises")
    write_atomically(data, _json(known))
    write_atomically(solutions_file, text_of_file(solutions))
    write_atomically(exercises_file, text_of_file(notebook_of(found, lambda e: e.stub)))
    wrongs = sum(len(e.wrongs) for e in found.exercises)
    return (
        f"exercises/{name}.ipynb: built; {len(found.exercises)} exercises, {wrongs} wrong answers"
    )


def check_exercises(root: Path, name: str) -> list[str]:
    """Where do a chapter's stored exercises, solutions and verdicts differ from their source?

    Raises CourseError where the source cannot be read. An exercise notebook in which somebody
    has worked is left alone.
    """
    found = read_set(root, name)
    data, solutions_file, exercises_file = _files(found)
    files = (data, solutions_file, exercises_file)
    gone = [file.relative_to(root).as_posix() for file in files if not file.exists()]
    if gone:
        return [f"{file} is missing." for file in gone]
    findings = []
    if json.loads(data.read_text(encoding="utf-8"))["source"] != source_digest(found):
        findings.append(f"source/{name}/exercises.py has changed since the exercises were built.")
    solutions = read_notebook(solutions_file, name=f"solutions/{name}.ipynb")
    if _sources(solutions) != _sources(notebook_of(found, lambda e: e.solution)):
        findings.append(f"solutions/{name}.ipynb holds other cells than its source gives.")
    unseen = {e.id for e in found.exercises} - {seen["id"] for seen in observed(solutions)}
    if unseen:
        which = ", ".join(sorted(unseen))
        findings.append(f"solutions/{name}.ipynb has no observation of {which}.")
    if not solved_in(found):
        exercises = read_notebook(exercises_file, name=f"exercises/{name}.ipynb")
        if _sources(exercises) != _sources(notebook_of(found, lambda e: e.stub)):
            findings.append(f"exercises/{name}.ipynb holds other cells than its source gives.")
    return findings


def _files(found: ExerciseSet) -> tuple[Path, Path, Path]:
    """What checks know, the solutions, and the learner's notebook."""
    return (
        found.root / "exercises" / ".course" / f"{found.chapter:02d}.json",
        found.root / "solutions" / f"{found.name}.ipynb",
        found.root / "exercises" / f"{found.name}.ipynb",
    )


def solved_in(found: ExerciseSet) -> list[str]:
    """The exercises whose answer cells are not the stubs that the last build wrote."""
    data, _, exercises = _files(found)
    if not exercises.exists() or not data.exists():
        return []
    known = json.loads(data.read_text(encoding="utf-8"))["exercises"]
    stubs = {exercise_id: entry["stub"] for exercise_id, entry in known.items()}
    solved = []
    for cell in read_notebook(exercises, name=f"exercises/{found.name}.ipynb").cells:
        grading = cell.metadata.get("nbgrader", {})
        exercise_id = exercise_of(str(grading.get("grade_id")))
        if grading.get("solution") and stubs.get(exercise_id) != cell.source:
            solved.append(exercise_id)
    return solved


def _sources(notebook: NotebookNode) -> list[tuple[str, str]]:
    return [(cell.cell_type, cell.source) for cell in notebook.cells]


def _json(known: dict) -> str:
    return json.dumps(known, indent=1, ensure_ascii=False) + "\n"
