"""How does a Dask cluster grade? Its workers run in copies of the same course.

Each worker keeps its own warm process. Dask gives the work of a worker that has died to another
one, and gives up on a submission that ends several of them.
"""

from __future__ import annotations

import atexit
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from ..environment import ROOT
from ..errors import CourseError
from .grader import Grader, fingerprint
from .handed_in.collect import Submission
from .runs.choosing import choose
from .runs.limits import Limits
from .submissions import Unreadable
from .verdicts import Graded

SCHEME = "dask://"
# So many notebooks are on their way for each of a cluster's threads.
AHEAD = 3

_one_at_a_time = Lock()


class Settings(NamedTuple):
    """With which course a worker grades ("" for its own), what it has to be, and how."""

    root: str
    how: str
    cell: float
    notebook: float
    isolation: str


class Cluster:
    """Grades on the workers of the Dask scheduler at `address`, "dask://host:port"."""

    def __init__(
        self, address: str, *, root: Path, limits: Limits, isolation: str, how: str
    ) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise CourseError(
                f"Asked to grade with {address}. Dask is not installed here. Install it with `pip "
                "install distributed`, or leave --engine out."
            ) from None
        try:
            self.client = Client(address.removeprefix(SCHEME), timeout="5s")
        except (OSError, TimeoutError, ValueError) as problem:
            raise CourseError(
                f"Asked to grade with {address}. No scheduler answers there ({problem}). Start one "
                "with `dask scheduler`, and workers with `dask worker` in the course's folder."
            ) from None
        # A worker's own copy of the course, wherever that is.
        elsewhere = "" if root == ROOT else str(root)
        self.settings = Settings(elsewhere, how, limits.cell, limits.notebook, isolation)

    def grade(self, submissions: Sequence[Submission]) -> Iterator[tuple[Submission, Graded]]:
        from distributed import as_completed

        with self.client:
            waiting: dict[str, Submission] = {}
            left = iter(submissions)
            threads = sum(self.client.nthreads().values())
            running = as_completed()
            while True:
                for one in islice(left, max(1, AHEAD * threads - len(waiting))):
                    try:
                        notebook = one.read()
                    except Unreadable as problem:
                        yield one, Graded(one.name, problem=str(problem), learner=one.learner)
                        continue
                    future = self.client.submit(
                        grade_there, notebook, one.name, one.learner, self.settings, pure=False
                    )
                    waiting[future.key] = one
                    running.add(future)
                if not waiting:
                    return
                future = next(running)
                one = waiting.pop(future.key)
                yield one, _result(future, one)


def grade_there(notebook: bytes, file: str, learner: str, settings: Settings) -> Graded:
    """What a worker does: grade a notebook with its own copy of the course."""
    with _one_at_a_time:
        grader = _grader(settings)
    return grader.grade_notebook(notebook, file=file, learner=learner)


@cache
def _grader(settings: Settings) -> Grader:
    """This worker's grader, made for its first submission."""
    root = Path(settings.root) if settings.root else ROOT
    if fingerprint(root) != settings.how:
        raise CourseError(
            f"A worker was asked to grade with {root}. That is another version of the course, or "
            "another torch, than the one that asks. Give all of them the same."
        )
    starter = choose(settings.isolation)
    starter.hidden = [root / "solutions", root / "source"]
    atexit.register(starter.close)
    limits = Limits(cell=settings.cell, notebook=settings.notebook)
    return Grader(root, limits=limits, starter=starter)


def _result(future: object, one: Submission) -> Graded:
    """What a worker found, or why none did."""
    problem = future.exception()
    if isinstance(problem, CourseError):
        raise problem
    if problem is not None:
        why = f"no worker could grade it ({type(problem).__name__}: {problem})"
        return Graded(one.name, problem=why, learner=one.learner, passing=True)
    return future.result()
