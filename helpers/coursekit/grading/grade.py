"""Which exercises of a submission are right, and what is said of those that are not?"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from insidetorch.learn.course_data import verdict
from insidetorch.learn.judges import probe_then_repair, words_of_probe

from .answers import find_answers
from .chapters import Chapter, Exercise, grade_id
from .graft import solutions_of
from .helper_cells import find_helpers
from .limits import Limits
from .names import names_of
from .plain_python import borrowed
from .run import CannotRun
from .sitting import Sitting
from .submissions import Unreadable, chapter_of, read_cells
from .verdicts import NOT_ATTEMPTED, NOT_GRADABLE, NOT_YET, RIGHT, Check, Graded, Verdict

OTHER = "the check saw something else than what is asked for"


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
    checks = {
        name: _by_hand(chapter.exercises[name], check, sitting) for name, check in checks.items()
    }
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
    return Check(False, _uses(used), check.seen)


def _uses(names: Sequence[str]) -> str:
    named = " and ".join(map(str, names))
    return f"the answer uses {named}; this exercise asks for the rule in plain Python"


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


def _of_probe(seen: object) -> str:
    """What to tell of a probe by what it did on each version; "" of a good one."""
    did = seen[0] if isinstance(seen, list) and seen else None
    if not isinstance(did, dict) or not all(isinstance(word, str) for word in did.values()):
        return ""
    return words_of_probe(did, {})


def mistake(exercise: Exercise, check: Check) -> tuple[str, str]:
    """What the course knows of a wrong observation, else what the run said of it."""
    observation = {}
    # What is too long to be told is cut off, and no known mistake.
    with suppress(ValueError):
        observation = json.loads(check.seen)
    known = verdict(exercise.noted, observation) if "salt" in exercise.noted else None
    if known and known["is"] == "stub":
        # Here the source is another one, or it would not have run.
        if exercise.noted.get("kind") == "repair":
            return NOT_YET, "it does just what the given code does"
        return NOT_ATTEMPTED, ""
    seen = observation.get("seen") if isinstance(observation, dict) else None
    raised = f"it raised {error}" if (error := _first_error(seen)) else ""
    named = seen.get("uses") if isinstance(seen, dict) else None
    uses = _uses(named) if named and isinstance(named, list) else ""
    probe = _of_probe(seen) if exercise.judge.endswith(probe_then_repair.__name__) else ""
    return NOT_YET, (known and known["tell"]) or check.why or raised or uses or probe or OTHER
