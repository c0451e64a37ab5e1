"""History that is kept alive from step to step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ...observe.holders import graph_holders
from ..calls import Call
from ..finding import PROBLEM, Finding
from ..patient import Patient
from ..stacks import Spot
from ..values import LIVE, Value
from .common import place
from .keepers import line_that_fills

_FEW = 8  # so many graphs of one line that are alive at the end are kept by something
_SUMS = {"add", "__add__", "__radd__", "__iadd__", "add_", "mul", "__mul__", "lerp", "cat", "stack",
         "__sub__", "sub"}  # fmt: skip


def running_sums(patient: Patient) -> Iterator[Finding]:
    """A sum that goes on over steps and drags the graph of each with it."""
    passes = [one for one in patient.history.losses() if one.accumulate]
    visited = set().union(*(one.visited for one in passes))
    last: dict[Spot, Call] = {}
    counts: dict[Spot, int] = defaultdict(int)
    for call in patient.history.calls:
        if call.inside or call.name not in _SUMS or LIVE not in call.made:
            continue
        if not visited.isdisjoint(range(call.first, call.end)):
            continue
        before = last.get(call.spot)
        goes_on = before is not None and any(v in before.outputs for v in call.inputs)
        if goes_on and any(before.number <= one.at < call.number for one in passes):
            counts[call.spot] += 1
        last[call.spot] = call
    for spot, count in counts.items():
        if spot is not None and count > 1:
            yield Finding(
                "graph_leak", PROBLEM, place(spot), (),
                "This line adds a tensor with its history to one that is kept, over "
                f"{count + 1} steps: the graph of every step stays reachable.",
                "Add the number: total += loss.item(), or loss.detach().",
                weight=63,
            )  # fmt: skip
            return


def kept(patient: Patient) -> Iterator[Finding]:
    """Containers that hold many results with a graph, at the end of the run."""
    alive: dict[tuple[Spot, str], list] = defaultdict(list)
    for call in patient.history.calls:
        for value, how in zip(call.outputs, call.made, strict=False):
            if how == LIVE and value.made is call and call.spot is not None:
                t = value.tensor
                if t is not None and t.grad_fn is not None:
                    alive[call.spot, call.name].append(value)
    many = [values for values in alive.values() if len(values) >= _FEW]
    if all(_of_one_step(patient, values) for values in many):
        return
    for holder in graph_holders(patient.namespace):
        if holder.tensors < _FEW:
            continue
        where = line_that_fills(patient, holder.path)
        if where is None:
            continue
        yield Finding(
            "graph_leak", PROBLEM, where, (holder.path,),
            f"{holder.path} and {holder.tensors - 1} more beside it are kept with their graphs, "
            f"which hold {holder.cost.nbytes:,} bytes of saved tensors now.",
            "Keep .detach() or .item() of them, run what needs no gradient under torch.no_grad(), "
            "and empty the list when it is done.",
            weight=61,
        )  # fmt: skip
        return


def _of_one_step(patient: Patient, values: list[Value]) -> bool:
    """Did one and the same backward pass go through all of them? They are a step's own, then."""
    last = patient.history.losses()[-1:]
    return any(
        all(not one.visited.isdisjoint(range(v.made.first, v.made.end)) for v in values)
        for one in last
    )
