"""What does the build write into the cells tagged `symptoms` and `claims`?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .cells import Cell
from .claims import Claim
from .sources import Lesson
from .tags import TABLES
from .texts import read_rows

# Where the text of a table comes from, from the course's folder.
FILES = {"symptoms": "source/symptoms.toml", "claims": "source/claims.toml"}


@dataclass(frozen=True)
class Symptom:
    """What one sees, what to ask first, the call that answers, and what it usually is.

    `confusion` names the confusions, in the head of the file, that the row helps with.
    """

    chapter: int
    symptom: str
    question: str
    tool: str
    causes: list[str]
    confusion: list[int] = field(default_factory=list)


def load_symptoms(path: Path) -> list[Symptom]:
    """The rows in the order of the file; CourseError where one cannot be read."""
    return read_rows(path, table="row", row=Symptom, beside=("confusions",))


def tables_of(lesson: Lesson, ledger: dict[int, Claim]) -> dict[str, str]:
    """What the cells tagged `symptoms` and `claims` hold in the lesson's notebook."""
    symptoms = load_symptoms(lesson.root / FILES["symptoms"])
    return {
        "symptoms": symptom_table([s for s in symptoms if s.chapter == lesson.chapter]),
        "claims": claims_table([c for c in ledger.values() if c.chapter == lesson.chapter]),
    }


def filled(cells: Sequence[Cell], tables: dict[str, str]) -> list[str]:
    """The cells' sources as built."""
    return [
        next((tables[tag] for tag in cell.tags if tag in tables), cell.source) for cell in cells
    ]


def with_placeholders(cells: Sequence[Cell]) -> list[Cell]:
    """The cells as the text has them: a table's place is marked, its rows are gone."""
    return [
        next((Cell(cell.kind, TABLES[tag], cell.tags) for tag in cell.tags if tag in TABLES), cell)
        for cell in cells
    ]


def edited_table(cells: Sequence[Cell], tables: dict[str, str]) -> str:
    """Why the first table that is not as its file gives it cannot stay so; "" if all are."""
    for cell in cells:
        for tag in set(cell.tags) & set(tables):
            if cell.source != tables[tag].rstrip():
                return (
                    f"Its cell {cell.first_line!r} is not as {FILES[tag]} gives it, and the build "
                    "writes that cell from there. Make the change in that file, then build with "
                    "--force, which keeps the notebook as a backup."
                )
    return ""


def symptom_table(symptoms: Sequence[Symptom]) -> str:
    """A row for each symptom of the chapter."""
    head = ("You see", "Ask first", "Look with", "Usual causes")
    return _table(
        head, [(s.symptom, s.question, f"`{s.tool}`", "; ".join(s.causes)) for s in symptoms]
    )


def claims_table(claims: Sequence[Claim]) -> str:
    """A row for each claim of the chapter."""
    head = ("", "A common account says", "Verdict", "What is so")
    return _table(head, [(str(c.id), c.says, c.verdict, c.sentence) for c in claims])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(text.replace("|", "\\|").replace("\n", " ") for text in line) + " |"
        for line in lines
    )
