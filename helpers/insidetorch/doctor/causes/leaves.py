"""Tensors that are no leaves though they were taken for one, and leaves that are frozen."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn
from torch.nn.utils import parametrize

from ..calls import Call
from ..finding import PROBLEM, Finding
from ..passes import NONE, ZERO
from ..patient import Patient
from ..values import Value
from .common import first_line, in_frame_of, place
from .keepers import keeping_line
from .modules import construction, made_module


def non_leaves(patient: Patient) -> Iterator[Finding]:
    """`.grad` asked of a result, which keeps none."""
    asked = [(event.subject, event.stack) for event in patient.history.of("read")]
    asked += [(value, ()) for value in patient.asked_grads]
    told = set()
    for value, stack in asked:
        t, maker = value.tensor, value.made
        if t is None or maker is None or t.is_leaf or t.retains_grad or value in told:
            continue
        if _parametrized(patient, maker):
            continue
        told.add(value)
        spot = (
            in_frame_of(maker.stack, stack) if stack else maker.stack[-1] if maker.stack else None
        )
        name = patient.names.listed([value])
        kept = keeping_line(patient, t)
        where = f"kept here and made elsewhere ({place(spot)})" if kept else "made here"
        yield Finding(
            "non_leaf", PROBLEM, kept or place(spot), name,
            f"{name} is the result of a computation, {where}: .grad is kept for leaves only.",
            "Keep the leaf under a name of its own and read its .grad, or call .retain_grad() on "
            "the result.",
            weight=62,
        )  # fmt: skip


def _parametrized(patient: Patient, maker: Call) -> bool:
    module = maker.module() if maker.module is not None else None
    if module is None:
        return False
    if type(module).__module__.startswith("torch.nn.utils.parametriz"):
        return True
    return any(
        isinstance(one, parametrize.ParametrizationList) and module in list(one.modules())
        for root in patient.names.roots for one in root.modules()
    )  # fmt: skip


def frozen(patient: Patient) -> Iterator[Finding]:
    """The loss has no graph, since nothing that it was made of requires a gradient."""
    if any(flags_of_modules(patient)):
        return
    for one in patient.history.losses():
        if one.error is None or "does not require grad" not in str(one.error):
            continue
        flow = patient.history.flow(one)
        if patient.cuts(one):
            continue
        for call in sorted(flow.calls, key=lambda call: call.number):
            for value in call.inputs:
                t = value.tensor
                if isinstance(t, nn.Parameter) and not t.requires_grad:
                    yield _frozen(patient, value)
                    return
    return


def flags_of_modules(patient: Patient) -> Iterator[Finding]:
    """`requires_grad` set on a module: an attribute like any other, which changes no parameter."""
    for event in patient.history.of("flag"):
        module, on, where = event.subject(), event.note["on"], place(first_line(event))
        if module is None or where is None or where.statement.startswith("self."):
            continue
        still = [p for p in module.parameters() if p.requires_grad != bool(on)]
        if still:
            names = patient.names.listed(map(patient.recorder.values.of, still))
            yield Finding(
                "frozen", PROBLEM, where, names,
                "This line sets an attribute of a module, which changes none of its parameters: "
                f"{names} still {'do not require' if on else 'require'} a gradient.",
                f"Call module.requires_grad_({on}), which sets the flag of each parameter.",
                weight=91,
            )  # fmt: skip
            return


def _frozen(patient: Patient, value: Value) -> Finding:
    off = [
        e for e in patient.history.of("requires_grad") if e.subject is value and not e.note["on"]
    ]
    stack = off[-1].stack if off else value.made.stack if value.made is not None else ()
    name = patient.names.listed([value])
    return Finding(
        "frozen", PROBLEM, place(stack[0]) if stack else None, name,
        f"The loss has no graph: {name} and all else that it was made of has requires_grad=False.",
        "Leave requires_grad on for what is to be trained (freeze=False, requires_grad_(True)).",
        weight=90,
    )  # fmt: skip


def moving_statistics(patient: Patient) -> Iterator[Finding]:
    """A BatchNorm that is frozen, and whose statistics move."""
    off = {e.subject: e for e in patient.history.of("requires_grad") if not e.note["on"]}
    inside = [c for one in patient.history.samples() for c in patient.history.flow(one).calls]
    for call in inside:
        weight = next((v for v in call.inputs if v in off), None)
        if call.name != "batch_norm" or not call.note.get("training") or weight is None:
            continue
        if not _beside_trained(patient, weight):
            continue
        event = off[weight]
        after = [
            e for e in patient.history.of("train")
            if e.note["mode"] and e.order > event.order and e.at < call.number
        ]  # fmt: skip
        stack = after[-1].stack if after else event.stack
        name = patient.names.listed([weight])
        yield Finding(
            "frozen", PROBLEM, place(stack[0]) if stack else None, name,
            f"The BatchNorm of {name} is frozen, and runs in training mode: its running mean and "
            "variance go on changing, and it normalizes by each batch.",
            "Call .eval() on what is frozen, after every model.train().",
            weight=48,
        )  # fmt: skip
        return


def _beside_trained(patient: Patient, weight: Value) -> bool:
    """Is it a part of a model of which another part is trained?"""
    for root in patient.names.roots:
        parameters = list(root.parameters())
        if any(p is weight.tensor for p in parameters) and any(p.requires_grad for p in parameters):
            return True
    return False


def linear_twice(patient: Patient) -> Iterator[Finding]:
    """A derivative of a derivative that is zero everywhere, or has no graph."""
    if not any(one.create for one in patient.history.passes):
        return
    for one in patient.history.passes[:_MOST_PASSES] + patient.history.passes[-1:]:
        inner = [c for c in patient.history.flow(one).calls if c.name == "autograd.grad"]
        inner = [c for c in inner if c.note["pass"].create]
        if (one.accumulate and one.error is None) or not inner:
            continue
        raised = one.error is not None and "does not require grad" in str(one.error)
        if not raised and (not one.results or not set(one.results) <= {ZERO, NONE}):
            continue
        first = inner[0].note["pass"]
        calls = sorted(patient.history.flow(first).calls, key=lambda call: call.number)
        flat = [c for c in calls if c.name in _PIECEWISE]
        spot = None
        if flat:
            module = flat[0].module() if flat[0].module is not None else None
            event = made_module(patient, module) if module is not None else None
            own = type(module).__module__.startswith("torch.") if module is not None else False
            spot = construction(event, module) if event and own else flat[0].spot
        elif calls:
            spot = calls[-1].spot
        yield Finding(
            "linear_second", PROBLEM, place(spot), (),
            "The first derivative is a constant here: its own derivative is zero everywhere.",
            "Use a function that is curved (tanh, softplus, SiLU), where a second derivative is "
            "needed.",
            weight=91 if raised else 59,
        )  # fmt: skip
        return


_MOST_PASSES = 40
_PIECEWISE = {"relu", "relu_", "leaky_relu", "hardtanh", "threshold", "abs", "relu6", "clamp"}
