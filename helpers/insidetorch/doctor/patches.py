"""What a mode does not see: each of torch's functions that is told of, and put back at the end."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from . import patched, patched_modules

if TYPE_CHECKING:
    from .recorder import Recorder

# Owner, name, what stands in its place, and the kind of method it is.
_FUNCTIONS: tuple[tuple[object, str, Callable, type | None], ...] = (
    (torch.autograd, "_engine_run_backward", patched.engine, None),
    (torch.autograd.Function, "apply", patched.apply, classmethod),
    (nn.Parameter, "__new__", patched.parameter, staticmethod),
    (nn.Parameter, "__deepcopy__", patched.deepcopy, None),
    (torch, "from_numpy", patched.from_numpy, None),
    (torch.inference_mode, "__enter__", patched.enter_inference, None),
    (torch.inference_mode, "__exit__", patched.leave_inference, None),
    (nn.Module, "__init__", patched_modules.module, None),
    (nn.Module, "_call_impl", patched_modules.call_module, None),
    (nn.Module, "named_parameters", patched_modules.parameters, None),
    (nn.Module, "register_parameter", patched_modules.register, None),
    (nn.Module, "__setattr__", patched_modules.put, None),
    (nn.Module, "add_module", patched_modules.put, None),
    (Optimizer, "__init__", patched.optimizer, None),
    (LRScheduler, "step", patched.schedule, None),
    (threading.Thread, "run", patched.thread, None),
)
# Owner, name, and the kind of the event.
_TOLD: tuple[tuple[object, str, str], ...] = (
    (nn.Module, "state_dict", "state_dict"),
    (nn.Module, "load_state_dict", "load_state_dict"),
    (nn.Module, "_apply", "_apply"),
    (nn.Module, "train", "train"),
    (nn.Module, "zero_grad", "zero_grad"),
    (Optimizer, "zero_grad", "zero_grad"),
    (torch, "save", "save"),
    (torch.amp.GradScaler, "scale", "scale"),
    (torch.amp.GradScaler, "unscale_", "unscale"),
    (nn.utils.clip_grad, "_clip_grads_with_norm_", "clip"),  # where all names of it lead
    (nn.utils, "clip_grad_value_", "clip"),
    (nn.utils.clip_grad, "clip_grad_value_", "clip"),
)


class Patches(ExitStack):
    """All of them, while it is entered."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder

    def __enter__(self) -> Patches:
        super().__enter__()
        for owner, name, wrap, kind in _FUNCTIONS:
            self._replace(owner, name, functools.partial(wrap, self.recorder), kind)
        for owner, name, event in _TOLD:
            self._replace(owner, name, functools.partial(patched.told, self.recorder, event))
        handles = (
            register_optimizer_step_pre_hook(functools.partial(patched.before, self.recorder)),
            register_optimizer_step_post_hook(functools.partial(patched.after, self.recorder)),
        )
        for handle in handles:
            self.callback(handle.remove)
        self.callback(self._free_functions)
        return self

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

    def _free_functions(self) -> None:
        """Give custom functions their own backward again."""
        for cls, backward in self.recorder.functions.items():
            if backward is None:
                del cls.backward
            else:
                cls.backward = backward
