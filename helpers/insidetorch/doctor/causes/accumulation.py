"""Gradients that are added up, thrown away, scaled or clipped at the wrong time: your intent."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..calls import Event
from ..finding import PROBLEM, Finding
from ..patient import Patient
from ..stacks import Spot
from .common import enclosing, first_line, note, place
from .dropped import descendants
from .timeline import Window, holders, timeline, windows


def find(patient: Patient) -> Iterator[Finding]:
    """What the order of passes, steps and clearings tells."""
    yield from _two_orders(patient)
    yield from _order(patient)
    for _, held in holders(patient):
        found = windows(patient, held)
        yield from _missing(patient, held, found)
        yield from _misplaced(patient, held, found)
        yield from _tail(found)


def _missing(patient: Patient, held: frozenset, found: list[Window]) -> Iterator[Finding]:
    """Steps that use gradients of passes that an earlier step has used."""
    late = [w for w in found if w.end == "step" and w.before and len(w.passes) > w.before]
    if late:
        count = len(late[-1].passes)
        rare = [e for e in patient.history.of("zero_grad") if held & set(e.note["cleared"])]
        line = first_line(late[-1].passes[-1])
        which = (
            f"the backward calls of {place(line)}" if rare else "the backward calls of this line"
        )
        yield note(
            "zero_grad_missing", first_line(rare[-1]) if rare else line,
            f"No zero_grad between {which} over several steps: the gradients of {count} passes are "
            "added up in the last step.",
            "Clear the gradients once for each step, if no sum over steps is meant.",
            weight=30,
        )  # fmt: skip


def _misplaced(patient: Patient, held, found: list[Window]) -> Iterator[Finding]:
    """Gradients that were thrown away before a step has used them."""
    thrown = [w for w in found if w.end == "cleared" and w.event is not None]
    again = {}
    for w in thrown:
        again.setdefault((first_line(w.event), first_line(w.passes[-1])), []).append(w)
    for (spot, _), ws in again.items():
        if _has_served(patient, held, ws[0]):
            continue
        if len(ws) >= 2 or _empty_step_follows(patient, held, ws[0]):
            yield note(
                "zero_grad_misplaced", spot,
                f"zero_grad throws away gradients that no step has used ({len(ws)} times).",
                "Clear the gradients after the step, or once before the passes that are added up.",
                weight=30,
            )  # fmt: skip
            return


def _has_served(patient: Patient, held: frozenset, window: Window) -> bool:
    """Were the gradients read by the user's code, and what came of them written to parameters?"""
    read = [
        call for call in patient.history.calls
        if call.name == "grad" and call.note.get("of") in held
        and window.passes[0].at < call.number <= window.event.at
    ]  # fmt: skip
    return any(
        not held.isdisjoint(later.changed)
        for call in read for value in call.outputs for later in descendants(value)
    )  # fmt: skip


def _empty_step_follows(patient: Patient, held, window: Window) -> bool:
    """Is the next thing after the clearing a step that finds no gradient?"""
    after = False
    for kind, one in timeline(patient):
        if one is window.event:
            after = True
        elif after and kind == "pass" and held & set(one.leaves):
            return False
        elif after and kind == "step" and held & set(one.note["held"]):
            return held & set(one.note["held"]) <= set(one.note["without"]) | set()
    return False


def _tail(found: list[Window]) -> Iterator[Finding]:
    """Windows of n passes for each step, and a last one that no step used."""
    full = [len(w.passes) - w.before for w in found if w.end == "step"]
    if not full or len(set(full)) > 1 or full[0] < 2:
        return
    short = [w for w in found if w.end != "step" and 0 < len(w.passes) < full[0]]
    if short:
        step = next(w.event for w in found if w.end == "step")
        spot = first_line(step)
        if spot is not None:
            around = enclosing(spot, ast.If)
            spot = Spot(spot.code, around.lineno) if around is not None else spot
        yield note(
            "accum_tail", spot,
            f"Each step uses the gradients of {full[0]} passes, and the last "
            f"{len(short[0].passes)} passes are used by no step.",
            "Step also after the last batch, and scale its loss by the number of passes it has.",
            weight=30,
        )  # fmt: skip


def _two_orders(patient: Patient) -> Iterator[Finding]:
    """.grad that holds a first gradient, made with create_graph, and a second one added to it."""
    alive: dict = {}
    for kind, one in timeline(patient):
        if kind == "pass":
            for value in one.leaves:
                if value in one.added and value in alive:
                    first = alive[value]
                    yield Finding(
                        "grad_accumulated_twice", PROBLEM, place(first_line(first)),
                        patient.names.listed([value]),
                        "backward(create_graph=True) has put a gradient into .grad here, and a "
                        f"later pass ({place(first_line(one))}) adds a gradient of that gradient "
                        "to it.",
                        "Compute the inner gradient with torch.autograd.grad(..., "
                        "create_graph=True), which leaves .grad alone.",
                        weight=66,
                    )  # fmt: skip
                    return
                if value not in one.added:
                    alive.pop(value, None)
                if one.create:
                    alive[value] = one
        elif kind == "zero_grad":
            for value in one.note["cleared"]:
                alive.pop(value, None)


def _order(patient: Patient) -> Iterator[Finding]:
    """Clipping after the step, a step before any pass, a schedule before the first step."""
    last, stepped, passes = "", False, 0
    scaled = unscaled = False
    for kind, one in timeline(patient):
        if kind == "clip" and last == "step":
            yield note(
                "step_order", first_line(one),
                "Gradients are clipped after the step that used them.",
                "Clip between backward() and step().", weight=30,
            )  # fmt: skip
            return
        if kind == "step" and one.note["held"] and len(one.note["without"]) == len(
            set(one.note["held"])
        ):  # fmt: skip
            follows = any(k == "pass" for k, _ in _after(patient, one))
            if follows and last != "zero_grad" and not passes:
                yield note(
                    "step_order", first_line(one),
                    "This step finds no gradient at all: the backward pass comes after it.",
                    "Call backward() first, then step().", weight=28,
                )  # fmt: skip
                return
        if kind == "clip" and scaled and not unscaled:
            yield note(
                "step_order", first_line(one),
                "Gradients are clipped while they are still multiplied by the scale of GradScaler.",
                "Call scaler.unscale_(optimizer) before the clipping.", weight=30,
            )  # fmt: skip
            return
        if kind in ("scale", "unscale", "step"):
            scaled, unscaled = scaled or kind == "scale", kind == "unscale"
        if kind == "schedule" and not stepped and passes:
            yield note(
                "step_order", first_line(one),
                "The learning rate is changed before the first step of the optimizer.",
                "Call scheduler.step() after optimizer.step().", weight=28,
            )  # fmt: skip
            return
        stepped = stepped or kind == "step"
        passes += kind == "pass"
        if kind in ("pass", "step", "clip", "zero_grad"):
            last = kind


def _after(patient: Patient, event: Event):
    seen = False
    for kind, one in timeline(patient):
        if seen:
            yield kind, one
        seen = seen or one is event
