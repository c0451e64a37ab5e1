"""`watch`: around any training step, and then ask what happened to its gradients."""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import FrameType

import torch

from .log import MOST_CALLS
from .patches import Patches
from .recorder import Recorder
from .run import Run


@contextmanager
def uncompiled(run: Run) -> Iterator[None]:
    """Let compiled functions run operator by operator: what a compiler makes is not seen.

    The compiler is loaded only by a script that asks for it, since that takes seconds.
    """
    original = torch.compile
    with ExitStack() as stack:

        @functools.wraps(original)
        def compile(model=None, **options):
            if model is None:
                return lambda function: compile(function, **options)
            if not run.compiled:
                run.compiled = True
                stack.enter_context(torch.compiler.set_stance("force_eager"))
            return original(model, **options)

        torch.compile = compile
        stack.callback(setattr, torch, "compile", original)
        if "torch._dynamo" in sys.modules:
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        yield


def _names_of(frame: FrameType) -> Mapping[str, object]:
    """The variables that are seen in a frame; of a module or a notebook the living ones."""
    if frame.f_locals is frame.f_globals:
        return frame.f_globals  # a copy would keep alive what the user lets go of
    return dict(frame.f_globals) | dict(frame.f_locals)


@contextmanager
def watch(
    model: torch.nn.Module | None = None,
    loss: torch.Tensor | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    *,
    namespace: Mapping[str, object] | None = None,
    keep_compile: bool = False,
    most: int = MOST_CALLS,
) -> Iterator[Run]:
    """Watch what happens to gradients in the block, and change nothing of it.

    Args: `model`, whose parameters are all expected to get gradients, and may be named without it;
    `loss`, a tensor to ask about; `optimizer`, one that was made before; `namespace`, the variables
    that questions may name, those of the caller if it is left out; `keep_compile`, leave compiled
    functions compiled, and unseen; `most`, how many calls of torch are kept.
    Yields a `Run`. What the block raises is raised unchanged.

    >>> import insidetorch
    >>> layer, x = torch.nn.Linear(2, 1), torch.ones(3, 2)
    >>> with insidetorch.watch(model=layer) as run:
    ...     loss = layer(x).detach().mean() + layer.bias.sum()
    ...     loss.backward()
    >>> run.explain("weight").sentence
    'layer.weight got none in the backward pass.'
    >>> run.findings[0].kind, run.findings[0].place.statement[:30]
    ('detach', 'loss = layer(x).detach().mean(')
    """
    recorder = Recorder(most=most)
    frame = sys._getframe(2)
    names = _names_of(frame) if namespace is None else namespace
    run = Run(recorder, names, model)
    if optimizer is not None:
        held = [recorder.values.of(p) for g in optimizer.param_groups for p in g["params"]]
        recorder.event("optimizer", weakref.ref(optimizer), stack=(), held=held)
    with ExitStack() as stack:
        stack.enter_context(Patches(recorder))
        if not keep_compile:
            stack.enter_context(uncompiled(run))
        stack.enter_context(recorder)
        try:
            yield run
        except BaseException as error:
            run.error = error
            raise
        finally:
            recorder.stopped = True  # a thread that lives on is its own affair
            if namespace is None:  # with what the block itself has named
                run.namespace = _names_of(frame)
    if loss is not None:
        run.ask("loss", {"loss": loss})
