"""Which graphs are alive after each step of a small loop that is run for it?"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ..records import GraphsOverSteps
from . import private
from .graph_memory import graph_memory
from .graph_memory_presets import LOOPS


def loop_memory(name: str, *, steps: int = 6) -> GraphsOverSteps:
    """Run a loop and look after each step; no gradient of it is left, and no random number used.

    >>> [after.of_steps for after in loop_memory("a healthy loop", steps=3).after]
    [0, 0, 0]
    """
    with (
        private.unseen(),
        torch.inference_mode(False),
        torch.enable_grad(),
        torch.random.fork_rng(devices=[]),
        warnings.catch_warnings(),
        _what_is_there_set_aside(),
    ):
        warnings.filterwarnings("ignore", message="Using backward.* with create_graph")
        torch.manual_seed(0)
        step, model = LOOPS[name]()
        try:
            return graph_memory(step, steps=steps)
        finally:
            model.zero_grad()  # a gradient with a graph would keep its model, and that for good


@contextmanager
def _what_is_there_set_aside() -> Iterator[None]:
    """Let Python's collector pass over all objects that there are: nothing of a new loop is there.

    Each look is then several times as fast.
    """
    if gc.get_freeze_count():  # somebody else's
        yield
        return
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
