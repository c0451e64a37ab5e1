"""Does an answer do by hand what it was asked to do by hand?"""

from __future__ import annotations

import builtins
import inspect
import sys
from collections.abc import Sequence
from functools import partial
from types import CellType, CodeType, FunctionType, ModuleType

_LIBRARIES = ("torch", "insidetorch", "numpy")
# What these run cannot be seen.
_UNSEEN = (eval, exec, compile, __import__)
_MOST_ITEMS = 1000


def names_used(fn: object, *, allowed: Sequence[object] = ()) -> list[str]:
    """Which libraries does an answer, or a helper that it names, use: those a rule does without?

    Args: `fn`, a function, a class, or a tuple of them; `allowed`, objects that may be used.
    Looks through decorators, nested functions and helpers defined beside the function. `eval` and
    its kin are named too: what they run cannot be seen.

    >>> import torch
    >>> names_used(lambda sizes: torch.empty(sizes).stride())
    ['torch']
    """
    found: set[str] = set()
    waiting, seen = [fn], set(map(id, allowed))
    while waiting:
        value = waiting.pop()
        if callable(value):
            value = inspect.unwrap(value)
        if id(value) in seen:
            continue
        seen.add(id(value))
        home = _home(value)
        if home in _LIBRARIES or (home == "builtins" and value in _UNSEEN):
            found.add(home if home in _LIBRARIES else value.__name__)
        else:
            waiting += _named_in(value)
    return sorted(found)


def _home(value: object) -> str:
    """The top package that a module, a function or a class comes from, or a value's class does."""
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0]
    named = getattr(value, "__module__", None) or type(value).__module__
    return str(named).partition(".")[0]


def _named_in(value: object) -> list[object]:
    """What a function, a class, an object of the learner's or a container names or holds."""
    if isinstance(value, type):
        return [item for item in vars(value).values() if isinstance(item, FunctionType)]
    if isinstance(value, partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, dict | list | tuple):
        return list(value.values() if isinstance(value, dict) else value)[:_MOST_ITEMS]
    if not isinstance(value, FunctionType):
        return [] if _home(value) in sys.stdlib_module_names else [type(value)]
    codes, names = [value.__code__], set()
    while codes:
        code = codes.pop()
        names |= set(code.co_names)
        codes += [const for const in code.co_consts if isinstance(const, CodeType)]
    known = {**vars(builtins), **value.__globals__}
    cells = [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
    imported = [sys.modules[name] for name in names if name in _LIBRARIES and name in sys.modules]
    return [known[name] for name in names if name in known] + cells + imported


def _is_filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
