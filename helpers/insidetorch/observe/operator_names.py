"""Which operators does this function of torch, or method of Tensor, have its name from?"""

from __future__ import annotations

import torch

from .private_dispatch import HigherOrder, Packet

# Functions that share the name of an operator and answer without it. Found with the profiler: no
# operator of that name runs (2.13).
_ANSWERED_AT_ONCE = frozenset(
    (
        *("as_tensor", "tensor", "requires_grad_", "retain_grad", "numel", "dim", "size", "stride"),
        *("storage_offset", "element_size", "get_device", "is_complex", "is_floating_point"),
        *("is_signed", "is_conj", "is_neg", "is_inference", "is_contiguous", "_is_zerotensor"),
    )
)
_UNLIKE = {"truediv": "div", "radd": "add", "rmul": "mul"}


def packet_of(fn: object) -> Packet:
    """The operators, one for each overload, that a function written in C++ calls.

    Raises TypeError for a function that is none of torch's or is written in Python, ValueError for
    one that calls no operator of its name.
    """
    name = getattr(fn, "__name__", type(fn).__name__)
    if isinstance(fn, HigherOrder):
        raise ValueError(
            f"The path of {name} was asked. It takes functions, and what counts are the operators "
            "inside them. Ask for one of these."
        )
    if isinstance(fn, torch.nn.Module):
        raise TypeError(
            f"The path of a {type(fn).__name__} was asked. A module is written in Python, and the "
            "dispatcher sees only the operators that it calls. Ask for one of them; "
            "print(insidetorch.count(lambda: module(x))) lists those that run, for your module and "
            "its input x."
        )
    found = operator_name_of(name)
    if hasattr(fn, "__code__"):
        same = f" The operator of that name is torch.ops.aten.{found}." if found else ""
        raise TypeError(
            f"The path of {name} was asked. It is written in Python, and the dispatcher sees only "
            "the operators that it calls. Ask for one of them; print(insidetorch.count(lambda: "
            f"{name}(…))) lists those that run.{same}"
        )
    if not _is_torchs(fn):
        raise TypeError(
            f"The path of {name} was asked. That is neither an operator nor a function of torch. "
            "Give one, such as torch.add, torch.Tensor.add or torch.ops.aten.add.Tensor."
        )
    if not found or name in _ANSWERED_AT_ONCE:
        raise ValueError(
            f"The path of {name} was asked. It calls no operator of its name. Ask for one that it "
            f"calls, if any; print(insidetorch.count(lambda: {name}(…))) lists those that run."
        )
    return getattr(torch.ops.aten, found)


def operator_name_of(name: str) -> str:
    """The name of torch's operator for a function or a special method; "" if there is none.

    >>> operator_name_of("__iadd__")
    'add_'
    """
    names = [name]
    if name.startswith("__") and name.endswith("__"):
        plain = name.strip("_")
        names += [_UNLIKE.get(plain, plain), f"{plain.removeprefix('i')}_"]
    for one in names:
        if isinstance(getattr(torch.ops.aten, one, None), Packet):
            return one
    return ""


def _is_torchs(fn: object) -> bool:
    """Is it a function or a method that torch makes from its operators?"""
    if not callable(fn) or isinstance(fn, type):
        return False
    holder = getattr(fn, "__objclass__", None) or type(getattr(fn, "__self__", None))
    module = getattr(fn, "__module__", None) or ""
    return module.partition(".")[0] == "torch" or issubclass(torch.Tensor, holder)
