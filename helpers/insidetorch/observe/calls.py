"""Which dispatch keys does a call try, and which once it is called again on its way?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch

from . import private_dispatch
from .dispatch_keys import BACK, FRONT
from .operators import tensor_keys
from .private_dispatch import KeySet, Overload

# What a transform of torch.func lets through of all the keys between its two ends. Autocast's keys
# and the one that looks after random numbers pass in any of them.
_INSIDE = {
    "vmap": ("FuncTorchBatched", "BatchedNestedTensor"),
    "grad": ("AutogradCPU", "AutogradOther", "AutogradNestedTensor", "ADInplaceOrView"),
    "functionalize": ("Functionalize",),
}
_INSIDE["jvp"] = _INSIDE["grad"]
_ANYWHERE = ("FuncTorchVmapMode",)
# What it adds, whatever the arguments are.
_ADDED = {"vmap": ("FuncTorchVmapMode",), "functionalize": ("Functionalize",)}


@dataclass(frozen=True)
class Call:
    """A call of an operator: its arguments by name, and what this thread does to its keys."""

    overload: Overload
    given: Mapping[str, object]
    included: KeySet
    excluded: KeySet
    layers: tuple[tuple[str, int], ...] = ()

    @property
    def keys(self) -> KeySet:
        """The keys that are tried: of the arguments and the thread, less those left out."""
        brought = tensor_keys(self.overload, self.given)
        return (brought | self.included) - self.excluded

    @property
    def layer(self) -> str:
        """The innermost transform of torch.func, "" for none."""
        return self.layers[-1][0] if self.layers else ""


def entered(call: Call) -> Call:
    """The call made again inside its innermost transform.

    Source: aten/src/ATen/functorch/Interpreter.cpp, setup_dispatch_key_tls (2.13).
    """
    between = private_dispatch.keys_after(FRONT) - private_dispatch.keys_after(BACK)
    autocast = [k for k in private_dispatch.in_order(between) if k.startswith("Autocast")]
    passing = private_dispatch.key_set(BACK, *_INSIDE[call.layer], *_ANYWHERE, *autocast)
    closed = (between | private_dispatch.key_set(FRONT)) - passing
    added = private_dispatch.key_set(*_ADDED.get(call.layer, ()))
    opened = private_dispatch.key_set(*_INSIDE[call.layer])
    return replace(call, included=call.included | added, excluded=(call.excluded | closed) - opened)


def left(call: Call) -> Call:
    """The call made again outside of its innermost transform, on what its tensors stand for."""
    *outer, (_, level) = call.layers
    given = {name: _unwrapped(value, level) for name, value in call.given.items()}
    included = call.included
    if not outer:
        included = included - private_dispatch.key_set(FRONT, BACK)
    return replace(call, given=given, included=included, layers=tuple(outer))


def selected(call: Call) -> KeySet:
    """The keys that are tried after BackendSelect has looked at device, layout and dtype."""
    device, layout = call.given.get("device"), call.given.get("layout")
    key = private_dispatch.device_key(torch.device(device or "cpu").type)
    if layout not in (None, torch.strided):
        key = f"Sparse{'' if layout == torch.sparse_coo else 'Csr'}{key}"
    return (call.keys | private_dispatch.key_set(key)) & private_dispatch.keys_after(
        "BackendSelect"
    )


def _unwrapped(value: object, level: int) -> object:
    if isinstance(value, (list, tuple)):
        return [_unwrapped(item, level) for item in value]
    return private_dispatch.unwrapped(value, level) if isinstance(value, torch.Tensor) else value
