"""A recorded backward pass is the real one, and what is recorded is what flowed."""

from __future__ import annotations

from random import Random

import pytest
import torch
from test_engine import random_loss
from torch import nn
from torch.utils.checkpoint import checkpoint

from insidetorch.observe.backward import record_backward
from insidetorch.observe.graph import nodes_below


def leaves_of(loss):
    return [node.variable for node in nodes_below([loss]) if hasattr(node, "variable")]


def models():
    torch.manual_seed(0)
    x = torch.randn(3, 5, 8)
    yield nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2)), x
    yield nn.LSTM(8, 4), x
    yield nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), x
    yield nn.Sequential(nn.Flatten(), nn.Linear(40, 3), nn.BatchNorm1d(3)), x


def output(model, x):
    found = model(x)
    return (found[0] if isinstance(found, tuple) else found).pow(2).sum()


@pytest.mark.parametrize("number", range(4))
def test_gradients_are_the_same_to_the_last_bit(number):
    model, x = list(models())[number]
    output(model, x).backward()
    expected = [p.grad.clone() for p in model.parameters()]
    model, x = list(models())[number]
    found = record_backward(output(model, x), module=model)
    assert all(map(torch.equal, expected, (p.grad for p in model.parameters())))
    assert found.as_modelled and found.error == ""
    ended = [found.graph.nodes[s.node].leaf for s in found.steps if s.after is not None]
    assert sorted(ended) == sorted(name for name, _ in model.named_parameters())


def test_random_graphs_run_as_without_recording():
    for seed in range(150):
        plain, recorded = random_loss(Random(seed)), random_loss(Random(seed))
        expected = leaves_of(plain)
        leaves = leaves_of(recorded)
        plain.backward()
        found = record_backward(recorded)
        assert found.as_modelled and len(found.steps) == len(found.graph.nodes)
        for a, b in zip(expected, leaves, strict=True):
            assert torch.equal(a.grad.view(torch.int32), b.grad.view(torch.int32))


def test_what_arrives_is_the_sum_of_what_was_sent_there():
    for seed in range(100):
        found = record_backward(random_loss(Random(seed)))
        arrived: dict[int, list[list[float]]] = {}
        for step in found.steps:
            if step.node:
                sums = [sum(column) for column in zip(*arrived[step.node], strict=True)]
                assert list(step.received[0].values) == pytest.approx(sums)
            for edge, sent in zip(found.graph.nodes[step.node].edges, step.sent, strict=False):
                if edge is not None and sent is not None and edge.output_nr == 0:
                    arrived.setdefault(edge.target, []).append(list(sent.values))
            if "Unbind" in found.graph.nodes[step.node].name:
                break  # it has two outputs, of which only the first is followed here


def test_a_leaf_tells_its_gradient_before_and_after():
    x = torch.ones(2, requires_grad=True)
    first = record_backward((x * 3).sum()).steps[-1]
    second = record_backward((x * 3).sum()).steps[-1]
    assert (first.before, first.after.values) == (None, (3.0, 3.0))
    assert (second.before.values, second.after.values) == ((3.0, 3.0), (6.0, 6.0))
    assert second.received[0].values == (3.0, 3.0)


def test_waiting_and_ready_nodes_are_told():
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    h = x * w
    steps = record_backward((h * h + x).sum()).steps
    assert [step.missing for step in steps][2:4] == [((3, 1),), ((3, 1),)]
    assert all(step.ready[0] == step.node for step in steps)


def test_no_hook_stays_behind_and_the_users_hooks_run_once():
    seen = []
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: seen.append(g) or g * 10)
    loss = y.sum()
    found = record_backward(loss, retain_graph=True)
    assert len(seen) == 1 and x.grad.tolist() == [20.0, 20.0]
    assert found.steps[1].received[0].values == (10.0, 10.0)  # after the user's hook
    count = len(found.steps)
    loss.backward()
    assert len(found.steps) == count and len(seen) == 2


def test_an_error_is_raised_unchanged_with_what_ran_before():
    x = torch.ones(2, requires_grad=True)
    y = x * 2

    def fails(g):
        raise ValueError("mine")

    hook = y.register_hook(fails)
    loss = y.exp().sum()
    with pytest.raises(ValueError, match="mine") as raised:
        record_backward(loss)
    record = raised.value.record
    assert record.error == "mine"
    assert [record.graph.nodes[s.node].name for s in record.steps] == [
        *("SumBackward0", "ExpBackward0")
    ]
    hook.remove()
    with pytest.raises(RuntimeError, match="a second time"):
        loss.backward()


def test_a_tensor_without_history_raises_what_torch_raises():
    with pytest.raises(RuntimeError, match="does not require grad"):
        record_backward(torch.ones(()))


def test_a_checkpointed_part_and_a_given_gradient_are_recorded():
    x = torch.ones(3, requires_grad=True)
    y = checkpoint(lambda t: (t * 2).exp(), x, use_reentrant=False)
    found = record_backward(y, torch.tensor([1.0, 0.0, 2.0]))
    assert found.steps[0].received[0].values == (1.0, 0.0, 2.0)
    assert torch.allclose(x.grad, 2 * torch.exp(torch.tensor(2.0)) * torch.tensor([1.0, 0.0, 2.0]))


def test_a_sparse_gradient_has_no_values_and_is_recorded():
    embedding = nn.Embedding(5, 2, sparse=True)
    found = record_backward(embedding(torch.tensor([1, 1])).sum(), module=embedding)
    assert found.steps[-1].after.sizes == (5, 2) and embedding.weight.grad.is_sparse
