"""Tensors that were taken for copies, and changed with the memory that they share."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from ...records import Place
from ..finding import PROBLEM, Finding
from ..patient import Patient
from ..stacks import Spot
from ..values import LEAF, Value
from .common import place, statement_at

_ALIASES = {"detach", "data"}
_CLONE = "Copy it: .clone() (or copy.deepcopy of a state_dict)."


def repeated(patient: Patient) -> Iterator[Finding]:
    """Several tensors of one line that are one and the same memory, written in between."""
    for call in patient.history.calls:
        made = [v.made for v in call.inputs if v.made is not None] if call.note.get("same") else []
        if len(made) > 1 and any(
            made[0].number < c.number < made[-1].number for c, _ in call.inputs[0].memory.writes
        ):
            yield _one_memory(place(made[0].spot), len(made))
            return
    groups: dict[tuple, list[Value]] = defaultdict(list)
    for call in patient.history.calls:
        if call.spot is None or call.name in ("stack", "cat"):
            continue
        for value in call.outputs:
            t = value.tensor
            if t is None or value.made is not call or value.memory is None:
                continue
            if value.memory in [v.memory for v in call.inputs]:
                key = (call.spot, id(value.memory), t.shape, t.storage_offset(), t.stride())
                groups[key].append(value)
    for (spot, *_), values in groups.items():
        first, last = values[0].made.number, values[-1].made.number
        writes = values[0].memory.writes
        if len(values) > 2 and any(first < c.number < last for c, _ in writes):
            if any(w in values for c, w in writes):
                continue
            yield _one_memory(place(spot), len(values))
            return


def multiplied(patient: Patient) -> Iterator[Finding]:
    """A list of one tensor several times over, `[x] * n`, that is written as if it were several."""
    looked_at: dict[Spot, bool] = {}
    for call in patient.history.calls:
        if call.spot is None or not call.outputs:
            continue
        if call.spot not in looked_at:
            looked_at[call.spot] = _multiplies(call.spot)
        writes = call.outputs[0].wrote
        if looked_at[call.spot] and len(writes) > 1 and writes[0].spot == writes[-1].spot:
            yield Finding(
                "storage_shared", PROBLEM, place(call.spot), (),
                "The list that is made here holds one tensor several times, not several tensors: "
                f"each write ({place(writes[0].spot)}) changes all of its places.",
                "Make a tensor for each place: [torch.zeros(...) for _ in range(n)].", weight=54,
            )  # fmt: skip
            return


def _multiplies(spot: Spot) -> bool:
    """Does a line multiply a list in which something is computed?"""
    statement = statement_at(spot)
    return any(
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)
        and any(_is_list_of_a_call(side) for side in (node.left, node.right))
        for node in (ast.walk(statement) if statement is not None else ())
    )  # fmt: skip


def _is_list_of_a_call(node: ast.expr) -> bool:
    return isinstance(node, ast.List) and any(isinstance(one, ast.Call) for one in node.elts)


def _one_memory(where: Place | None, count: int) -> Finding:
    return Finding(
        "storage_shared", PROBLEM, where, (),
        f"{count} tensors that were made here one after the other are one piece of memory, which "
        "was written in between: all of them show the last values.",
        _CLONE, weight=54,
    )  # fmt: skip


def captured(patient: Patient) -> Iterator[Finding]:
    """What detach() or .data gave, kept while its memory was overwritten by others."""
    if patient.recorder.values.unreadable:  # under vmap or grad nobody sees what is read
        return
    for call in patient.history.calls:
        if call.name not in _ALIASES or not call.inputs or call.note.get("via"):
            continue
        value = call.outputs[0] if call.outputs else None
        if value is None or value.memory is None or value.wrote:
            continue
        writes = [c for c, w in value.memory.writes if c.number > call.number and w is not value]
        if not writes:
            continue
        reads = [r.number for r in value.readers]
        before = any(r < writes[0].number for r in reads)
        after = any(r > writes[0].number for r in reads)
        leaf = call.standing[0] == LEAF or call.inputs[0].leaf
        if before or not (after or value.tensor is not None):
            continue
        kind = "storage_shared" if leaf else "inplace_silent"
        yield Finding(
            kind, PROBLEM, place(call.spot), patient.names.listed([value]),
            f"{call.name.rstrip('_')} shares the memory: {writes[0].name} "
            f"({place(writes[0].spot)}) has overwritten what was kept here.",
            "Keep a copy: .detach().clone().", weight=53,
        )  # fmt: skip
        return


def arrays(patient: Patient) -> Iterator[Finding]:
    """A NumPy array that is changed through a tensor, and read again as if it were not."""
    calls = [c for c in patient.history.calls if c.note.get("address")]
    for first in calls:
        value = first.outputs[0] if first.outputs else None
        if value is None or value.memory is None or not value.memory.writes:
            continue
        written = value.memory.writes[0][0].number
        again = [
            c for c in calls if c.number > written and c.note["address"] == first.note["address"]
        ]
        if again and first.name == "from_numpy":
            yield Finding(
                "storage_shared", PROBLEM, place(first.spot), (),
                "from_numpy shares the memory of the array. The tensor is written in place "
                f"({place(value.memory.writes[0][0].spot)}), so the caller's array changes, and is "
                "read again afterwards.",
                "Use torch.tensor(array), which copies, or compute out of place.", weight=54,
            )  # fmt: skip
            return
