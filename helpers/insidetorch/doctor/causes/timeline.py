"""Passes, steps and clearings of one optimizer, in their order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..calls import Event
from ..passes import Pass
from ..patient import Patient
from ..values import Value


@dataclass
class Window:
    """The passes whose gradients are added up before a step, and what ended the window.

    `end` is "step", "cleared" (gradients were thrown away) or "" at the end of the run. `before`
    counts passes of it that an earlier step had used already.
    """

    passes: list[Pass] = field(default_factory=list)
    end: str = ""
    event: Event | None = None
    before: int = 0


def windows(patient: Patient, held: frozenset[Value]) -> list[Window]:
    """What happened to the gradients of some parameters, window by window."""
    found: list[Window] = []
    current = Window()
    used = 0  # passes of this window that a step has used
    others = False  # has another optimizer made a step since the last pass?
    for kind, one in timeline(patient):
        if kind == "pass":
            if not held & set(one.leaves):
                continue
            if current.passes and not held & set(one.added):
                if len(current.passes) > used and not others:
                    found.append(Window(current.passes[used:], "cleared", None))
                current, used = Window(), 0
            current.passes.append(one)
            others = False
        elif kind == "step":
            if not held & set(one.note["held"]):
                others = True
                continue
            found.append(Window(list(current.passes), "step", one, before=used))
            used = len(current.passes)
        elif held & _cleared(kind, one):
            if len(current.passes) > used and not others:
                found.append(Window(current.passes[used:], "cleared", one))
            current, used = Window(), 0
    if len(current.passes) > used and not others:
        found.append(Window(current.passes[used:], ""))
    return found


def _cleared(kind: str, one: object) -> set[Value]:
    """The leaves whose gradients an event throws away: zero_grad, or `p.grad = None`."""
    if kind == "zero_grad":
        return set(one.note["cleared"])
    return {one.subject} if kind == "grad" and one.note["cleared"] else set()


def timeline(patient: Patient) -> Iterator[tuple[str, object]]:
    """Passes and events in the order in which they happened."""
    entries: list[tuple[int, str, object]] = [
        (one.order, "pass", one) for one in patient.history.losses()
        if one.accumulate and one.error is None and one.at > patient.recorder.forgotten_until
    ]  # fmt: skip
    entries += [(event.order, event.kind, event) for event in patient.history.events]
    for _, kind, one in sorted(entries, key=lambda entry: entry[0]):
        yield kind, one


def holders(patient: Patient) -> Iterator[tuple[Event, frozenset[Value]]]:
    """Each optimizer, by its construction or its first step, and what it holds."""
    seen = set()
    for event in (*patient.history.of("optimizer"), *patient.history.of("step")):
        key = id(event.subject())
        if key not in seen:
            seen.add(key)
            yield event, frozenset(event.note["held"])
