"""The private names of torch that the gradient doctor needs. See `private`."""

from __future__ import annotations

import re
from types import CodeType

import torch

NAMES = (
    "torch._foreach_norm",
    "torch._library.custom_ops.OPDEFS",
    "torch.autograd._engine_run_backward",
)


def version(t: torch.Tensor) -> int:
    """How often a tensor was written; -1 for an inference tensor, which does not count it."""
    try:
        return t._version
    except RuntimeError:
        return -1


def base(t: torch.Tensor) -> torch.Tensor | None:
    """The tensor that a view looks into; None for a tensor that is no view."""
    return t._base


def largest(tensors: list[torch.Tensor]) -> list[float]:
    """The largest absolute value in each tensor; NaN and infinity stay what they are."""
    if not tensors:
        return []
    try:
        norms = torch._foreach_norm(tensors, float("inf"))
        if len({(n.dtype, n.device) for n in norms}) == 1:
            return torch.stack(list(norms)).tolist()
        return [n.item() for n in norms]
    except RuntimeError:  # a subclass or a dtype without this kernel
        return [_largest(t) for t in tensors]


def _largest(t: torch.Tensor) -> float:
    try:
        return t.abs().max().item()
    except (RuntimeError, NotImplementedError):
        return 1.0


def softmax_is_nan(node: object) -> bool:
    """Has a node of softmax, while it runs, a result with NaN in it?"""
    return bool(node._saved_result.isnan().any())


def overshoot(node: object) -> float:
    """How far outside of its limits are the values that a clamp cuts off, in units of the limits?

    Asked of a node of clamp while it runs. Infinity where it cannot be told.
    """
    low, high = getattr(node, "_saved_min", None), getattr(node, "_saved_max", None)
    limits = [v for v in (low, high) if isinstance(v, (int, float))]
    try:
        x = node._saved_self
        if not limits or x.numel() == 0:
            return float("inf")
        return (x - x.clamp(low, high)).abs().max().item() / max(1.0, *map(abs, limits))
    except (RuntimeError, AttributeError):
        return float("inf")


def custom_op_code(text: str) -> CodeType | None:
    """The function behind a custom operator, such as "mine.scale"; None where there is none."""
    name = re.sub(r"^(\w+)\.(\w+).*", r"\1::\2", text)
    found = torch._library.custom_ops.OPDEFS.get(name)
    return getattr(getattr(found, "_init_fn", None), "__code__", None)
