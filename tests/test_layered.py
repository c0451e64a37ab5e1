"""A layout keeps boxes apart, edges downwards, and is the same each time."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from insidetorch.draw.layered import place


def some_graph(random: Random) -> tuple[int, list[tuple[int, int]], list[float]]:
    count = random.randint(1, 25)
    pairs = [(a, b) for a, b in combinations(range(count), 2) if random.random() < 0.2]
    return count, pairs, [random.randint(10, 120) for _ in range(count)]


def test_boxes_do_not_overlap_and_edges_lead_down():
    random = Random(0)
    for _ in range(300):
        count, edges, widths = some_graph(random)
        placed = place(count, edges, widths, gap=8)
        assert placed == place(count, edges, widths, gap=8)
        for a, b in combinations(range(count), 2):
            if placed.layer[a] == placed.layer[b]:
                apart = abs(placed.x[a] - placed.x[b])
                assert apart >= (widths[a] + widths[b]) / 2 + 8 - 0.2
        for (a, b), route in zip(edges, placed.routes, strict=True):
            assert placed.layer[a] < placed.layer[b]
            assert route[0] == (placed.x[a], placed.layer[a])
            assert route[-1] == (placed.x[b], placed.layer[b])
            assert [layer for _, layer in route] == list(
                range(placed.layer[a], placed.layer[b] + 1)
            )
        assert min(x - w / 2 for x, w in zip(placed.x, widths, strict=True)) >= -0.1


def test_a_node_stands_below_all_that_lead_to_it():
    placed = place(4, [(0, 1), (1, 2), (0, 3), (2, 3)], [10] * 4)
    assert placed.layer == (0, 1, 2, 3) and placed.layers == 4


def test_a_long_edge_passes_beside_the_boxes():
    placed = place(4, [(0, 1), (1, 2), (2, 3), (0, 3)], [100] * 4)
    beside = [x for x, layer in placed.routes[3] if layer in (1, 2)]
    assert all(abs(x - placed.x[layer]) > 50 for x, layer in zip(beside, (1, 2), strict=True))


def test_a_tree_has_no_crossings():
    edges = [(k, 2 * k + 1 + s) for k in range(15) for s in (0, 1)]
    placed = place(31, edges, [20] * 31)
    for layer in range(placed.layers - 1):
        ends = sorted((placed.x[a], placed.x[b]) for a, b in edges if placed.layer[a] == layer)
        assert [b for _, b in ends] == sorted(b for _, b in ends)


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_and_one_node_are_placed(count):
    assert place(count, [], [30] * count, gap=4).x == (15.0,) * count


def test_a_long_chain_needs_no_recursion():
    count = 20_000
    placed = place(count, [(k, k + 1) for k in range(count - 1)], [50] * count)
    assert placed.layers == count and len(set(placed.x)) == 1
