"""What every test begins with."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def no_deep_graphs_of_other_tests():
    """Widgets of other tests keep deep graphs alive, and looking ends early where many are."""
    depth = sys.modules.get("insidetorch.observe.depth")
    if depth is not None:
        depth._looks.clear()
