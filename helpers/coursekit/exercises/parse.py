"""What does source/NN_name/exercises.py hold?

Each exercise is the cells that carry its id as a tag, each with a second tag that says what it is:

    about      assignments of plain values: title, kind, core, difficulty, minutes, points; and, for
               an exercise with many right answers, judge: the name of a pure function of what was
               seen ("insidetorch.learn.judges.…") that makes all of them equal; for one with a
               probe, unchanged: what is told beside a repair that changes nothing
    statement  the text that the learner reads
    setup      code between statement and answer that is given
    answer     the solution, its body between ### BEGIN SOLUTION and ### END SOLUTION
    given      what stands in the answer at first, where that is not `raise NotImplementedError`
    check      the call of `check`
    look_alike for an exercise with a probe: a healthy script that looks like the broken one, or
               one that is broken in another way, often by a cure; its first comment line names it
               to the learner: "a healthy script …", "a broken script …"
    wrong      the definitions in which a wrong answer differs from the solution; its first comment
               lines say what the learner is told
    hint       three of them, in order
    afterword  what is shown after passing

An answer whose script has several files holds each of them below a line such as `# file: model.py`.
With look-alikes, `given` is the broken script and the solution the repaired one; the check finds
all of them as `versions`, and `insidetorch.learn.versions` tells how a probe is tried on them.

Cells without tags stand in all notebooks as they are.
"""

from __future__ import annotations

import ast
from pathlib import Path

from insidetorch.learn.file_cells import files_of

from ..cells import Cell, parse
from ..errors import CourseError
from ..texts import read_text
from .exercise import Exercise, ExerciseSet, Wrong, signatures

ROLES = ("about", "statement", "setup", "answer", "given", "check", "look_alike")
ROLES += ("wrong", "hint", "afterword")
KINDS = ("complete", "build", "predict", "repair", "counterexample")
ABOUT = {"title": str, "kind": str, "core": bool, "difficulty": int, "minutes": int, "points": int}
OPTIONAL = {"judge": str, "unchanged": str}
JUDGE_OF_PROBES = "insidetorch.learn.judges.probe_then_repair"


def find_sets(root: Path) -> list[str]:
    """The chapters that have exercises."""
    return sorted(path.parent.name for path in root.glob("source/[0-9][0-9]_*/exercises.py"))


def read_set(root: Path, name: str) -> ExerciseSet:
    """Read and check the exercises of a chapter; CourseError where something is missing or odd."""
    file = root / "source" / name / "exercises.py"
    where = f"source/{name}/exercises.py"
    items: list[Cell | Exercise] = []
    for cell in parse(read_text(file, name=where), where=where):
        if not cell.tags:
            items.append(cell)
            continue
        exercise_id, role = _tags(cell, where)
        last = items[-1] if items else None
        if not isinstance(last, Exercise) or last.id != exercise_id:
            if any(isinstance(item, Exercise) and item.id == exercise_id for item in items):
                raise _error(where, cell, f"the cells of {exercise_id} do not stand together")
            last = Exercise(exercise_id)
            items.append(last)
        _take(last, role, cell, where)
    found = ExerciseSet(root, name, tuple(items))
    for exercise in found.exercises:
        _complete(exercise, found.chapter, where)
    return found


def _tags(cell: Cell, where: str) -> tuple[str, str]:
    ids = [tag for tag in cell.tags if tag.partition(".")[0].isdecimal()]
    roles = [tag for tag in cell.tags if tag in ROLES]
    if len(cell.tags) != 2 or len(ids) != 1 or len(roles) != 1:
        raise _error(where, cell, f"its tags are {list(cell.tags)}, not one id and one role")
    return ids[0], roles[0]


def _take(exercise: Exercise, role: str, cell: Cell, where: str) -> None:
    if role == "about":
        exercise.about = _about(cell, where)
    elif role == "wrong":
        exercise.wrongs.append(_wrong(cell, where))
    elif role == "look_alike":
        named = _wrong(cell, where)
        exercise.look_alikes[named.tell] = named.source
    elif role == "hint":
        exercise.hints.append(_flowing(cell.source))
    elif getattr(exercise, role):
        raise _error(where, cell, f"{exercise.id} has a second {role}")
    else:
        setattr(exercise, role, _flowing(cell.source) if role == "afterword" else cell.source)


def _flowing(text: str) -> str:
    """A text without its line ends, but with those between paragraphs."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _about(cell: Cell, where: str) -> dict[str, object]:
    found = {}
    for node in ast.parse(cell.source).body:
        try:
            found[node.targets[0].id] = ast.literal_eval(node.value)
        except (AttributeError, ValueError):
            raise _error(where, cell, "it holds more than assignments of plain values") from None
    odd = {k: v for k, v in found.items() if type(v) is not {**ABOUT, **OPTIONAL}.get(k)}
    if odd or set(found) - set(OPTIONAL) != set(ABOUT) or found["kind"] not in KINDS:
        wanted = ", ".join(f"{name} ({kind.__name__})" for name, kind in ABOUT.items())
        raise _error(where, cell, f"it must set {wanted}, and kind to one of {', '.join(KINDS)}")
    return found


def _wrong(cell: Cell, where: str) -> Wrong:
    lines = cell.source.splitlines()
    is_told = [line.startswith("# ") and not files_of(line) for line in lines]
    count = [*is_told, False].index(False)
    tell = " ".join(line[2:] for line in lines[:count])
    source = "\n".join(lines[count:]).strip()
    if not tell or not source:
        raise _error(where, cell, "it begins with what the learner is told of it, as comment")
    return Wrong(tell, source)


def _complete(exercise: Exercise, chapter: int, where: str) -> None:
    missing = [
        r
        for r in ("about", "statement", "answer", "check", "afterword")
        if not getattr(exercise, r)
    ]
    if missing or len(exercise.hints) != 3 or len(exercise.wrongs) < 3:
        raise CourseError(
            f"{where}: exercise {exercise.id} has no {', '.join(missing) or 'gap'}, "
            f"{len(exercise.hints)} hints and {len(exercise.wrongs)} wrong answers. It needs every "
            "part, three hints and at least three wrong answers. Add what is missing."
        )
    if exercise.id.partition(".")[0] != str(chapter):
        raise CourseError(
            f"{where}: exercise {exercise.id} stands in chapter {chapter}. An id starts with its "
            "chapter's number. Rename it."
        )
    if exercise.look_alikes:
        exercise.about.setdefault("judge", JUDGE_OF_PROBES)
    if signatures(exercise.unsolved) != signatures(exercise.solved):
        raise CourseError(
            f"{where}: the stub and the solution of {exercise.id} define different names or "
            "arguments. The check calls what the stub promises. Make them alike."
        )


def _error(where: str, cell: Cell, why: str) -> CourseError:
    return CourseError(
        f"{where}, line {cell.line}, cell {cell.first_line!r}: {why}. The head of "
        "coursekit/exercises/parse.py tells the format. Correct the cell."
    )
