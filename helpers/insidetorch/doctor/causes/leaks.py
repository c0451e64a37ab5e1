"""History that is kept alive from step to step."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from ...observe.holders import graph_holders
from ...observe.places import place_of
from ...records import Place
from ..calls import Call
from ..finding import PROBLEM, Finding
from ..patient import Patient
from ..stacks import Spot
from ..values import LIVE
from .common import files_of, place, tree_of

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
    many = {key: values for key, values in alive.items() if len(values) >= _FEW}
    if not many:
        return
    for holder in graph_holders(patient.namespace):
        if holder.tensors < _FEW:
            continue
        where = _appended(patient, holder.path)
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


def _appended(patient: Patient, path: str) -> Place | None:
    """The line that puts something into a container of this name."""
    name = re.split(r"\[", path)[0].rpartition(".")[2]
    for file in files_of(patient):
        tree = tree_of(file)
        for node in ast.walk(tree) if tree else ():
            if _fills(node, name):
                return place_of(file, node.lineno)
    return None


def _fills(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        held = node.func.value
        return node.func.attr in ("append", "extend", "add", "insert", "appendleft") and (
            _named(held) == name
        )
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(isinstance(t, ast.Subscript) and _named(t.value) == name for t in targets) or (
            isinstance(node, ast.AugAssign) and _named(node.target) == name
        )
    return False


def _named(node: ast.AST) -> str:
    if isinstance(node, ast.Subscript):
        return _named(node.value)
    return getattr(node, "id", getattr(node, "attr", ""))
