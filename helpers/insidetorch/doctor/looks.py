"""Facts about a call that its tensors do not tell."""

from __future__ import annotations

from collections.abc import Callable

import numpy
import torch

from ..observe import private_dispatch

_MOST_INDICES = 100_000


def _index(args: tuple, kwargs: dict) -> dict:
    index = args[1] if isinstance(args[1], tuple) else (args[1],)
    advanced = (torch.Tensor, list, numpy.ndarray)
    tensors = [one for one in index if isinstance(one, torch.Tensor)]
    return {
        "advanced": any(isinstance(one, advanced) for one in index),
        "new_axis": any(one is None for one in index),
        "index": tuple(map(id, tensors)),
    }


def _write(args: tuple, kwargs: dict) -> dict:
    found = _index(args, kwargs)
    index = args[1] if isinstance(args[1], tuple) else (args[1],)
    tensors = [one for one in index if isinstance(one, torch.Tensor)]
    if private_dispatch.transforms():
        return found
    if len(tensors) == 1 and tensors[0].dtype in (torch.int64, torch.int32):
        flat = tensors[0].flatten()
        if 1 < flat.numel() <= _MOST_INDICES and not flat.is_meta:
            found["repeats"] = flat.unique().numel() < flat.numel()
    return found


def _loss(args: tuple, kwargs: dict) -> dict:
    """How many elements does a loss average over?"""
    reduction = kwargs.get("reduction", "mean")
    target = args[1] if len(args) > 1 else kwargs.get("target")
    ignored = kwargs.get("ignore_index", -100)
    if not isinstance(target, torch.Tensor) or private_dispatch.transforms():
        return {"reduction": reduction}
    if target.is_floating_point() or target.numel() > 1_000_000 or target.is_meta:
        return {"reduction": reduction}
    return {"reduction": reduction, "counted": int((target != ignored).sum())}


def _several(args: tuple, kwargs: dict) -> dict:
    """Are the tensors of a stack different objects that look into one place?"""
    given = args[0] if args else kwargs.get("tensors", ())
    tensors = [t for t in given if isinstance(t, torch.Tensor)]
    if len({id(t) for t in tensors}) > 1 and len(tensors) <= _MOST_INDICES:
        return {"same": len({(t.data_ptr(), t.shape, t.stride()) for t in tensors}) == 1}
    return {}


def _divisor(args: tuple, kwargs: dict) -> dict:
    by = args[1] if len(args) > 1 else kwargs.get("other")
    return {"by": float(by)} if type(by) in (int, float) else {}


def _factor(args: tuple, kwargs: dict) -> dict:
    by = args[1] if len(args) > 1 else kwargs.get("other")
    return {"by": 1 / by} if type(by) in (int, float) and by else {}


def _batch_norm(args: tuple, kwargs: dict) -> dict:
    return {"training": bool(kwargs.get("training", args[5] if len(args) > 5 else False))}


LOOKED_AT: dict[str, Callable[[tuple, dict], dict]] = {
    "__getitem__": _index,
    "__setitem__": _write,
    "cross_entropy": _loss,
    "nll_loss": _loss,
    "kl_div": _loss,
    "binary_cross_entropy_with_logits": _loss,
    "binary_cross_entropy": _loss,
    "huber_loss": _loss,
    "smooth_l1_loss": _loss,
    "l1_loss": _loss,
    "mse_loss": _loss,
    "div": _divisor,
    "__truediv__": _divisor,
    "true_divide": _divisor,
    "mul": _factor,
    "__mul__": _factor,
    "batch_norm": _batch_norm,
    "cat": _several,
    "stack": _several,
}
