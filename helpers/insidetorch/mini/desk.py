"""How do a learner's functions come to see another MiniTorch? As copies, in copied globals."""

from __future__ import annotations

import sys
from abc import ABCMeta
from collections.abc import Collection, Iterator
from types import (
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    ModuleType,
)


class Desk:
    """The learner's globals, copied so that the names of MiniTorch can mean another module.

    Args: `pieces`, the names of what learners build, which always mean what the module has.
    """

    def __init__(self, pieces: Collection[str]) -> None:
        self.pieces = pieces
        self.spaces: dict[int, dict[str, object]] = {}
        self.cells: dict[int, CellType] = {}
        self.classes: dict[type, type] = {}

    def copy(self, value: object, *, owner: type | None = None) -> object:
        """A function or a class that runs in the copied globals, and all that it names there.

        Args: `owner`, the class that a method moves to.
        Returns what is neither, and a class with none of the learner's functions, as it is.
        """
        if isinstance(value, staticmethod | classmethod):
            return type(value)(self.copy(value.__func__, owner=owner))
        if isinstance(value, property):
            parts = (value.fget, value.fset, value.fdel)
            return property(*(self.copy(part, owner=owner) for part in parts))
        if isinstance(value, FunctionType):
            return self._function(value, owner)
        return self._class(value) if _globals_of(value) is not None else value

    def _function(self, fn: FunctionType, owner: type | None) -> FunctionType:
        space = self._space(fn)
        cells = tuple(  # super() looks for its class in a cell
            CellType(owner) if owner is not None and name == "__class__" else self._cell(cell, fn)
            for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
        )
        copy = FunctionType(fn.__code__, space, fn.__name__, fn.__defaults__, cells)
        copy.__kwdefaults__ = fn.__kwdefaults__
        return copy

    def _class(self, cls: type) -> type:
        if cls not in self.classes:
            theirs = _globals_of(cls)
            bases = (self.copy(b) if _globals_of(b) is theirs else b for b in cls.__bases__)
            made = type(cls)(cls.__name__, tuple(bases), _body_of(cls))
            self.classes[cls] = made  # before its methods, which may name it
            for name, value in written_in(cls).items():
                if (copy := self.copy(value)) is not value:
                    setattr(made, name, copy)
        return self.classes[cls]

    def _cell(self, cell: CellType, fn: FunctionType) -> CellType:
        """The cell of a function; a copy where it holds another one, as under a decorator.

        The same goes for a class that was written beside the function.
        """
        if cell == CellType():
            return cell
        held = cell.cell_contents
        beside = isinstance(held, type) and _globals_of(held) is _globals_of(fn)
        if not (isinstance(held, FunctionType) or beside):
            return cell
        if id(cell) not in self.cells:
            self.cells[id(cell)] = CellType()  # before the copy, which may ask for it again
            self.cells[id(cell)].cell_contents = self.copy(held)
        return self.cells[id(cell)]

    def _space(self, fn: FunctionType) -> dict[str, object]:
        """The copied globals of a function, with copies of what it names there.

        The standard library's own stay: what `contextmanager` makes finds the learner's in a cell.
        """
        theirs = fn.__globals__
        if _is_standard(theirs):
            return theirs
        space = self.spaces.setdefault(id(theirs), dict(theirs))
        for name in _names_in(fn.__code__):
            helper = theirs.get(name)
            if _globals_of(helper) is theirs and space[name] is helper:
                space[name] = None  # before the copy, which may name it
                space[name] = self.copy(helper)
        return space

    def hand_over(self, module: ModuleType, names: dict[str, object]) -> None:
        """Let the names of MiniTorch, and the reference itself, mean the module.

        A helper of the learner's that has the name of something given, such as `broadcast`, stays.
        """
        for space in self.spaces.values():
            reference = [n for n, value in space.items() if _is_reference(value)]
            theirs = {
                n for n in names if n not in self.pieces and n in space and not _is_ours(space[n])
            }
            space.update(dict.fromkeys(reference, module))
            space.update({n: value for n, value in names.items() if n not in theirs})


def written_in(cls: type) -> dict[str, object]:
    """What the body of a class defines, without what Python adds."""
    return {
        name: value
        for name, value in vars(cls).items()
        if isinstance(value, FunctionType)
        or not (name.startswith("__") or isinstance(value, MemberDescriptorType))
    }


def _body_of(cls: type) -> dict[str, object]:
    """What makes the class anew: all but the places that Python makes for its instances' values."""
    return {
        name: value
        for name, value in vars(cls).items()
        if not isinstance(value, MemberDescriptorType | GetSetDescriptorType)
    }


def _globals_of(value: object) -> dict[str, object] | None:
    """In which globals, beside the standard library's, was a function or class written?

    None for anything else, and for a class without a method that was written anywhere.
    """
    if isinstance(value, FunctionType):
        if not _is_standard(value.__globals__):
            return value.__globals__
        return _globals_of(getattr(value, "__wrapped__", None))
    if type(value) not in (type, ABCMeta):
        return None
    written = (each for cls in value.__mro__ for each in vars(cls).values())
    methods = (each for each in written if isinstance(each, FunctionType))
    return next(filter(None, map(_globals_of, methods)), None)


def _is_standard(space: dict[str, object]) -> bool:
    return str(space.get("__name__")).partition(".")[0] in sys.stdlib_module_names


def _names_in(code: CodeType) -> Iterator[str]:
    """The names that a function reads, and those that the functions inside it read."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names_in(inner)


def _is_ours(value: object) -> bool:
    return str(getattr(value, "__module__", "")).startswith(__package__)


def _is_reference(value: object) -> bool:
    return isinstance(value, ModuleType) and value.__name__ == __package__
