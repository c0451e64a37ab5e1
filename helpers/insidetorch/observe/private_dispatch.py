"""The private names of torch that concern its dispatcher. See `private`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch.utils import _device

NAMES = (
    "torch._C.DispatchKey",
    "torch._C.DispatchKeySet",
    "torch._C._dispatch_keys",
    "torch._C._dispatch_key_name",
    "torch._C._dispatch_key_for_device",
    "torch._C._dispatch_key_parse",
    "torch._C._dispatch_keyset_full_after",
    "torch._C._dispatch_tls_local_include_set",
    "torch._C._dispatch_tls_local_exclude_set",
    "torch._C._dispatch_dump_table",
    "torch._C._dispatch_find_schema_or_throw",
    "torch._C._dispatch_has_kernel_for_dispatch_key",
    "torch.library._impls",
    "torch._C._jit_resolve_packet",
    "torch._C._functorch.get_interpreter_stack",
    "torch._C._functorch.get_unwrapped",
    "torch._C._functorch.maybe_get_level",
    "torch._C._get_privateuse1_backend_name",
    "torch.Tensor._make_wrapper_subclass",
    "torch._ops.HigherOrderOperator",
    "torch._ops.OpOverload",
    "torch._ops.OpOverloadPacket",
    "torch.overrides._get_current_function_mode_stack",
    "torch.utils._device.DeviceContext",
)

KeySet = torch._C.DispatchKeySet
HigherOrder = torch._ops.HigherOrderOperator
Overload = torch._ops.OpOverload
Packet = torch._ops.OpOverloadPacket

_TORCH = str(Path(torch.__file__).parent)
_COMPILED = (".cpp", ".h", ".cu", ".mm")
_PLACE = re.compile(r"registered at (.*):\d+ \[")
_ENTRY = re.compile(r"(\w+): (fallthrough )?registered at .* \[(.*)\]$")


def key_set(*names: str) -> KeySet:
    """The set of these keys."""
    keys = KeySet(torch._C.DispatchKey.Undefined)
    for name in names:
        keys = keys.add(torch._C._dispatch_key_parse(name))
    return keys


def keys_after(name: str) -> KeySet:
    """All keys that are tried after this one."""
    return torch._C._dispatch_keyset_full_after(torch._C._dispatch_key_parse(name))


def keys_of(t: torch.Tensor) -> KeySet:
    """The keys that a tensor brings."""
    return torch._C._dispatch_keys(t)


def thread_keys() -> tuple[KeySet, KeySet]:
    """The keys that this thread adds to every call now, and those that it leaves out."""
    return (
        torch._C._dispatch_tls_local_include_set(),
        torch._C._dispatch_tls_local_exclude_set(),
    )


def in_order(keys: KeySet) -> tuple[str, ...]:
    """The names of the keys of a set, the one that is tried first in front.

    Several backends in one set count once, as the one that goes before the others.
    """
    found = []
    while (key := keys.highestPriorityTypeId()) != torch._C.DispatchKey.Undefined:
        found.append(torch._C._dispatch_key_name(key))
        rest = keys.remove(key)
        if rest.raw_repr() == keys.raw_repr():
            break
        keys = rest
    return tuple(found)


def device_key(kind: str) -> str:
    """The key of plain tensors on a kind of device."""
    return torch._C._dispatch_key_for_device(kind)


def table(overload: Overload) -> dict[str, str]:
    """What the dispatcher has found for each key of an operator, in torch's words."""
    found = {}
    for line in torch._C._dispatch_dump_table(overload.name()).splitlines():
        if entry := _ENTRY.match(line):
            found[entry[1]] = "fallthrough" if entry[2] else entry[3]
    return found


def is_torchs(overload: Overload) -> bool:
    """Are all kernels of an operator torch's own, and none registered by the user?"""
    table = torch._C._dispatch_dump_table(overload.name())
    return overload.namespace == "aten" and _is_compiled(table)


def _is_compiled(table: str) -> bool:
    places = _PLACE.findall(table)
    return all(place.endswith(_COMPILED) or place.startswith(_TORCH) for place in places)


def calls_others(overload: Overload) -> bool:
    """Has it a kernel that calls other operators, which somebody may have replaced?"""
    return any(
        torch._C._dispatch_has_kernel_for_dispatch_key(overload.name(), key)
        for key in ("CompositeImplicitAutograd", "CompositeExplicitAutograd")
    )


def is_replaced() -> bool:
    """Has the user registered a kernel of an own for some operator of torch's?"""
    names = {entry.rpartition("/")[0] for entry in torch.library._impls if "aten/" in entry[:5]}
    tables = (torch._C._dispatch_dump_table(name.replace("/", "::")) for name in names)
    return not all(map(_is_compiled, tables))


def is_dispatched(overload: Overload) -> bool:
    """Does the dispatcher know the operator? Some run in TorchScript's interpreter only."""
    schema = overload._schema
    try:
        torch._C._dispatch_find_schema_or_throw(schema.name, schema.overload_name)
    except RuntimeError:
        return False
    return True


def packet_name(packet: Packet) -> str:
    """The name of a packet as the dispatcher writes it, such as aten::add."""
    return packet._qualified_op_name


def resolve(packet: Packet, args: Sequence[object], kwargs: Mapping[str, object]) -> Overload:
    """Which overload do these arguments choose? Raises RuntimeError where none takes them.

    A tensor of one element is tried as a number, which reads it.
    """
    name = torch._C._jit_resolve_packet(packet._qualified_op_name, *args, **kwargs)
    return getattr(packet, name)


def schema_arguments(overload: Overload) -> list[tuple[str, str, bool, bool]]:
    """Each argument of an operator: its name, its type, by keyword only, may be left out."""
    return [
        (one.name, str(one.type), one.kwarg_only, one.has_default_value())
        for one in overload._schema.arguments
    ]


def custom_overload(fn: object) -> Overload | None:
    """The operator behind what `torch.library.custom_op` returns; None for anything else."""
    return getattr(fn, "_opoverload", None)


def transforms() -> list[tuple[str, int]]:
    """The transforms of torch.func that run now, the innermost last, with their levels."""
    stack = torch._C._functorch.get_interpreter_stack()
    return [(one.key().name.lower(), one.level()) for one in stack or ()]


def unwrapped(t: torch.Tensor, level: int) -> torch.Tensor:
    """What a transform's stand-in stands for; `t` itself if it is not of this level."""
    if torch._C._functorch.maybe_get_level(t) != level:
        return t
    return torch._C._functorch.get_unwrapped(t)


def default_device() -> torch.device | None:
    """The device that torch's own functions make tensors on where a mode says so; else None."""
    for mode in reversed(torch.overrides._get_current_function_mode_stack()):
        if isinstance(mode, _device.DeviceContext):
            return mode.device
    return None


def backend_name(key: str) -> str:
    """What torch's errors call a backend: one of the user's own has a name."""
    name = torch._C._get_privateuse1_backend_name()
    return name if key == "PrivateUse1" and name != "privateuseone" else key


def wrapper(cls: type, sizes: Sequence[int]) -> torch.Tensor:
    """A tensor of a subclass that answers operators itself, without memory of its own."""
    return torch.Tensor._make_wrapper_subclass(cls, sizes)
