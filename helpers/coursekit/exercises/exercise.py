"""What is an exercise: its statement, its answers right and wrong, its check?"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path

from insidetorch.learn.judges import BROKEN, REPAIRED
from insidetorch.packed import pack
from insidetorch.learn.file_cells import MAGIC, files_of

from ..cells import Cell
from ..errors import CourseError

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
PROBE_ONLY = (
    "Your probe is good. The script still does just what the broken one does: now repair it. If you "
    "have, your repair changes nothing."
)


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
    look_alikes: dict[str, str] = field(default_factory=dict)
    wrongs: list[Wrong] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    afterword: str = ""

    @property
    def solution(self) -> str:
        """The answer cell as solutions/ shows it."""
        return self.marked(self.solved)

    @property
    def stub(self) -> str:
        """The answer cell as the learner finds it."""
        return self.marked(self.unsolved)

    @property
    def solved(self) -> str:
        lines = [x for x in self.answer.splitlines() if x.strip() not in (BEGIN, END)]
        return "\n".join(lines)

    @property
    def unsolved(self) -> str:
        return self.given or without_solution(self.answer, where=self.id)

    @property
    def versions(self) -> dict[str, str]:
        """The scripts that a probe is tried on, by what they are."""
        return {BROKEN: self.unsolved, REPAIRED: self.solved, **self.look_alikes}

    @property
    def check_cell(self) -> str:
        """The check, behind the scripts that a probe is tried on."""
        if not self.look_alikes:
            return self.check
        # Folded away, a cell shows its first line.
        return (
            f"# The check of {self.id}: the scripts that the probe is tried on, packed, and then\n"
            "# what is looked at.\n"
            "from insidetorch.learn.versions import Versions\n\n"
            f'versions = Versions("{pack(self.versions)}")\n\n\n{self.check}'
        )

    def trials(self) -> list[tuple[str, str, str]]:
        """Every answer that a check must tell apart: what it is, what is told, its cell."""
        # What is defined again behind the solution takes its place.
        wrongs = [("wrong", w.tell, f"{self.solution}\n\n\n{w.source}") for w in self.wrongs]
        if self.look_alikes:
            told = f"{PROBE_ONLY} {self.about.get('unchanged', '')}".rstrip()
            wrongs.append(("wrong", told, f"{self.stub}\n\n\n{_probe_of(self.solved)}"))
        return [("stub", "", self.stub), *wrongs, ("right", "", self.solution)]

    def marked(self, source: str) -> str:
        """An answer cell's source; its first line, or the one below a magic, finds it again where
        metadata are lost."""
        magic = f"%%{MAGIC} {self.id}\n" if files_of(source) else ""
        return f"{magic}# answer: {self.id}\n{source}"


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


def _probe_of(source: str) -> str:
    """The probe in a solution: its file, or its function."""
    if files := files_of(source):
        return f"# file: probe.py\n{files['probe.py']}"
    found = (node for node in ast.parse(source).body if getattr(node, "name", "") == "probe")
    return "\n".join(ast.unparse(node) for node in found)
