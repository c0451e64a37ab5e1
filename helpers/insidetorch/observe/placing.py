"""How many elements does an operator write to that writes at the places of an index?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from . import private
from .private_dispatch import Overload, schema_arguments

# Writes only; and what stands at the places is read first.
_REPLACING = ("index_put_", "index_copy_", "index_fill_", "scatter_", "masked_scatter_")
_ADDING = ("index_add_", "scatter_add_", "scatter_reduce_", "index_reduce_")
PLACING = frozenset(f"aten.{name}" for name in (*_REPLACING, *_ADDING))


def placed(
    name: str, op: Overload, args: Sequence[object], kwargs: Mapping[str, object]
) -> tuple[int, int]:
    """How many elements does this call write, and how many of those does it read before?

    Args: `name`, one of PLACING, the operator `op` without its overload, and its arguments. Each
    place of the index counts, also one that is named twice.

    >>> put = torch.ops.aten.index_put_.default
    >>> given = torch.zeros(9, 5), [torch.tensor([7, 8])], torch.ones(1)
    >>> placed("aten.index_put_", put, given, {})
    (10, 0)
    """
    given = dict(zip((one[0] for one in schema_arguments(op)), args, strict=False)) | dict(kwargs)
    try:
        with private.unseen():
            n = _places(given)
    except Exception:  # tensors without values: looking must not end the user's run
        n = given["self"].numel()
    reads = name.removeprefix("aten.") in _ADDING or given.get("accumulate") or "reduce" in given
    return n, n if reads else 0


def _places(given: Mapping[str, object]) -> int:
    t = given["self"]
    if "indices" in given:  # as many as an index would choose
        byte = torch.zeros((), dtype=torch.uint8, device=t.device)
        chosen = torch.ops.aten.index.Tensor(byte.expand(t.shape), given["indices"])
        return chosen.numel()
    index = given.get("index")
    if index is not None and "source" not in given and ("src" in given or _is_scatter(given)):
        return index.numel()
    if isinstance(source := given.get("source"), torch.Tensor):
        return source.numel()
    if index is not None and "dim" in given:  # index_fill_
        return index.numel() * (t.numel() // max(t.shape[given["dim"]], 1) if t.dim() else 1)
    return t.numel()


def _is_scatter(given: Mapping[str, object]) -> bool:
    """Has the index as many dimensions as the tensor, with one value for all places?"""
    return "value" in given and given["index"].dim() == given["self"].dim() > 1
