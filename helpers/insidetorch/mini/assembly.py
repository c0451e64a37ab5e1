"""How is a learner's piece judged? In a MiniTorch that is the reference but for that piece."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType

from .desk import Desk, written_in
from .sources import source_of

# The reference, in the order of its imports.
SOURCES = (
    "storage.py",
    "given.py",
    "views.py",
    "tracking.py",
    "versions.py",
    "tape.py",
    "layers.py",
    "dispatch.py",
    "families.py",
    "inplace.py",
    "modes.py",
    "ops.py",
    "backward.py",
    "writes.py",
)

# What learners build: functions, and classes with the methods that are theirs.
PIECES: dict[str, tuple[str, ...]] = {
    "contiguous_strides": (),
    "Storage": ("__init__", "elements"),
    "Tensor": ("position", "__iter__"),
    "permute_kernel": (),
    "view_strides": (),
    "view_kernel": (),
    "expand_kernel": (),
    "narrow_kernel": (),
    "contiguous": (),
    "reshape": (),
    "Edge": (),
    "Node": ("__init__", "__call__", "release"),
    "edge_of": (),
    "grad_mode": (),
    "record": (),
    "detach": (),
    "AccumulateGrad": ("__init__", "__call__"),
    "backward": (),
    "VersionCounter": (),
    "Saved": ("__init__", "unpack"),
    "track_view": (),
    "bump": (),
    "check_write": (),
    "Key": (),
    "Op": (),
    "keys_of": (),
    "exclude": (),
    "call": (),
    "redispatch": (),
    "register": (),
}


def assemble(**pieces: Callable[..., object]) -> ModuleType:
    """Put a learner's names into a MiniTorch of their own.

    Args: `pieces`, the learner's functions and classes by name. A function takes the place of the
    reference's, and so does a class under a function's name. A class that learners build gives its
    methods to the reference's class, so a learner's `Tensor` holds `position` and `__iter__` and
    nothing of what is given.
    Returns a new module, independent of every other one and of the reference. Everything in it
    sees the learner's names. The learner's functions and classes, and those that they name, run as
    copies, in a copy of their globals where every name of MiniTorch, and `insidetorch.mini` itself,
    means the new module: an earlier piece in the same notebook is neither used nor changed.
    Raises TypeError for a name that learners do not build, for a function that cannot be called
    and for a class that lacks a method.

    >>> mini = assemble(contiguous_strides=lambda sizes: (1, 2))
    >>> mini.new(range(4), (2, 2)).strides, assemble().new(range(4), (2, 2)).strides
    ((1, 2), (2, 1))
    """
    for name, piece in pieces.items():
        _check(name, piece)
    classes = {name: piece for name, piece in pieces.items() if PIECES[name]}
    functions = {name: piece for name, piece in pieces.items() if name not in classes}
    module, desk = ModuleType("minitorch"), Desk(PIECES)
    space = vars(module)
    space.update({name: desk.copy(fn) for name, fn in functions.items()})
    offered = set()
    for source in SOURCES:
        code, defined = _compiled(source, frozenset(functions))
        exec(code, space)
        offered |= {name for name in defined if not name.startswith("_")}
        # At once, since the next source may call a learner's function: `ops` calls `register`.
        desk.hand_over(module, {name: space[name] for name in offered})
    for name, cls in classes.items():
        for attribute, value in written_in(cls).items():
            setattr(space[name], attribute, desk.copy(value, owner=space[name]))
    desk.hand_over(module, {name: space[name] for name in offered})
    return module


def _check(name: str, piece: object) -> None:
    if name not in PIECES:
        raise TypeError(
            f"MiniTorch was asked to be assembled with {name}. Learners build "
            f"{', '.join(PIECES)}, and that is none of them. Give a piece one of these names."
        )
    methods, given = PIECES[name], f"{name}, a value of type {type(piece).__name__}"
    if not methods and not callable(piece):
        raise TypeError(
            f"MiniTorch was asked to be assembled with {given}. That cannot be called. "
            f"Give the function {name}."
        )
    if methods and not (isinstance(piece, type) and all(m in vars(piece) for m in methods)):
        raise TypeError(
            f"MiniTorch was asked to be assembled with {given}. That is no class which defines "
            f"{' and '.join(methods)} itself. Give a class {name} with these methods."
        )


@cache
def _compiled(source: str, left_out: frozenset[str]) -> tuple[CodeType, frozenset[str]]:
    """A source of the reference without these functions, and all names that it defines.

    Kept, since a check assembles a MiniTorch for each of its programs.
    """
    body = _statements(source)
    defined = frozenset(s.name for s in body if isinstance(s, ast.FunctionDef | ast.ClassDef))
    left = [s for s in body if getattr(s, "name", None) not in left_out]
    path = str(Path(__file__).with_name(source))
    return compile(ast.Module(left, []), path, "exec", dont_inherit=True), defined


def _statements(source: str) -> list[ast.stmt]:
    """The statements of a source of the reference, less the imports from one another."""
    tree = ast.parse(source_of(source))
    return _WithoutImports().visit(tree).body


class _WithoutImports(ast.NodeTransformer):
    """Leaves out imports within the package, also one in a function, which breaks a circle."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom | None:
        return None if node.level else node
