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


class Lent:
    """A starter that stays open when a command that was lent it closes it."""

    def __init__(self, starter):
        self.starter = starter

    def __getattr__(self, name):
        return getattr(self.starter, name)

    def close(self):
        pass


@pytest.fixture(scope="session")
def starter():
    """What grades notebooks: one process, made warm once, as far apart as this machine allows."""
    from coursekit.grading.runs.choosing import choose

    found = choose()
    yield found
    found.close()


@pytest.fixture(scope="module")
def one_starter(starter):
    """`course.py grade` uses the one that is there, where it is asked for no other isolation."""
    from coursekit.grading.runs.choosing import choose

    def lend(wanted=""):
        return Lent(starter) if wanted in ("", starter.isolation) else choose(wanted)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("coursekit.grading.command.choose", lend)
        yield
