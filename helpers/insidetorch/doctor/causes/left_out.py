"""Which line left a parameter out of every optimizer?"""

from __future__ import annotations

from torch import nn

from ..calls import Event
from ..patient import Patient
from ..stacks import Spot
from ..values import Value
from .modules import construction, largest_owner, made_module


def left_out_by(patient: Patient, value: Value, made: list[Event]) -> Spot | None:
    """The line next to the gap; None where a parameter seems to be left out on purpose."""
    t = value.tensor
    if t is None:
        return value.made.spot if _made_in_each_step(patient, value) else None
    first = made[0]
    later = _thawed(patient, value, made) or _made_later(patient, value, made)
    if later is not None:
        return later
    collected = [
        e for e in patient.history.of("parameters")
        if e.at <= made[-1].at and e.stack and e.subject() is not None
        and any(p is t for p in e.subject().parameters(recurse=True))
        and not _is_in(patient, e.subject(), made)
    ]  # fmt: skip
    if collected:
        return collected[-1].stack[0]
    owner = largest_owner(patient, t)
    if owner is not None and not _reachable(patient, t):
        event = made_module(patient, owner)
        if event is not None:
            return construction(event, owner)
    if owner is None and value.made is not None and not _reachable(patient, t):
        return value.made.spot
    event = made_module(patient, owner) if owner is not None else None
    if event is not None and event.at > first.at:
        return construction(event, owner)
    if _chosen(patient, t) and not _split(patient, t):
        return None
    if first.stack:
        return first.stack[0]
    return value.readers[0].spot if value.readers else None


def _thawed(patient: Patient, value: Value, made: list[Event]) -> Spot | None:
    """The line that chose parameters for the optimizer, where this one was frozen still."""
    thaws = [
        e for e in patient.history.of("requires_grad")
        if e.subject is value and e.note["on"] and e.order > made[-1].order
    ]  # fmt: skip
    if not thaws:
        return None
    chosen = [
        e for e in patient.history.of("parameters")
        if e.order < made[-1].order and e.stack and e.subject() is not None
        and any(p is value.tensor for p in e.subject().parameters())
        and _is_in(patient, e.subject(), made)
    ]  # fmt: skip
    where = (chosen or thaws)[-1]
    return where.stack[0] if where.stack else None


def _made_later(patient: Patient, value: Value, made: list[Event]) -> Spot | None:
    """The line that made the layer of a parameter when all optimizers were there already."""
    event = next((e for e in patient.history.of("register") if e.subject is value), None)
    if event is None or event.order < made[-1].order:
        return None
    owner = largest_owner(patient, value.tensor, after=made[-1].order)
    event = made_module(patient, owner) if owner is not None else None
    return construction(event, owner) if event is not None else None


def _made_in_each_step(patient: Patient, value: Value) -> bool:
    """Is a parameter made anew by one line for each pass, and gone afterwards?"""
    passes = [one for one in patient.history.losses() if one.accumulate]
    if value.made is None or sum(value in one.leaves for one in passes) != 1:
        return False
    made = [c for c in patient.history.calls if c.name == "Parameter" and c.spot == value.made.spot]
    return len(made) > 1 and any(made[0].number <= one.at < made[-1].number for one in passes)


def _is_in(patient: Patient, module: nn.Module, made: list[Event]) -> bool:
    """Is a part of this module's parameters in an optimizer: was it taken apart on purpose?"""
    held = {id(v.tensor) for e in made for v in e.note["held"]}
    return any(id(p) in held for p in module.parameters())


def _reachable(patient: Patient, t) -> bool:
    """Does the `.parameters()` of a model find it?"""
    return any(any(p is t for p in root.parameters()) for root in patient.names.roots)


def _split(patient: Patient, t) -> bool:
    """Does an optimizer hold another parameter of the very same layer?"""
    held = {id(v.tensor) for v in patient.wanted.held}
    for root in patient.names.roots:
        for module in root.modules():
            own = list(module.parameters(recurse=False))
            if any(p is t for p in own):
                return any(id(p) in held for p in own)
    return False


def _chosen(patient: Patient, t) -> bool:
    """Does an optimizer hold another part of the same model, so that this one was left out?"""
    for root in patient.names.roots:
        parameters = list(root.parameters())
        if any(p is t for p in parameters):
            held = {id(v.tensor) for v in patient.wanted.held}
            if any(id(p) in held for p in parameters):
                return True
    return False
