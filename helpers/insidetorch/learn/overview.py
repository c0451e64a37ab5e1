"""How far am I?"""

from __future__ import annotations

from dataclasses import dataclass

from .course_data import chapters
from .progress import remembered

_WIDTH = 20


@dataclass(frozen=True)
class Progress:
    """Points for each chapter, and the next open exercise."""

    chapters: tuple[tuple[int, int, int], ...]
    next_exercise: str

    def __repr__(self) -> str:
        if not self.chapters:
            return "There is no course around this notebook, so there is no progress to tell."
        lines = []
        for chapter, points, most in self.chapters:
            full = round(_WIDTH * points / most) if most else 0
            bar = "█" * full + "░" * (_WIDTH - full)
            lines.append(f"chapter {chapter}  {bar}  {points} of {most} points")
        following = f"next: {self.next_exercise}" if self.next_exercise else "Everything is right."
        lines.append(following)
        return "\n".join(lines)


def progress() -> Progress:
    """How far am I? A bar for each chapter, and the next open exercise: core ones first.

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
    return Progress(tuple(rows), next(iter(open_core + open_extra), ""))
