"""Facts about the tensors of a call that the record is made of."""

from __future__ import annotations

import torch

from .values import DEAD, LEAF, LIVE


def standing_of(t: torch.Tensor) -> int:
    """How does a tensor stand to autograd: DEAD, LIVE or LEAF?"""
    if not t.requires_grad:
        return DEAD
    try:
        return LEAF if t.is_leaf else LIVE
    except RuntimeError:  # a view from no_grad whose base was written since: torch refuses to say
        return DEAD


def overlapping(t: torch.Tensor) -> bool:
    """Do several elements of a tensor share one place in memory?

    >>> overlapping(torch.arange(4.0).unfold(0, 2, 1)), overlapping(torch.ones(3, 4).t())
    (True, False)
    """
    if t.layout != torch.strided or t.is_contiguous():
        return False
    extent = 1
    for stride, size in sorted(zip(t.stride(), t.shape, strict=True)):
        if size > 1:
            if stride < extent:
                return True
            extent = stride * (size - 1) + extent
    return False


def gather(args: tuple, kwargs: dict) -> tuple[list[torch.Tensor], list[object]]:
    """The tensors of a call, and its numbers and arrays."""
    tensors: list[torch.Tensor] = []
    numbers: list[object] = []
    gather_into(args, tensors, numbers)
    if kwargs:
        gather_into(kwargs, tensors, numbers)
    return tensors, numbers


def gather_into(given: object, tensors: list, numbers: list, depth: int = 0) -> None:
    for one in given.values() if type(given) is dict else given:
        if isinstance(one, torch.Tensor):
            tensors.append(one)
        elif type(one) is float:
            numbers.append(one)
        elif isinstance(one, (list, tuple, dict)):
            if depth < 4:
                gather_into(one, tensors, numbers, depth + 1)
        elif type(one).__module__ == "numpy":
            numbers.append(one)
