"""What does a node of the graph keep for its backward formula?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import torch

from ..records import Saved, Value
from . import private, private_nodes

_VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")
_MOST_TEXT = 60


def saved_of(node: object, storages: dict[int, int]) -> tuple[Saved, ...]:
    """What does this node keep, in the order of its names?

    Args: `storages`, the numbers of the storages that were met so far; new ones are added.
    Nothing is freed, and no version changes.
    """
    found = [*_tensors(node, storages), *_values(node), *_attributes(node, storages)]
    return tuple(sorted(found, key=lambda saved: saved.name))


def _tensors(node: object, storages: dict[int, int]) -> Iterator[Saved]:
    try:
        found = list(private_nodes.saved_tensors(node))
    except RuntimeError:  # a Function of the user's tells no more than that they are freed
        yield Saved("tensors", "freed by a backward pass", freed=True)
        return
    for name, raw, unpack in found:
        try:
            t = raw.data
        except RuntimeError:
            t = None
        if t is None:
            freed = _is_freed(unpack)
            yield Saved(name, "freed by a backward pass" if freed else "None", freed=freed)
            continue
        if not isinstance(t, torch.Tensor):
            yield Saved(name, f"packed by a hook into a {type(t).__name__}")
            continue
        version, expected = _versions(t, unpack)
        yield replace(_saved(name, t, storages), version=version, expected=expected)


def _attributes(node: object, storages: dict[int, int]) -> Iterator[Saved]:
    """Tensors that the forward of a custom Function has put on ctx, which is the node."""
    if private_nodes.function_of(node) is None:
        return
    for name, t in list(vars(node).items()):
        if issubclass(type(t), torch.Tensor):
            saved = _saved(f"ctx.{name}", t, storages)
            note = "an attribute, so a write is not noticed"
            if t.grad_fn is None and not t.requires_grad:
                note += " and a second derivative takes it for a constant"
            yield replace(saved, text=f"{saved.text} ({note})")


def _saved(name: str, t: torch.Tensor, storages: dict[int, int]) -> Saved:
    dtype = str(t.dtype).removeprefix("torch.")
    if (sizes := private.sizes(t)) is None:
        return Saved(name, f"nested {dtype}", dtype=dtype, storage=_storage(t, storages))
    return Saved(
        name=name,
        text=f"{dtype} {sizes}",
        dtype=dtype,
        sizes=sizes,
        nbytes=t.numel() * t.element_size(),
        storage=_storage(t, storages),
        value=_value(t),
    )


def _values(node: object) -> Iterator[Saved]:
    for name, value in private_nodes.saved_values(node):
        if value is None or isinstance(value, bool | int | float | str | list | tuple):
            text = repr(value)
            yield Saved(name, text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]} …")


def _is_freed(unpack) -> bool:
    try:
        unpack()
    except RuntimeError as error:
        return "after they have already been freed" in str(error)
    return False


def _versions(t: torch.Tensor, unpack) -> tuple[int | None, int | None]:
    """The version that a saved tensor has, and the one that it had when it was saved.

    torch tells the second one only in the error that it raises where the two differ.
    """
    now = private.version(t)
    if not now:  # never written: nothing to ask, and no hook of the user's is called
        return now, now
    try:
        unpack()
    except RuntimeError as error:
        said = _VERSIONS.search(str(error))
        return (int(said[1]), int(said[2])) if said else (now, None)
    return now, now


def _value(t: torch.Tensor) -> Value | None:
    """The value of a tensor that has one; None for others, and where there is no memory to read."""
    try:
        end = (t.storage_offset() + 1) * t.element_size()
        if t.numel() != 1 or t.untyped_storage().nbytes() < end:
            return None
        return t.item()
    except (NotImplementedError, RuntimeError):  # sparse, or without data
        return None


def _storage(t: torch.Tensor, storages: dict[int, int]) -> int:
    try:
        key = private.storage_id(t)
    except (NotImplementedError, RuntimeError):  # sparse and the like have no storage
        return -1
    return storages.setdefault(key, len(storages))
