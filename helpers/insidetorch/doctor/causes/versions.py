"""A backward pass that needs what is no longer there: overwritten, or freed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torch import nn

from ...records import Place
from ..calls import Call
from ..finding import PROBLEM, Finding
from ..passes import Node, Pass
from ..patient import Patient
from ..stacks import Spot
from .common import in_frame_of, place
from .crossings import crossing, made_once, pass_before
from .modules import made_module, of_module

_WRITTEN = "modified by an inplace operation"
_OUT_OF_PLACE = {
    "add_": "a = a + b for a += b", "__iadd__": "a = a + b for a += b",
    "sub_": "a = a - b for a -= b", "__isub__": "a = a - b for a -= b",
    "mul_": "a = a * b for a *= b", "__imul__": "a = a * b for a *= b",
    "div_": "a = a / b for a /= b", "__itruediv__": "a = a / b for a /= b",
    "__setitem__": "torch.where or torch.cat for a[i] = b, or a clone that is written to",
    "copy_": "bind the name to the new values", "relu_": "relu for relu_",
    "clamp_": "clamp for clamp_", "zero_": "zeros_like",
}  # fmt: skip


def find(patient: Patient) -> Iterator[Finding]:
    """What the pass that raised needed, and who took it away."""
    failed = [one for one in patient.history.passes if one.victims and one.error is patient.error]
    for one in failed[-1:]:
        why = "written" if _WRITTEN in str(one.error) else "freed"
        victims = [v for v in one.victims if v[0] == why]
        if not victims:
            continue
        _, node, key, _ = max(victims, key=lambda victim: victim[3])
        yield from (
            _written(patient, one, node, key) if why == "written" else _freed(patient, one, node)
        )


def _written(patient: Patient, one: Pass, node: Node, key: int) -> Iterator[Finding]:
    call = node.call
    writers = _writers(call, key)
    old = crossing(patient, one, call)
    victim = f"{node.name}{of_module(patient, call)}, made by {_line(call)}" if call else node.name
    if old is not None:
        where, value = old.place, old.value
        yield Finding(
            "inplace_version", PROBLEM, where, patient.names.listed([value]),
            f"The backward pass goes back into the graph of an earlier step, through a value that "
            f"is carried on here. {victim} saved a tensor there that has been overwritten since"
            + (f" by {_line(writers[-1])}." if writers else "."),
            "Detach what is carried from one step to the next, and drop retain_graph=True.",
            weight=100,
        )  # fmt: skip
        return
    if not writers:
        return
    writer = writers[0]
    spot = in_place_spot(patient, writer)
    yield Finding(
        "inplace_version", PROBLEM, place(spot), (victim,),
        f"{writer.name} writes over a tensor that {victim}, has saved for the backward pass.",
        _no_write(patient, writer), weight=100,
    )  # fmt: skip


def _no_write(patient: Patient, writer: Call) -> str:
    """What to do about a call that writes over what a backward pass needs."""
    if writer.name == "step":
        return (
            "Run every backward pass that needs the old parameters before the step, or compute "
            "the loss again after it."
        )
    module = in_place_module(writer)
    if module is not None:
        return f"Set inplace=False in {patient.names.of_module(module)}."
    return (
        f"Write the result into a new tensor ({_OUT_OF_PLACE.get(writer.name, 'a = a + b')}), or "
        "do the backward pass before the write."
    )


def _writers(call: Call | None, key: int) -> list[Call]:
    """The calls that wrote to the saved memory after it was saved."""
    if call is None:
        return []
    found = {}
    for value in (*call.inputs, *call.outputs):
        memory = value.memory
        if memory is not None and memory.key == key:
            for writer, _ in memory.writes:
                if writer.number > call.number:
                    found[writer] = None
    return sorted(found, key=lambda writer: writer.number)


def in_place_module(call: Call) -> nn.Module | None:
    """The module that runs a call and writes in place because it was told to."""
    module = call.module() if call.module is not None else None
    return module if getattr(module, "inplace", False) is True else None


def in_place_spot(patient: Patient, call: Call) -> Spot | None:
    """The line of a write: where its module was made, if that was told to write in place."""
    module = in_place_module(call)
    event = made_module(patient, module) if module is not None else None
    return event.stack[0] if event is not None and event.stack else call.spot


def _freed(patient: Patient, one: Pass, node: Node) -> Iterator[Finding]:
    old = crossing(patient, one, node.call)
    earlier = pass_before(patient, one, node.call)
    before = f" {_line_of(earlier)} has freed it" if earlier else " It has been freed"
    if old is not None and not old.kept and made_once(patient, one, earlier, old.value):
        yield Finding(
            "freed_graph", PROBLEM, place(one.stack[0]) if one.stack else None,
            patient.names.listed([old.value]),
            f"Several backward passes begin here, and all of them go through "
            f"{patient.names.of(old.value)}, which was computed once ({old.place}): the first has "
            "freed its graph.",
            "Add up the losses and call backward() once for all of them.",
            weight=100,
        )  # fmt: skip
        return
    if old is not None and earlier is not None and _place_of(earlier) != _place_of(one):
        shared = patient.names.of(old.value)
        yield Finding(
            "freed_graph", PROBLEM, old.place, patient.names.listed([old.value]),
            f"Two backward passes go through {shared}, which was computed once, here.{before}.",
            f"If the first of them is not meant for what is before {shared}, give it "
            f"{shared}.detach(). If both are, add up their losses, and call backward() once.",
            weight=100,
        )  # fmt: skip
        return
    if old is not None:
        where, value = old.place, old.value
        yield Finding(
            "freed_graph", PROBLEM, where, patient.names.listed([value]),
            f"This line carries {patient.names.of(value)} with its whole history into the next "
            "step: the backward pass then goes back into a graph that is no longer there."
            f"{before}.",
            f"Detach what is carried on before the next step: {_detached(where)}.",
            weight=100,
        )  # fmt: skip
        return
    root = one.roots[0] if one.roots else None
    maker = root.made if root is not None else None
    spot = in_frame_of(maker.stack, one.stack) if maker else one.stack[0] if one.stack else None
    yield Finding(
        "freed_graph", PROBLEM, place(spot), patient.names.listed([root]),
        f"The graph that was made here is used by a second backward pass.{before}.",
        "Compute the loss again before each backward pass, or add up what shares a part and call "
        "backward once.",
        weight=100,
    )  # fmt: skip


def _detached(where: Place | None) -> str:
    """How the variable that a line carries on is detached, by its name."""
    found = re.match(r"(?:\w+, *)*(\w+) = .*\b\1\b", where.statement) if where else None
    name = found[1] if found else "h"
    return f"{name} = {name}.detach(), or tuple(t.detach() for t in {name}) for a tuple"


def _line(call: Call) -> str:
    where = place(call.spot)
    return f"{call.name} ({where})" if where else call.name


def _place_of(one: Pass) -> Place | None:
    return place(one.stack[0]) if one.stack else None


def _line_of(one: Pass) -> str:
    where = _place_of(one)
    return f"The backward pass of {where}" if where else "An earlier backward pass"


def unseen_writes(patient: Patient) -> Iterator[Finding]:
    """Saved tensors that were overwritten through .data, which no version counter counts."""
    for one in patient.history.losses():
        for node, name, writer in one.late:
            yield Finding(
                "data", PROBLEM, place(writer.spot), (node.name,),
                f"{node.name}, made by {_line(node.call)}, had saved this memory ({name}) for the "
                "backward pass. It is overwritten here through .data, where torch does not see it: "
                "the gradient is computed from other values.",
                "Write the result into a new tensor, and leave .data alone.",
                weight=64,
            )  # fmt: skip
            return
