"""Which lines did the values of a loss pass, and on which of them did its gradient come back?"""

from __future__ import annotations

from collections.abc import Sequence

from ..records import Diagnosis, Found, PathLine, Trained
from .calls import Call
from .causes.common import place
from .causes.cut_kinds import kind_of, spot_of
from .finding import Finding
from .history import Cut, Flow
from .passes import BAD, FINE, NONE, ZERO, Pass
from .patient import Patient
from .stacks import Spot
from .values import LEAF, LIVE, Value

_LOOKED_AT = 16  # passes
_WORST = (NONE, BAD, ZERO, FINE)  # of several parameters the first of these is told


def diagnose(patient: Patient, one: Pass, findings: Sequence[Finding]) -> Diagnosis:
    """The ways of one backward pass, line by line, and the findings beside them."""
    flow = patient.history.flow(one)
    cuts = {cut.call: cut for cut in patient.cuts(one)}
    calls = [call for call in sorted(flow.calls, key=_number) if _counts(flow, call, cuts)]
    lines = _Lines(calls, cuts)
    came = _came_back(flow, one)
    made = [
        PathLine(
            place(spot),
            tuple(dict.fromkeys(call.name for call in group)),
            _trained(patient, one, group),
            _best(came.get(call, NONE) for call in group),
            next((kind_of(cuts[call]) for call in group if call in cuts), ""),
        )
        for spot, group in lines.groups.items()
    ]
    values, gradients = _ways(flow, lines, came)
    passes = patient.history.losses()
    return Diagnosis(
        tuple(made), values, gradients, place(one.stack[0]) if one.stack else None,
        passes.index(one) + 1, len(passes), _unread(patient, flow, one),
        tuple(_found(finding, made) for finding in findings), _first_line(one.error),
    )  # fmt: skip


def telling(
    patient: Patient, passes: list[Pass], findings: tuple[Finding, ...], of: Finding | None
) -> Diagnosis | None:
    """The ways of the pass that tells most: one that passes the line of a finding."""
    which = findings.index(of) if of in findings else 0
    samples = patient.history.samples()[-_LOOKED_AT:]
    for one in sorted(samples, key=lambda one: one.error is None):
        found = diagnose(patient, one, findings)
        if findings and found.findings[which].line is not None:
            return found
    return diagnose(patient, passes[-1], findings) if passes else None


class _Lines:
    """The calls of a pass by the line of the user's code that they belong to."""

    def __init__(self, calls: list[Call], cuts: dict[Call, Cut]) -> None:
        self.groups: dict[Spot | None, list[Call]] = {}
        self._spots: dict[Call, Spot | None] = {}
        for call in calls:
            spot = spot_of(cuts[call], kind_of(cuts[call])) if call in cuts else call.spot
            self._spots[call] = spot
            self.groups.setdefault(spot, []).append(call)
        self._numbers = {spot: k for k, spot in enumerate(self.groups)}

    def number(self, call: Call | None) -> int | None:
        """The number of a call's line; that of the loss for None; None where it has no line."""
        if call is None:
            return len(self.groups)
        return self._numbers[self._spots[call]] if call in self._spots else None


def _number(call: Call) -> int:
    return call.number


def _counts(flow: Flow, call: Call, cuts: dict[Call, Cut]) -> bool:
    """Does a call stand on the way from a leaf to the loss, and not make the leaf itself?"""
    if call in cuts:
        return True
    if call.name == "step" or not flow.leaves_behind(call):
        return False
    results = [*call.outputs, *call.changed]
    return not all(value.leaf for value in results)


def _came_back(flow: Flow, one: Pass) -> dict[Call, str]:
    """What gradient came back to each call: the best of what its nodes were given."""
    seen: dict[Call, list[str]] = {}
    for node in one.nodes:
        if node.call is not None:
            seen.setdefault(node.call, []).extend(node.came if node.ran else ())
    reached = _reached(flow)
    return {call: _best(seen[call]) if call in seen else FINE for call in reached}


def _reached(flow: Flow) -> set[Call]:
    """The calls from which the graph leads to the loss."""
    found: set[Call] = set()
    waiting = [
        call for call, uses in flow.uses.items()
        if any(use.reader is None and use.standing == LIVE for use in uses)
    ]  # fmt: skip
    read: dict[Call, list[Call]] = {}
    for maker, uses in flow.uses.items():
        for use in uses:
            if use.reader is not None and use.standing == LIVE and LIVE in use.reader.made:
                read.setdefault(use.reader, []).append(maker)
    while waiting:
        call = waiting.pop()
        if call not in found:
            found.add(call)
            waiting += read.get(call, ())
    return found


def _best(states) -> str:
    """The best of several gradients: one that arrives is enough."""
    return max(states, key=_WORST.index, default=NONE)


def _trained(patient: Patient, one: Pass, calls: list[Call]) -> tuple[Trained, ...]:
    """The leaves that these calls read."""
    found: dict[Value, None] = {}
    for call in calls:
        for value, how in zip(call.inputs, call.standing, strict=False):
            if how == LEAF and value not in call.changed:
                found[value] = None
    return _named(patient, one, found)


def _named(patient: Patient, one: Pass, values) -> tuple[Trained, ...]:
    ran = {node.leaf: node.came[0] for node in one.nodes if node.leaf and node.ran and node.came}
    states = one.leaves or ran  # what a pass that raised had reached
    return tuple(Trained(patient.names.of(v), states.get(v, NONE)) for v in values)


def _unread(patient: Patient, flow: Flow, one: Pass) -> tuple[Trained, ...]:
    """The parameters of models of which a part was read, that were not read themselves."""
    read = {
        value for call in flow.calls
        for value, how in zip(call.inputs, call.standing, strict=False) if how == LEAF
    }  # fmt: skip
    found: dict[Value, None] = {}
    for root in patient.names.roots:
        values = [patient.recorder.values.of(p) for p in root.parameters() if p.requires_grad]
        if read & set(values):
            found.update(dict.fromkeys(v for v in values if v not in read))
    return _named(patient, one, found)


def _ways(flow: Flow, lines: _Lines, came: dict[Call, str]) -> tuple[tuple, tuple]:
    """Pairs of lines: who made what whom read, and where the gradient goes the other way."""
    values: dict[tuple[int, int], None] = {}
    gradients: dict[tuple[int, int], None] = {}
    for maker, uses in flow.uses.items():
        source = lines.number(maker)
        for use in uses:
            target = lines.number(use.reader)
            if source is None or target is None or source == target:
                continue
            values[source, target] = None
            reader_reached = use.reader is None or came.get(use.reader, NONE) != NONE
            if use.standing == LIVE and reader_reached and came.get(maker, NONE) != NONE:
                gradients[target, source] = None
    return tuple(sorted(values)), tuple(sorted(gradients))


def _found(finding: Finding, lines: list[PathLine]) -> Found:
    line = next((k for k, one in enumerate(lines) if one.place == finding.place), None)
    return Found(finding.kind, finding.severity, finding.place, line, finding.message, finding.fix)


def _first_line(error: BaseException | None) -> str:
    return "" if error is None else f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
