"""How does a lesson's text become an executed notebook, and are the stored ones up to date?"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from nbformat import NotebookNode

from . import machine
from .arguments import parser
from .bring_back import bring_back, why_not_back
from .clinic import build_clinic, check_clinic, has_clinic
from .clinic_source import CHAPTER as CLINIC
from .compare import differences, without_lesson
from .errors import CourseError
from .execute import CellFailed, execute, keep_measured
from .exercises.build import build_exercises, check_exercises
from .exercises.parse import find_sets
from .files import back_up, write_atomically
from .findings import Finding
from .notebook import edited_by_hand, read_notebook, same_cells, text_of_file
from .plan import Plan, make_plan
from .sources import Lesson, find_lessons
from .symptom_page import build_symptom_page, check_symptom_page
from .tags import RELAXING, needs_of
from .timetable import build_timetable, check_timetable

COURSE = Path(__file__).resolve().parents[2]


def main(argv: Sequence[str], *, root: Path = COURSE) -> int:
    """Run `course.py build` with these arguments in the course at `root`; 0 if all is well."""
    options = parser().parse_args(["build", *argv])
    try:
        return _run(options, root)
    except KeyboardInterrupt:
        print("\nStopped: what is not told above as done is as it was.", file=sys.stderr)
        return 130


def _run(options: Namespace, root: Path) -> int:
    try:
        if options.edited:
            print(bring_back(Path(options.edited), root=root))
            return 0
        lessons = find_lessons(root, options.names)
    except CourseError as error:
        print(error, file=sys.stderr)
        return 1
    clinic = has_clinic(root) and (not options.names or CLINIC in (one.name for one in lessons))
    if options.check:
        return _check(lessons, root, whole=not options.names, clinic=clinic)
    steps = []
    for lesson in lessons:
        steps.append(partial(build, lesson, force=options.force))
        if lesson.name in find_sets(root):
            steps.append(partial(build_exercises, root, lesson.name, force=options.force))
    steps += [partial(build_clinic, root)] if clinic else []
    steps += [partial(build_symptom_page, root), partial(build_timetable, root)]
    return int(not all([_done(step) for step in steps]))


def _done(step: Callable[[], str]) -> bool:
    """Carry out a step, and say what there is to tell of it."""
    try:
        if told := step():
            print(told)
    except CourseError as error:
        print(error, file=sys.stderr)
        return False
    return True


def build(lesson: Lesson, *, force: bool = False) -> str:
    """Execute a lesson and store its notebook; returns what to tell.

    Raises CourseError, and leaves the old notebook as it is, where a cell fails, where a rule is
    broken, and where the notebook was edited by hand (`force` backs it up and builds).
    """
    plan = make_plan(lesson)
    _refuse(plan.findings())
    _stored(plan, force=force)
    ran = _execute(plan)
    # Looked at again: somebody may have saved it meanwhile.
    old, edited = _stored(plan, force=force)
    if old is not None:
        keep_measured(ran, old)
    needs = {need for cell in plan.cells for need in needs_of(cell.tags)}
    ran.metadata.insidetorch.has = sorted(filter(machine.has, needs))
    text = text_of_file(ran)
    _refuse(plan.findings_in(ran, bytes_stored=len(text.encode())))
    told = [f"{lesson.notebook_name}: built; {_counts([plan])}"]
    told += [
        f"  {tag}: line {cell.line}, cell {cell.first_line!r}"
        for cell in plan.cells
        for tag in cell.tags
        if tag in RELAXING
    ]
    if edited:
        copy = back_up(lesson.root, lesson.notebook, name=lesson.name)
        told.append(f"  the edited notebook is kept as {copy.relative_to(lesson.root).as_posix()}")
    write_atomically(lesson.notebook, text)
    return "\n".join(told)


def _refuse(findings: Sequence[Finding]) -> None:
    if findings:
        raise CourseError("\n".join(map(str, findings)))


def _execute(plan: Plan) -> NotebookNode:
    lesson = plan.lesson
    try:
        return execute(plan.notebook, folder=lesson.notebook.parent)
    except CellFailed as failed:
        cell = plan.cells[failed.index]
        raise CourseError(
            f"{lesson.name}: the cell {cell.first_line!r} ({lesson.text_name}, line {cell.line}) "
            f"{failed}. A lesson runs from top to bottom, so the notebook stays as it was. Correct "
            "the cell, or show an error that is meant with expect_error."
        ) from None


def _stored(plan: Plan, *, force: bool) -> tuple[NotebookNode | None, bool]:
    """The stored notebook, None where there is none to read, and whether it holds an edit.

    Raises CourseError where a build without `force` would lose that edit.
    """
    lesson = plan.lesson
    if not lesson.notebook.exists():
        return None, False
    if lesson.notebook.is_dir():
        raise CourseError(
            f"Asked to build {lesson.notebook_name}. A folder has that name. Move it away, then "
            "build again."
        )
    try:
        old = read_notebook(lesson.notebook, name=lesson.notebook_name)
        edited = edited_by_hand(old) and not same_cells(old, plan.notebook)
    except CourseError:
        old, edited = None, True
    if edited and not force:
        if old is not None and (why := why_not_back(old, plan.cells, plan.tables)):
            raise CourseError(f"Asked to build {lesson.notebook_name}. {why}")
        raise CourseError(
            f"Asked to build {lesson.notebook_name}. It was edited after it was built, and the "
            f"edit is not in {lesson.text_name}. Bring it back with `python course.py build "
            f"--from {lesson.notebook_name}`, or build with --force, which keeps a backup."
        )
    return old, edited


def _check(lessons: Sequence[Lesson], root: Path, *, whole: bool, clinic: bool) -> int:
    """Print where stored notebooks differ from their lessons or break a rule; run nothing."""
    found = without_lesson(root) if whole else []
    looks = [check_symptom_page, check_timetable]
    for look in [check_clinic, *looks] if clinic else looks:
        try:
            found += look(root)
        except CourseError as error:
            found.append(str(error))
    plans = []
    for lesson in lessons:
        try:
            plan = make_plan(lesson)
            plans.append(plan)
            found += _findings(plan)
            if lesson.name in find_sets(root):
                found += check_exercises(root, lesson.name)
        except CourseError as error:
            found.append(str(error))
    if found:
        print(*dict.fromkeys(found), sep="\n")
        print("Run `python course.py build`, or bring edits back with --from NOTEBOOK.")
        print(
            "You only read, ran and saved a notebook? `git checkout notebooks` puts all of them "
            "back as they came, without what you wrote in them."
        )
        return 1
    print(f"{len(plans)} notebooks as their lessons give them; {_counts(plans)}")
    return 0


def _findings(plan: Plan) -> list[str]:
    lesson = plan.lesson
    if not lesson.notebook.exists():
        return [f"{lesson.notebook_name} is missing."]
    stored = read_notebook(lesson.notebook, name=lesson.notebook_name)
    found = differences(plan, stored)
    found += plan.findings_in(stored, bytes_stored=lesson.notebook.stat().st_size)
    return list(map(str, found))


def _counts(plans: Sequence[Plan]) -> str:
    tags = [tag for plan in plans for cell in plan.cells for tag in cell.tags]
    relaxed = ", ".join(f"{tag} {tags.count(tag)}" for tag in RELAXING)
    return (
        f"{sum(plan.code_cells for plan in plans)} code cells, "
        f"{sum(plan.claims_shown for plan in plans)} claims covered, relaxed: {relaxed}"
    )
