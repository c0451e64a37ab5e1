"""Which cells does a learner's notebook hold, and which chapter does it answer?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from insidetorch.learn.file_cells import MAGIC

from ..grade_ids import exercise_of
from .chapters import Chapter
from .names import names_of

LARGEST_FILE = 50_000_000
MARKER = re.compile(
    rf"^[ \t]*(?:#+[ \t]*answer:|%%{MAGIC})[ \t]*([\w.-]+)[ \t]*$", re.IGNORECASE | re.MULTILINE
)


# A lesson asks for predictions, the exercises do not.
LESSON = re.compile(r"^\s*predict\(", re.MULTILINE)


class Unreadable(Exception):
    """Why a submission is no notebook that can be graded."""


@dataclass(frozen=True)
class Cell:
    """One cell of a submission, or a part of one that was merged from several.

    Its lines end as Python writes them, whatever the editor did.
    """

    kind: str
    source: str
    id: str
    metadata: dict[str, Any]

    @property
    def grade_id(self) -> str:
        found = self.metadata.get("nbgrader")
        name = found.get("grade_id") if isinstance(found, dict) else None
        return exercise_of(name) if isinstance(name, str) else ""


def cells_of(notebook: bytes) -> list[Cell]:
    """The cells of a notebook, as much of it as can be understood. Raises Unreadable."""
    try:
        content = json.loads(notebook.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise Unreadable(_no_notebook(notebook)) from None
    if not isinstance(content, dict) or not isinstance(content.get("cells"), list):
        raise Unreadable("it is not a notebook of nbformat 4; open and save it in JupyterLab")
    return [_cell(raw) for raw in content["cells"] if isinstance(raw, dict)]


def chapter_of(name: str, cells: Sequence[Cell], chapters: Iterable[Chapter]) -> Chapter:
    """The chapter that most cells answer: by their marks, or else by the names that they define.

    Without marks, one answer is enough in a notebook that is called after the chapter, and two in
    another one. Raises Unreadable where nothing tells.
    """
    counts = [(sum(bool(claims(c, chapter)) for c in cells), chapter) for chapter in chapters]
    most, chapter = max(counts, key=lambda pair: pair[0])
    if most:
        return chapter
    if sum(bool(LESSON.search(cell.source)) for cell in cells if cell.kind == "code") > 1:
        raise Unreadable("it is a lesson of the course; the exercises are in the folder exercises")
    defined = {
        name for cell in cells if cell.kind == "code" for name in names_of(cell.source).defined
    }
    answered = [(_answered(chapter, defined), chapter) for _, chapter in counts]
    most, chapter = max(
        ((count + (chapter.name in name), chapter) for count, chapter in answered if count),
        key=lambda pair: pair[0],
        default=(0, None),
    )
    if most > 1:
        return chapter
    raise Unreadable("it holds no answer cell of this course")


def claims(cell: Cell, chapter: Chapter, *, sure: bool = False) -> list[str]:
    """The exercises that a cell answers: by its metadata, by its id, by its markers.

    `sure` leaves out the markers that do not stand on the first line.
    """
    by_id = [name for name, one in chapter.exercises.items() if one.cell_id == cell.id]
    marked = MARKER.findall(_first_line(cell.source) if sure else cell.source)
    found = dict.fromkeys([cell.grade_id, *by_id, *marked])
    return [name for name in found if name in chapter.exercises]


def _answered(chapter: Chapter, defined: set[str]) -> int:
    """Of how many of a chapter's exercises is all defined that an answer defines?"""
    wanted = [names_of(one.stub).defined for one in chapter.exercises.values()]
    return sum(bool(names) and names <= defined for names in wanted)


def _first_line(source: str) -> str:
    """The first line that says something, cell magics aside."""
    lines = source.strip().splitlines()
    return next((line for line in lines if line and not line.startswith("%%")), "")


def _no_notebook(content: bytes) -> str:
    """What is it then, and what helps?"""
    begins = content.removeprefix(b"\xef\xbb\xbf").lstrip()[:200].lower()
    if begins.startswith((b"<!doctype", b"<html")):
        return "it is not a notebook but a web page; download the file itself"
    if begins.startswith(b"{"):
        return "it is not a notebook (cut off or damaged); hand it in once more"
    return "it is not a notebook (no JSON)" if begins else "it is empty"


def _cell(raw: dict[str, Any]) -> Cell:
    source = raw.get("source", "")
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    metadata = raw.get("metadata")
    return Cell(
        kind=str(raw.get("cell_type")),
        source=_unix(source) if isinstance(source, str) else "",
        id=str(raw.get("id", "")),
        metadata=metadata if isinstance(metadata, dict) else {},
    )


def _unix(source: str) -> str:
    return source.replace("\r\n", "\n").replace("\r", "\n")
