"""The private names of torch that concern its compiler. See `private`.

The compiler takes more than a second to load: every function here imports what it needs.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from types import MethodType
from unittest import mock

import torch

from . import private_inductor

NAMES = (
    "torch.nn.Module._call_impl",
    "torch.nn.Module._compiled_call_impl",
    "torch._dynamo.eval_frame.OptimizedModule",
    "torch._C._len_torch_dispatch_stack",
    "torch._dynamo.config.disable",
    "torch._dynamo.eval_frame._stance",
    "torch._dynamo.output_graph.graph_break_reasons",
    "torch._dynamo.pgo._CODE_STATE",
    "torch._dynamo.pgo._INIT_CODE_STATE",
    "torch._dynamo.pgo.CodeState",
    "torch._dynamo.utils._compilation_metrics",
    "torch._dynamo.utils.counters",
    "torch._subclasses.fake_tensor.FakeTensorMode",
    "torch.fx.experimental.symbolic_shapes.ShapeEnv",
)


def missing() -> list[str]:
    """Which of these names does this torch not have? Loads the compiler."""
    with _without_warnings():
        return [name for name in (*NAMES, *private_inductor.NAMES) if not _exists(name)]


def _exists(name: str) -> bool:
    place: object = torch
    parts = name.split(".")
    for k, part in enumerate(parts[1:], start=1):
        try:
            place = getattr(place, part)
        except AttributeError:
            try:
                place = import_module(".".join(parts[: k + 1]))
            except ImportError:
                return False
    return True


def load() -> None:
    """Load the compiler, without the warnings that torch gives about itself."""
    with _without_warnings():
        import_module("torch._dynamo")


@contextmanager
def _without_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def apart() -> Iterator[deque]:
    """Compile in here without a trace: at the end, counters and logs are as they were before.

    Yields what torch notes of each compilation, a deque that grows. What stays is kept by the code
    objects that were compiled, and goes with them.
    """
    load()
    from torch._dynamo import output_graph, pgo, utils

    notes: deque = deque()
    counted = {name: Counter(counter) for name, counter in utils.counters.items()}
    reasons = len(output_graph.graph_break_reasons)
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(utils, "_compilation_metrics", notes))
        # Sizes that were seen in earlier compilations would make torch compile for any size.
        fresh = defaultdict(pgo.CodeState)
        stack.enter_context(mock.patch.object(pgo, "_CODE_STATE", fresh))
        stack.enter_context(mock.patch.object(pgo, "_INIT_CODE_STATE", None))
        stack.enter_context(_quiet())
        try:
            yield notes
        finally:
            utils.counters.clear()
            utils.counters.update(counted)
            del output_graph.graph_break_reasons[reasons:]


@contextmanager
def _quiet() -> Iterator[None]:
    """No log line of torch and no warning from its own modules: both name paths and dates."""
    loggers = [
        logger
        for name, logger in logging.root.manager.loggerDict.items()
        if name.split(".")[0] == "torch" and isinstance(logger, logging.Logger)
    ]
    levels = {handler: handler.level for logger in loggers for handler in logger.handlers}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"torch(\.|$)")
        for handler in levels:
            handler.setLevel(logging.CRITICAL + 1)
        try:
            yield
        finally:
            for handler, level in levels.items():
                handler.setLevel(level)


def break_reasons() -> list[object]:
    """The graph breaks since torch was loaded: `reason`, `user_stack`."""
    from torch._dynamo import output_graph

    return output_graph.graph_break_reasons


def stance() -> str:
    """What `torch.compiler.set_stance` has chosen."""
    from torch._dynamo import eval_frame

    return eval_frame._stance.stance


def switched_off() -> str:
    """The switch that keeps torch from compiling anything; "" if none does."""
    from torch._dynamo import config

    if os.environ.get("TORCHDYNAMO_DISABLE", "") == "1":
        return "the environment's TORCHDYNAMO_DISABLE"
    return "torch._dynamo.config.disable" if config.disable else ""


def watched_by_mode() -> bool:
    """Is a dispatch mode on? Then torch runs compiled functions operator by operator."""
    return torch._C._len_torch_dispatch_stack() > 0


def uncompiled(fn: Callable[..., object]) -> Callable[..., object]:
    """The function that was given to torch.compile; the same one where none was."""
    if isinstance(fn, torch.nn.Module):
        inner = getattr(fn, "_orig_mod", fn)
        return inner if inner._compiled_call_impl is None else inner._call_impl
    if getattr(fn, "_torchdynamo_disable", False):  # torch.compiler.disable keeps it likewise
        return fn
    inner = getattr(fn, "_torchdynamo_orig_callable", fn)
    if inner is not fn and isinstance(fn, MethodType) and not isinstance(inner, MethodType):
        return MethodType(inner, fn.__self__)
    return inner


@contextmanager
def sizes_only() -> Iterator[Callable[[torch.Tensor], torch.Tensor]]:
    """Operators run on tensors without data in here; yields what makes one like another tensor."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    with torch.inference_mode(False):
        with FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True):
            yield _like


def _like(value: object) -> object:
    """A tensor with the sizes that stand for it now; an integer that stands for a symbol."""
    if isinstance(value, torch.SymInt | torch.SymFloat):
        return value.node.hint
    if not isinstance(value, torch.Tensor):
        return value
    sizes, strides = ([_like(n) for n in ns] for ns in (value.shape, value.stride()))
    made = torch.empty_strided(sizes, strides, dtype=value.dtype, device=value.device)
    return made.requires_grad_(value.requires_grad)
