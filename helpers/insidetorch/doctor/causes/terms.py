"""A term of the loss that is a constant for autograd, though it depends on what is trained."""

from __future__ import annotations

from collections.abc import Iterator

from ..calls import Call
from ..finding import PROBLEM, Finding
from ..patient import Patient
from ..values import DEAD, Value
from .common import place
from .cut_kinds import fix_of, kind_of, spot_of, what

_SUMS = {
    "add", "__add__", "__radd__", "__iadd__", "add_", "sub", "__sub__", "rsub", "__rsub__", "sub_",
    "neg", "mean", "sum", "stack", "cat", "squeeze", "reshape", "view", "mul", "__mul__",
    "__rmul__", "div", "__truediv__", "true_divide", "__isub__", "float", "to",
}  # fmt: skip
_OF_TWO = {"mul", "__mul__", "__rmul__", "div", "__truediv__", "true_divide"}


def find(patient: Patient) -> Iterator[Finding]:
    """Terms of a loss that are constants for autograd, though they depend on what is trained."""
    told = set()
    for one in patient.history.samples():
        if one.error is not None:
            continue
        flow = patient.history.flow(one)
        for value, maker in terms(one.roots):
            if value in one.roots:
                continue
            behind = patient.dead_behind(flow, maker)
            lost = [cut for cut in behind if any(map(patient.missing, cut.leaves))]
            for cut in lost or behind[:1]:
                kind = kind_of(cut)
                spot = spot_of(cut, kind)
                leaves = [
                    leaf for leaf in cut.leaves
                    if not patient.wanted.optimizers or leaf in patient.wanted.held
                ]  # fmt: skip
                if not leaves or (spot, kind) in told:
                    continue
                told.add((spot, kind))
                names = patient.names.listed(leaves)
                yield Finding(
                    kind, PROBLEM, place(spot), names,
                    f"A term of the loss has no gradient: {what(cut, kind)}. The term changes the "
                    f"value of the loss and trains nothing: {names} get no gradient through it.",
                    fix_of(cut, kind), weight=70 + cut.call.number * 1e-9,
                )  # fmt: skip


def terms(roots: tuple[Value, ...]) -> Iterator[tuple[Value, Call]]:
    """The summands of a loss that are outside of the graph, with the call that made each."""
    seen: set[Value] = set()
    waiting = [(v, None) for v in roots]
    while waiting:
        value, standing = waiting.pop()
        maker = value.wrote[-1] if value.wrote else value.made
        if value in seen or maker is None:
            continue
        seen.add(value)
        if standing == DEAD:
            yield value, maker
            continue
        if maker.name not in _SUMS or any(not _single(v) for v in maker.inputs):
            continue
        if maker.name in _OF_TWO and len(maker.inputs) > 1:
            continue
        waiting += zip(maker.inputs, maker.standing, strict=False)


def _single(value: Value) -> bool:
    size = 1
    for n in value.shape:
        size *= n
    return size <= 1
