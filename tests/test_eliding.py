"""A picture shows few cells of a large tensor, and both ends of every dimension."""

from __future__ import annotations

from math import prod

import pytest

from insidetorch import eliding


@pytest.mark.parametrize(
    "sizes", [(), (0,), (7,), (12, 12), (1000,), (5, 1000), (8,) * 5, (64, 3, 224, 224), (2,) * 12]
)
def test_edge_indices_are_few_and_hold_both_ends(sizes):
    shown = eliding.edge_indices(sizes)
    assert prod(sum(i >= 0 for i in dim) for dim in shown) <= (144 if prod(sizes) <= 144 else 40)
    for size, dim in zip(sizes, shown, strict=True):
        inside = [i for i in dim if i >= 0]
        assert inside == sorted(set(inside)) and all(i < size for i in inside)
        assert size == 0 or inside[0] == 0
        assert size == 0 or inside[-1] == size - 1 or dim == (0, -1)
        assert (-1 in dim) == (len(inside) < size)
