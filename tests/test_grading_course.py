"""A course of two small chapters for the tests of grading, without torch, and how it is read."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from coursekit.errors import CourseError
from coursekit.grading.chapters import OBSERVATION, read_chapters

GIVEN = f"""\
import json
from IPython.display import display

def see(name, look):
    try:
        seen = look()
    except Exception as error:
        seen = {{"error": type(error).__name__}}
    display({{{OBSERVATION!r}: {{"v": 1, "id": name, "seen": seen}}, "text/plain": name}},
            raw=True)"""

# Per exercise: stub, solution, check, what a right answer shows, points, judge.
STORAGE = {
    "1.1": (
        "def offset(index, strides):\n    raise NotImplementedError",
        "def offset(index, strides):\n    return sum(i * s for i, s in zip(index, strides))",
        'see("1.1", lambda: [offset((1, 2), (3, 1)), offset((0, 4), (5, 2))])',
        [5, 8],
        2,
        None,
    ),
    "1.2": (
        "strides = ...",
        "strides = (1, 3)",
        'see("1.2", lambda: list(strides))',
        [1, 3],
        1,
        None,
    ),
    "1.3": (
        "def bytes_used(count, itemsize):\n    raise NotImplementedError",
        "def bytes_used(count, itemsize):\n    return list(range(count * itemsize))",
        'see("1.3", lambda: bytes_used(2, 2))',
        [0, 1, 2, 3],
        3,
        "builtins.sorted",
    ),
}
VIEWS = {
    "2.1": ("base = ...", "base = 1 / 0", 'see("2.1", lambda: base)', 1, 2, None),
    "2.2": ("alias = ...", "alias = 1", 'see("2.2", lambda: alias)', None, 2, None),
    "2.3": ("view = ...", "view = 7", 'see("2.3", lambda: view)', 7, 1, None),
}
CHAPTERS = {"01_storage": STORAGE, "02_views": VIEWS}


def code(
    source: str, *, id: str, metadata: dict | None = None, outputs: list | None = None
) -> dict:
    return {
        "cell_type": "code",
        "id": id,
        "metadata": metadata or {},
        "source": source,
        "outputs": outputs or [],
        "execution_count": 1,
    }


def nbgrader(name: str, *, answer: bool) -> dict:
    fields = {"grade_id": name, "solution": answer, "grade": not answer, "locked": not answer}
    return {"nbgrader": {**fields, "task": False, "schema_version": 3}}


def shown(name: str, seen: object) -> list[dict]:
    """The stored output of a check; none where there is nothing to compare with."""
    if seen is None:
        return []
    data = {OBSERVATION: {"v": 1, "id": name, "seen": seen}, "text/plain": "✓"}
    return [{"output_type": "display_data", "data": data, "metadata": {}}]


def notebook(exercises: dict, answers: dict[str, str]) -> dict:
    """The chapter's notebook with these answers, the stub of the others, and stored outputs."""
    cells = [code(GIVEN, id="given")]
    for name, (stub, _, check, seen, points, _) in exercises.items():
        key = name.replace(".", "-")
        answer = f"# answer: {name}\n{answers.get(name, stub)}"
        about = nbgrader(f"{name}-check", answer=False)
        about["nbgrader"]["points"] = points
        cells += [
            code(answer, id=f"answer-{key}", metadata=nbgrader(name, answer=True)),
            code(check, id=f"check-{key}", metadata=about, outputs=shown(name, seen)),
        ]
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}


def solutions(exercises: dict) -> dict[str, str]:
    return {name: one[1] for name, one in exercises.items()}


def write_course(root: Path) -> Path:
    """Write solutions/ and exercises/.course/ of the two chapters."""
    (root / "solutions").mkdir(parents=True)
    (root / "exercises" / ".course").mkdir(parents=True)
    for name, exercises in CHAPTERS.items():
        write(root / "solutions" / f"{name}.ipynb", notebook(exercises, solutions(exercises)))
        entries = {
            key: {
                "title": f"Exercise {key}",
                "points": points,
                "judge": judge,
                "stub": f"# answer: {key}\n{stub}",
            }
            for key, (stub, _, _, _, points, judge) in exercises.items()
        }
        content = {"v": 1, "chapter": int(name[:2]), "exercises": entries}
        write(root / "exercises" / ".course" / f"{name[:2]}.json", content)
    return root


def write(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8", newline="\n")
    return path


def submission(**answers: str) -> dict:
    """A learner's notebook of chapter 1: `a1`, `a2`, `a3` are the answers, solved if not named."""
    given = {f"1.{number[1:]}": source for number, source in answers.items()}
    return copy.deepcopy(notebook(STORAGE, {**solutions(STORAGE), **given}))


def test_a_chapter_is_read_with_its_exercises_in_order(tmp_path):
    first, second = read_chapters(write_course(tmp_path / "a course"))
    assert (first.name, list(first.exercises)) == ("01_storage", ["1.1", "1.2", "1.3"])
    assert [one.points for one in first.exercises.values()] == [2, 1, 3]
    assert first.exercises["1.3"].judge == "builtins.sorted"
    assert [bool(one.problem) for one in second.exercises.values()] == [False, True, False]


def test_an_exercise_without_a_stored_observation_is_a_problem_and_not_free_points(tmp_path):
    second = read_chapters(write_course(tmp_path))[1]
    assert second.exercises["2.2"].problem.endswith("no observation to compare with")


@pytest.mark.parametrize(
    "source", ["", "# answer: 1.2", "strides = ...\n", "#x\n\nstrides  =  ..."]
)
def test_a_stub_is_recognised_whatever_comments_and_blanks_are_added(tmp_path, source):
    exercise = read_chapters(write_course(tmp_path))[0].exercises["1.2"]
    assert exercise.untouched(source)
    assert not exercise.untouched("strides = (3, 1)")
    assert not exercise.untouched("strides = (")


def test_a_course_without_solutions_is_refused(tmp_path):
    with pytest.raises(CourseError, match="There is no notebook"):
        read_chapters(tmp_path)


@pytest.mark.parametrize("content", ["{", "[]", '{"exercises": {}}', '{"exercises": {"1.1": {}}}'])
def test_a_chapter_whose_description_is_damaged_is_refused(tmp_path, content):
    root = write_course(tmp_path)
    (root / "exercises" / ".course" / "01.json").write_text(content, encoding="utf-8")
    with pytest.raises(CourseError, match="does not describe its exercises"):
        read_chapters(root)
