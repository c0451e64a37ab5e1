"""Gradients that are zero everywhere: the doctor names the function that is flat."""

from __future__ import annotations

import pytest
import torch
from doctor_lines import findings, here, told
from torch import nn


def clamp_of_all_values():
    w, x = torch.full((3,), 5.0, requires_grad=True), torch.ones(4, 3)
    y = (x * w).clamp(0, 1)  # here
    y.sum().backward()
    return locals()


def clamp_of_some_values():
    w, x = torch.tensor([5.0, 0.5, 5.0], requires_grad=True), torch.ones(4, 3)
    y = (x * w).clamp(0, 1)
    y.sum().backward()
    return locals()


def round_of_the_result():
    net, x = nn.Linear(2, 1), torch.randn(4, 2)
    y = net(x).round()  # here
    y.square().mean().backward()
    return locals()


def round_straight_through():
    net, x = nn.Linear(2, 1), torch.randn(4, 2)
    y = net(x)
    y = y + (y.round() - y).detach()
    y.square().mean().backward()
    return locals()


def dead_relu():
    layer, x = nn.Linear(2, 3), torch.rand(4, 2)
    nn.init.constant_(layer.bias, -10.0)
    hidden = torch.relu(layer(x))  # here
    hidden.sum().backward()
    return locals()


def relu_that_is_dead_for_one_unit():
    layer, x = nn.Linear(2, 3), torch.rand(4, 2)
    nn.init.constant_(layer.bias, 1.0)
    hidden = torch.relu(layer(x) - torch.tensor([10.0, 0.0, 0.0]))
    hidden.sum().backward()
    return locals()


def relu_that_is_dead_for_one_batch():
    layer = nn.Linear(2, 1)
    for x in (torch.full((3, 2), -100.0), torch.full((3, 2), 100.0)):
        torch.relu(layer(x).abs() * x.sign().mean()).sum().backward()
    return locals()


def dead_relu_of_what_is_not_trained():
    layer, last = nn.Linear(2, 3), nn.Linear(3, 1)
    nn.init.constant_(layer.bias, -10.0)
    optimizer = torch.optim.SGD(last.parameters(), lr=0.1)
    last(torch.relu(layer(torch.rand(4, 2)))).square().sum().backward()
    optimizer.step()
    return locals()


BUGS = [
    (clamp_of_all_values, ("w",)),
    (round_of_the_result, ("net.weight", "net.bias")),
    (dead_relu, ("layer.weight", "layer.bias")),
]


@pytest.mark.parametrize(("bug", "subject"), BUGS)
def test_the_function_that_is_flat_at_all_values_is_named(bug, subject):
    assert told(bug) == [("flat_op", here(bug))]
    assert findings(bug)[0].subject == subject


HEALTHY = [
    clamp_of_some_values, round_straight_through, relu_that_is_dead_for_one_unit,
    relu_that_is_dead_for_one_batch, dead_relu_of_what_is_not_trained,
]  # fmt: skip


@pytest.mark.parametrize("healthy", HEALTHY)
def test_a_function_with_a_slope_somewhere_is_not_told(healthy):
    assert told(healthy) == []
