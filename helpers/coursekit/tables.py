"""What does the build write into the cells tagged `symptoms` and `claims`?"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .cells import Cell
from .claims import Claim
from .errors import CourseError
from .tags import TABLES


@dataclass(frozen=True)
class Symptom:
    """What one sees, what to ask first, the call that answers, and what it usually is."""

    chapter: int
    symptom: str
    question: str
    tool: str
    causes: list[str]


def load_symptoms(path: Path) -> list[Symptom]:
    """The rows in the order of the file; CourseError for a row with other fields."""
    rows = tomllib.loads(path.read_text(encoding="utf-8")).get("row", [])
    symptoms = []
    for number, row in enumerate(rows, 1):
        try:
            symptoms.append(Symptom(**row))
        except TypeError:
            raise CourseError(
                f"Row {number} of {path.name} has the fields {', '.join(row)}. A row has "
                f"{', '.join(Symptom.__dataclass_fields__)}. Correct the row."
            ) from None
    return symptoms


def filled(
    cells: Sequence[Cell], claims: Sequence[Claim], symptoms: Sequence[Symptom]
) -> list[str]:
    """The cells' sources as built: `claims` and `symptoms` are the chapter's own."""
    tables = {"symptoms": symptom_table(symptoms), "claims": claims_table(claims)}
    return [
        next((tables[tag] for tag in cell.tags if tag in tables), cell.source) for cell in cells
    ]


def with_placeholders(cells: Sequence[Cell]) -> list[Cell]:
    """The cells as the text has them: a table's place is marked, its rows are gone."""
    return [
        next((Cell(cell.kind, TABLES[tag], cell.tags) for tag in cell.tags if tag in TABLES), cell)
        for cell in cells
    ]


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
