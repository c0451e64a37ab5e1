"""Which tensors do these names reach?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

from . import private

_DEPTH = 3
_LENGTH = 1000


def tensors_in(named: Mapping[str, object]) -> Iterator[tuple[str, torch.Tensor]]:
    """Which tensors do these names reach, and by which expression?

    Looks into modules, and into lists, tuples and dicts of up to 1,000 items, three levels deep;
    a leaf brings its gradient along. An object that raises when it is looked into is left out.

    >>> [name for name, _ in tensors_in({"xs": [torch.ones(1), {"y": torch.ones(1)}], "n": 3})]
    ['xs[0]', "xs[1]['y']"]
    """
    for name, value in list(named.items()):
        yield from _reach(str(name), value, _DEPTH)


def _reach(name: str, value: object, depth: int) -> Iterator[tuple[str, torch.Tensor]]:
    is_tensor = issubclass(type(value), torch.Tensor)
    if is_tensor:
        yield name, value
    if not is_tensor and not depth:
        return
    try:
        parts = list(_parts(value))
    except Exception:  # a proxy, a lazy property: nothing in it that could be named
        return
    for step, part in parts:
        yield from _reach(name + step, part, depth - (not is_tensor))


def _parts(value: object) -> Iterator[tuple[str, object]]:
    """What an object holds, one level down, with the expression that leads there."""
    kind = type(value)  # not isinstance: an object may lie about its class, or raise when asked
    if issubclass(kind, torch.Tensor):
        grad = private.grad(value)
        if grad is not None:
            yield ".grad", grad
    elif issubclass(kind, torch.nn.Module):
        for path, t in (*value.named_parameters(), *value.named_buffers()):
            yield f".{path}", t
    elif issubclass(kind, dict) and len(value) <= _LENGTH:
        for key, item in list(value.items()):
            yield f"[{_key(key)}]", item
    elif issubclass(kind, list | tuple) and len(value) <= _LENGTH:
        for i, item in enumerate(value):
            yield f"[{i}]", item


def _key(key: object) -> str:
    """A key as it is written; of an object only its class, since its text may hold an address."""
    plain = type(key) in (str, int, float, bool, type(None))
    return repr(key) if plain else f"a {type(key).__name__}"
