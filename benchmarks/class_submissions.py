"""What does a class hand in, and how many points is it worth?

Thirty notebooks of one chapter: ten all right, twelve with one or two of the wrong answers that the
course knows, five half empty, two in which one answer is no Python, one in which one answer never
ends. A comment in each answer names who handed it in, so no two answers are the same text.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

from coursekit.exercises.derive import notebook_of
from coursekit.exercises.exercise import Exercise, ExerciseSet
from coursekit.notebook import text_of_file

ENDLESS = "never_ends"
NOT_PYTHON = "    return (sizes[0],\nelse:\n"
SEED = 7


@dataclass(frozen=True)
class Submission:
    """A learner's notebook: the name, each answer by its exercise, and the points each is worth."""

    name: str
    answers: dict[str, str]
    points: dict[str, float]

    def named(self, name: str) -> Submission:
        """The same under another name."""
        return Submission(name, self.answers, self.points)

    def write(self, found: ExerciseSet, folder: Path, *, like: Path | None = None) -> Path:
        """Write the notebook into a folder; its other cells are those of `like`, if given."""

        def answer(exercise: Exercise) -> str:
            return f"{self.answers[exercise.id]}\n\n# {self.name}\n"

        if like is None:
            text = text_of_file(notebook_of(found, answer))
        else:
            notebook = json.loads(like.read_text(encoding="utf-8"))
            by_cell = {f"answer-{e.id.replace('.', '-')}": e for e in found.exercises}
            for cell in notebook["cells"]:
                if cell["id"] in by_cell:
                    cell["source"] = answer(by_cell[cell["id"]])
            text = json.dumps(notebook)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name if like is None else found.name}.ipynb"
        path.write_text(text, encoding="utf-8", newline="\n")
        return path


def class_of_thirty(found: ExerciseSet) -> list[Submission]:
    """The submissions in an order that is mixed, and the same each time; the endless one last."""
    exercises = found.exercises
    made = [_made(found, "all_right", {}) for _ in range(10)]
    for number in range(12):
        count = 1 + number % 2
        wrong = [exercises[(number + 3 * k) % len(exercises)] for k in range(count)]
        made.append(_made(found, f"{count}_wrong", {e.id: _wrong(e, number) for e in wrong}))
    for number in range(5):
        left = {e.id: e.stub for e in exercises[number % 2 :: 2]}
        made.append(_made(found, "half_empty", left))
    for exercise in exercises[:2]:
        text = f"{exercise.solution}\n{NOT_PYTHON}"
        made.append(_made(found, "no_python", {exercise.id: text}))
    random.Random(SEED).shuffle(made)
    made.append(_made(found, ENDLESS, {exercises[1].id: _endless(exercises[1])}))
    return [one.named(f"{k:02d}_{one.name}") for k, one in enumerate(made, start=1)]


def _made(found: ExerciseSet, name: str, instead: dict[str, str]) -> Submission:
    answers = {e.id: instead.get(e.id, e.solution) for e in found.exercises}
    points = {e.id: 0.0 if e.id in instead else float(e.about["points"]) for e in found.exercises}
    return Submission(name, answers, points)


def _wrong(exercise: Exercise, number: int) -> str:
    wrong = exercise.wrongs[number % len(exercise.wrongs)]
    return f"{exercise.solution}\n\n\n{wrong.source}"


def _endless(exercise: Exercise) -> str:
    """The right answer, behind a loop that never ends."""
    head, *body = exercise.stub.rpartition("    raise NotImplementedError")
    assert body[0], "the exercise is not one function"
    return f"{head}    while True:\n        pass"
