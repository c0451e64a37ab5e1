"""Does each claim of a chapter have a cell that shows it, and can that cell fail?"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

from .cells import Cell, cell_of
from .errors import CourseError
from .findings import Finding
from .tags import claims_of
from .texts import read_rows

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
    """The ledger by id; CourseError for rows that cannot be read, a known id or a bad verdict."""
    claims: dict[int, Claim] = {}
    for claim in read_rows(path, table="claim", row=Claim):
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
    """Which claims of a chapter does its notebook not show, or show in no cell that can fail?

    `ran` says whether the cells have outputs yet.
    """
    found: list[Finding] = []
    nodes = [node for node in notebook.cells if node.cell_type == "code"]
    cells = [cell_of(node) for node in nodes]
    checks = checks_in(cells)
    for node, cell in zip(nodes, cells, strict=True):

        def say(rule: str, sentence: str, cell: Cell = cell) -> None:
            found.append(Finding(file, cell.first_line, rule, sentence))

        for claim in claims_of(cell):
            if claim not in claims or claims[claim].chapter != chapter:
                where = f"in chapter {claims[claim].chapter}" if claim in claims else "unknown"
                say("claim", f"claim {claim} is {where}. Tag the cell with one of this chapter.")
            if ran and not node.outputs:
                say("claim output", f"it shows claim {claim} without an output. Print the fact.")
    for claim in claims.values():
        shown = [(cell, checks[i]) for i, cell in enumerate(cells) if claim.id in claims_of(cell)]
        checked = [check for _, each in shown for check in each]
        if claim.chapter == chapter and not shown:
            sentence = f"claim {claim.id} has no cell. Tag the one that shows it claim:{claim.id}."
            found.append(Finding(file, "", "claim without a cell", sentence))
        elif claim.chapter == chapter and not checked:
            sentence = (
                f"it shows claim {claim.id}, and no cell of the claim asserts something computed. "
                "Assert what torch gave."
            )
            found.append(Finding(file, shown[0][0].first_line, "claim assert", sentence))
        elif claim.chapter == chapter and claim.verdict in REFUTED and not _refutes(checked):
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


def _refutes(checked: Sequence[str]) -> bool:
    return len(checked) >= 2 or "expect_error" in checked


def checks_in(cells: Sequence[Cell]) -> list[list[str]]:
    """For each cell "assert" or "expect_error" for each check that something computed decides.

    An assert of constants, or of names for constants (`size = 3`), is none.
    """
    computed: set[str] = set()
    checks = []
    for cell in cells:
        nodes = list(ast.walk(_tree(cell.source)))
        computed = _computed_after(nodes, computed)
        checks.append([check for node in nodes for check in _check(node, computed)])
    return checks


def _check(node: ast.AST, computed: set[str]) -> list[str]:
    if isinstance(node, ast.Assert) and _is_computed(node.test, computed):
        return ["assert"]
    if isinstance(node, ast.withitem) and _called(node.context_expr) == "expect_error":
        return ["expect_error"]
    return []


def _computed_after(nodes: Sequence[ast.AST], before: set[str]) -> set[str]:
    """The names that hold something computed once a cell has run."""
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    computed = {node.arg for node in nodes if isinstance(node, ast.arg)}
    bindings = [binding for node in nodes for binding in _bindings(node)]
    for _ in bindings:  # As many rounds as the longest chain of names could need.
        for target, value in bindings:
            if _is_computed(value, before | computed) or _is_filled(value):
                computed |= {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
    return before - stored | computed


def _bindings(node: ast.AST) -> Iterator[tuple[ast.expr, ast.AST]]:
    """What a statement gives a value, and where that value comes from."""
    match node:
        case ast.Assign(targets=targets, value=value):
            yield from ((target, value) for target in targets)
        case (
            ast.NamedExpr(target=target, value=value)
            | ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.For(target=target, iter=value)
            | ast.comprehension(target=target, iter=value)
            | ast.withitem(optional_vars=ast.expr() as target, context_expr=value)
        ):
            yield target, value
        case ast.AugAssign(target=target):
            yield target, node


def _is_filled(value: ast.AST) -> bool:
    """Is it the start of something that code fills or counts: `[]`, `{}`, or `+=`?"""
    return isinstance(value, ast.AugAssign) or ast.unparse(value) in ("[]", "{}")


def _is_computed(value: ast.AST, computed: set[str]) -> bool:
    return any(
        isinstance(node, ast.Call) or (isinstance(node, ast.Name) and node.id in computed)
        for node in ast.walk(value)
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
