"""Which of the learner's other cells does an answer need: a helper function, an import, a value?"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Sequence
from dataclasses import dataclass

from .chapters import Chapter, grade_id
from .submissions import Answers

MAGIC = re.compile(r"^(\s*)[%!].*$", re.MULTILINE)


@dataclass(frozen=True)
class Names:
    """The names that a cell defines at its top level, and those that it uses."""

    defined: frozenset[str]
    used: frozenset[str]


@dataclass(frozen=True)
class Helper:
    """A cell of the learner's that is taken along, and the exercises that need it."""

    unit: str
    source: str
    needed_by: frozenset[str]


def find_helpers(answers: Answers, chapter: Chapter) -> list[Helper]:
    """The other code cells that define a name which an answer uses, directly or by another helper.

    What the chapter's own cells define stays as it is there.
    """
    given = _given(chapter)
    cells = [cell for cell in answers.others if cell.source not in given]
    names = [names_of(cell.source) for cell in cells]
    known = frozenset().union(*(names_of(source).defined for source in given))
    own = {
        name: frozenset().union(*(names_of(source).defined for source in sources))
        for name, sources in answers.sources.items()
    }
    needed_by: dict[int, set[str]] = {}
    for exercise, sources in answers.sources.items():
        used = frozenset().union(*(names_of(source).used for source in sources))
        for index in _closure(used - known - own[exercise], names, without=known):
            needed_by.setdefault(index, set()).add(exercise)
    return [
        Helper(f"helper cell {index + 1}", cells[index].source, frozenset(needed_by[index]))
        for index in sorted(needed_by)
    ]


def names_of(source: str) -> Names:
    """The names of a cell; none where it does not parse."""
    try:
        tree = ast.parse(MAGIC.sub(r"\1pass", source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Names(frozenset(), frozenset())
    defined: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(statement.name)
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Import | ast.ImportFrom):
                defined |= {(one.asname or one.name).split(".")[0] for one in node.names}
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                defined.add(node.id)
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                defined.add(node.name)
    used = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    return Names(frozenset(defined), frozenset(used - set(dir(builtins))))


def _given(chapter: Chapter) -> set[str]:
    return {
        cell.source
        for cell in chapter.notebook.cells
        if cell.cell_type == "code" and not grade_id(cell, kind="solution")
    }


def _closure(
    needed: frozenset[str], names: Sequence[Names], *, without: frozenset[str]
) -> set[int]:
    """The cells that define a needed name, and those that these need in turn."""
    found: set[int] = set()
    while True:
        new = {
            index
            for index, cell in enumerate(names)
            if index not in found and (cell.defined - without) & needed
        }
        if not new:
            return found
        found |= new
        needed |= frozenset().union(*(names[index].used for index in new)) - without
