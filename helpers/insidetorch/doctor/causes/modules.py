"""Where was a module made?"""

from __future__ import annotations

from torch import nn

from ..calls import Event
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
