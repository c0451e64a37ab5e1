"""What do checks lean on in the kernel, and is it still what it was before the learner's cells?

The grader runs `remember` in a hidden first cell and `put_back` at the head of every graded check:
what stands in the modules of insidetorch, in torch, numpy and in the standard library's modules
that checks use is compared by identity, and put back where it is another object. No module is
imported a second time, so that a function stays the one that an answer was given.

This holds against functions that an answer replaces, on purpose or not: `torch.load = …`,
`insidetorch.relation = …`, `torch.Tensor.tolist = …`, a module in `sys.modules`. It runs in the
learner's own process, so it does not hold against code that goes after the guard itself, after the
check's frame or after objects in C. What an exercise by hand may name is therefore read outside the
kernel, in `plain_python`.
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType

from . import shown_by

OWN = "insidetorch"
HERE = str(Path(__file__).parents[2])
# Beside them, every module of insidetorch that is loaded.
OTHERS = [
    *("torch", "torch.autograd", "torch.nn", "torch.nn.init", "torch.nn.functional"),
    *("torch.serialization", "torch.utils._python_dispatch", "torch._tensor", "torch.overrides"),
    *("numpy", "collections", "contextlib", "copy", "dis", "functools", "gc", "hashlib"),
    *("io", "itertools", "json", "json.encoder", "json.decoder", "linecache", "math", "operator"),
    *("os", "random", "re", "time", "traceback", "types", "weakref"),
]
CLASSES = [
    ("torch", "Tensor"),
    ("torch", "Size"),
    ("torch.nn", "Parameter"),
    ("torch.nn", "Module"),
]
# What makes a function behave as it does; its name may stay what a learner makes of it.
OF_FUNCTION = ("__code__", "__defaults__", "__kwdefaults__")

_builtins: dict[str, object] = {}
_modules: dict[str, tuple[ModuleType, dict[str, object]]] = {}
_classes: list[tuple[type, dict[str, object]]] = []
_tables: list[tuple[dict, dict]] = []
_functions: list[tuple[FunctionType, tuple]] = []


def remember(imports: str) -> None:
    """Load what the checks import, and keep in mind what stands there now.

    No path leads to another copy of our packages, which may have solutions beside it.
    """
    sys.path[:] = [one for one in sys.path if one == HERE or not (Path(one) / OWN).is_dir()]
    exec(imports, {})
    _builtins.update(vars(builtins))
    names = [name for name in sys.modules if _is_own(name)]
    for name in [*names, *(one for one in OTHERS if one in sys.modules)]:
        _modules[name] = sys.modules[name], dict(vars(sys.modules[name]))
    for value in {id(value): value for value in _own_values()}.values():
        if isinstance(value, type):
            _classes.append((value, dict(vars(value))))
        elif type(value) is dict:
            _tables.append((value, dict(value)))
    named = [getattr(_modules[home][0], name) for home, name in CLASSES if home in _modules]
    _classes.extend((one, dict(vars(one))) for one in [*named, *shown_by.classes()])
    shown_by.remember()
    values = [*_own_values(), *(each for one, kept in _classes for each in kept.values())]
    _functions.extend(
        (value, tuple(getattr(value, name) for name in OF_FUNCTION))
        for value in values
        if isinstance(value, FunctionType)
    )


def put_back() -> None:
    """Put back what is no longer what it was."""
    # First of all and without a call: all that follows needs them.
    builtins.__dict__.update(_builtins)
    shown_by.put_back()
    for name, (module, kept) in _modules.items():
        sys.modules[name] = module
        _restore(vars(module), kept)
        for added in _added(module, kept):
            del vars(module)[added]
    for one, kept in _classes:
        for name in [name for name in kept if vars(one).get(name) is not kept[name]]:
            _set(one, name, kept[name])
        for name in [name for name in vars(one) if name not in kept and _is_inherited(one, name)]:
            delattr(one, name)
    for table, kept in _tables:
        _restore(table, kept)
    for function, kept in _functions:
        for name, value in zip(OF_FUNCTION, kept, strict=True):
            if getattr(function, name) is not value:
                setattr(function, name, value)


def guarded(answer: object) -> object:
    """An answer after each call of which everything is put back; what is no function stays."""
    if type(answer) is not FunctionType:
        return answer

    @functools.wraps(answer)
    def called(*arguments: object, **named: object) -> object:
        try:
            return answer(*arguments, **named)
        finally:
            put_back()

    return called


def _is_own(module: str) -> bool:
    return module.partition(".")[0] == OWN


def _own_values() -> Iterator[object]:
    """What is defined in the modules of insidetorch, not what they import from elsewhere."""
    for name, (_, kept) in _modules.items():
        for key, value in kept.items():
            home = getattr(value, "__module__", name)
            ours = isinstance(home, str) and _is_own(home) and _is_own(name)
            if ours and not key.startswith("__"):
                yield value


def _restore(now: dict, kept: dict) -> None:
    changed = [key for key, value in kept.items() if now.get(key, kept) is not value]
    now.update({key: kept[key] for key in changed})


def _added(module: ModuleType, kept: dict[str, object]) -> list[str]:
    """New names of a module that hide others: any in insidetorch, those of builtins elsewhere."""
    new = [name for name in vars(module) if name not in kept]
    if not _is_own(module.__name__):
        return [name for name in new if name in _builtins]
    return [name for name in new if f"{module.__name__}.{name}" not in sys.modules]


def _is_inherited(one: type, name: str) -> bool:
    return any(name in vars(base) for base in one.__mro__[1:])


def _set(one: type, name: str, value: object) -> None:
    # Some entries of a class cannot be set: its __dict__ and such.
    try:
        setattr(one, name, value)
    except (AttributeError, TypeError):
        return
