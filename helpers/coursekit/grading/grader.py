"""What does it take to grade submissions, one after the other or several at once?"""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path
from threading import Lock

from .cases import cases_told, telling_notebook
from .chapters import Chapter, read_chapters
from .earlier import Earlier
from .grade import calibrate, grade
from .handed_in.collect import Submission
from .runs.limits import Limits
from .runs.run import run_nbval
from .runs.starters import Starter
from .submissions import Unreadable
from .verdicts import Graded


class Grader:
    """The course's chapters, and a way to run notebooks. Each chapter's solutions run once."""

    def __init__(self, root: Path, *, limits: Limits, starter: Starter) -> None:
        self.chapters = read_chapters(root)
        self.run_notebook = partial(run_nbval, limits=limits, starter=starter)
        self._locks = {chapter.name: Lock() for chapter in self.chapters}
        self._problems: dict[str, dict[str, str]] = {}
        self._cases: dict[str, dict[str, list[str]]] = {}

    def grade(self, submission: Submission, *, earlier: Earlier | None = None) -> Graded:
        """Grade a submission; `earlier` is what was found of it before it was saved once more."""
        called = {"file": submission.name, "learner": submission.learner}
        try:
            return self.grade_notebook(submission.read(), **called, earlier=earlier)
        except Unreadable as problem:
            return Graded(**called, problem=str(problem))

    def grade_notebook(
        self, notebook: bytes, *, file: str, learner: str, earlier: Earlier | None = None
    ) -> Graded:
        """Grade a notebook. What goes wrong with it is said of it, and of no other one."""
        try:
            return grade(
                notebook,
                file=file,
                learner=learner,
                chapters=self.chapters,
                problems_of=self.problems_of,
                run_notebook=self.run_notebook,
                cases_of=self.cases_of,
                earlier=earlier,
            )
        except Exception as error:
            why = f"it made the grader fail ({type(error).__name__}: {error})"
            return Graded(file, problem=why, learner=learner, passing=True)

    def problems_of(self, chapter: Chapter) -> dict[str, str]:
        """Which of a chapter's exercises cannot be graded here, and why; found once."""
        with self._locks[chapter.name]:
            if chapter.name not in self._problems:
                found = calibrate(chapter, run_notebook=self.run_notebook)
                self._problems[chapter.name] = found
            return self._problems[chapter.name]

    def cases_of(self, chapter: Chapter) -> dict[str, list[str]]:
        """What a chapter's checks give in each case, in words; found once."""
        with self._locks[chapter.name]:
            if chapter.name not in self._cases:
                checks = self.run_notebook(telling_notebook(chapter)).checks
                self._cases[chapter.name] = {
                    name: cases_told(check.seen) for name, check in checks.items()
                }
            return self._cases[chapter.name]


def fingerprint(root: Path) -> str:
    """A digest of all in a course that decides on grades, and of the torch that is there."""
    import torch

    found = hashlib.sha256(torch.__version__.encode())
    patterns = ("solutions/*.ipynb", "exercises/.course/*.json", "helpers/*/**/*.py")
    for path in sorted(path for pattern in patterns for path in root.glob(pattern)):
        found.update(path.relative_to(root).as_posix().encode())
        found.update(path.read_bytes())
    return found.hexdigest()
