"""What is trained and what the optimizer holds are two things."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn

from ..calls import Call, Event
from ..finding import PROBLEM, Finding
from ..passes import FINE
from ..patient import Patient
from ..stacks import Spot
from ..values import Value
from .common import place
from .modules import construction, largest_owner, made_module


def find(patient: Patient) -> Iterator[Finding]:
    """Parameters that get a gradient and are in no optimizer."""
    made = patient.history.of("optimizer")
    steps = patient.history.of("step")
    if not made or not steps:
        return
    held = patient.wanted.held
    outside = [v for v in _trained(patient) if v not in held]
    if not outside:
        return
    names = patient.names.listed(outside)
    replaced = _replaced(patient, outside, made)
    if replaced is not None:
        yield Finding(
            "stale_optimizer", PROBLEM, place(replaced), names,
            f"{names} takes the place of a parameter here that the optimizer holds: the optimizer "
            "goes on with the old one, and no step changes the new one.",
            "Make a new optimizer after it, or write into the old parameter under no_grad.",
            weight=72,
        )  # fmt: skip
        return
    for event in made:
        if _holds_strangers(patient, event):
            yield Finding(
                "stale_optimizer", PROBLEM, place(event.stack[0]) if event.stack else None, names,
                f"The optimizer that is made here holds parameters that the model no longer uses; "
                f"{names} came later, and no step changes them.",
                "Make the optimizer after the model has its final parameters.",
                weight=72,
            )  # fmt: skip
            return
    groups: dict[Spot | None, list[Value]] = {}
    for value in outside:
        spot = _culprit(patient, value, made)
        if spot is not None:
            groups.setdefault(spot, []).append(value)
    for spot, values in groups.items():
        names = patient.names.listed(values)
        copied = _copies_of_held(patient, values)
        if copied:
            yield Finding(
                "rewrap", PROBLEM, place(copied[0].spot), names,
                "A copy is made here of parameters that the optimizer holds. The loss is computed "
                "with the copy, so its gradient stays there.",
                "Compute with the parameters themselves: torch.func.functional_call takes changed "
                "values in their place.",
                weight=69,
            )  # fmt: skip
            return
        yield Finding(
            "unregistered", PROBLEM, place(spot), names,
            f"A gradient arrives at {names}, and no optimizer holds it: no step changes it.",
            "Hand it to the optimizer; keep modules in a ModuleList or ModuleDict and tensors as "
            "Parameters, so that .parameters() finds them.",
            weight=68,
        )  # fmt: skip


def _replaced(patient: Patient, outside: list[Value], made: list[Event]) -> Spot | None:
    """Where a parameter was put into a place whose old parameter is in an optimizer."""
    slots: dict[tuple, list[Event]] = {}
    for event in patient.history.of("register"):
        slots.setdefault((id(event.note["module"]()), event.note["name"]), []).append(event)
    for events in slots.values():
        new = events[-1]
        old = [e for e in events[:-1] if e.subject in patient.wanted.held]
        if old and new.subject in outside and new.order > made[0].order and new.stack:
            return new.stack[0]
    return None


def _trained(patient: Patient) -> list[Value]:
    """The parameters, and leaves of the user's that are parts of modules, with a gradient."""
    found = {}
    for one in patient.history.passes:
        if one.accumulate:
            for value, state in one.leaves.items():
                if state == FINE and (value.parameter or _is_attribute(patient, value)):
                    found[value] = None
    return list(found)


def _is_attribute(patient: Patient, value: Value) -> bool:
    """Is a plain tensor an attribute of a module that runs?"""
    t = value.tensor
    return t is not None and any(
        one is t for root in patient.names.roots for m in root.modules() for one in vars(m).values()
    )


def _copies_of_held(patient: Patient, values: list[Value]) -> list[Call]:
    """The calls that made these values as copies of parameters that an optimizer holds."""
    held = patient.wanted.held
    return [
        call for call in patient.history.calls
        if call.name == "__deepcopy__" and not held.isdisjoint(call.inputs)
        and any(v in call.outputs for v in values)
    ]  # fmt: skip


def _holds_strangers(patient: Patient, event: Event) -> bool:
    """Does an optimizer hold a parameter that no call has read since it was made?"""
    strangers = [
        v for v in event.note["held"]
        if patient.missing(v) and not any(c.number > event.at and c.name != "step"
                                          for c in v.readers)
    ]  # fmt: skip
    return bool(strangers) and not any(_belongs(patient, v) for v in strangers)


def _belongs(patient: Patient, value: Value) -> bool:
    """Is it a parameter of a model that runs?"""
    t = value.tensor
    running = {id(ref()) for ref in patient.recorder.roots.values() if ref() is not None}
    return any(
        id(root) in running and any(p is t for p in root.parameters())
        for root in patient.names.roots
    )  # fmt: skip


def _culprit(patient: Patient, value: Value, made: list[Event]) -> Spot | None:
    """The line next to the gap."""
    t = value.tensor
    if t is None:
        return value.made.spot if _made_in_each_step(patient, value) else None
    first = made[0]
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
