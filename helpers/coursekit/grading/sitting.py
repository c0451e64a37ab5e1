"""What do answers do that run one after the other, when one of them can spoil the others?"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from nbformat import NotebookNode

from .chapters import Chapter
from .graft import graft
from .helper_cells import Helper
from .runs.limits import TOO_LONG
from .verdicts import Check, Run


@dataclass
class Sitting:
    """One submission while it is graded: its answers and helper cells, run in any selection.

    `run_notebook` runs a grafted notebook, or raises CannotRun.
    `left_out` names the helper cells that kept the others from running, `too_long` holds the
    exercises that have used up their time.
    """

    chapter: Chapter
    answers: dict[str, list[str]]
    helpers: list[Helper]
    run_notebook: Callable[[NotebookNode], Run]
    left_out: list[str] = field(default_factory=list)
    too_long: set[str] = field(default_factory=set)

    def run(self, units: Collection[str]) -> Run:
        notebook = graft(self.chapter, self.answers, self.helpers, units)
        return self.run_notebook(notebook)

    def run_what_can(self, exercises: Collection[str]) -> dict[str, Check]:
        """Run exercises together, again without each cell that keeps the others from running.

        Whose cell ends the run is left out and named; where no cell of the learner's can be
        blamed, nothing is known of the exercises.
        """
        units = [*exercises, *(helper.unit for helper in self.helpers)]
        checks: dict[str, Check] = {}
        while True:
            run = self.run(units)
            if run.finished or run.stopped not in units:
                break
            units.remove(run.stopped)
            if run.stopped in exercises:
                checks[run.stopped] = Check(False, run.why)
                if run.why.startswith(TOO_LONG):
                    self.too_long.add(run.stopped)
            else:
                self.left_out.append(f"{run.stopped} was left out: {run.why}")
        for name in exercises:
            if name not in checks:
                checks[name] = with_error(
                    run.checks.get(name, not_run(run)), run.raised.get(name, "")
                )
        return checks

    def alone(self, exercise: str) -> Check:
        """Run one exercise with its helper cells and stubs in place of all other answers."""
        needed = [helper.unit for helper in self.helpers if exercise in helper.needed_by]
        run = self.run([exercise, *needed])
        return run.checks.get(exercise, not_run(run))


def not_run(run: Run) -> Check:
    """What is said of an exercise whose check a run did not reach."""
    return Check(False, f"its check did not run: {run.why}")


def with_error(check: Check, raised: str) -> Check:
    """A check that is not right, with what the answer cell itself raised before it."""
    if check.right or not raised:
        return check
    return Check(False, f"the answer cell {raised}", check.seen)
