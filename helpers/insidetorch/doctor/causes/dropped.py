"""What a leaf was used for goes into no loss, or it was never used at all."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torch import nn

from ..calls import Call
from ..finding import PROBLEM, Finding
from ..passes import Pass
from ..patient import Patient
from ..stacks import Spot
from ..values import LIVE, Value
from .common import enclosing, in_frame_of, place, statement_at
from .modules import construction, made_module

_UNUSED = "Use it on the way to the loss, or take it out of the model."


def dropped(patient: Patient, leaf: Value, losses: list[Pass]) -> Finding | None:
    """The line that computes from a leaf and is heard of no more; else the leaf's own line."""
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
    ends = [spot for one in losses for spot in one.stack]
    for spot in call.stack:
        statement = statement_at(spot)
        loop = enclosing(spot, (ast.For, ast.While))
        beside = [end for end in ends if end.code is spot.code]
        if loop is not None and any(loop.lineno <= end.line <= loop.end_lineno for end in beside):
            return None  # each turn of the loop has its own loss
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
        twice = _in_its_place(patient, owner)
        if twice is not None:
            return Finding(
                "unused_param", PROBLEM, place(twice[0]), (),
                f"No gradient comes back to {{names}}: it was never used. This line runs "
                f"{patient.names.of_module(twice[1])}, a module of the same kind and size, once "
                "more.",
                "Run the module that was meant, or take it out of the model.", weight=50,
            )  # fmt: skip
        event = made_module(patient, owner)
        spot = construction(event, owner) if event is not None else None
    if spot is None and leaf not in patient.wanted.read:
        return None
    seen = "it is declared here and was never" if spot else "in what was watched it was not"
    return Finding(
        "unused_param", PROBLEM, place(spot), (),
        f"No gradient comes back to {{names}}: {seen} used.",
        _UNUSED, weight=50,
    )  # fmt: skip


def _in_its_place(patient: Patient, owner: nn.Module) -> tuple[Spot, nn.Module] | None:
    """The line that runs a twin of a module a second time, where the module itself never runs."""
    sizes = [p.shape for p in owner.parameters()]
    parents = [m for root in patient.names.roots for m in root.modules()]
    beside = [m for parent in parents if owner in parent.children() for m in parent.children()]
    for twin in beside:
        if twin is owner or type(twin) is not type(owner):
            continue
        if [p.shape for p in twin.parameters()] != sizes:
            continue
        lines = dict.fromkeys(
            call.spot for call in patient.history.calls
            if call.spot is not None and call.module is not None and call.module() is twin
        )  # fmt: skip
        if len(lines) > 1 and len({spot.code for spot in lines}) == 1:
            return list(lines)[-1], twin
    return None


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
