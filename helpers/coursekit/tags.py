"""Which tags may a cell of a lesson have, and which of them relax the comparison?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .cells import Cell
from .errors import CourseError

# A markdown cell with one of these tags holds this line in the text; the build fills it.
TABLES = {"symptoms": "*(symptom table)*", "claims": "*(claims table)*"}
# A code cell with one of these tags is not compared everywhere.
RELAXING = ("measured", "needs:compiler", "needs:gpu")
MOST_NEEDS = 4

CLAIM_TAG = re.compile(r"claim:([1-9]\d*)")
NBVAL_COMMENT = re.compile(r"^\s*#+\s*(NBVAL_\w+|PYTEST_VALIDATE_IGNORE_OUTPUT)", re.MULTILINE)


def claims_of(cell: Cell) -> list[int]:
    """The claims that a cell says it shows."""
    return [int(found[1]) for tag in cell.tags if (found := CLAIM_TAG.fullmatch(tag))]


def needs_of(tags: Sequence[str]) -> list[str]:
    """What a machine must have for the cell's output to be compared: "compiler", "gpu"."""
    return [tag.removeprefix("needs:") for tag in tags if tag.startswith("needs:")]


def strings_in(value: Any) -> list[str]:
    """The strings of a list, none of anything else: metadata may hold any JSON."""
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def check_tags(cells: Sequence[Cell], *, where: str) -> None:
    """Raise CourseError for a tag that is unknown or misplaced, an nbval marker, too many needs."""
    for cell in cells:
        line = f", line {cell.line}" if cell.line else ""
        place = f"{where}{line}, cell {cell.first_line!r}"
        for tag in cell.tags:
            _check_tag(tag, cell, place)
        marker = NBVAL_COMMENT.search(cell.source)
        if marker and cell.kind == "code":
            raise CourseError(
                f"{place}, holds the comment {marker[1]}. The course lists every output that is "
                "not compared, and nbval's own markers stand in no list. Make the output the same "
                "each time, or tag a chart of times `measured`."
            )
    needs = sum(len(needs_of(cell.tags)) for cell in cells)
    if needs > MOST_NEEDS:
        raise CourseError(
            f"{where} has {needs} needs:... tags. More than {MOST_NEEDS} in a chapter leave too "
            "much of it unseen on an ordinary machine. Show some of it without the need."
        )


def _check_tag(tag: str, cell: Cell, place: str) -> None:
    if tag not in (*TABLES, *RELAXING) and not CLAIM_TAG.fullmatch(tag):
        raise CourseError(
            f"{place}, has the tag {tag!r}. The build does not know it. Use claim:N, "
            f"{', '.join((*RELAXING, *TABLES))}, or no tag."
        )
    kind = "markdown" if tag in TABLES else "code"
    if cell.kind != kind:
        raise CourseError(
            f"{place}, is a {cell.kind} cell with the tag {tag!r}. That tag is for {kind} cells. "
            "Move it to the cell that is meant."
        )
    if tag in TABLES and cell.source != TABLES[tag]:
        raise CourseError(
            f"{place}, has the tag {tag!r} and a text of its own. The build fills that cell, so "
            f"the text would be lost. Write only {TABLES[tag]} in it."
        )
