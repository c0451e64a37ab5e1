"""The model of the engine's order, against the real engine."""

from __future__ import annotations

from random import Random

import pytest
import torch

from insidetorch import engine

GRAPHS = 2_000


def random_loss(random: Random) -> torch.Tensor:
    """A scalar made of 5 to 36 random operations on 1 to 5 leaves, used any number of times."""
    tensors = [torch.ones(2, requires_grad=True) for _ in range(random.randint(1, 5))]
    for _ in range(random.randint(5, 36)):
        a, b, c = random.choices(tensors, k=3)
        tensors.append(
            random.choice(
                [
                    lambda a, b, c: a * 2,
                    lambda a, b, c: a.exp(),
                    lambda a, b, c: a + b,
                    lambda a, b, c: a * b,
                    lambda a, b, c: torch.addcmul(a, b, c),
                    lambda a, b, c: torch.stack([a, b, c, a, b]).sum(0),
                    lambda a, b, c: torch.stack(a.unbind()) - c,
                ]
            )(a, b, c)
        )
    return sum(t.sum() for t in tensors[-random.randint(1, 6) :]) + tensors[0].sum()


def graph_of(root) -> tuple[list, list[list[int]], list[int]]:
    """The nodes below a root, their edges and sequence numbers, read from torch."""
    nodes, place, edges = [root], {root: 0}, []
    for node in nodes:
        targets = [target for target, _ in node.next_functions if target is not None]
        for target in targets:
            if target not in place:
                place[target] = len(nodes)
                nodes.append(target)
        edges.append([place[target] for target in targets])
    return nodes, edges, [node._sequence_nr() for node in nodes]


def real_order(loss: torch.Tensor, nodes: list) -> list[int]:
    ran: list[int] = []
    hooks = [n.register_prehook(lambda _, k=k: ran.append(k)) for k, n in enumerate(nodes)]
    loss.backward()
    for hook in hooks:
        hook.remove()
    return ran


def test_the_model_runs_the_nodes_in_the_engines_order():
    random, nodes_seen = Random(0), 0
    for _ in range(GRAPHS):
        loss = random_loss(random)
        nodes, edges, sequence = graph_of(loss.grad_fn)
        modelled = [step.node for step in engine.run(edges, sequence)]
        assert modelled == real_order(loss, nodes)
        nodes_seen += len(nodes)
    assert nodes_seen > 20 * GRAPHS


@pytest.mark.parametrize("leaves", range(1, 40))
def test_leaves_that_are_ready_together_run_in_the_order_of_the_heap(leaves):
    loss = torch.stack([torch.ones(2, requires_grad=True) for _ in range(leaves)]).sum()
    nodes, edges, sequence = graph_of(loss.grad_fn)
    assert [step.node for step in engine.run(edges, sequence)] == real_order(loss, nodes)


def test_a_step_tells_what_is_ready_and_what_is_missing():
    # 0 → 1, 2; 1 → 3; 2 → 3 and 3 twice.
    edges, sequence = [[1, 2], [3], [3, 3], []], [9, 2, 5, engine.AT_ONCE]
    steps = engine.run(edges, sequence)
    assert [(s.node, s.ready, s.missing) for s in steps] == [
        (0, (0,), ()),
        (2, (2, 1), ()),
        (1, (1,), ((3, 1),)),
        (3, (3,), ()),
    ]
    assert engine.dependencies(edges) == [0, 1, 1, 3]


def test_nodes_that_the_root_does_not_reach_count_for_nothing():
    assert engine.dependencies([[2], [2], []]) == [0, 0, 1]


def test_a_long_chain_needs_no_recursion():
    n = 100_000
    steps = engine.run([[k + 1] for k in range(n - 1)] + [[]], list(range(n, 0, -1)))
    assert [step.node for step in steps] == list(range(n))
