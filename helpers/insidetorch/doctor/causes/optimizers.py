"""What is trained and what the optimizer holds are two things."""

from __future__ import annotations

from collections.abc import Iterator

from ..calls import Call, Event
from ..finding import NOTE, PROBLEM, Finding
from ..passes import FINE
from ..patient import Patient
from ..stacks import Spot
from ..values import Value
from .common import first_line, place
from .left_out import left_out_by


def find(patient: Patient) -> Iterator[Finding]:
    """Parameters that get a gradient and are in no optimizer."""
    made = patient.history.of("optimizer")
    steps = patient.history.of("step")
    if not made or not steps:
        return
    held = patient.wanted.held
    outside = [v for v in _trained(patient) if v not in held and not _moved_by_hand(patient, v)]
    if not outside:
        return
    names = patient.names.listed(outside)
    replaced = _replaced(patient, outside, made)
    if replaced is not None:
        yield Finding(
            "stale_optimizer", PROBLEM, place(replaced), names,
            f"A new parameter takes the place of one that the optimizer holds here ({names}): the "
            "optimizer goes on with the old one, and no step changes the new one.",
            "Make a new optimizer after it; where the sizes are the same, write into the old "
            "parameter under no_grad instead.",
            weight=72,
        )  # fmt: skip
        return
    for event in made:
        if _holds_strangers(patient, event):
            yield Finding(
                "stale_optimizer", PROBLEM, place(event.stack[0]) if event.stack else None, names,
                f"The optimizer that is made here holds parameters that no loss is computed from. "
                f"{names} get the gradients, and no step changes them.",
                "Make the optimizer after the model has its final parameters.",
                weight=72,
            )  # fmt: skip
            return
    groups: dict[Spot | None, list[Value]] = {}
    for value in outside:
        spot = None if patient.only_evaluated(value) else left_out_by(patient, value, made)
        if spot is not None:
            groups.setdefault(spot, []).append(value)
    left = [v for v in outside if all(v not in values for values in groups.values())]
    if left:
        yield _note_of(patient, left, made)
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


def _note_of(patient: Patient, left: list[Value], made: list[Event]) -> Finding:
    """Parts of a model that an optimizer holds, and that are left out: perhaps on purpose."""
    names = patient.names.listed(left)
    first = min(
        one.at for one in patient.history.losses() if not one.leaves.keys().isdisjoint(left)
    )
    before = [e for e in made if e.at <= first] or made
    return Finding(
        "unregistered", NOTE, place(first_line(before[-1])), names,
        f"{names} get gradients, and no optimizer holds them: no step changes them.",
        "Hand them to the optimizer, or call requires_grad_(False) on what is not to be trained, "
        "which saves the work.",
        weight=21,
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
    for event in patient.history.of("replaced"):
        module = event.subject()
        inside = {id(p) for p in module.parameters()} if module is not None else set()
        if (
            event.order > made[0].order and event.stack
            and any(v in patient.wanted.held and not patient.missing(v) for v in event.note["old"])
            and any(id(v.tensor) in inside for v in outside)
        ):  # fmt: skip
            return event.stack[0]
    return None


def _moved_by_hand(patient: Patient, value: Value) -> bool:
    """Does the user's own code change a parameter after a backward pass, as an optimizer would?"""
    first = next((one.at for one in patient.history.losses() if value in one.leaves), None)
    return first is not None and any(
        call.number > first and call.name != "step" for call in value.wrote
    )


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
