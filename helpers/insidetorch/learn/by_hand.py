"""Does an answer do by hand what it was asked to do by hand?"""

from __future__ import annotations

import builtins
import dis
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType

_LIBRARIES = ("torch", "insidetorch", "numpy")
# What these run or give cannot be seen.
_UNSEEN = (eval, exec, compile, __import__, globals, vars)
_UNSEEN_MODULES = ("builtins", "gc", "importlib", "inspect", "subprocess")
# A module such as `sys` is honest, but not what leads from it to every other module.
_UNSEEN_IN_SYS = ("modules", "_getframe")
_NAMING = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_MOST_ITEMS = 1000


def names_used(fn: object, *, allowed: Sequence[object] = ()) -> list[str]:
    """Which libraries does an answer, or a helper that it names, use: those a rule does without?

    Args: `fn`, a function, a class, or a tuple of them; `allowed`, objects that may be used.
    Looks through decorators, default values, classes, objects, nested functions and helpers defined
    beside the function. `eval` and its kin are named too: what they run cannot be seen.

    >>> import torch
    >>> names_used((len, torch.empty))
    ['torch']
    """
    found: set[str] = set()
    waiting, kept = [fn], list(allowed)
    seen = set(map(id, kept))
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        kept.append(value)  # so that no other object gets its id
        if name := _forbidden(value):
            found.add(name)
        elif isinstance(value, FunctionType):
            named = _named_in(value)
            found |= _unseen_in_sys(value, named)
            waiting += named
        else:
            waiting += _held_by(value)
    return sorted(found)


def _forbidden(value: object) -> str:
    """The library that a value comes from, or the name of what cannot be seen; else ""."""
    home = _home(value)
    if home in _LIBRARIES:
        return home
    if isinstance(value, ModuleType):
        return home if home in _UNSEEN_MODULES else ""
    if home in _UNSEEN_MODULES and callable(value):
        return _name_of_unseen(value, home)
    return ""


def _name_of_unseen(value: object, home: str) -> str:
    if home != "builtins":
        return home
    return next((one.__name__ for one in _UNSEEN if one is value), "")


def _home(value: object) -> str:
    """The top package that a module, a function or a class comes from, or a value's class does."""
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0]
    named = getattr(value, "__module__", None) or type(value).__module__
    return str(named).partition(".")[0]


def _named_in(fn: FunctionType) -> list[object]:
    """What a function names: global names, filled cells, defaults, what it imports and wraps."""
    if _is_installed(str(fn.__globals__.get("__name__")).partition(".")[0]):
        return []
    known = {**vars(builtins), **fn.__globals__}
    steps = [one for code in _codes(fn.__code__) for one in dis.get_instructions(code)]
    # Not the names of attributes: `sizes.count` is no global `count`.
    named = {one.argval for one in steps if one.opname in _NAMING}
    imported = {one.argval.partition(".")[0] for one in steps if one.opname == "IMPORT_NAME"}
    found = [known[name] for name in named if name in known]
    found += [sys.modules[name] for name in imported if name in sys.modules]
    found += [cell.cell_contents for cell in fn.__closure__ or () if _is_filled(cell)]
    return [*found, *(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values(), vars(fn)]


def _held_by(value: object) -> list[object]:
    """What a class, a method, an object of the learner's or a container holds."""
    if isinstance(value, staticmethod | classmethod | MethodType):
        held = [value.__func__, getattr(value, "__self__", None)]
    elif isinstance(value, property):
        held = [value.fget, value.fset, value.fdel]
    elif isinstance(value, partial):
        held = [value.func, *value.args, *value.keywords.values()]
    elif isinstance(value, dict):
        held = list(value.values())
    elif isinstance(value, list | tuple | set | frozenset):
        held = list(value)
    elif isinstance(value, BuiltinFunctionType):
        held = [] if isinstance(value.__self__, ModuleType) else [value.__self__]
    elif isinstance(value, ModuleType):
        held = []
    elif isinstance(value, type):
        held = [] if _is_installed(_home(value)) else [*vars(value).values(), *value.__bases__]
    elif _home(value) in sys.stdlib_module_names or not _is_installed(_home(value)):
        # Such as a SimpleNamespace of the learner's, or a function in a cache.
        held = [getattr(value, "__dict__", None), getattr(value, "__wrapped__", None), type(value)]
    else:
        held = []
    return held[:_MOST_ITEMS]


def _is_installed(package: str) -> bool:
    """Is this a package of Python's or an installed one, not the learner's own?"""
    file = getattr(sys.modules.get(package), "__file__", None) or ""
    return package in sys.stdlib_module_names or "site-packages" in file or "dist-packages" in file


def _unseen_in_sys(fn: FunctionType, named: list[object]) -> set[str]:
    if not any(one is sys for one in named):
        return set()
    attributes = {name for code in _codes(fn.__code__) for name in code.co_names}
    return {f"sys.{name}" for name in _UNSEEN_IN_SYS if name in attributes}


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and those of the functions within it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _codes(const)


def _is_filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
