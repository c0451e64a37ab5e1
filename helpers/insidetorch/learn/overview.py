"""How far am I?"""

from __future__ import annotations

from dataclasses import dataclass

from .clinic_data import clinic_data
from .course_data import chapters
from .progress import remembered

_WIDTH = 20


@dataclass(frozen=True)
class Progress:
    """Points for each chapter, the next open exercise, solved cases of the clinic and all."""

    chapters: tuple[tuple[int, int, int], ...]
    next_exercise: str
    clinic: tuple[int, int] = (0, 0)

    def __repr__(self) -> str:
        if not self.chapters:
            return "There is no course around this notebook, so there is no progress to tell."
        lines = []
        for chapter, points, most in self.chapters:
            lines.append(f"chapter {chapter}  {bar(points, most)}  {points} of {most} points")
        solved, cases = self.clinic
        if cases:
            lines.append(f"clinic     {bar(solved, cases)}  {solved} of {cases} cases")
        following = f"next: {self.next_exercise}" if self.next_exercise else "Everything is right."
        lines.append(following)
        return "\n".join(lines)


def progress() -> Progress:
    """How far am I? A bar for each chapter and the clinic, and the next open exercise.

    Core exercises come first.

    >>> all(points <= most for _, points, most in progress().chapters)
    True
    """
    rows, open_core, open_extra = [], [], []
    for chapter in chapters():
        points = most = 0
        for exercise_id, known in chapter["exercises"].items():
            most += known["points"]
            answer = remembered("exercises", exercise_id)
            if isinstance(answer, dict) and answer.get("is") == "right":
                points += known["points"]
            else:
                place = open_core if known["core"] else open_extra
                place.append(f"{exercise_id} {known['title']} ({known['minutes']} minutes)")
        rows.append((chapter["chapter"], points, most))
    return Progress(tuple(rows), next(iter(open_core + open_extra), ""), _clinic())


def bar(done: int, most: int) -> str:
    """So much of it is done.

    >>> bar(1, 4)
    '█████░░░░░░░░░░░░░░░'
    """
    full = round(_WIDTH * done / most) if most else 0
    return "█" * full + "░" * (_WIDTH - full)


def _clinic() -> tuple[int, int]:
    """How many cases are solved, of how many; none where there is no clinic."""
    try:
        cases = clinic_data()["cases"]
    except (FileNotFoundError, ValueError):
        return 0, 0
    answers = [remembered("clinic", case_id) for case_id in cases]
    solved = sum(isinstance(a, dict) and a.get("is") == "right" for a in answers)
    return solved, len(cases)
