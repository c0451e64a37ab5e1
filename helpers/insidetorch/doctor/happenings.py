"""What the patches tell the recorder: modules, optimizers, custom functions."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.optim import Optimizer

from ..observe import private, private_doctor, private_nodes
from .passes import size_below
from .stacks import stack_here

if TYPE_CHECKING:
    from .recorder import Recorder


def apply_function(recorder: Recorder, cls: type, run: Callable, args: tuple, kwargs: dict):
    """An autograd.Function is one call; what its forward reads besides its arguments counts too."""
    if cls not in recorder.functions and not cls.__module__.startswith("torch."):
        recorder.functions[cls] = vars(cls).get("backward")
        _watch_backward(recorder, cls)
    recorder.here.inner = {}
    first = private_nodes.next_sequence_nr()
    tensors, standing, before = recorder.looked_at(args, kwargs)
    try:
        result = run(*args, **kwargs)
    except BaseException as error:
        recorder.raised(error, cls.__name__, args, kwargs)
        raise
    finally:
        inner, recorder.here.inner = recorder.here.inner, None
    changed = [t for t, v in zip(tensors, before, strict=True) if private_doctor.version(t) != v]
    call = recorder.note(
        "apply", tensors, standing, result, changed, first, stack=stack_here(),
        note={"function": cls},
    )  # fmt: skip
    if call is None:
        return result
    for value, one in inner.items():
        if value not in call.inputs:
            call.inputs += (value,)
            call.standing += (one,)
            value.readers.append(call)
    kept = recorder.guarded(kept_on, result, tensors)
    if kept:
        call.note["kept"] = kept
    return result


def _watch_backward(recorder: Recorder, cls: type) -> None:
    """See what sizes a custom backward returns: torch adds up what is too large without a word."""
    original = cls.backward

    @functools.wraps(original)
    def backward(ctx, *grads):
        before = len(recorder.calls)
        versions = [private_doctor.version(g) for g in grads if isinstance(g, torch.Tensor)]
        result = original(ctx, *grads)
        recorder.guarded(_look_whether_written, recorder, cls, grads, versions)
        given = result if isinstance(result, (tuple, list)) else (result,)
        recorder.guarded(_look_at_sizes, recorder, cls, ctx, given)
        recorder.guarded(_look_whether_used, recorder, cls, grads, given, before)
        return result

    cls.backward = staticmethod(backward)


def _look_whether_written(recorder: Recorder, cls: type, grads: tuple, versions: list[int]) -> None:
    """Did a backward write to a gradient that it was given, which others may be given too?"""
    tensors = [g for g in grads if isinstance(g, torch.Tensor)]
    for g, version in zip(tensors, versions, strict=True):
        value = recorder.values.known(g)
        if private_doctor.version(g) != version:
            recorder.spoiled.setdefault(cls, value.wrote[0] if value and value.wrote else None)


def _look_at_sizes(recorder: Recorder, cls: type, ctx: object, given: tuple) -> None:
    """Has each gradient that a backward returns the size of its argument?"""
    for g, (below, index) in zip(given, ctx.next_functions, strict=False):
        wanted = None if below is None else size_below(below, index)
        if isinstance(g, torch.Tensor) and wanted is not None and tuple(g.shape) != wanted:
            recorder.summed.setdefault(cls, (tuple(g.shape), wanted))


def _look_whether_used(
    recorder: Recorder, cls: type, grads: tuple, given: tuple, before: int
) -> None:
    """Does what a backward returns depend on the gradient that it is given?"""
    tensors = [g for g in grads if isinstance(g, torch.Tensor)]
    returned = [g for g in given if isinstance(g, torch.Tensor)]
    with private.unseen():
        ones = all(bool((g == 1).all()) for g in tensors)
    if not returned or ones:
        return
    values = {recorder.values.of(g) for g in tensors}
    read = any(values & set(call.inputs) for call in recorder.calls[before:])
    if not read and not any(g is t for g in returned for t in tensors):
        recorder.ignored.add(cls)


def kept_on(result: object, given: list[torch.Tensor]) -> dict[str, str]:
    """Names of the tensors that a custom function keeps on `ctx`, beside those it was given.

    They are its own results ("output"), or values in between ("other").
    """
    outputs = result if isinstance(result, (tuple, list)) else (result,)
    ctx = next((t.grad_fn for t in outputs if isinstance(t, torch.Tensor) and t.grad_fn), None)
    found = {}
    for name, one in getattr(ctx, "__dict__", {}).items():
        if not isinstance(one, torch.Tensor) or any(one is t for t in given):
            continue
        if one.is_floating_point() or one.is_complex():
            found[name] = "output" if any(one is t for t in outputs) else "other"
    return found


def told(recorder: Recorder, name: str, run: Callable, subject: object, args: tuple, kwargs: dict):
    """Run one of torch's methods that are told of, and say what it did to gradients."""
    recorder.here.telling, quiet = True, recorder.here.quiet
    recorder.here.via = name if name in ("state_dict", "load_state_dict") else ""
    recorder.here.quiet = quiet or name in ("zero_grad", "clip", "train")
    cleared = recorder.guarded(_with_gradients, subject) if name == "zero_grad" else []
    try:
        result = run(subject, *args, **kwargs)
    finally:
        recorder.here.telling, recorder.here.quiet, recorder.here.via = False, quiet, ""
    recorder.guarded(_tell, recorder, name, subject, args, kwargs, result, cleared or [])
    return result


