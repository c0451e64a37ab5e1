"""Does an answer keep to plain Python, where an exercise asks for a rule by hand?

A check observes in the kernel which libraries an answer names, but there it can be told anything.
So the sources are read here as well, and nothing of them runs. What an answer needs is followed
from the names that it was asked to define, by whatever defines or changes them, through all cells
of the submission. What a learner only tries out beside it does not count.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterable, Iterator, Sequence

from .names import BUILTINS, FUNCTIONS, called_by, changed_by, defined_by, parse

LIBRARIES = ("torch", "numpy", "insidetorch")
# They run or reach what cannot be read here.
UNSEEN = {
    *("eval", "exec", "compile", "__import__", "globals", "vars", "locals", "get_ipython"),
    *("builtins", "__builtins__", "__main__", "gc", "importlib", "inspect", "runpy", "subprocess"),
    *("pickle", "marshal", "pydoc", "pkgutil", "ctypes", "code", "attrgetter", "methodcaller"),
}
UNSEEN_ATTRIBUTES = {
    *("modules", "_getframe", "f_globals", "f_locals", "f_back"),
    *("__globals__", "__builtins__", "__subclasses__"),
}


def borrowed(
    sources: Sequence[str], *, elsewhere: Sequence[str], given: Sequence[str], wanted: Iterable[str]
) -> list[str]:
    """What an answer uses that a rule by hand does without, by its name; [] where it is fine.

    Args: `sources` of the answer; `elsewhere`, those of the other answers and helper cells;
    `given`, those of the course's own cells; `wanted`, the names that the answer defines.
    """
    own, others, ours = map(_statements, (sources, elsewhere, given))
    cells = [*own, *others]
    defined = set().union(*map(_bound_by, cells))
    variables = set().union(*(defined_by(s) for s in cells if isinstance(s, ast.Assign)))
    libraries = _libraries(cells, ours)
    found = {libraries[name] for name in wanted if name in libraries}
    for statement in own:
        homes = {libraries.get(name) for name in _globals_of(statement)}
        found |= _unseen(statement) | (homes & UNSEEN)
    needed, reached = set(wanted), set()
    while True:
        new = [s for s in cells if id(s) not in reached and _makes(s, needed)]
        new += [
            s
            for s in cells
            # A function of the learner's may fill a table that it is given.
            if id(s) not in reached
            and called_by(s) & defined
            and _globals_of(s) & needed & variables
        ]
        if not new:
            break
        for statement in new:
            reached.add(id(statement))
            named = _globals_of(statement)
            found |= {libraries[name] for name in named if name in libraries}
            found |= _unseen(statement) | _imported_inside(statement)
            needed |= named - (BUILTINS - defined)
    if "*" in libraries and needed - defined - set().union(*map(defined_by, ours)):
        found.add(libraries["*"])
    return sorted(found)


def _makes(statement: ast.stmt, needed: set[str]) -> bool:
    """Does a statement define a needed name, or change what it stands for?"""
    if isinstance(statement, ast.Import | ast.ImportFrom | ast.Assert):
        return False
    return bool((_bound_by(statement) | changed_by(statement)) & needed)


def _bound_by(statement: ast.stmt) -> set[str]:
    """The names that a statement defines, at once or when a function of it is called."""
    found = defined_by(statement)
    for node in ast.walk(statement):
        if isinstance(node, ast.Global):
            found |= set(node.names)
    return found


def _statements(sources: Sequence[str]) -> list[ast.stmt]:
    """The statements of some cells without their annotations, which do nothing."""
    return [_Bare().visit(one) for source in sources for one in parse(source).body]


class _Bare(ast.NodeTransformer):
    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)


def _libraries(cells: Sequence[ast.stmt], ours: Sequence[ast.stmt]) -> dict[str, str]:
    """By which names cells call a library, or what is in one; the course gives some of these."""
    found = dict(_imports(cells))
    # A function that the course's own cell imports may be used, a library as a whole may not.
    given = {name for name, _ in _imports([s for s in ours if isinstance(s, ast.ImportFrom)])}
    found = {name: home for name, home in found.items() if name not in given}
    found |= dict(_imports([s for s in ours if isinstance(s, ast.Import)]))
    found |= {name: name for name in LIBRARIES}
    for statement in cells:
        if isinstance(statement, ast.Assign):
            value = statement.value
            while isinstance(value, ast.Attribute):
                value = value.value
            if isinstance(value, ast.Name) and value.id in found:
                found |= dict.fromkeys(defined_by(statement), found[value.id])
    return {name: home for name, home in found.items() if home in LIBRARIES or home in UNSEEN}


def _imports(statements: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Each imported name, and the package that it comes from."""
    for node in (node for statement in statements for node in ast.walk(statement)):
        if isinstance(node, ast.Import):
            for one in node.names:
                yield (one.asname or one.name).partition(".")[0], one.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module:
            for one in node.names:
                yield one.asname or one.name, node.module.partition(".")[0]


def _imported_inside(statement: ast.stmt) -> set[str]:
    if not isinstance(statement, FUNCTIONS):
        return set()
    return {home for _, home in _imports([statement]) if home in LIBRARIES or home in UNSEEN}


def _unseen(statement: ast.stmt) -> set[str]:
    attributes = {node.attr for node in ast.walk(statement) if isinstance(node, ast.Attribute)}
    # Also by getattr.
    attributes |= {
        node.value
        for node in ast.walk(statement)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return _globals_of(statement) & UNSEEN | attributes & UNSEEN_ATTRIBUTES


def _globals_of(statement: ast.stmt) -> set[str]:
    """The global names that a statement reads: no parameter and no local name of a function."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return set()
    try:
        top = symtable.symtable(ast.unparse(statement), "cell", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    found = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_referenced()}
    tables = top.get_children()
    while tables:
        table = tables.pop()
        tables += table.get_children()
        found |= {one.get_name() for one in table.get_symbols() if one.is_global()}
    return found
