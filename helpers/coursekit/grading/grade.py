"""Which exercises of a submission are right, and what is said of those that are not?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from nbformat import NotebookNode

from .answers import find_answers
from .chapters import Chapter, Exercise, grade_id, seen_in
from .difference import first_difference
from .earlier import Earlier
from .graft import solutions_of
from .helper_cells import find_helpers
from .mistakes import OTHER, mistake, observation_of, uses
from .names import names_of
from .plain_python import borrowed
from .runs.run import CannotRun
from .sitting import Sitting
from .submissions import Unreadable, cells_of, chapter_of
from .verdicts import NOT_ATTEMPTED, NOT_GRADABLE, RIGHT, Check, Graded, Run, Verdict

RunNotebook = Callable[[NotebookNode], Run]


def calibrate(chapter: Chapter, *, run_notebook: RunNotebook) -> dict[str, str]:
    """Grade the course's own solutions: why exercises cannot be graded here, by exercise."""
    sound = [name for name, one in chapter.exercises.items() if not one.problem]
    found = {name: one.problem for name, one in chapter.exercises.items() if one.problem}
    if sound:
        try:
            sitting = Sitting(chapter, solutions_of(chapter), [], run_notebook)
            checks = sitting.run_what_can(sound)
        except CannotRun as problem:
            return found | dict.fromkeys(sound, f"no notebook runs on this machine: {problem}")
        for name in sound:
            if not checks[name].right:
                found[name] = (
                    f"the course's own solution fails on this machine: {checks[name].why or OTHER}"
                )
    return found


def grade(
    notebook: bytes,
    *,
    file: str,
    learner: str = "",
    chapters: Sequence[Chapter],
    problems_of: Callable[[Chapter], dict[str, str]],
    run_notebook: RunNotebook,
    cases_of: Callable[[Chapter], dict[str, list[str]]] = lambda chapter: {},
    earlier: Earlier | None = None,
) -> Graded:
    """Grade one submission.

    Args: `file` and `learner`, how reports call it and whoever handed it in; `problems_of`, what
    `calibrate` finds in a chapter; `run_notebook` runs a grafted notebook, or raises CannotRun;
    `cases_of`, what a chapter's checks give, in words, asked for where an answer is not right;
    `earlier`, what was found before of the same learner's answers: only what has changed is run.
    """
    try:
        cells = cells_of(notebook)
        chapter = chapter_of(file, cells, chapters)
    except Unreadable as problem:
        return Graded(file, problem=str(problem), learner=learner)
    answers = find_answers(cells, chapter)
    problems = problems_of(chapter)
    attempted = [
        exercise.id
        for exercise in chapter.exercises.values()
        if exercise.id not in problems
        and not exercise.untouched("\n".join(answers.sources.get(exercise.id, [])))
    ]
    helpers = find_helpers(answers, chapter)
    known = earlier.of(answers, helpers) if earlier else {}
    wanted = [name for name in attempted if name not in known]
    needed = [one for one in helpers if one.needed_by & set(wanted)]
    sitting = Sitting(chapter, answers.sources, needed, run_notebook)
    try:
        checks, notes = _run_all(sitting, wanted)
    except CannotRun as problem:
        why = f"it cannot be run on this machine: {problem}"
        return Graded(file, chapter.name, problem=why, learner=learner, passing=True)
    checks = {
        name: _by_hand(chapter.exercises[name], check, sitting) for name, check in checks.items()
    }
    cases = {} if all(check.right for check in checks.values()) else cases_of(chapter)
    verdicts = [
        known.get(exercise.id)
        or _verdict(
            exercise,
            problem=problems.get(exercise.id, ""),
            check=checks.get(exercise.id),
            cases=cases.get(exercise.id, []),
            answer="\n\n".join(answers.sources.get(exercise.id, [])),
        )
        for exercise in chapter.exercises.values()
    ]
    if earlier:
        earlier.keep(answers, helpers, verdicts)
    return Graded(file, chapter.name, tuple(verdicts), tuple(answers.notes + notes), "", learner)


def _run_all(sitting: Sitting, attempted: list[str]) -> tuple[dict[str, Check], list[str]]:
    """Run the attempted exercises together, then alone what is not right; and what to note."""
    if not attempted:
        return {}, []
    checks = sitting.run_what_can(attempted)
    notes = [
        f"{one.unit} is needed by {', '.join(sorted(one.needed_by))}" for one in sitting.helpers
    ]
    doubtful = False
    for before, exercise in pairwise(attempted):
        # Nothing of the learner's runs before the first one: alone it would do the same.
        doubtful |= not checks[before].right
        if checks[exercise].right:
            continue
        # Who takes too long after right answers alone would take as long alone.
        if exercise in sitting.too_long and not doubtful:
            continue
        if (alone := sitting.alone(exercise)).right:
            checks[exercise] = alone
            notes.append(f"{exercise}: right alone, but not after the answers before it")
    return checks, notes + sitting.left_out


def _by_hand(exercise: Exercise, check: Check, sitting: Sitting) -> Check:
    """A right check, but not yet where the answer names a library that the rule does without."""
    if not (check.right and exercise.by_hand):
        return check
    used = borrowed(
        sitting.answers[exercise.id],
        elsewhere=[
            *(helper.source for helper in sitting.helpers),
            *(s for name, ss in sitting.answers.items() if name != exercise.id for s in ss),
        ],
        given=[
            cell.source
            for cell in sitting.chapter.notebook.cells
            if cell.cell_type == "code" and not grade_id(cell, kind="solution")
        ],
        wanted=names_of(exercise.stub).defined,
    )
    if not used:
        return check
    return Check(False, uses(used), check.seen)


def _verdict(
    exercise: Exercise, *, problem: str, check: Check | None, cases: Sequence[str], answer: str
) -> Verdict:
    core = bool(exercise.noted.get("core", True))
    found = Verdict(
        exercise.id, exercise.title, NOT_ATTEMPTED, exercise.points, answer=answer, core=core
    )
    if problem:
        return replace(found, outcome=NOT_GRADABLE, why=problem)
    if check and check.right:
        return replace(found, outcome=RIGHT, seen=check.seen)
    hints = tuple(exercise.noted.get("hints") or ())
    if check is None:
        return replace(found, hints=hints)
    differs = first_difference(exercise, seen_in(observation_of(check)), cases)
    outcome, why, known = mistake(exercise, check, raised=differs.raised)
    return replace(
        found,
        outcome=outcome,
        why=why,
        known=known,
        seen=check.seen,
        given=differs.given,
        got=differs.seen if check.seen else "",
        expected=differs.expected if check.seen else "",
        hints=hints,
    )