def _tell(
    recorder: Recorder, name: str, subject: object, args: tuple, kwargs: dict, result: object,
    cleared: list,
) -> None:  # fmt: skip
    if name == "zero_grad" and recorder.here.stepping:  # in the closure of an optimizer's step
        return
    about = weakref.ref(subject) if isinstance(subject, (nn.Module, Optimizer)) else None
    note: dict = {}
    if name == "zero_grad":
        note["cleared"] = tuple(recorder.values.of(p) for p in cleared)
    if name == "state_dict":
        note["tensors"] = [
            (key, recorder.values.of(t)) for key, t in result.items() if isinstance(t, torch.Tensor)
        ]
    if name == "load_state_dict":
        note["assign"] = bool(args[2] if len(args) > 2 else kwargs.get("assign", False))
    if name == "train":
        note["mode"] = bool(args[0] if args else kwargs.get("mode", True))
    recorder.event(name, about, stack=stack_here(), **note)


def _with_gradients(subject: object) -> list[torch.Tensor]:
    if isinstance(subject, Optimizer):
        tensors = [p for group in subject.param_groups for p in group["params"]]
    else:
        tensors = list(subject.parameters())
    return [p for p in tensors if private.grad(p) is not None]


def made_optimizer(recorder: Recorder, optimizer: Optimizer) -> None:
    """An optimizer was made: what does it hold?"""
    held = [recorder.values.of(p) for g in optimizer.param_groups for p in g["params"]]
    recorder.event("optimizer", weakref.ref(optimizer), stack=stack_here(), held=held)
    recorder.guarded(recorder.lasting.keep, optimizer)


def stepped(recorder: Recorder, optimizer: Optimizer) -> None:
    """An optimizer has made a step: which of its tensors have changed?"""
    recorder.here.quiet = False
    before, recorder.here.stepping = recorder.here.stepping, []
    changed = [p for p, v in before if private_doctor.version(p) != v]
    held = tuple(recorder.values.of(p) for p, _ in before)
    call = recorder.note(
        "step", [], (), None, changed, stack=stack_here(), note={"optimizer": id(optimizer)}
    )
    recorder.steps += 1
    without = tuple(recorder.values.of(p) for p, _ in before if private.grad(p) is None)
    if call is None:
        return
    recorder.event(
        "step", weakref.ref(optimizer), stack=call.stack, held=held, without=without, call=call
    )
