"""What does source/NN_name/exercises.py hold?

Each exercise is the cells that carry its id as a tag, each with a second tag that says what it is:

    about      assignments of plain values: title, kind, core, difficulty, minutes, points; and, for
               an exercise with many right answers, judge: the name of a pure function of what was
               seen ("insidetorch.learn.judges.…") that makes all of them equal
    statement  the text that the learner reads
    setup      code between statement and answer that is given
    answer     the solution, its body between ### BEGIN SOLUTION and ### END SOLUTION
    given      what stands in the answer at first, where that is not `raise NotImplementedError`
    check      the call of `check`
    wrong      the definitions in which a wrong answer differs from the solution; its first comment
               lines say what the learner is told
    hint       three of them, in order
    afterword  what is shown after passing

Cells without tags stand in all notebooks as they are.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path

from ..cells import Cell, parse
from ..errors import CourseError
from ..texts import read_text

ROLES = ("about", "statement", "setup", "answer", "given", "check", "wrong", "hint", "afterword")
KINDS = ("complete", "build", "predict", "repair", "counterexample")
ABOUT = {"title": str, "kind": str, "core": bool, "difficulty": int, "minutes": int, "points": int}
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"


@dataclass(frozen=True)
class Wrong:
    """A wrong answer and what the learner who gives it is told."""

    tell: str
    source: str


@dataclass
class Exercise:
    """One exercise whole."""

    id: str
    about: dict[str, object] = field(default_factory=dict)
    statement: str = ""
    setup: str = ""
    answer: str = ""
    given: str = ""
    check: str = ""
    wrongs: list[Wrong] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    afterword: str = ""

    @property
    def solution(self) -> str:
        """The answer cell as solutions/ shows it."""
        lines = [x for x in self.answer.splitlines() if x.strip() not in (BEGIN, END)]
        return self.marked("\n".join(lines))

    @property
    def stub(self) -> str:
        """The answer cell as the learner finds it."""
        return self.marked(self.given or without_solution(self.answer, where=self.id))

    def trials(self) -> list[tuple[str, str, str]]:
        """Every answer that a check must tell apart: what it is, what is told, its cell."""
        # What is defined again behind the solution takes its place.
        wrongs = [("wrong", w.tell, f"{self.solution}\n\n\n{w.source}") for w in self.wrongs]
        return [("stub", "", self.stub), *wrongs, ("right", "", self.solution)]

    def marked(self, source: str) -> str:
        """An answer cell's source; the first line finds it again where metadata are lost."""
        return f"# answer: {self.id}\n{source}"


@dataclass(frozen=True)
class ExerciseSet:
    """The exercises of a chapter among the cells that stand around them, in their order."""

    root: Path
    name: str
    items: tuple[Cell | Exercise, ...]

    @property
    def exercises(self) -> list[Exercise]:
        return [item for item in self.items if isinstance(item, Exercise)]

    @property
    def chapter(self) -> int:
        return int(self.name[:2])


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


def without_solution(source: str, *, where: str) -> str:
    """An answer with `raise NotImplementedError` where its solution stood."""
    out: list[str] = []
    inside = False
    for line in source.splitlines():
        mark = line.strip()
        if (mark == BEGIN and inside) or (mark == END and not inside):
            raise CourseError(
                f"The answer of {where} has {mark!r} out of turn. A solution stands between one "
                f"{BEGIN!r} and one {END!r}. Correct the markers."
            )
        if mark == BEGIN:
            out.append(line[: len(line) - len(line.lstrip())] + "raise NotImplementedError")
            inside = True
        elif mark == END:
            inside = False
        elif not inside:
            out.append(line)
    if inside or len(out) == len(source.splitlines()):
        raise CourseError(
            f"The answer of {where} has a solution without its end, or none. A solution stands "
            f"between {BEGIN!r} and {END!r}. Add the markers."
        )
    return "\n".join(out)


def signatures(source: str) -> list[tuple[str, str]]:
    """The names that a cell defines at its top, with the arguments of its functions."""
    found = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            found.append((node.name, ast.unparse(node.args)))
        elif isinstance(node, ast.ClassDef):
            found.append((node.name, ""))
            methods = [n for n in node.body if isinstance(n, ast.FunctionDef)]
            found += [(f"{node.name}.{m.name}", ast.unparse(m.args)) for m in methods]
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
    odd = {k: v for k, v in found.items() if type(v) is not {**ABOUT, "judge": str}.get(k)}
    if odd or set(found) - {"judge"} != set(ABOUT) or found["kind"] not in KINDS:
        wanted = ", ".join(f"{name} ({kind.__name__})" for name, kind in ABOUT.items())
        raise _error(where, cell, f"it must set {wanted}, and kind to one of {', '.join(KINDS)}")
    return found


def _wrong(cell: Cell, where: str) -> Wrong:
    lines = cell.source.splitlines()
    count = next((i for i, line in enumerate(lines) if not line.startswith("# ")), len(lines))
    tell = " ".join(line[2:] for line in lines[:count])
    source = "\n".join(lines[count:]).strip()
    if not tell or not source:
        raise _error(where, cell, "a wrong answer begins with what the learner is told, as comment")
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
    if signatures(exercise.stub) != signatures(exercise.solution):
        raise CourseError(
            f"{where}: the stub and the solution of {exercise.id} define different names or "
            "arguments. The check calls what the stub promises. Make them alike."
        )


def _error(where: str, cell: Cell, why: str) -> CourseError:
    return CourseError(
        f"{where}, line {cell.line}, cell {cell.first_line!r}: {why}. The head of "
        "coursekit/exercises/parse.py tells the format. Correct the cell."
    )
