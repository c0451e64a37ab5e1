"""Two names of one parameter that have become two parameters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ..calls import Event
from ..finding import PROBLEM, Finding
from ..patient import Patient
from .common import place

_BREAKERS = ("_apply", "load_state_dict")


def find(patient: Patient) -> Iterator[Finding]:
    """Parameters that were shared between two places, and are no longer."""
    slots: dict[int, list[Event]] = defaultdict(list)
    for event in patient.history.of("register"):
        slots[event.subject.number].append(event)
    yield from _replaced(patient, slots)
    for events in slots.values():
        places = {(id(e.note["module"]()), e.note["name"]): e for e in events if e.note["module"]()}
        if len(places) < 2:
            continue
        now = {key: e.note["module"]()._parameters.get(e.note["name"]) for key, e in places.items()}
        if len({id(p) for p in now.values()}) < 2 or None in now.values():
            continue
        yield from _broken(patient, list(places.values()))
        return


def _replaced(patient: Patient, slots: dict[int, list[Event]]) -> Iterator[Finding]:
    """A module whose parameter was shared, and that another module has replaced."""
    for event in patient.history.of("replaced"):
        for value in event.note["old"]:
            places = {
                (e.note["name"], id(e.note["module"])): e for e in slots.get(value.number, ())
            }
            if len(places) < 2 or not event.stack:
                continue
            left = [e.note["module"]() for e in places.values() if e.note["module"]() is not None]
            names = tuple(f"{type(m).__name__}" for m in left)
            yield Finding(
                "broken_tie", PROBLEM, place(event.stack[0]), names,
                "The module that is replaced here shared a parameter with another, "
                f"{', '.join(names) or 'which is gone'}: that one keeps the old parameter.",
                "Tie them again after it: head.weight = emb.weight.",
                weight=66,
            )  # fmt: skip
            return


def _broken(patient: Patient, events: list[Event]) -> Iterator[Finding]:
    tied = max(events, key=lambda e: e.order)
    modules = {id(e.note["module"]()) for e in events}
    names = {e.note["name"] for e in events}
    later = [
        e for e in patient.history.events
        if e.order > tied.order and (
            e.kind in _BREAKERS
            or (e.kind == "register" and id(e.note["module"]()) in modules
                and e.note["name"] in names)
        )
    ]  # fmt: skip
    if not later or not later[0].stack:
        return
    breaker = later[0]
    two = tuple(f"{type(e.note['module']()).__name__}.{e.note['name']}" for e in events[:2])
    which = " and ".join(two)
    yield Finding(
        "broken_tie", PROBLEM, place(breaker.stack[0]), two,
        f"{which} were one parameter ({place(tied.stack[0]) if tied.stack else 'tied earlier'}), "
        "and are two since this line: each gets its own gradient and its own values.",
        "Tie them again after it: head.weight = emb.weight.",
        weight=66,
    )  # fmt: skip
