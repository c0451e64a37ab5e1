"""Does each claim of a chapter have a cell that shows it, and can that cell fail?"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

from .cells import Cell, cell_of
from .errors import CourseError
from .findings import Finding
from .tags import claims_of

VERDICTS = ("holds", "nuance", "wrong", "outdated")
# Where the common account fails, a cell shows what is so and that the common version is not.
REFUTED = ("nuance", "wrong")


@dataclass(frozen=True)
class Claim:
    """A statement of a common account (`says`, section of it) and our sentence about it."""

    id: int
    chapter: int
    section: str
    says: str
    verdict: str
    sentence: str


def load_claims(path: Path) -> dict[int, Claim]:
    """The ledger by id; CourseError for a row with other fields, a known id or a bad verdict."""
    rows = tomllib.loads(path.read_text(encoding="utf-8")).get("claim", [])
    claims: dict[int, Claim] = {}
    for row in rows:
        try:
            claim = Claim(**row)
        except TypeError:
            raise CourseError(
                f"The ledger's row {row.get('id')} has the fields {', '.join(row)}. A claim has "
                f"{', '.join(Claim.__dataclass_fields__)}. Correct {path.name}."
            ) from None
        if claim.verdict not in VERDICTS or claim.id in claims:
            raise CourseError(
                f"The ledger's row {claim.id} has the verdict {claim.verdict!r}. Ids stand once "
                f"each, and a verdict is one of {', '.join(VERDICTS)}. Correct {path.name}."
            )
        claims[claim.id] = claim
    return claims


def findings(
    notebook: NotebookNode, claims: dict[int, Claim], *, chapter: int, file: str, ran: bool
) -> list[Finding]:
    """Which claims of a chapter does its notebook not show, or show in a cell that cannot fail?

    `ran` says whether the cells have outputs yet.
    """
    found: list[Finding] = []
    nodes = [node for node in notebook.cells if node.cell_type == "code"]
    cells = [cell_of(node) for node in nodes]
    checks = {cell: checks_in(cell.source, assigned_in(cells)) for cell in cells}
    for node, cell in zip(nodes, cells, strict=True):

        def say(rule: str, sentence: str, cell: Cell = cell) -> None:
            found.append(Finding(file, cell.first_line, rule, sentence))

        for claim in claims_of(cell):
            if claim not in claims or claims[claim].chapter != chapter:
                where = f"in chapter {claims[claim].chapter}" if claim in claims else "unknown"
                say("claim", f"claim {claim} is {where}. Tag the cell with one of this chapter.")
            if ran and not node.outputs:
                say("claim output", f"it shows claim {claim} without an output. Print the fact.")
            if not checks[cell]:
                sentence = "without an assert on something computed. Assert what torch gave."
                say("claim assert", f"it shows claim {claim} {sentence}")
    for claim in claims.values():
        shown = [checks[cell] for cell in cells if claim.id in claims_of(cell)]
        if claim.chapter == chapter and not shown:
            sentence = f"claim {claim.id} has no cell. Tag the one that shows it claim:{claim.id}."
            found.append(Finding(file, "", "claim without a cell", sentence))
        elif claim.chapter == chapter and claim.verdict in REFUTED and not _refutes(shown):
            found.append(
                Finding(
                    file,
                    "",
                    "claim not refuted",
                    f"claim {claim.id} ({claim.verdict}) has one assert. It takes two, what is so "
                    "and that the common version fails, or an expect_error. Add the other.",
                )
            )
    return found


def _refutes(shown: Sequence[list[str]]) -> bool:
    checks = [check for cell in shown for check in cell]
    return len(checks) >= 2 or "expect_error" in checks


def checks_in(source: str, assigned: set[str]) -> list[str]:
    """ "assert" or "expect_error" for each check in a cell that something computed decides.

    `assigned` are the names that the notebook binds. An assert of constants is none.
    """
    checks = []
    for node in ast.walk(_tree(source)):
        if isinstance(node, ast.Assert) and _is_computed(node.test, assigned):
            checks.append("assert")
        if isinstance(node, ast.withitem) and _called(node.context_expr) == "expect_error":
            checks.append("expect_error")
    return checks


def assigned_in(cells: Sequence[Cell]) -> set[str]:
    """The names that the cells bind to values; an imported module is not one."""
    nodes = [node for cell in cells for node in ast.walk(_tree(cell.source))]
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored | {node.arg for node in nodes if isinstance(node, ast.arg)}


def _is_computed(test: ast.expr, assigned: set[str]) -> bool:
    return any(
        isinstance(node, ast.Call) or (isinstance(node, ast.Name) and node.id in assigned)
        for node in ast.walk(test)
    )


def _called(node: ast.expr) -> str:
    """The last name of the function that an expression calls, "" if it calls none."""
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def _tree(source: str) -> ast.Module:
    try:
        return ast.parse(TransformerManager().transform_cell(source))
    except SyntaxError:
        # Running the cell says this better than we could.
        return ast.Module(body=[], type_ignores=[])
