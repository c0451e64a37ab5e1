"""Losses that are added up and do not count alike: your intent."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ..finding import Finding
from ..passes import Pass
from ..patient import Patient
from .common import first_line, in_frame_of, note
from .modules import construction, made_module
from .timeline import timeline

_MOST = 8  # groups of passes that are looked at


def short_windows(patient: Patient) -> Iterator[Finding]:
    """A last window of fewer passes, each divided by the number of a full one."""
    groups = [group for group, stepped in _windows(patient) if stepped]
    full = {by for group in groups[:_MOST] if (by := _divided(group[0])) == len(group)}
    last = groups[-1] if groups else []
    by = _divided(last[0]) if last else None
    one_line = len({first_line(one) for one in last}) == 1
    unused = any(not stepped for _, stepped in _windows(patient))
    if by in full and len(last) < by - 0.5 and one_line and not unused:
        yield note(
            "accum_tail", first_line(last[0]),
            f"The losses of this line are divided by {by:g}, and the last step adds up "
            f"{len(last)} of them only.",
            "Divide by the number of passes that the step really has.",
            weight=31,
        )  # fmt: skip


def find(patient: Patient) -> Iterator[Finding]:
    """Passes that are added up, each averaged over another number of elements."""
    for group in islice(_added_up(patient), _MOST):
        if len({first_line(one) for one in group}) > 1:
            continue
        counts = [_counted(patient, one) for one in group]
        calls = [call for call, _ in counts if call is not None]
        numbers = [n for _, n in counts]
        if calls and None not in numbers and len(set(numbers)) > 1:
            yield note(
                "accum_scale", calls[0].spot,
                f"{len(group)} losses are added up, and each is a mean over another number of "
                f"elements ({', '.join(map(str, numbers[:4]))}): the small ones count too much.",
                'Use reduction="sum", and divide by the number of elements of all passes.',
                weight=30,
            )  # fmt: skip
            return
        by = [_divided(one) for one in group]
        if by == [None] * len(group) and all(map(_is_mean, group)):
            yield note(
                "accum_scale", first_line(group[0]),
                f"{len(group)} losses are added up for a step. Each is a mean, and none is divided "
                f"by {len(group)}: the gradient is {len(group)} times that of their mean.",
                "Divide each loss by the number of passes, if the mean of all is meant.",
                weight=24,
            )  # fmt: skip
            return
        if None not in by and len(set(by)) == 1 and by[0] < len(group) - 0.5:
            spot = in_frame_of(group[0].roots[0].made.stack, group[0].stack)
            yield note(
                "accum_scale", spot,
                f"{len(group)} losses are added up for a step, and each is divided by {by[0]:g}.",
                "Divide by the number of passes that are added up, if their mean is meant.",
                weight=25,
            )  # fmt: skip
            return
        norm = next((c for one in group for c in patient.history.flow(one).calls
                     if c.name == "batch_norm" and c.note.get("training")), None)  # fmt: skip
        if norm is not None:
            module = norm.module() if norm.module is not None else None
            made = made_module(patient, module) if module is not None else None
            yield note(
                "accum_batchnorm", construction(made, module) if made else norm.spot,
                f"The gradients of {len(group)} passes are added up, and BatchNorm computes its "
                "mean and variance from each small batch alone.",
                "Use GroupNorm or LayerNorm, or freeze the statistics, if the large batch is to "
                "count as one.",
                weight=22,
            )  # fmt: skip
        return


def _added_up(patient: Patient) -> Iterator[list[Pass]]:
    """Groups of passes whose gradients were added up."""
    yield from (group for group, _ in _windows(patient) if len(group) > 1)


def _windows(patient: Patient) -> Iterator[tuple[list[Pass], bool]]:
    """The passes that go into one gradient, and whether a step used it."""
    group: list[Pass] = []
    for kind, one in timeline(patient):
        if kind == "step" and group:
            yield group, True
            group = []
        elif kind == "pass":
            if group and not one.added:
                yield group, False
                group = []
            group.append(one)
    if group:
        yield group, False


def _counted(patient: Patient, one: Pass):
    """The last loss of a pass that is a mean, and over how many elements it was taken."""
    calls = [
        c for c in patient.history.flow(one).calls
        if c.note.get("reduction") == "mean" and "counted" in c.note
    ]  # fmt: skip
    call = max(calls, key=lambda c: c.number, default=None)
    return (call, call.note["counted"]) if call is not None else (None, None)


def _is_mean(one: Pass) -> bool:
    """Is a loss a mean, as it comes out of the call that made it?"""
    maker = one.roots[0].made if one.roots else None
    if maker is None:
        return False
    return maker.name == "mean" or maker.note.get("reduction") == "mean"


def _divided(one: Pass) -> float | None:
    """By which numbers was the loss divided in the end?"""
    maker = one.roots[0].made if one.roots else None
    found = None
    while maker is not None and "by" in maker.note and maker.inputs:
        found = (found or 1.0) * maker.note["by"]
        maker = maker.inputs[0].made
    return found
