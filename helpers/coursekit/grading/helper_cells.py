"""Which of the learner's other cells does an answer need: a helper function, an import, a value?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .answers import Answers
from .chapters import Chapter, grade_id
from .names import BUILTINS, Names, names_of

LONGEST_LINE = 40


@dataclass(frozen=True)
class Helper:
    """A cell of the learner's that is taken along, and the exercises that need it.

    `unit` names it to the learner: by its number among the extra cells and its first line.
    """

    unit: str
    source: str
    needed_by: frozenset[str]


def find_helpers(answers: Answers, chapter: Chapter) -> list[Helper]:
    """The other code cells that an answer needs, directly or by another helper.

    They define a name that is used, or change what such a cell defines; they import all that a
    module has, where a name is defined nowhere; or they only set something up. What the chapter's
    own cells define before the answer stays as it is there.
    """
    given = {source for source, name in _cells_of(chapter) if not name}
    cells = [cell for cell in answers.others if cell.source not in given]
    names = [names_of(cell.source) for cell in cells]
    known: frozenset[str] = frozenset()
    needed_by: dict[int, set[str]] = {}
    for source, exercise in _cells_of(chapter):
        if not exercise:
            known |= names_of(source).defined
            continue
        own = [names_of(one) for one in answers.sources.get(exercise, [])]
        needed = _union(own, "used") - known - _union(own, "defined")
        for index in _closure(needed, names, known=known):
            needed_by.setdefault(index, set()).add(exercise)
    return [
        Helper(_name(cells[index].source, index + 1), cells[index].source, frozenset(exercises))
        for index, exercises in sorted(needed_by.items())
    ]


def _cells_of(chapter: Chapter) -> list[tuple[str, str]]:
    """The chapter's code cells in their order: the source, and the exercise that it answers."""
    return [
        (cell.source, grade_id(cell, kind="solution"))
        for cell in chapter.notebook.cells
        if cell.cell_type == "code"
    ]


def _closure(needed: frozenset[str], names: Sequence[Names], *, known: frozenset[str]) -> set[int]:
    """The cells that define a needed name or change one, and those that these need in turn."""
    found = {index for index, cell in enumerate(names) if cell.sets}
    anywhere = _union(names, "defined") | BUILTINS | known
    while True:
        defined = _union([names[index] for index in found], "defined")
        needed |= _union([names[index] for index in found], "used") - known
        new = {
            index
            for index, cell in enumerate(names)
            if index not in found
            and (
                (cell.defined - known) & needed
                or cell.changed & defined
                or (cell.star and needed - anywhere)
            )
        }
        if not new:
            return found
        found |= new


def _union(names: Sequence[Names], field: str) -> frozenset[str]:
    return frozenset().union(*(getattr(one, field) for one in names))


def _name(source: str, number: int) -> str:
    first = next((line.strip() for line in source.splitlines() if line.strip()), "")
    cut = first if len(first) <= LONGEST_LINE else first[:LONGEST_LINE] + " …"
    return f"helper cell {number} ({cut})"
