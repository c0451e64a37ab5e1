"""Where does a value from before an earlier backward pass enter the graph of this one?"""

from __future__ import annotations

from typing import NamedTuple

from ...records import Place
from ..calls import Call
from ..history import makers
from ..passes import Pass
from ..patient import Patient
from ..stacks import Spot
from ..values import LIVE, Value
from .common import in_frame_of, place
from .keepers import keeping_line, storing_line


class Crossing(NamedTuple):
    """The line that hands the value on; `kept` says that an object or a container keeps it."""

    place: Place | None
    value: Value
    kept: bool


def crossing(patient: Patient, one: Pass, victim: Call | None) -> Crossing | None:
    """Where a value from before an earlier pass enters the graph of this one."""
    earlier = pass_before(patient, one, victim)
    if earlier is None:
        return None
    root = one.roots[0] if one.roots else None
    if root is None or root.made is None or root.made.number <= earlier.at:
        return None
    flow = patient.history.flow(one)
    for call in sorted(flow.calls, key=lambda call: call.number):
        if call.number <= earlier.at or LIVE not in call.made:
            continue
        for value, how in zip(call.inputs, call.standing, strict=False):
            if how != LIVE:
                continue
            for maker, _ in makers(value, call.number):
                if maker.number <= earlier.at:
                    left = _left_out(patient, maker, value, call)
                    if left is not None:
                        return Crossing(place(left), value, kept=False)
                    here, there = (in_frame_of(c.stack, one.stack) for c in (call, maker))
                    kept = _kept(patient, one, maker, value) if here == there else None
                    return Crossing(kept or place(there), value, kept is not None)
    return None


def _kept(patient: Patient, one: Pass, maker: Call, value: Value) -> Place | None:
    """The line in a helper that keeps a value for later."""
    return place(storing_line(maker, below=one.stack)) or keeping_line(patient, value.tensor)


def made_once(patient: Patient, one: Pass, earlier: Pass | None, value: Value) -> bool:
    """Do two passes of one line share a value that was not made anew between them?"""
    maker = value.made
    if maker is None or earlier is None or not one.stack or earlier.stack[:1] != one.stack[:1]:
        return False
    return not any(
        call.number > earlier.at and call.spot == maker.spot for call in patient.history.calls
    )


def _left_out(patient: Patient, maker: Call, value: Value, reader: Call) -> Spot | None:
    """The line that detached the other results of the same call, and not this one."""
    for other in maker.outputs:
        for call in other.readers:
            if other is not value and call.name == "detach" and call.number < reader.number:
                return call.spot
    return None


def pass_before(patient: Patient, one: Pass, victim: Call | None) -> Pass | None:
    """The last pass before this one that came after the victim was made."""
    found = None
    for other in patient.history.losses():
        if other is one:
            break
        if victim is None or other.at >= victim.number:
            found = other
    return found
