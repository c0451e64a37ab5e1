"""What does a check cell become where it is graded, so that an answer cannot stand in its way?

It holds nothing that gives right values away, it uses what the course's own cells import, whatever
the learner made of these names, and it begins by putting back what its functions lean on. What is
seen of an answer stays the same.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from .names import defined_by, parse

# Only what it tells a learner needs them, and there is none.
FOR_WORDS = ("torch_says", "given")
PREFIX = "_course_"
# Ours, and they run files of the learner's.
RUN_FILES = ("project", "probed_files")


def first_cell(imports: Sequence[ast.stmt]) -> str:
    """The hidden cell that runs before all others."""
    source = "\n".join(map(ast.unparse, imports))
    return f"import coursekit.grading.guard as _guard\n_guard.remember({source!r})\ndel _guard"


def imports_of(source: str) -> list[ast.stmt]:
    """The imports at the top level of one of the course's own cells."""
    return [one for one in parse(source).body if isinstance(one, ast.Import | ast.ImportFrom)]


def graded_check(
    source: str, *, imports: Sequence[ast.stmt], answers: Collection[str], by_hand: bool
) -> str:
    """The source of a check cell as it is graded.

    Args: `imports`, those of the chapter's own cells up to this one; `answers`, the names that an
    answer defines, whose functions have everything put back after each call unless they are read
    `by_hand`, outside the kernel.
    """
    tree = parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.keywords = [one for one in node.keywords if one.arg not in FOR_WORDS]
    _drop_unused(tree)
    imported = _renamed(imports)
    guarded = set() if by_hand else set(answers)
    names = {*imported, *guarded} - _bound_in(tree) - (set(answers) - guarded)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in names:
            node.id = PREFIX + node.id
    head = ["import coursekit.grading.guard as _course_guard", "_course_guard.put_back()"]
    head += [ast.unparse(one) for name, one in imported.items() if name in names - guarded]
    head += [f"{PREFIX}{name} = _course_guard.guarded({name})" for name in sorted(names & guarded)]
    ours = [f"{PREFIX}{name}" for name in RUN_FILES if name in names - guarded]
    head += [f"{name} = _course_guard.guarded({name})" for name in ours]
    return "\n".join([*head, ast.unparse(tree)])


def _drop_unused(tree: ast.Module) -> None:
    """Drop the functions of a check that nothing in it uses any more."""
    while True:
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        kept = [
            one for one in tree.body if not isinstance(one, ast.FunctionDef) or one.name in used
        ]
        if len(kept) == len(tree.body):
            return
        tree.body = kept


def _renamed(imports: Sequence[ast.stmt]) -> dict[str, ast.stmt]:
    """For each name that is imported, the statement that imports it under a name of our own."""
    found: dict[str, ast.stmt] = {}
    for statement in imports:
        for one in statement.names:
            name = one.asname or one.name
            if name.isidentifier() and getattr(statement, "module", None) != "__future__":
                renamed = [ast.alias(one.name, PREFIX + name)]
                if isinstance(statement, ast.Import):
                    found[name] = ast.Import(renamed)
                else:
                    found[name] = ast.ImportFrom(statement.module, renamed, statement.level)
    return found


def _bound_in(tree: ast.Module) -> set[str]:
    """The names that a check binds itself, at its top level or in a function."""
    bodies = [one for one in tree.body if not isinstance(one, ast.Import | ast.ImportFrom)]
    found = set().union(*map(defined_by, bodies)) if bodies else set()
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
    return found
