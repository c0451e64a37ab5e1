"""Leaves that no pass reached, and whose values went into no loss."""

from __future__ import annotations

from collections.abc import Iterator

from ..calls import Call
from ..escapes import LEAVING
from ..finding import PROBLEM, Finding
from ..passes import Pass
from ..patient import Patient
from ..values import DEAD, Value
from .common import place
from .dropped import descendants, dropped
from .silenced import silenced

_ENTRIES = {"from_numpy", "tensor", "as_tensor", "asarray", "new_tensor"}
_REDUCTION = "Expected to have finished reduction"


def find(patient: Patient) -> Iterator[Finding]:
    """Values that left torch, results that were dropped, parts that never ran."""
    losses = [one for one in patient.history.samples() if one.accumulate or one.error]
    text = str(patient.error or "")
    if not losses or (any(one.error for one in losses) and _REDUCTION not in text):
        return
    behind = {leaf for one in losses for cut in patient.cuts(one) for leaf in cut.leaves}
    behind |= silenced(patient)
    gone: dict[tuple, tuple[Finding, list[Value]]] = {}
    candidates = _candidates(patient)
    for leaf in (*candidates, *_beside(patient, candidates)):
        if leaf in behind or not patient.missing(leaf):
            continue
        found = _escaped(patient, leaf, losses)
        if found is None and leaf in candidates and not patient.gaps:
            found = dropped(patient, leaf, losses)
        if found is not None:
            gone.setdefault((found.kind, found.place), (found, []))[1].append(leaf)
    for found, leaves in gone.values():
        names = patient.names.listed(leaves)
        yield Finding(
            found.kind, found.severity, found.place, names,
            found.message.replace("{names}", str(names)), found.fix, found.weight,
        )  # fmt: skip


def _candidates(patient: Patient) -> dict[Value, None]:
    """Parameters that a pass should have reached: of models that it reached in part, or held."""
    found: dict[Value, None] = {}
    for root in patient.names.roots:
        values = [patient.recorder.values.of(p) for p in root.parameters() if p.requires_grad]
        if any(not patient.missing(v) for v in values) or patient.wanted.held & set(values):
            found.update(dict.fromkeys(values))
    found.update(dict.fromkeys(v for v in patient.wanted.held if v.tensor is not None))
    found.update(dict.fromkeys(patient.asked))
    return {v: None for v in found if v.leaf and patient.wanted.wants(v)}


def _beside(patient: Patient, candidates: dict[Value, None]) -> list[Value]:
    """Parameters of whole models that no pass reached, where no optimizer says who is trained."""
    if patient.wanted.optimizers:
        return []
    values = [
        patient.recorder.values.of(p)
        for root in patient.names.roots if root.training
        for p in root.parameters() if p.requires_grad
    ]  # fmt: skip
    return [v for v in dict.fromkeys(values) if v not in candidates]


def _escaped(patient: Patient, leaf: Value, losses: list[Pass]) -> Finding | None:
    """Did its values leave torch, and others come in that the loss was made of?"""
    entries = [
        call for one in losses for call in patient.history.flow(one).calls
        if (call.name in _ENTRIES and all(how == DEAD for how in call.standing))
        or call.note.get("number")
    ]  # fmt: skip
    if not entries:
        return None
    last = max(call.number for call in entries)
    for call in descendants(leaf):
        if call.name in LEAVING and call.number < last:
            first = _first_cut(call)
            return Finding(
                "item_roundtrip", PROBLEM, place(first.spot), (),
                "No gradient comes back to {names}: its values leave torch here as numbers or an "
                "array, and the loss was computed from such values.",
                "Do this step with torch's own functions, or write a torch.autograd.Function with "
                "a backward of its own.",
                weight=57,
            )  # fmt: skip
    return None


def _first_cut(call: Call) -> Call:
    """The first of the calls that take a value out of the graph before it leaves torch."""
    while True:
        value, how = call.inputs[0], call.standing[0]
        if (
            how != DEAD
            or value.made is None
            or value.made.name not in ("detach", "cpu", "data", "contiguous", "clone")
        ):
            return call
        call = value.made
