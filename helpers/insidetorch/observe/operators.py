"""Which operator do this function and these arguments call, and which tensors does it get?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from numbers import Number

import torch

from . import private, private_dispatch
from .operator_names import packet_of
from .private_dispatch import KeySet, Overload, Packet

_SPELLINGS = {"input": "self", "axis": "dim", "keepdims": "keepdim"}
_OF_PYTHON = ("requires_grad",)  # read by torch's functions before the operator is called


def operator_of(
    fn: object, args: Sequence[object], kwargs: Mapping[str, object]
) -> tuple[Overload, dict[str, object]]:
    """The overload that a call reaches, and its arguments by name.

    Args: `fn`, an operator, with its overload or without, a function of torch or a method of
    Tensor. Nothing is run. Raises TypeError for anything else, and where no overload takes the
    arguments; ValueError where the dispatcher has no part in the call.
    """
    fn = private_dispatch.custom_overload(fn) or fn
    device = None
    if isinstance(fn, Overload):
        packet, overload = fn.overloadpacket, fn
        _resolved(packet, args, kwargs)
    else:
        packet = fn if isinstance(fn, Packet) else packet_of(fn)
        if packet is not fn:
            args, kwargs = _as_operator(fn, packet, args, kwargs)
            device = private_dispatch.default_device()
        overload = _resolved(packet, args, kwargs)
    if not private_dispatch.is_dispatched(overload):
        raise ValueError(
            f"The path of {overload} was asked. It belongs to TorchScript and runs without the "
            "dispatcher. Ask for an operator that takes a tensor."
        )
    given = _bound(overload, args, kwargs)
    if device is not None and given.get("device") is None:
        given["device"] = device
    return overload, given


def tensor_keys(overload: Overload, given: Mapping[str, object]) -> KeySet:
    """The keys that the arguments of a call bring together."""
    keys = private_dispatch.key_set()
    for t in dispatched_tensors(overload, given):
        keys = keys | (private_dispatch.keys_of(t) if isinstance(t, torch.Tensor) else _number())
    return keys


def dispatched_tensors(
    overload: Overload, given: Mapping[str, object]
) -> Iterator[torch.Tensor | Number]:
    """The arguments that the dispatcher looks at; a number stands for the tensor made of it."""
    for name, kind, _, _ in private_dispatch.schema_arguments(overload):
        if "Tensor" in kind and name in given:
            value = given[name]
            for item in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(item, (torch.Tensor, Number)):
                    yield item


def _number() -> KeySet:
    """The keys of the tensor that torch makes of a number."""
    if torch.is_inference_mode_enabled():
        return private_dispatch.key_set("CPU", "AutocastCPU")
    return private_dispatch.key_set("CPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU")


def _as_operator(
    fn: object, packet: Packet, args: Sequence[object], kwargs: Mapping[str, object]
) -> tuple[tuple[object, ...], dict[str, object]]:
    """Arguments as the operator takes them: `self` in front, sizes in one list."""
    bound = getattr(fn, "__self__", None)
    args = (bound, *args) if isinstance(bound, torch.Tensor) else tuple(args)
    kwargs = {_SPELLINGS.get(k, k): v for k, v in kwargs.items() if k not in _OF_PYTHON}
    if getattr(fn, "__name__", "") == "to":
        args, kwargs = _as_to(args, kwargs)
    start = len(args)
    while start and isinstance(args[start - 1], int) and not isinstance(args[start - 1], bool):
        start -= 1
    packed = (*args[:start], list(args[start:]))
    if start < len(args) and not _takes(packet, args, kwargs) and _takes(packet, packed, kwargs):
        return packed, kwargs
    return args, kwargs


def _as_to(
    args: tuple[object, ...], kwargs: dict[str, object]
) -> tuple[tuple[object, ...], dict[str, object]]:
    """`x.to(…)` as torch hands it on: a device alone by name, a tensor as its device and dtype.

    Source: tools/autograd/templates/python_variable_methods.cpp, THPVariable_to (2.13).
    """
    first, *rest = args[1:] or (None,)
    if isinstance(first, torch.Tensor):
        return (args[0], first.device, first.dtype, *rest), kwargs
    has_dtype = bool(rest and rest[0]) or kwargs.get("dtype") is not None
    if isinstance(first, (str, torch.device)) and not has_dtype:
        names = ("device", "dtype", "non_blocking", "copy")
        return args[:1], dict(zip(names, args[1:], strict=False)) | kwargs
    return args, kwargs


def _takes(packet: Packet, args: Sequence[object], kwargs: Mapping[str, object]) -> bool:
    """Does some overload take these? For torch's functions, a number is no dtype."""
    try:
        overload = _chosen(packet, args, kwargs)
    except RuntimeError:
        return False
    return not isinstance(_bound(overload, args, kwargs).get("dtype"), int)


def _resolved(packet: Packet, args: Sequence[object], kwargs: Mapping[str, object]) -> Overload:
    """The overload that torch chooses. Raises TypeError where there is none."""
    try:
        return _chosen(packet, args, kwargs)
    except RuntimeError:
        given = ", ".join([*map(_kind, args), *(f"{k}={_kind(v)}" for k, v in kwargs.items())])
        overloads = [getattr(packet, name) for name in packet.overloads()]
        names = list(map(str, filter(private_dispatch.is_dispatched, overloads)))
        raise TypeError(
            f"The path of {private_dispatch.packet_name(packet)}({given}) was asked. None of its "
            f"overloads takes these arguments: {', '.join(names)}. Give what one of them takes; "
            f"print(torch.ops.{names[0]}._schema) shows it for the first of them."
        ) from None


def _chosen(packet: Packet, args: Sequence[object], kwargs: Mapping[str, object]) -> Overload:
    """The overload that torch chooses, by new tensors: it may read them, or make some."""
    with private.unseen():
        stand_ins = {name: _stand_in(value) for name, value in kwargs.items()}
        return private_dispatch.resolve(packet, [_stand_in(value) for value in args], stand_ins)


def _stand_in(value: object) -> object:
    """A plain tensor in place of any other, one that is a number only where that is one."""
    if isinstance(value, (list, tuple)):
        return [_stand_in(item) for item in value]
    if not isinstance(value, torch.Tensor):
        return value
    try:
        return torch.zeros(() if value.numel() == 1 else 2, dtype=value.dtype)
    except Exception:  # a quantised dtype, or a subclass that does not tell its sizes
        return torch.zeros(2)


def _bound(
    overload: Overload, args: Sequence[object], kwargs: Mapping[str, object]
) -> dict[str, object]:
    """Arguments by name. Raises TypeError for too many, unknown and missing ones."""
    schema = private_dispatch.schema_arguments(overload)
    positional = [name for name, _, by_keyword, _ in schema if not by_keyword]
    given = dict(zip(positional, args, strict=False)) | dict(kwargs)
    names = [name for name, *_ in schema]
    wrong = [name for name in given if name not in names]
    absent = [name for name, _, _, optional in schema if not optional and name not in given]
    if wrong or absent or len(args) > len(positional):
        raise TypeError(
            f"The path of {overload} was asked with {', '.join(given) or 'no arguments'}. "
            f"It takes {', '.join(names) or 'none'}. Give these arguments; "
            f"print(torch.ops.{overload}._schema) shows their types."
        )
    return given


def _kind(value: object) -> str:
    return type(value).__name__
