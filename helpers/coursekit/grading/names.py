"""Which names does a cell define, use and change?"""

from __future__ import annotations

import ast
import builtins
import re
from dataclasses import dataclass
from threading import Lock

from insidetorch.learn.file_cells import MAGIC as FILES_MAGIC

# What IPython understands and Python does not: a line, and the right side of an assignment.
MAGIC = re.compile(r"^([ \t]*)(?:[%!?].*|[\w.*]+\?{1,2}[ \t]*)$", re.MULTILINE)
ASSIGNED = re.compile(r"(?<==)[ \t]*[!%][a-zA-Z/.].*$", re.MULTILINE)
LONGEST = 200_000
_one_at_a_time = Lock()
BUILTINS = frozenset(dir(builtins))
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
CALM = (ast.Import, ast.ImportFrom, ast.Expr)


@dataclass(frozen=True)
class Names:
    """The names that a cell defines at its top level, those that it uses, and those whose value it
    changes: by a method, a call, an assignment into it.

    `star` says that it imports whatever a module has, `sets` that it only sets something up, such
    as `sys.setrecursionlimit(5000)`.
    """

    defined: frozenset[str] = frozenset()
    used: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    star: bool = False
    sets: bool = False


def parse(source: str) -> ast.Module:
    """The syntax tree of a cell without its magics; an empty one where it does not parse."""
    if len(source) <= LONGEST:
        for text in (source, ASSIGNED.sub(" None", MAGIC.sub(r"\1pass", source))):
            try:
                return syntax_tree(text)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
    return ast.Module([], [])


def syntax_tree(source: str) -> ast.Module:
    """The syntax tree of a source. Raises what `ast.parse` raises."""
    # In Python 3.11 two threads that parse can each take the other's depth for their own.
    with _one_at_a_time:
        return ast.parse(source)


def names_of(source: str) -> Names:
    """The names of a cell; none where it does not parse or where it holds files."""
    if source.lstrip().startswith(f"%%{FILES_MAGIC}"):
        return Names()
    tree = parse(source)
    nodes = list(ast.walk(tree))
    return Names(
        defined=frozenset().union(*map(defined_by, tree.body)),
        used=frozenset(n.id for n in nodes if _is_name(n, ast.Load)),
        changed=frozenset().union(*map(changed_by, tree.body), *map(called_by, tree.body)),
        star=any(isinstance(n, ast.ImportFrom) and n.names[0].name == "*" for n in nodes),
        sets=any(map(_sets, tree.body)) and all(isinstance(s, CALM) for s in tree.body),
    )


def defined_by(statement: ast.stmt) -> set[str]:
    """The names that a statement binds. A variable with a builtin's name hides it, no more."""
    if isinstance(statement, FUNCTIONS):
        return {statement.name}
    found: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(one.asname or one.name).split(".")[0] for one in node.names}
        elif _is_name(node, ast.Store) and node.id not in BUILTINS:
            found.add(node.id)
        elif isinstance(node, FUNCTIONS):
            found.add(node.name)
    return found - {"*"}


def changed_by(statement: ast.stmt) -> set[str]:
    """The names into which a statement assigns, and those of which it calls a method."""
    if isinstance(statement, FUNCTIONS):
        return set()
    found: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.AugAssign):
            found.add(_root(node.target))
        elif isinstance(node, ast.Subscript | ast.Attribute) and not _is_load(node):
            found.add(_root(node))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            found.add(_root(getattr(node.value.func, "value", node)))
    return found - {""}


def called_by(statement: ast.stmt) -> set[str]:
    """The functions that a statement calls for what they do, not for what they return."""
    calls = [node.value for node in ast.walk(statement) if isinstance(node, ast.Expr)]
    functions = [one.func for one in calls if isinstance(one, ast.Call)]
    return {one.id for one in functions if isinstance(one, ast.Name)}


def _sets(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    target = call.func if isinstance(call, ast.Call) else None
    return isinstance(target, ast.Attribute) and target.attr.startswith("set")


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_name(node: ast.AST, context: type[ast.expr_context]) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, context)


def _is_load(node: ast.Subscript | ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Load)
