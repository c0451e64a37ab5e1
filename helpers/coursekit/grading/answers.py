"""Which answers does a learner's notebook hold, after all that editors do to its cells?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from .chapters import Chapter, grade_id
from .names import names_of
from .submissions import MARKER, Cell, claims

LONGEST_ANSWER = 20_000


@dataclass(frozen=True)
class Answers:
    """The sources that answer each exercise in document order, the other code cells, and notes."""

    sources: dict[str, list[str]] = field(default_factory=dict)
    others: list[Cell] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def find_answers(cells: Sequence[Cell], chapter: Chapter) -> Answers:
    """Every cell that answers an exercise: by metadata, cell id, marker, or what it defines.

    A split cell keeps its metadata in both halves, a copy keeps it too, a merged one has the last
    cell's: all code cells that claim an exercise run, in document order, as Run All would do it.
    A text cell counts where no code cell does, and a code cell without any mark where nothing but
    the stub is left.
    """
    found = Answers()
    parts = _parts(cells, chapter)
    claimed = [claims(part, chapter)[:1] for part in parts]
    taken: set[int] = set()
    for name in chapter.exercises:
        mine = [i for i, claim in enumerate(claimed) if claim == [name]]
        code = [i for i in mine if parts[i].kind == "code"]
        sure = [i for i in mine if name in claims(parts[i], chapter, sure=True)]
        # A marker further down counts where no cell is surer.
        chosen = [i for i in code if i in sure] or code or sure
        if chosen:
            found.sources[name] = [parts[i].source for i in chosen]
            taken |= set(chosen)
        if chosen and not code:
            found.notes.append(f"{name}: its cell had been turned into {parts[chosen[0]].kind}")
    code = [i for i, part in enumerate(parts) if part.kind == "code"]
    found.others.extend(parts[i] for i in code if i not in taken)
    _take_unmarked(found, chapter)
    for name, sources in found.sources.items():
        if sum(map(len, sources)) > LONGEST_ANSWER:
            found.notes.append(f"{name}: longer than {LONGEST_ANSWER} characters, so not run")
            found.sources[name] = ["raise ValueError('the answer is too long')"]
        elif len(sources) > 1:
            found.notes.append(f"{name}: {len(sources)} cells answer it; they ran in their order")
    return found


def _parts(cells: Sequence[Cell], chapter: Chapter) -> list[Cell]:
    """The cells, those cut into parts into which the answers of several exercises were merged.

    A marker that was pasted from a cell which is still there cuts nothing.
    """
    sure = [set(claims(cell, chapter, sure=True)) for cell in cells]
    count = {name: sum(name in one for one in sure) for name in chapter.exercises}
    parts = []
    for cell, own in zip(cells, sure, strict=True):
        marks = [
            mark
            for mark in MARKER.finditer(cell.source)
            if mark[1] in count and count[mark[1]] <= (mark[1] in own)
        ]
        if len({mark[1] for mark in marks}) < 2:
            parts.append(cell)
            continue
        cuts = [0, *(mark.start() for mark in marks[1:]), len(cell.source)]
        parts += [Cell(cell.kind, cell.source[start:end], "", {}) for start, end in pairwise(cuts)]
    return parts


def _take_unmarked(found: Answers, chapter: Chapter) -> None:
    """Where only the stub is left, take the code cells that define what it defines."""
    given = {cell.source for cell in chapter.notebook.cells if not grade_id(cell, kind="solution")}
    for name, exercise in chapter.exercises.items():
        if not exercise.untouched("\n".join(found.sources.get(name, []))):
            continue
        wanted = names_of(exercise.stub).defined
        taken = [
            part
            for part in found.others
            if part.source not in given and names_of(part.source).defined & wanted
        ]
        if taken:
            found.others[:] = [part for part in found.others if part not in taken]
            found.sources[name] = [part.source for part in taken]
            found.notes.append(f"{name}: answered in a cell that does not say so")
