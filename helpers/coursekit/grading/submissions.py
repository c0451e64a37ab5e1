"""Which answers does a learner's notebook hold, after all that editors do to its cells?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from .chapters import Chapter, Exercise

LARGEST_FILE = 50_000_000
LONGEST_ANSWER = 20_000
MARKER = re.compile(r"^[ \t]*#+[ \t]*answer:[ \t]*([\w.-]+)[ \t]*$", re.IGNORECASE | re.MULTILINE)


class Unreadable(Exception):
    """Why a submission is no notebook that can be graded."""


@dataclass(frozen=True)
class Cell:
    """One cell of a submission, or a part of one that was merged from several."""

    kind: str
    source: str
    id: str
    metadata: dict[str, Any]

    @property
    def grade_id(self) -> str:
        found = self.metadata.get("nbgrader")
        name = found.get("grade_id") if isinstance(found, dict) else None
        return name if isinstance(name, str) else ""


@dataclass(frozen=True)
class Answers:
    """The sources that answer each exercise in document order, the other code cells, and notes."""

    sources: dict[str, list[str]]
    others: list[Cell]
    notes: list[str]


def read_cells(path: Path) -> list[Cell]:
    """The cells of a notebook, as much of it as can be understood. Raises Unreadable."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise Unreadable(f"it is larger than {LARGEST_FILE // 1_000_000} MB; clear its outputs")
        content = json.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise Unreadable(f"it cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise Unreadable("it is not a notebook (no JSON)") from None
    if not isinstance(content, dict) or not isinstance(content.get("cells"), list):
        raise Unreadable("it is not a notebook of nbformat 4; open and save it in JupyterLab")
    return [part for raw in content["cells"] if isinstance(raw, dict) for part in _parts(raw)]


def chapter_of(path: Path, cells: Sequence[Cell], chapters: Iterable[Chapter]) -> Chapter:
    """The chapter that most cells answer; by the file's name where none does. Raises Unreadable."""
    counts = [(sum(bool(_claim(c, chapter)) for c in cells), chapter) for chapter in chapters]
    most, chapter = max(counts, key=lambda pair: pair[0])
    if most:
        return chapter
    for _, chapter in counts:
        if chapter.name in path.stem:
            return chapter
    raise Unreadable("it holds no answer cell of this course")


def find_answers(cells: Sequence[Cell], chapter: Chapter) -> Answers:
    """Every cell that claims an exercise, by metadata, by cell id or by its first-line marker.

    A split cell keeps its metadata in both halves, a copy keeps it too, a merged one has the last
    cell's: all claimants of an exercise run, in document order, as Run All would do it.
    """
    sources: dict[str, list[str]] = {}
    others, notes = [], []
    for cell in cells:
        exercise = _claim(cell, chapter)
        if exercise is None:
            if cell.kind == "code":
                others.append(cell)
            continue
        if cell.kind != "code":
            notes.append(f"{exercise.id}: its cell had been turned into {cell.kind}")
        sources.setdefault(exercise.id, []).append(cell.source)
    for name, found in list(sources.items()):
        if sum(map(len, found)) > LONGEST_ANSWER:
            notes.append(f"{name}: longer than {LONGEST_ANSWER} characters, so not run")
            sources[name] = ["raise ValueError('the answer is too long')"]
        elif len(found) > 1:
            notes.append(f"{name}: {len(found)} cells answer it; they ran in their order")
    return Answers(sources, others, notes)


def _parts(raw: dict[str, Any]) -> list[Cell]:
    """The cell itself, or its parts where the answers of several exercises were merged into it."""
    source = raw.get("source", "")
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    metadata = raw.get("metadata")
    cell = Cell(
        kind=str(raw.get("cell_type")),
        source=source if isinstance(source, str) else "",
        id=str(raw.get("id", "")),
        metadata=metadata if isinstance(metadata, dict) else {},
    )
    starts = [found.start() for found in MARKER.finditer(cell.source)]
    if len({found[1] for found in MARKER.finditer(cell.source)}) < 2:
        return [cell]
    cuts = [0, *starts[1:], len(cell.source)]
    pairs = pairwise(cuts)
    return [Cell(cell.kind, cell.source[start:end], "", {}) for start, end in pairs]


def _claim(cell: Cell, chapter: Chapter) -> Exercise | None:
    if cell.grade_id in chapter.exercises:
        return chapter.exercises[cell.grade_id]
    for exercise in chapter.exercises.values():
        if cell.id == exercise.cell_id:
            return exercise
    lines = [line for line in cell.source.strip().splitlines() if not line.startswith("%%")]
    marker = MARKER.match(lines[0]) if lines else None
    return chapter.exercises.get(marker[1]) if marker else None
