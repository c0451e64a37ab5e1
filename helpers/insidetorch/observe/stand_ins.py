"""Which tensors can stand in for the arguments of an operator, without a look at their values?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import torch

from . import private
from .dispatch import operands

MOST = 4096
_KEPT = 4

Given = Mapping[str, object]


def stand_ins(given: Given) -> dict[str, object] | None:
    """Tensors of the same kinds, with few elements: of the same sizes, or of smaller ones.

    Sizes that are equal stay so, and so does their order. None where that are too many elements,
    and where a tensor is of a subclass or belongs to a transform.
    """
    found = list(tensors(given))
    if not all(map(_is_plain, found)):
        return None
    sizes = {}
    if is_large(given):
        large = sorted({size for t in found for size in t.shape if size > _KEPT})
        sizes = {size: _KEPT + 1 + k for k, size in enumerate(large)}
    if sum(math.prod(sizes.get(n, n) for n in t.shape) for t in found) > MOST:
        return None

    def made(t: torch.Tensor) -> torch.Tensor:
        if not sizes:
            return _alike(t)
        fill = torch.ones if _is_float(t) else torch.zeros
        return fill([sizes.get(n, n) for n in t.shape], dtype=t.dtype, device=t.device)

    return mapped_all(given, made)


def is_large(given: Given) -> bool:
    """Do the arguments have more elements than a trial takes?"""
    return sum(t.numel() for t in tensors(given)) > MOST


def tensors(given: Given) -> Iterator[torch.Tensor]:
    """The tensors among the arguments, those in lists as well."""
    return operands(dict(given))


def mapped_all(given: Given, way: Callable[[torch.Tensor], torch.Tensor]) -> dict[str, object]:
    """The arguments with another tensor in place of each, and a generator of their own."""
    return {name: mapped(value, way) for name, value in given.items()}


def mapped(value: object, way: Callable[[torch.Tensor], torch.Tensor]) -> object:
    """One argument with another tensor in place of each."""
    if isinstance(value, (list, tuple)):
        return [mapped(item, way) for item in value]
    if isinstance(value, torch.Generator):
        return value.clone_state()
    return way(value) if isinstance(value, torch.Tensor) else value


def way_out(t: torch.Tensor) -> str:
    """The method that makes a plain tensor on the CPU of this one; "" for none.

    >>> way_out(torch.eye(2).to_sparse()), way_out(torch.eye(2))
    ('to_dense', '')
    """
    if t.is_meta:
        return ""
    if t.is_quantized:
        return "dequantize"
    if t.layout != torch.strided:
        return "to_dense"
    return "" if t.device.type == "cpu" else "cpu"


def converted(t: torch.Tensor) -> torch.Tensor:
    """A plain tensor on the CPU with the same values."""
    while way := way_out(t):
        t = getattr(t, way)()
    return t


def _alike(t: torch.Tensor) -> torch.Tensor:
    """One of the same kind; none of its memory is read, which may be gone.

    Integers are 0: as an index, a value may be what fails.
    """
    if t.is_mkldnn:
        return torch.zeros(t.shape, dtype=t.dtype).to_mkldnn()
    whole = t.layout == torch.strided and (t.is_quantized or _is_float(t))
    return torch.ones_like(t) if whole else torch.zeros_like(t)


def _is_float(t: torch.Tensor) -> bool:
    return t.is_floating_point() or t.is_complex()


def _is_plain(t: torch.Tensor) -> bool:
    if type(t) not in (torch.Tensor, torch.nn.Parameter):
        return False
    return not (private.is_functorch_wrapped(t) or private.is_functional(t))
