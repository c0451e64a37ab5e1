"""Where are the submissions graded: on this machine, or by the workers of a Dask cluster?"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Protocol

from .grader import Grader
from .handed_in.collect import Submission
from .runs.limits import Limits
from .verdicts import Graded

# A run waits for its kernel about a third of its time.
MORE_THAN_PROCESSORS = 1


class Engine(Protocol):
    """Grades submissions and gives each with its result, in the order in which they get ready."""

    def grade(self, submissions: Sequence[Submission]) -> Iterator[tuple[Submission, Graded]]: ...


class Local:
    """Grades on this machine, `jobs` submissions at once, or as many as it has processors."""

    def __init__(self, grader: Grader, *, limits: Limits, jobs: int = 0) -> None:
        self.grader = grader
        self.limits = limits
        self.jobs = jobs or (os.cpu_count() or 1) + MORE_THAN_PROCESSORS

    def grade(self, submissions: Sequence[Submission]) -> Iterator[tuple[Submission, Graded]]:
        with ThreadPoolExecutor(self.jobs) as pool:
            try:
                waiting = {pool.submit(self.grader.grade, one): one for one in submissions}
                for future in as_completed(waiting):
                    yield waiting.pop(future), future.result()
            except BaseException:
                # Whatever ends this ends every process that was started.
                self.limits.stop.set()
                pool.shutdown(cancel_futures=True)
                raise
