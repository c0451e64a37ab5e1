"""What stands in the place of methods of torch's modules: who was made, runs, and holds what?"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from .stacks import stack_here

if TYPE_CHECKING:
    from .recorder import Recorder


def module(recorder: Recorder, original: Callable) -> Callable:
    def __init__(module, *args, **kwargs):
        original(module, *args, **kwargs)
        if recorder.watching():
            recorder.event("module", weakref.ref(module), stack=stack_here(), id=id(module))

    return __init__


def call_module(recorder: Recorder, original: Callable) -> Callable:
    """A module's forward, hooks and all. No hook of ours: torch warns of them, and takes longer."""

    def _call_impl(module, *args, **kwargs):
        if not recorder.watching():
            return original(module, *args, **kwargs)
        recorder.enter(module)
        try:
            return original(module, *args, **kwargs)
        finally:
            recorder.leave(module)

    return _call_impl


def parameters(recorder: Recorder, original: Callable) -> Callable:
    def named_parameters(module, *args, **kwargs):
        if recorder.watching() and not recorder.here.quiet:
            recorder.event("parameters", weakref.ref(module), stack=stack_here())
        return original(module, *args, **kwargs)

    return named_parameters


def register(recorder: Recorder, original: Callable) -> Callable:
    def register_parameter(module, name, param):
        result = original(module, name, param)
        if param is not None and recorder.watching():
            value, owner = recorder.values.of(param), weakref.ref(module)
            recorder.event("register", value, stack=stack_here(), module=owner, name=name)
        return result

    return register_parameter


def put(recorder: Recorder, original: Callable) -> Callable:
    """A module takes the place of another, or gets a flag that only tensors have."""

    def put(module, name, value):
        old = module._modules.get(name) if isinstance(value, torch.nn.Module) else None
        original(module, name, value)
        if name == "requires_grad" and recorder.watching():
            recorder.event("flag", weakref.ref(module), stack=stack_here(), on=value)
        if old is not None and old is not value and recorder.watching():
            parameters = tuple(recorder.values.of(p) for p in old.parameters())
            recorder.event("replaced", weakref.ref(value), stack=stack_here(), old=parameters)

    return put
