"""What does an operator lack that has failed: a kernel, a formula, or other arguments?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import torch

from ..records import Argument, DispatchPath, Place, Trace
from ..records.dispatch import COMPOSITE, DEFAULT, KERNEL
from . import private, private_dispatch
from .dispatch import operands
from .dispatch_keys import holds, is_backend
from .private_dispatch import KeySet, Overload
from .stand_ins import Given, tensors, way_out
from .trials import Trials

_MANY = 10_000
_NO_KERNEL = re.compile(r"Could not run '(\w+)::(\w+)\.?(\w*)' with arguments from the '(\w+)'")
_NO_FAKE = re.compile(r"There was no fake impl registered for <CustomOpDef\((\w+)::(\w+)\)>")
_NO_FORMULA = re.compile(r"Trying to backward through (\w+\.\w+)\.(\w+) but no autograd formula")
_WRONG_NUMBER = re.compile(
    r"function GeneratedBackwardFor_(\w+)Backward returned an incorrect number of gradients "
    r"\(expected (\d+), got (\d+)\)"
)


def arguments(given: Given) -> Iterator[Argument]:
    """The tensors among the arguments."""
    for name, t in _named(given):
        layout = "quantised" if t.is_quantized else str(t.layout).removeprefix("torch.")
        sizes = None if t.is_nested else tuple(t.shape)
        yield Argument(name, str(t.dtype).removeprefix("torch."), sizes, t.device.type, layout)


def lacking_kernel(
    error: Exception, overload: Overload, given: Given, path: DispatchPath | None
) -> dict[str, object]:
    """Which key has no kernel, as fields of a `Failure`; nothing if the error is another one."""
    found = _NO_KERNEL.search(str(error))
    if found is None and (path is None or not path.refusal or not path.steps):
        return {}
    lacking, key = overload, path.steps[-1].key if path and path.steps else ""
    if found is not None:  # by the kernel of the operator, which calls this one
        space, name, inner, backend = found.groups()
        lacking = getattr(getattr(getattr(torch.ops, space), name), inner or "default")
        brought = private_dispatch.in_order(_keys(tensors(given)))
        known = (*brought, "PrivateUse1")  # which a factory is asked for, and no tensor brings
        key = next((k for k in known if private_dispatch.backend_name(k) == backend), backend)
    table = private_dispatch.table(lacking)
    name = str(lacking).split(".")[1]
    has_namesake = key.startswith("Quantized") and hasattr(torch.ops.quantized, name)
    return {
        "key": key,
        "inner": "" if lacking is overload else str(lacking),
        "brought": tuple(n for n, t in _named(given) if key in _names(t)),
        "backends": tuple(k for k in table if _runs(k, holds(table, k))),
        "namesake": f"torch.ops.quantized.{name}" if has_namesake else "",
    }


def lacking_fake(error: Exception) -> dict[str, object]:
    """Which custom operator does not know its result's sizes, as a field of a `Failure`."""
    found = _NO_FAKE.search(str(error))
    return {"without_fake": f"{found[1]}.{found[2]}"} if found else {}


def would_run(
    error: Exception, overload: Overload, given: Given, *, lacks_kernel: bool
) -> dict[str, object]:
    """What other arguments make it run, as fields of a `Failure`."""
    trials = Trials(overload, given, error)
    with private.unseen():
        found = list(tensors(given))
        several = len({t.device for t in found if t.dim() or t.is_meta}) > 1
        ways = tuple(dict.fromkeys(way for t in found if (way := way_out(t)) and _goes(t, way)))
    changes = [] if lacks_kernel else trials.devices() if several else trials.dtypes()
    if ways and not changes:
        changes = trials.conversion()
    return {
        "convert": ways if lacks_kernel or changes else (),
        "changes": tuple(changes),
        "stand_ins": trials.stand_ins,
    }


def _goes(t: torch.Tensor, way: str) -> bool:
    """Can it be converted so? Tried where it is small."""
    try:
        return t.numel() > _MANY or getattr(t, way)() is not None
    except Exception:
        return False


def lacking_formula(error: str, trace: Trace) -> dict[str, object]:
    """What a custom operator's backward lacks, as fields of a `Failure`."""
    found = _NO_FORMULA.search(error)
    if found and _called(trace, found[1]):  # else it is an error of the code's own
        return {"backward_of": found[1], "called": _called(trace, found[1])}
    if found := _WRONG_NUMBER.search(error):
        for operator in dict.fromkeys(one.operator for one in trace.found):
            if overload := _made_of(operator, found[1]):
                needed = len(private_dispatch.schema_arguments(overload))
                return {
                    "backward_of": operator,
                    "called": _called(trace, operator),
                    "needed": needed,
                    # torch's two numbers are one too high, so only their difference is used
                    "returned": needed - int(found[2]) + int(found[3]),
                }
    return {}


def _made_of(operator: str, written: str) -> Overload | None:
    """The overload of an operator that an error writes with underscores for points."""
    space, name = operator.split(".")
    packet = getattr(getattr(torch.ops, space, None), name, None)
    for overload in packet.overloads() if packet else ():
        if written == f"{space}_{name}_{overload}":
            return getattr(packet, overload)
    return None


def _called(trace: Trace, operator: str) -> Place | None:
    return next((one.place for one in trace.found if one.operator == operator), None)


def _named(given: Given) -> Iterator[tuple[str, torch.Tensor]]:
    for name, value in given.items():
        for k, t in enumerate(operands(value)):
            yield (name if isinstance(value, torch.Tensor) else f"{name}[{k}]"), t


def _names(t: torch.Tensor) -> tuple[str, ...]:
    return private_dispatch.in_order(private_dispatch.keys_of(t))


def _keys(tensors: Iterable[torch.Tensor]) -> KeySet:
    keys = private_dispatch.key_set()
    for t in tensors:
        keys = keys | private_dispatch.keys_of(t)
    return keys


def _runs(key: str, kind: str) -> bool:
    """Is there a kernel for a backend of this machine, or for tensors without values?

    One for all backends is counted for plain tensors only, and for no device made in Python: often
    it calls what is written for no others.
    """
    devices = ["CPU"]
    if torch.accelerator.is_available():
        devices.append(private_dispatch.device_key(torch.accelerator.current_accelerator().type))
    if kind == KERNEL:
        return key == "Meta" or (is_backend(key) and key.endswith(tuple(devices)))
    return kind in (DEFAULT, COMPOSITE) and key in (*devices, "Meta") and key != "PrivateUse1"
