"""What every test begins with."""

from __future__ import annotations

import gc
import sys

import pytest


@pytest.fixture(autouse=True)
def no_deep_graphs_of_other_tests():
    """Widgets of other tests keep deep graphs alive, and looking ends early where many are."""
    depth = sys.modules.get("insidetorch.observe.depth")
    if depth is not None:
        depth._looks.clear()


@pytest.fixture(scope="module")
def small_heap():
    """Set aside what pytest and torch have made: to look at all that is alive then takes less."""
    import torch

    torch.optim.SGD([torch.ones(1)], lr=0.1)  # which imports much of torch
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
