"""From which objects can these tensors be reached, and by which step?"""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from types import (
    FrameType,
    FunctionType,
    GeneratorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)

import torch

from . import private

DEPTH = 10
MOST_OBJECTS = 20_000
_MOST_AT_ONCE = 200  # gc.get_referrers compares each reference with each object that is asked for
_MACHINERY = ("IPython", "ipykernel", "traitlets")
_ENDS = (ModuleType, type, FunctionType, FrameType, GeneratorType)


def reached_from(
    targets: dict[int, torch.Tensor], leaves: list[torch.Tensor]
) -> tuple[dict[int, object], bool]:
    """Everything from which these tensors can be reached, by number, and whether that is all.

    Args: `leaves` hold those of the targets that are gradients, which gc does not see.
    Ends at namespaces, classes, functions and frames, and leaves out the machinery of notebooks.
    What is returned keeps all of it alive: let go of it soon.
    """
    reached: dict[int, object] = targets | {id(leaf): leaf for leaf in leaves}
    level: list[object] = list(reached.values())
    ours = {id(targets), id(leaves), id(reached)}
    ours |= {id(getattr(module, "__dict__", None)) for module in list(sys.modules.values())}
    for _ in range(DEPTH):
        ours.add(id(level))
        above = {id(one): one for one in _referrers(level)}
        above = {
            key: one
            for key, one in above.items()
            if key not in ours and key not in reached and not _is_machinery(one)
        }
        ours.add(id(above))
        reached |= above
        if len(reached) > MOST_OBJECTS + len(targets):
            return reached, False
        level = [one for one in above.values() if not issubclass(type(one), _ENDS)]
        if not level:
            break
    return reached, True


def _is_machinery(value: object) -> bool:
    """Does it belong to IPython and its like, which remember everything that a notebook runs?"""
    kind = type(value)
    module = getattr(value if kind is FunctionType else kind, "__module__", None)
    return isinstance(module, str) and module.split(".")[0] in _MACHINERY


def _referrers(level: list[object]) -> list[object]:
    if len(level) <= _MOST_AT_ONCE:
        return gc.get_referrers(*level)
    wanted = {id(one) for one in level}
    return [
        one for one in gc.get_objects() if not wanted.isdisjoint(map(id, gc.get_referents(one)))
    ]


def parts_of(value: object) -> Iterator[tuple[str, object]]:
    """What an object holds, one level down, with the expression that leads there.

    >>> list(parts_of({"loss": [1, 2]})), list(parts_of([3]))
    ([("['loss']", [1, 2])], [('[0]', 3)])
    """
    kind = type(value)
    if issubclass(kind, torch.Tensor):
        yield ".grad", private.grad(value)
    if issubclass(kind, dict):
        for key, item in list(value.items()):
            plain = type(key) in (str, int, float, bool, type(None))
            yield f"[{key!r}]" if plain else f"[a {type(key).__name__}]", item
    elif issubclass(kind, list | tuple | deque):
        for i, item in enumerate(value):
            yield f"[{i}]", item
    elif issubclass(kind, set | frozenset):
        for item in value:
            yield "{…}", item
    elif kind is MethodType:
        yield ".__self__", value.__self__
    elif kind is partial:
        yield from ((".func", value.func), (".args", value.args), (".keywords", value.keywords))
    else:
        yield from _attributes(value)


def _attributes(value: object) -> Iterator[tuple[str, object]]:
    try:
        found = dict(object.__getattribute__(value, "__dict__"))
    except AttributeError:
        found = {}
    for kind in type(value).__mro__:
        for name, member in list(vars(kind).items()):
            if type(member) is MemberDescriptorType:
                with suppress(AttributeError):  # a slot that is empty
                    found[name] = member.__get__(value)
    yield from ((f".{name}", item) for name, item in found.items())
