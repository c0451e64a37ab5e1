"""A gradient arrives and is zero everywhere: which function is flat there?"""

from __future__ import annotations

from collections.abc import Iterator

from ..finding import PROBLEM, Finding
from ..passes import BAD, FINE, ZERO, Node, Pass
from ..patient import Patient
from ..values import Value
from .common import place

# Functions that have parts, or are nothing but parts, where the derivative is exactly 0.
_FLAT = ("Clamp", "Clip", "Round", "Floor", "Ceil", "Trunc", "Frac", "Sign", "Sgn", "Relu",
         "Threshold", "Hardtanh", "Hardsigmoid", "Hardswish", "Sigmoid", "Tanh", "Softmax",
         "LogSoftmax", "Heaviside", "FloorDivide", "Rsub", "Fmod", "Maximum", "Minimum",
         "LogSigmoid", "Elu", "Gelu")  # fmt: skip

_GUARD = 1e-3  # a clamp that cuts off less than this keeps a value from an edge


def find(patient: Patient) -> Iterator[Finding]:
    """Leaves whose gradient was zero in every pass, because of a flat function."""
    told = {}
    for one in patient.history.losses():
        if not one.nodes:
            continue
        above = _above(one)
        for leaf, state in one.leaves.items():
            if state != ZERO or patient.states(leaf) & {FINE, BAD}:
                continue
            if not patient.wanted.wants(leaf, "flat_op"):
                continue
            for node in origins(one, leaf, above):
                if node.call is None or not node.name.startswith(_FLAT):
                    continue
                if node.overshoot > _GUARD:
                    told.setdefault(node.call.spot, (node, {}))[1][leaf] = None
    for spot, (node, leaves) in told.items():
        names = patient.names.listed(leaves)
        yield Finding(
            "flat_op", PROBLEM, place(spot), names,
            f"The gradient of {names} is zero everywhere: {node.call.name} is flat at all of these "
            "values, so its derivative is 0.",
            "Compute the loss before it, keep the values where it has a slope, or use a smooth "
            "function in its place.",
            weight=58,
        )  # fmt: skip


def _above(one: Pass) -> dict[int, list[tuple[Node, int]]]:
    """The nodes that send a gradient to each node, and by which of their outputs."""
    found: dict[int, list[tuple[Node, int]]] = {}
    for node in one.nodes:
        for k, (below, _) in enumerate(node.below):
            found.setdefault(id(below), []).append((node, k))
    return found


def origins(one: Pass, leaf: Value, above: dict) -> Iterator[Node]:
    """The nodes that were given a gradient and passed on nothing but zeros towards a leaf."""
    waiting = [node for node in one.nodes if node.leaf is leaf]
    seen = {id(node) for node in waiting}
    while waiting:
        node = waiting.pop()
        for parent, _ in above.get(id(node), ()):
            if id(parent) in seen:
                continue
            seen.add(id(parent))
            if any(state in (FINE, BAD) for state in parent.came):
                yield parent
            else:
                waiting.append(parent)
