"""How is a learner's piece judged? In a MiniTorch that is the reference but for that piece."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CellType, CodeType, FunctionType, MemberDescriptorType, ModuleType

# The reference, in the order of its imports.
SOURCES = (
    "storage.py",
    "given.py",
    "views.py",
    "tracking.py",
    "tape.py",
    "ops.py",
    "backward.py",
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
}


def assemble(**pieces: Callable[..., object]) -> ModuleType:
    """Put a learner's names into a MiniTorch of their own.

    Args: `pieces`, the learner's functions and classes by name. A function takes the place of the
    reference's. A class gives its methods to the reference's class, so a learner's `Tensor` holds
    `position` and `__iter__` and nothing of what is given.
    Returns a new module, independent of every other one and of the reference. Everything in it
    sees the learner's names. The learner's functions, and the helpers defined beside them or under
    a decorator, run as copies, in a copy of their globals where every name of MiniTorch, and
    `insidetorch.mini` itself, means the new module: an earlier piece in the same notebook is
    neither used nor changed.
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
    module, desk = ModuleType("minitorch"), _Desk()
    space = vars(module)
    space.update({name: desk.copy(fn) for name, fn in functions.items()})
    offered = set()
    for source in SOURCES:
        code, defined = _compiled(source, frozenset(functions))
        offered |= {name for name in defined if not name.startswith("_")}
        exec(code, space)
    for name, cls in classes.items():
        for attribute, value in _written_in(cls).items():
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
    tree = ast.parse(Path(__file__).with_name(source).read_text(encoding="utf-8"))
    return _WithoutImports().visit(tree).body


class _WithoutImports(ast.NodeTransformer):
    """Leaves out imports within the package, also one in a function, which breaks a circle."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom | None:
        return None if node.level else node


def _written_in(cls: type) -> dict[str, object]:
    """What the body of a class defines, without what Python adds."""
    return {
        name: value
        for name, value in vars(cls).items()
        if isinstance(value, FunctionType)
        or not (name.startswith("__") or isinstance(value, MemberDescriptorType))
    }


class _Desk:
    """The learner's globals, copied so that the names of MiniTorch can mean another module."""

    def __init__(self) -> None:
        self.spaces: dict[int, dict[str, object]] = {}
        self.cells: dict[int, CellType] = {}

    def copy(self, value: object, *, owner: type | None = None) -> object:
        """A function that runs in the copied globals; `owner` is the class that it moves to."""
        if not isinstance(value, FunctionType):
            return value
        theirs = value.__globals__
        if id(theirs) not in self.spaces:
            self.spaces[id(theirs)] = dict(theirs)
            helpers = {
                name: self.copy(helper)
                for name, helper in theirs.items()
                if isinstance(helper, FunctionType) and helper.__globals__ is theirs
            }
            self.spaces[id(theirs)].update(helpers)
        cells = tuple(  # super() looks for its class in a cell
            CellType(owner) if owner is not None and name == "__class__" else self._cell(cell)
            for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        )
        copy = FunctionType(
            value.__code__, self.spaces[id(theirs)], value.__name__, value.__defaults__, cells
        )
        copy.__kwdefaults__ = value.__kwdefaults__
        return copy

    def _cell(self, cell: CellType) -> CellType:
        """A cell that holds a function, as under a decorator, holds the copy of it instead."""
        if cell == CellType() or not isinstance(cell.cell_contents, FunctionType):
            return cell
        if id(cell) not in self.cells:
            self.cells[id(cell)] = CellType()  # before the copy, which may ask for it again
            self.cells[id(cell)].cell_contents = self.copy(cell.cell_contents)
        return self.cells[id(cell)]

    def hand_over(self, module: ModuleType, names: dict[str, object]) -> None:
        """Let the names of MiniTorch, and the reference itself, mean the module.

        A helper of the learner's that has the name of something given, such as `broadcast`, stays.
        """
        for space in self.spaces.values():
            reference = [n for n, value in space.items() if _is_reference(value)]
            theirs = {n for n in names if n not in PIECES and n in space and not _is_ours(space[n])}
            space.update(dict.fromkeys(reference, module))
            space.update({n: value for n, value in names.items() if n not in theirs})


def _is_ours(value: object) -> bool:
    return str(getattr(value, "__module__", "")).startswith(__package__)


def _is_reference(value: object) -> bool:
    return isinstance(value, ModuleType) and value.__name__ == __package__
