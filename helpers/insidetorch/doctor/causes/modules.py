"""Where was a module made?"""

from __future__ import annotations

from torch import nn

from ..calls import Call, Event
from ..patient import Patient
from ..stacks import Spot


def made_module(patient: Patient, module: nn.Module) -> Event | None:
    """The event of a module's construction."""
    for event in patient.history.of("module"):
        if event.note["id"] == id(module) and event.subject() is module:
            return event
    return None


def construction(event: Event, module: nn.Module) -> Spot | None:
    """The line that constructs a module: outside of its own `__init__`."""
    own = {f"{kind.__qualname__}.__init__" for kind in type(module).__mro__}
    for spot in event.stack:
        if getattr(spot.code, "co_qualname", spot.code.co_name) not in own:
            return spot
    return event.stack[0] if event.stack else None


def of_module(patient: Patient, call: Call) -> str:
    """Which of torch's own modules ran a call: " of net.2 (Sigmoid)"; else nothing."""
    module = call.module() if call.module is not None else None
    if module is None or not type(module).__module__.startswith("torch."):
        return ""
    return f" of {patient.names.of_module(module)}"


def largest_owner(patient: Patient, t, *, after: int = 0) -> nn.Module | None:
    """The largest module that has it as a parameter, of those made `after` a place in the order."""
    found, size = None, 0
    for event in patient.history.of("module"):
        module = event.subject()
        if module is None or event.order < after:
            continue
        parameters = list(module.parameters())
        if len(parameters) > size and any(p is t for p in parameters):
            found, size = module, len(parameters)
    return found
