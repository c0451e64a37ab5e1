"""How does nbgrader grade the notebooks? As they are.

A check cell that is not right raises an error there, and nbgrader pays for a cell that raises none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from class_peers import Peer
from class_submissions import Submission

from coursekit.exercises.exercise import ExerciseSet

ASSIGNMENT = "chapter"
CONFIG = """
c = get_config()
c.CourseDirectory.course_id = "course"
# What is released are the notebooks of exercises, whose answers are stubs already.
c.ClearSolutions.enabled = False
"""
GRADES = """
import json
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db") as book:
    print(json.dumps({
        notebook.student.id: {
            grade.name: 0 if grade.auto_score is None else grade.auto_score
            for grade in notebook.grades
        }
        for notebook in book.assignment_submissions("chapter")
        for notebook in notebook.notebooks
    }))
"""


class Nbgrader:
    """A course of nbgrader's with one assignment."""

    def __init__(self, peer: Peer, found: ExerciseSet) -> None:
        self.peer, self.found = peer, found
        notebook = f"{found.name}.ipynb"
        source = peer.folder / "source" / ASSIGNMENT / notebook
        source.parent.mkdir(parents=True)
        source.write_bytes((found.root / "exercises" / notebook).read_bytes())
        config = peer.folder / "nbgrader_config.py"
        config.write_text(CONFIG, encoding="utf-8", newline="\n")
        peer.command("nbgrader", "generate_assignment", ASSIGNMENT)
        self.released = peer.folder / "release" / ASSIGNMENT / notebook

    def hand_in(self, submissions: Sequence[Submission]) -> None:
        for one in submissions:
            folder = self.peer.folder / "submitted" / one.name / ASSIGNMENT
            one.write(self.found, folder, like=self.released)

    def autograde(self) -> None:
        """Grade what has not been graded."""
        self.peer.command("nbgrader", "autograde", ASSIGNMENT)

    def feedback(self) -> None:
        self.peer.command("nbgrader", "generate_feedback", ASSIGNMENT)

    def points(self) -> dict[str, dict[str, float]]:
        """By submission and exercise."""
        said = self.peer.command("python", "-W", "ignore", "-c", GRADES)
        names = {f"{e.id.replace('.', '-')}-check": e.id for e in self.found.exercises}
        return {
            student: {names[name]: points for name, points in grades.items()}
            for student, grades in json.loads(said).items()
        }
