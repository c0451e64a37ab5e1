"""Which exercises of a submission are right, when one answer can spoil the others?"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from insidetorch.learn.course_data import verdict

from .chapters import Chapter, Exercise
from .graft import graft, solutions_of
from .helper_cells import Helper, find_helpers
from .limits import Limits
from .run import CannotRun, run_nbval
from .submissions import Unreadable, chapter_of, find_answers, read_cells
from .verdicts import NOT_ATTEMPTED, NOT_GRADABLE, NOT_YET, RIGHT, Check, Graded, Run, Verdict

OTHER = "the check saw something else than what is asked for"


@dataclass
class Sitting:
    """One submission while it is graded: its answers and helper cells, run in any selection.

    `left_out` names the helper cells that kept the others from running.
    """

    chapter: Chapter
    answers: dict[str, list[str]]
    helpers: list[Helper]
    limits: Limits
    left_out: list[str] = field(default_factory=list)

    def run(self, units: Collection[str]) -> Run:
        notebook = graft(self.chapter, self.answers, self.helpers, units)
        return run_nbval(notebook, limits=self.limits)

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
    return Check(False, f"the answer cell raised {raised}", check.seen)


def calibrate(chapter: Chapter, *, limits: Limits) -> dict[str, str]:
    """Grade the course's own solutions: why exercises cannot be graded here, by exercise."""
    sound = [name for name, one in chapter.exercises.items() if not one.problem]
    found = {name: one.problem for name, one in chapter.exercises.items() if one.problem}
    if sound:
        try:
            checks = Sitting(chapter, solutions_of(chapter), [], limits).run_what_can(sound)
        except CannotRun as problem:
            return found | dict.fromkeys(sound, f"no notebook runs on this machine: {problem}")
        for name in sound:
            if not checks[name].right:
                found[name] = (
                    f"the course's own solution fails on this machine: {checks[name].why or OTHER}"
                )
    return found


def grade(
    path: Path,
    *,
    name: str,
    chapters: Sequence[Chapter],
    problems_of: Callable[[Chapter], dict[str, str]],
    limits: Limits,
) -> Graded:
    """Grade one submission, which is only read.

    `name` is how reports call it; `problems_of` gives what `calibrate` finds in a chapter.
    """
    try:
        cells = read_cells(path)
        chapter = chapter_of(path, cells, chapters)
    except Unreadable as problem:
        return Graded(name, problem=str(problem))
    answers = find_answers(cells, chapter)
    problems = problems_of(chapter)
    attempted = [
        exercise.id
        for exercise in chapter.exercises.values()
        if exercise.id not in problems
        and not exercise.untouched("\n".join(answers.sources.get(exercise.id, [])))
    ]
    helpers = [one for one in find_helpers(answers, chapter) if one.needed_by & set(attempted)]
    sitting = Sitting(chapter, answers.sources, helpers, limits)
    try:
        checks, notes = _run_all(sitting, attempted)
    except CannotRun as problem:
        return Graded(name, chapter.name, problem=f"it cannot be run on this machine: {problem}")
    verdicts = [
        _verdict(
            exercise,
            problem=problems.get(exercise.id, ""),
            check=checks.get(exercise.id),
            answer="\n\n".join(answers.sources.get(exercise.id, [])),
        )
        for exercise in chapter.exercises.values()
    ]
    return Graded(name, chapter.name, tuple(verdicts), tuple(answers.notes + notes))


def _run_all(sitting: Sitting, attempted: list[str]) -> tuple[dict[str, Check], list[str]]:
    """Run the attempted exercises together, then alone what is not right; and what to note."""
    if not attempted:
        return {}, []
    checks = sitting.run_what_can(attempted)
    notes = [
        f"{one.unit} is needed by {', '.join(sorted(one.needed_by))}" for one in sitting.helpers
    ]
    # Nothing of the learner's runs before the first one: alone it would do the same.
    for exercise in attempted[1:]:
        if not checks[exercise].right and (alone := sitting.alone(exercise)).right:
            checks[exercise] = alone
            notes.append(f"{exercise}: right alone, but not after the answers before it")
    return checks, notes + sitting.left_out


def _verdict(exercise: Exercise, *, problem: str, check: Check | None, answer: str) -> Verdict:
    if problem:
        outcome, why = NOT_GRADABLE, problem
    elif check is None:
        outcome, why = NOT_ATTEMPTED, ""
    elif check.right:
        outcome, why = RIGHT, ""
    else:
        outcome, why = mistake(exercise, check)
    seen = check.seen if check else ""
    return Verdict(exercise.id, exercise.title, outcome, exercise.points, why, seen, answer)


def _first_error(seen: object) -> str:
    """The name of the first exception among what was seen; "" where there is none."""
    if isinstance(seen, dict):
        return str(seen.get("error") or "") or _first_error(seen.get("results"))
    results = [one for one in seen if isinstance(one, dict)] if isinstance(seen, list) else []
    return next(filter(None, map(_first_error, results)), "")


def mistake(exercise: Exercise, check: Check) -> tuple[str, str]:
    """What the course knows of a wrong observation, else what the run said of it."""
    observation = {}
    # What is too long to be told is cut off, and no known mistake.
    with suppress(ValueError):
        observation = json.loads(check.seen)
    known = verdict(exercise.noted, observation) if "salt" in exercise.noted else None
    if known and known["is"] == "stub":
        return NOT_ATTEMPTED, ""
    seen = observation.get("seen") if isinstance(observation, dict) else None
    raised = f"it raised {error}" if (error := _first_error(seen)) else ""
    return NOT_YET, (known and known["tell"]) or check.why or raised or OTHER
