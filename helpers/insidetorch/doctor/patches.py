"""What a mode does not see: each of torch's functions that is told of, and put back at the end."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from .escapes import address
from .happenings import apply_function, made_optimizer, stepped, told
from .running import run_engine
from .stacks import called_by_user, stack_here
from .tensors import standing_of, version

if TYPE_CHECKING:
    from .recorder import Recorder


class Patches(ExitStack):
    """All of them, while it is entered."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder

    def __enter__(self) -> Patches:
        super().__enter__()
        self._replace(torch.autograd, "_engine_run_backward", self._engine)
        self._replace(torch.autograd.Function, "apply", self._apply, kind=classmethod)
        self._replace(nn.Parameter, "__new__", self._parameter, kind=staticmethod)
        self._replace(torch, "from_numpy", self._from_numpy)
        self._replace(nn.Module, "__init__", self._module)
        self._replace(nn.Module, "named_parameters", self._parameters)
        self._replace(nn.Module, "register_parameter", self._register)
        self._replace(Optimizer, "__init__", self._optimizer)
        for name in ("state_dict", "load_state_dict", "_apply", "train", "zero_grad"):
            self._replace(nn.Module, name, functools.partial(self._told, name))
        self._replace(Optimizer, "zero_grad", functools.partial(self._told, "zero_grad"))
        self._replace(torch, "save", functools.partial(self._told, "save"))
        self._replace(torch.optim.lr_scheduler.LRScheduler, "step", self._schedule)
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            tell = functools.partial(self._told, "clip")
            self._replace(nn.utils, name, tell)
            self._replace(nn.utils.clip_grad, name, tell)
        hooks = nn.modules.module
        handles = (
            hooks.register_module_forward_pre_hook(self._enter_module),
            hooks.register_module_forward_hook(self._leave_module, always_call=True),
            register_optimizer_step_pre_hook(self._before_step),
            register_optimizer_step_post_hook(self._after_step),
        )
        for handle in handles:
            self.callback(handle.remove)
        self.callback(self._free_functions)
        return self

    def _free_functions(self) -> None:
        for cls, backward in self.recorder.functions.items():
            if backward is None:
                del cls.backward
            else:
                cls.backward = backward

    def _replace(self, owner: object, name: str, wrap: Callable, kind: type | None = None) -> None:
        """Put `wrap(original)` in the place of a function, and the original back at the end."""
        there = vars(owner).get(name)
        original = getattr(there, "__func__", there) if kind is not None else there
        inherited = original is None
        if inherited:
            original = getattr(owner, name)
            original = getattr(original, "__func__", original)
        new = functools.wraps(original)(wrap(original))
        setattr(owner, name, new if kind is None else kind(new))
        if inherited:
            self.callback(delattr, owner, name)
        else:
            self.callback(setattr, owner, name, there)

    # The engine, custom functions, new leaves.

    def _engine(self, original: Callable) -> Callable:
        def run(roots, *args, **kwargs):
            if self.recorder.watching():
                return run_engine(self.recorder, original, tuple(roots), args, kwargs)
            return original(roots, *args, **kwargs)

        return run

    def _apply(self, original: Callable) -> Callable:
        recorder = self.recorder

        def apply(cls, *args, **kwargs):
            if not recorder.watching() or recorder.inner is not None:
                return original(cls, *args, **kwargs)
            return apply_function(recorder, cls, functools.partial(original, cls), args, kwargs)

        return apply

    def _parameter(self, original: Callable) -> Callable:
        recorder = self.recorder

        def new(cls, data=None, requires_grad=True):
            result = original(cls, data, requires_grad)
            if isinstance(data, torch.Tensor) and recorder.watching():
                recorder.note(
                    "Parameter", [data], (standing_of(data),), result, stack=stack_here(),
                )  # fmt: skip
            return result

        return new

    def _from_numpy(self, original: Callable) -> Callable:
        recorder = self.recorder

        def from_numpy(array):
            try:
                result = original(array)
            except BaseException as error:
                recorder.raised(error, "from_numpy", (array,), {})
                raise
            if recorder.watching():
                recorder.note(
                    "from_numpy", [], (), result, stack=stack_here(), numbers=[array],
                    note={"address": address(array)},
                )  # fmt: skip
            return result

        return from_numpy

    # Modules.

    def _module(self, original: Callable) -> Callable:
        recorder = self.recorder

        def __init__(module, *args, **kwargs):
            original(module, *args, **kwargs)
            if recorder.watching():
                recorder.event("module", weakref.ref(module), stack=stack_here(), id=id(module))

        return __init__

    def _parameters(self, original: Callable) -> Callable:
        recorder = self.recorder

        def named_parameters(module, *args, **kwargs):
            if recorder.watching() and not recorder.quiet:
                recorder.event("parameters", weakref.ref(module), stack=stack_here())
            return original(module, *args, **kwargs)

        return named_parameters

    def _register(self, original: Callable) -> Callable:
        recorder = self.recorder

        def register_parameter(module, name, param):
            result = original(module, name, param)
            if param is not None and recorder.watching():
                recorder.event(
                    "register", recorder.values.of(param), stack=stack_here(),
                    module=weakref.ref(module), name=name,
                )  # fmt: skip
            return result

        return register_parameter

    def _told(self, name: str, original: Callable) -> Callable:
        recorder = self.recorder

        def run(subject, *args, **kwargs):
            if not recorder.watching() or recorder.telling:
                return original(subject, *args, **kwargs)
            return told(recorder, name, original, subject, args, kwargs)

        return run

    def _enter_module(self, module: nn.Module, _args: object) -> None:
        if self.recorder.watching():
            self.recorder.modules.append(weakref.ref(module))
            self.recorder.ran(module)

    def _leave_module(self, module: nn.Module, _args: object, _result: object) -> None:
        stack = self.recorder.modules
        if self.recorder.watching() and stack and stack[-1]() is module:
            stack.pop()

    # Optimizers.

    def _optimizer(self, original: Callable) -> Callable:
        recorder = self.recorder

        def __init__(optimizer, params, *args, **kwargs):
            try:
                original(optimizer, params, *args, **kwargs)
            except BaseException as error:
                recorder.raised(error, "optimizer", (params,), {})
                raise
            if recorder.watching():
                made_optimizer(recorder, optimizer)

        return __init__

    def _schedule(self, original: Callable) -> Callable:
        recorder = self.recorder

        def step(scheduler, *args, **kwargs):
            if recorder.watching() and called_by_user():
                recorder.event("schedule", stack=stack_here())
            return original(scheduler, *args, **kwargs)

        return step

    def _before_step(self, optimizer: Optimizer, args: tuple, kwargs: dict) -> None:
        recorder = self.recorder
        if not recorder.watching():
            return
        recorder.stepping = [(p, version(p)) for p in parameters_of(optimizer)]
        recorder.quiet = len(args) < 2 and not kwargs.get("closure")  # args[0] is the optimizer

    def _after_step(self, optimizer: Optimizer, _args: tuple, _kwargs: dict) -> None:
        if self.recorder.watching():
            stepped(self.recorder, optimizer)


def parameters_of(optimizer: Optimizer) -> list[torch.Tensor]:
    """What an optimizer holds, in its order."""
    return [p for group in optimizer.param_groups for p in group["params"]]
