"""A gradient, or the loss itself, is not finite: where did it begin?"""

from __future__ import annotations

from collections.abc import Iterator

from ..calls import Call
from ..finding import PROBLEM, Finding
from ..passes import BAD, FINE, Node, Pass
from ..patient import Patient
from ..stacks import Spot
from .common import place

_AVERAGES = {"mean", "nanmean", "std", "var", "std_mean", "var_mean", "median", "mse_loss",
             "l1_loss", "smooth_l1_loss", "cross_entropy", "nll_loss", "logsumexp",
             "binary_cross_entropy", "binary_cross_entropy_with_logits"}  # fmt: skip
_MASKS = {"masked_fill", "masked_fill_", "where", "__setitem__", "full_like", "index_fill"}
_SELECT = ("Where", "MaskedFill", "MaskedSelect", "MaskedScatter")


def find(patient: Patient) -> Iterator[Finding]:
    """The first value, or the first gradient, that is not finite."""
    for one in patient.history.losses():
        if one.error is None and (one.bad_root or BAD in one.leaves.values()):
            found = (one.bad_root and _forward(patient, one)) or _backward(patient, one)
            if found is not None:
                yield found
                return


def _finding(
    kind: str, spot: Spot | None, subject: tuple[str, ...], message: str, fix: str
) -> Finding:
    return Finding(kind, PROBLEM, place(spot), subject, message, fix, weight=80)


def _forward(patient: Patient, one: Pass) -> Finding | None:
    """The loss is not finite: which call made the first such value?"""
    flow = patient.history.flow(one)
    empty = [c for c in flow.calls if c.name in _AVERAGES and _is_empty(c)]
    if empty:
        call = min(empty, key=lambda c: c.number)
        return _finding(
            "nan_empty", call.spot, ("the loss",),
            f"{call.name} averages over nothing: no element is left, and 0/0 is NaN.",
            "Return a zero that keeps the graph (x.sum()) where nothing is left, or divide the "
            "sum by max(count, 1).",
        )  # fmt: skip
    for node in sorted(one.nodes, key=_age):
        if node.call is None or BAD not in node.saved.values():
            continue
        results = {k: v for k, v in node.saved.items() if k.startswith("result")}
        given = {k: v for k, v in node.saved.items() if k not in results}
        if "oftmax" in node.name and BAD in results.values():
            return _masked(patient, one, node.call)
        if BAD in given.values() and not (BAD in results.values() and FINE in given.values()):
            call = _maker_of_input(node)
            return _edge(call or node.call)
        return _edge(node.call)
    return None


def _age(node: Node) -> int:
    return node.call.number if node.call is not None else 1 << 62


def _maker_of_input(node: Node) -> Call | None:
    made = [v.made for v in node.call.inputs if v.made is not None and v.made.end > v.made.first]
    return max(made, key=lambda c: c.number, default=None)


def _masked(patient: Patient, one: Pass, softmax: Call) -> Finding:
    mask = None
    for call in patient.history.flow(one).calls:
        if call.name in _MASKS and call.number < softmax.number:
            mask = call if mask is None or call.number > mask.number else mask
    return _finding(
        "nan_masked", (mask or softmax).spot, (),
        "A row of this softmax has nothing but -inf: e^-inf / 0 is NaN.",
        "Leave such rows out, or fill with a large finite number "
        "(torch.finfo(dtype).min) instead of -inf.",
    )  # fmt: skip


def _edge(call: Call) -> Finding:
    return _finding(
        "nan_edge", call.spot, ("the loss",),
        f"{call.name} is the first call whose values are not finite.",
        "Keep its input inside of what the function is defined for: clamp it, or add a small "
        "number before log, sqrt or a division.",
    )  # fmt: skip


def _is_empty(call: Call) -> bool:
    return call.note.get("counted") == 0 or any(0 in v.shape for v in call.inputs[:1])


def _backward(patient: Patient, one: Pass) -> Finding | None:
    """The loss is finite: which node made the first gradient that is not?"""
    origins = [
        node for node in one.nodes
        if BAD in node.went and BAD not in node.came and node.call is not None
    ]  # fmt: skip
    for node in one.nodes:
        if "oftmax" in node.name and node.saved.get("result") == BAD and node.call is not None:
            return _masked(patient, one, node.call)
    if not origins:
        return None
    node = max(origins, key=lambda n: n.call.number)
    leaves = patient.names.listed(v for v, state in one.leaves.items() if state == BAD)
    if _under_selection(one, node):
        return _finding(
            "nan_where", node.call.spot, leaves,
            f"The gradient of {leaves} is NaN or infinite. {node.call.name} ran also for the "
            "elements that the selection after it leaves out: their gradient is 0, its derivative "
            "there is infinite, and 0 times infinity is NaN.",
            "Make its input safe before the call: x = torch.where(ok, x, 1.0), and select "
            "afterwards.",
        )  # fmt: skip
    return _finding(
        "nan_edge", node.call.spot, leaves,
        f"The gradient of {leaves} is NaN or infinite: it begins at {node.call.name}, whose "
        "derivative is infinite at the edge of what it is defined for.",
        "Keep the input away from the edge: add a small number before sqrt, clamp to "
        "[-1 + eps, 1 - eps] before acos, or use torch's own norm.",
    )  # fmt: skip


def _under_selection(one: Pass, node: Node, most: int = 8) -> bool:
    """Is its result selected from by where or a mask, on the way to the loss?"""
    above: dict[int, list[Node]] = {}
    for other in one.nodes:
        for below, _ in other.below:
            above.setdefault(id(below), []).append(other)
    seen, waiting = set(), [(node, 0)]
    while waiting:
        current, depth = waiting.pop()
        for other in above.get(id(current), ()):
            if id(other) in seen or depth > most or other.name.startswith(("Sum", "Mean")):
                continue
            if other.name.startswith(_SELECT):
                return True
            seen.add(id(other))
            waiting.append((other, depth + 1))
    return False
