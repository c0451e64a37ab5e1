"""What stands in the place of torch's functions: each tells the recorder, and does the same.

Every function takes the recorder and torch's own function, and gives what replaces it.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy
import torch
from torch.optim import Optimizer

from ..observe import private_doctor
from . import happenings
from .escapes import address
from .running import run_engine
from .stacks import called_by_user, stack_here
from .tensors import standing_of

if TYPE_CHECKING:
    from .recorder import Recorder


def engine(recorder: Recorder, original: Callable) -> Callable:
    def run(roots, *args, **kwargs):
        if recorder.watching():
            return run_engine(recorder, original, tuple(roots), args, kwargs)
        return original(roots, *args, **kwargs)

    return run


def apply(recorder: Recorder, original: Callable) -> Callable:
    def apply(cls, *args, **kwargs):
        if not recorder.watching() or recorder.here.inner is not None:
            return original(cls, *args, **kwargs)
        run = functools.partial(original, cls)
        return happenings.apply_function(recorder, cls, run, args, kwargs)

    return apply


def parameter(recorder: Recorder, original: Callable) -> Callable:
    def new(cls, data=None, requires_grad=True):
        result = original(cls, data, requires_grad)
        if isinstance(data, torch.Tensor) and recorder.watching() and not recorder.here.quiet:
            recorder.note("Parameter", [data], (standing_of(data),), result, stack=stack_here())
        return result

    return new


def deepcopy(recorder: Recorder, original: Callable) -> Callable:
    def __deepcopy__(parameter, memo):
        quiet, recorder.here.quiet = recorder.here.quiet, True
        try:
            result = original(parameter, memo)
        finally:
            recorder.here.quiet = quiet
        if recorder.watching() and not quiet:
            standing = (standing_of(parameter),)
            recorder.note("__deepcopy__", [parameter], standing, result, stack=stack_here())
        return result

    return __deepcopy__


def from_numpy(recorder: Recorder, original: Callable) -> Callable:
    def from_numpy(array):
        try:
            result = original(array)
        except BaseException as error:
            recorder.raised(error, "from_numpy", (array,), {})
            raise
        if recorder.watching() and isinstance(array, numpy.ndarray):
            note = {"address": address(array)}
            recorder.note(
                "from_numpy", [], (), result, stack=stack_here(), numbers=[array], note=note
            )
        return result

    return from_numpy


def enter_inference(recorder: Recorder, original: Callable) -> Callable:
    def __enter__(mode):
        original(mode)
        if recorder.watching() and mode.mode:
            recorder.here.switches.enter(False, sys._getframe(1), name="inference_mode")

    return __enter__


def leave_inference(recorder: Recorder, original: Callable) -> Callable:
    def __exit__(mode, *error):
        original(mode, *error)
        if recorder.watching() and mode.mode:
            recorder.here.switches.leave()

    return __exit__


def thread(recorder: Recorder, original: Callable) -> Callable:
    """Another thread is recorded too: a mode of torch's holds for one thread only."""

    def run(thread: threading.Thread) -> None:
        if recorder.stopped:
            return original(thread)
        with recorder.beside():
            return original(thread)

    return run


def told(recorder: Recorder, name: str, original: Callable) -> Callable:
    def run(subject, *args, **kwargs):
        if not recorder.watching() or recorder.here.telling:
            return original(subject, *args, **kwargs)
        return happenings.told(recorder, name, original, subject, args, kwargs)

    return run


def optimizer(recorder: Recorder, original: Callable) -> Callable:
    def __init__(optimizer, params, *args, **kwargs):
        given = params if isinstance(params, torch.Tensor) else list(params)
        try:
            original(optimizer, given, *args, **kwargs)
        except BaseException as error:
            recorder.raised(error, "optimizer", (given,), {})
            raise
        if recorder.watching():
            happenings.made_optimizer(recorder, optimizer)

    return __init__


def schedule(recorder: Recorder, original: Callable) -> Callable:
    def step(scheduler, *args, **kwargs):
        if recorder.watching() and called_by_user():
            recorder.event("schedule", stack=stack_here())
        return original(scheduler, *args, **kwargs)

    return step


def before(recorder: Recorder, optimizer: Optimizer, args: tuple, kwargs: dict) -> None:
    """An optimizer's step begins; `args` has the optimizer itself, and a closure if any."""
    if recorder.watching():
        held = [p for group in optimizer.param_groups for p in group["params"]]
        recorder.here.stepping = [(p, private_doctor.version(p)) for p in held]
        recorder.here.quiet = len(args) < 2 and not kwargs.get("closure")


def after(recorder: Recorder, optimizer: Optimizer, _args: tuple, _kwargs: dict) -> None:
    if recorder.watching():
        happenings.stepped(recorder, optimizer)
