"""Which cases does the clinic have, and can each of them be asked?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import CourseError
from .texts import read_rows

CHAPTER = "06_debugging"


@dataclass(frozen=True)
class Kind:
    """A kind of cause, and the sentence that a learner chooses."""

    name: str
    sentence: str


@dataclass(frozen=True)
class ClinicCase:
    """A case as source/06_debugging/clinic.toml gives it; its head tells the fields."""

    id: str
    symptom: str
    look: str
    others: list[str]


def clinic_source(root: Path) -> Path:
    """The file that names the cases; a course without it has no clinic."""
    return root / "source" / CHAPTER / "clinic.toml"


def read_clinic(root: Path) -> tuple[list[Kind], list[ClinicCase], dict[str, dict]]:
    """The kinds, the cases in their order, and what tests/cases records of every bug.

    Raises CourseError for a case that cannot be asked as it stands.
    """
    source = clinic_source(root)
    kinds = read_rows(source, table="kind", row=Kind, beside=("case",))
    cases = read_rows(source, table="case", row=ClinicCase, beside=("kind",))
    text = (root / "tests" / "cases" / "cases.json").read_text(encoding="utf-8")
    records = {record["id"]: record for record in json.loads(text)}
    _refuse(kinds, cases, records)
    return kinds, cases, records


def _refuse(
    kinds: Sequence[Kind], cases: Sequence[ClinicCase], records: Mapping[str, dict]
) -> None:
    """Raise CourseError for a case that cannot be asked as it stands."""
    names = {kind.name for kind in kinds}
    seen: list[str] = []
    for number, case in enumerate(cases):
        record = records.get(case.id)
        kind = record["cause_kind"] if record else "healthy"
        why = ""
        if kind == "healthy":
            why = "tests/cases has no bug of that number"
        elif len({kind, *case.others}) != 4 or not {kind, *case.others} <= names:
            why = f"its kinds, {kind} and {', '.join(case.others)}, are not four with a sentence"
        elif number and kind == records[cases[number - 1].id]["cause_kind"]:
            why = f"the case before it is of the same kind, {kind}"
        elif case.id in seen:
            why = "it stands there twice"
        if why:
            raise CourseError(
                f"The clinic's case {case.id} was asked for, but {why}. A case has a bug, three "
                "other kinds, and a neighbour of another kind. Correct source/06_debugging/"
                "clinic.toml."
            )
        seen.append(case.id)
