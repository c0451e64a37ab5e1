"""Leaves that no pass reached, and whose values went into no loss."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torch import nn

from ..calls import Call
from ..escapes import LEAVING
from ..finding import PROBLEM, Finding
from ..passes import Pass
from ..patient import Patient
from ..stacks import Spot
from ..values import DEAD, LIVE, Value
from .common import enclosing, in_frame_of, place, statement_at
from .modules import construction, made_module

_ENTRIES = {"from_numpy", "tensor", "as_tensor", "asarray", "new_tensor"}
_REDUCTION = "Expected to have finished reduction"
_UNUSED = "Use it on the way to the loss, or take it out of the model."


def find(patient: Patient) -> Iterator[Finding]:
    """Values that left torch, results that were dropped, parts that never ran."""
    losses = [one for one in patient.history.samples() if one.accumulate or one.error]
    text = str(patient.error or "")
    if not losses or (any(one.error for one in losses) and _REDUCTION not in text):
        return
    behind = {leaf for one in losses for cut in patient.cuts(one) for leaf in cut.leaves}
    gone: dict[tuple, tuple[Finding, list[Value]]] = {}
    candidates = _candidates(patient)
    for leaf in (*candidates, *_beside(patient, candidates)):
        if leaf in behind or not patient.missing(leaf):
            continue
        found = _escaped(patient, leaf, losses)
        if found is None and leaf in candidates:
            found = _dropped(patient, leaf, losses)
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


def _dropped(patient: Patient, leaf: Value, losses: list[Pass]) -> Finding | None:
    before = max(one.at for one in losses)
    calls = [c for c in leaf.readers if c.number <= before and c.name not in ("Parameter", "step")]
    calls = [c for c in calls if LIVE in c.made and leaf not in c.changed]
    if not calls:
        return _never_ran(patient, leaf)
    last = list(descendants(leaf))[-1]
    spot = (
        _bound_again(calls[-1], losses)
        or _where_siblings_go(patient, calls[-1], losses)
        or in_frame_of(last.stack, losses[-1].stack)
    )
    return Finding(
        "unused_param", PROBLEM, place(spot), (),
        "No gradient comes back to {names}: it was used, but the result goes into no loss. What "
        "was computed beside it is taken up here, and this is not.",
        _UNUSED, weight=50,
    )  # fmt: skip


def _bound_again(call: Call, losses: list[Pass]) -> Spot | None:
    """The line of a loop that binds one name to each result, so that only the last is left."""
    outer = {spot.code for one in losses for spot in one.stack}
    for spot in call.stack:
        if spot.code in outer:
            return None
        statement = statement_at(spot)
        loop = enclosing(spot, (ast.For, ast.While))
        if loop is None or not isinstance(statement, ast.Assign):
            continue
        target = statement.targets[0]
        read = {n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name)}
        if isinstance(target, ast.Name) and target.id not in read:
            return spot
    return None


def _where_siblings_go(patient: Patient, call: Call, losses: list[Pass]) -> Spot | None:
    """Where the results of the same line go that did reach the loss."""
    inside = [c for one in losses for c in patient.history.flow(one).calls]
    for sibling in inside:
        if sibling is call or sibling.spot != call.spot or sibling.name != call.name:
            continue
        for value in sibling.outputs:
            for reader in value.readers:
                if reader in inside and reader.spot != call.spot:
                    return _frame_below(reader, call)
    return None


def _frame_below(reader: Call, call: Call) -> Spot | None:
    """The line of the reader in the function that both come from."""
    shared = {spot.code for spot in call.stack}
    for k, spot in enumerate(reader.stack):
        if spot.code in shared:
            return reader.stack[k - 1] if k else spot
    return reader.spot


def _never_ran(patient: Patient, leaf: Value) -> Finding | None:
    t = leaf.tensor
    owner = next(
        (m for root in patient.names.roots for m in root.modules()
         if any(p is t for p in m.parameters(recurse=False))), None,
    )  # fmt: skip
    if owner is None:
        spot = _registered(patient, leaf)
    elif leaf not in patient.asked and _one_of_many(patient, owner):
        return None
    else:
        event = made_module(patient, owner)
        spot = construction(event, owner) if event is not None else None
    if spot is None:
        return None
    return Finding(
        "unused_param", PROBLEM, place(spot), (),
        "No gradient comes back to {names}: it is declared here and was never used.",
        _UNUSED, weight=50,
    )  # fmt: skip


def _registered(patient: Patient, leaf: Value) -> Spot | None:
    """The line that made the module of a parameter, where that module is gone."""
    event = next((e for e in patient.history.of("register") if e.subject is leaf), None)
    outside = [s for s in event.stack if s.code.co_name != "__init__"] if event else []
    return outside[0] if outside else None


def _one_of_many(patient: Patient, owner: nn.Module) -> bool:
    """Is it one of several that are chosen from, of which others ran?"""
    for root in patient.names.roots:
        for parent in root.modules():
            if isinstance(parent, (nn.ModuleList, nn.ModuleDict)):
                parts = list(parent.children())
                if any(m is owner for part in parts for m in part.modules()):
                    return len(parts) > 1
    return False


def descendants(leaf: Value) -> Iterator[Call]:
    """The calls that a value went into, directly or through others, in their order."""
    found: dict[Call, None] = {}
    waiting = list(leaf.readers)
    while waiting:
        call = waiting.pop()
        if call in found or call.name in ("step", "autograd.grad"):
            continue
        found[call] = None
        for value in call.outputs:
            waiting += [r for r in value.readers if r.number > call.number]
            if value in call.changed and value.memory is not None:
                for other in value.memory.values:
                    waiting += [r for r in other.readers if r.number > call.number]
    yield from sorted(found, key=lambda call: call.number)
