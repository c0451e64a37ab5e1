"""Tensors that are no leaves though they were taken for one, and leaves that are frozen."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn
from torch.nn.utils import parametrize

from ..calls import Call
from ..finding import PROBLEM, Finding
from ..patient import Patient
from ..values import Value
from .common import in_frame_of, place


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
        name = patient.names.of(value)
        yield Finding(
            "non_leaf", PROBLEM, place(spot), name,
            f"{name} is the result of a computation, made here: .grad is kept for leaves only.",
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


def _frozen(patient: Patient, value: Value) -> Finding:
    off = [
        e for e in patient.history.of("requires_grad") if e.subject is value and not e.note["on"]
    ]
    stack = off[-1].stack if off else value.made.stack if value.made is not None else ()
    name = patient.names.of(value)
    return Finding(
        "frozen", PROBLEM, place(stack[0]) if stack else None, name,
        f"The loss has no graph: {name} and all else that it was made of has requires_grad=False.",
        "Leave requires_grad on for what is to be trained (freeze=False, requires_grad_(True)).",
        weight=90,
    )  # fmt: skip
