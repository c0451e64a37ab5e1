"""Which way does this call take through the dispatcher?"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch.overrides import has_torch_function

from ..records.dispatch import AUTOGRAD, FALLTHROUGH, DispatchPath, KeyStep
from . import private_dispatch
from .calls import Call, entered, left, selected
from .dispatch_keys import BACK, FRONT, ends, holds, refusal, sentence
from .operators import dispatched_tensors, operator_of, tensor_keys
from .private_dispatch import Overload, Packet

_HANDING_BACK = ("contiguous", "conj", "to")


def path_of(op: object, *args: object, **kwargs: object) -> DispatchPath:
    """Which dispatch keys does this call try, in which order, and what stands at each of them?

    Args: `op`, an operator with its overload (torch.ops.aten.add.Tensor) or without, a function of
    torch or a method of Tensor; then the arguments of the call. The modes and transforms that are
    on count: ask inside of them. Nothing is run and nothing is changed.
    Returns a `DispatchPath`; a call for which the table has no kernel has a `refusal`. Whether a
    kernel takes the dtype is not asked: that is decided inside it. Raises TypeError for a function
    that is no operator and for arguments that it does not take, ValueError for an operator that is
    not dispatched.

    >>> a = torch.ones(2)
    >>> print(path_of(torch.add, a, a))
    aten.add.Tensor: AutogradCPU: autograd kernel → CPU: kernel
    >>> with torch.inference_mode():
    ...     print(path_of(torch.add, a, a))
    aten.add.Tensor: CPU: kernel

    Source: aten/src/ATen/core/dispatch and aten/src/ATen/functorch (2.13).
    """
    included, excluded = private_dispatch.thread_keys()
    overload, given = operator_of(op, args, kwargs)
    if overload.namespace != "aten":  # a trace writes the calls of others down on its own
        excluded = excluded | private_dispatch.key_set("Tracer")
    call = Call(overload, given, included, excluded, tuple(private_dispatch.transforms()))
    brought, table = tensor_keys(overload, given), private_dispatch.table(overload)
    tried = private_dispatch.in_order(call.keys)
    could = private_dispatch.in_order(brought | included)
    steps = tuple(_walk(call, table))
    return DispatchPath(
        operator=str(overload),
        argument_keys=private_dispatch.in_order(brought),
        included=private_dispatch.in_order(included),
        excluded=tuple(key for key in could if key not in tried),
        steps=steps,
        remark=_remark(op, overload, given),
        refusal=refusal(overload.name(), table, steps[-1]),
    )


def _walk(call: Call, table: Mapping[str, str]) -> list[KeyStep]:
    """The keys in the order in which they are tried, until one of them ends the call."""
    steps: list[KeyStep] = []
    outside, layer, keys = call, "", call.keys
    while True:
        key = next(iter(private_dispatch.in_order(keys)), "Undefined")
        kind = holds(table, key)
        over = ends(key, kind)
        steps.append(KeyStep(key, kind, sentence(key, kind), over, layer))
        if over:
            return steps
        if kind == FALLTHROUGH:
            keys = keys - private_dispatch.key_set(key)
        elif key == FRONT:
            call, layer = entered(outside), outside.layer
            keys = call.keys
        elif key == BACK:
            call = outside = left(outside)
            keys, layer = call.keys, ""
        elif key == "BackendSelect":
            keys = selected(call)
        elif kind == AUTOGRAD:  # it passes the call on below all of autograd
            keys = keys & private_dispatch.keys_after("AutogradOther")
        else:
            keys = keys - private_dispatch.key_set(key)


def _remark(op: object, overload: Overload, given: Mapping[str, object]) -> str:
    """What happens before the dispatcher; "" if nothing does."""
    tensors = [t for t in dispatched_tensors(overload, given) if isinstance(t, torch.Tensor)]
    if has_torch_function(tensors):
        return (
            "Before the dispatcher, the __torch_function__ of a mode or a subclass sees the call "
            "and may change it."
        )
    is_operator = isinstance(op, (Overload, Packet))
    if not is_operator and str(overload).split(".")[1] in _HANDING_BACK:
        return "The function hands its argument back, without any operator, where nothing is to do."
    return ""
