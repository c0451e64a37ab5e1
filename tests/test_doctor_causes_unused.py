"""Parameters that no pass reaches: never used, dropped, or gone through Python's numbers."""

from __future__ import annotations

import pytest
import torch
from doctor_lines import findings, here, told
from torch import nn


def layer_that_never_runs():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(2, 1)
            self.second = nn.Linear(2, 1)  # here

        def forward(self, x):
            return self.first(x)

    model = Net()
    model(torch.randn(4, 2)).square().mean().backward()
    return locals()


def layer_of_a_list_that_never_runs():
    experts = nn.ModuleList([nn.Linear(2, 1), nn.Linear(2, 1)])
    experts[0](torch.randn(4, 2)).square().mean().backward()
    return locals()


def result_that_is_dropped():
    first, second, x = nn.Linear(2, 3), nn.Linear(2, 3), torch.randn(4, 2)
    a = first(x)
    b = second(x)  # here
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    (a + a).square().mean().backward()
    optimizer.step()
    return locals()


def result_that_is_used():
    first, second, x = nn.Linear(2, 3), nn.Linear(2, 3), torch.randn(4, 2)
    a = first(x)
    b = second(x)
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    (a + b).square().mean().backward()
    optimizer.step()
    return locals()


def last_result_of_a_loop():
    class Ensemble(nn.Module):
        def __init__(self):
            super().__init__()
            self.branches = nn.ModuleList(nn.Linear(2, 3) for _ in range(3))

        def forward(self, x):
            for branch in self.branches:
                y = branch(x)  # here
            return y

    model = Ensemble()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.randn(4, 2)).square().mean().backward()
    optimizer.step()
    return locals()


def sum_of_a_loop():
    branches, x, y = nn.ModuleList(nn.Linear(2, 3) for _ in range(3)), torch.randn(4, 2), 0
    optimizer = torch.optim.SGD(branches.parameters(), lr=0.1)
    for branch in branches:
        y = y + branch(x)
    y.square().mean().backward()
    optimizer.step()
    return locals()


def way_through_python_numbers():
    net, x = nn.Linear(2, 1), torch.randn(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    numbers = [float(y) for y in net(x)]  # here
    loss = torch.tensor([n * n for n in numbers], requires_grad=True).sum()
    loss.backward()
    optimizer.step()
    return locals()


def numbers_for_a_log():
    net, x = nn.Linear(2, 1), torch.randn(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    out = net(x)
    numbers = [float(y) for y in out]
    out.square().sum().backward()
    optimizer.step()
    return locals()


def outputs_of_which_one_is_used():
    layers, x = nn.ModuleList(nn.Linear(2, 3) for _ in range(2)), torch.randn(4, 2)
    optimizer = torch.optim.SGD(layers.parameters(), lr=0.1)
    outs = [layer(x) for layer in layers]
    outs[0].square().mean().backward()  # here
    optimizer.step()
    return locals()


def outputs_that_are_all_used():
    layers, x = nn.ModuleList(nn.Linear(2, 3) for _ in range(2)), torch.randn(4, 2)
    optimizer = torch.optim.SGD(layers.parameters(), lr=0.1)
    outs = [layer(x) for layer in layers]
    sum(outs).square().mean().backward()
    optimizer.step()
    return locals()


def way_through_an_array():
    net, x = nn.Linear(2, 1), torch.randn(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    out = net(x).detach()  # here
    values = out.cpu().numpy()
    torch.tensor(values.mean() ** 2, requires_grad=True).backward()
    optimizer.step()
    return locals()


def array_for_a_log():
    net, x = nn.Linear(2, 1), torch.randn(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    out = net(x)
    values = out.detach().cpu().numpy()
    out.square().mean().backward()
    optimizer.step()
    return locals()


def heads_that_take_turns():
    body, first, second = nn.Linear(2, 3), nn.Linear(3, 1), nn.Linear(3, 1)
    parameters = [p for part in (body, first, second) for p in part.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    for k, x in enumerate(torch.randn(4, 5, 2)):
        optimizer.zero_grad()
        (first, second)[k % 2](body(x)).square().mean().backward()
        optimizer.step()
    return locals()


BUGS = [
    (layer_that_never_runs, "unused_param", ("model.second.weight", "model.second.bias")),
    (result_that_is_dropped, "unused_param", ("second.weight", "second.bias")),
    (last_result_of_a_loop, "unused_param", None),
    (outputs_of_which_one_is_used, "unused_param", ("layers.1.weight", "layers.1.bias")),
    (way_through_an_array, "item_roundtrip", ("net.weight", "net.bias")),
    (way_through_python_numbers, "item_roundtrip", ("net.weight", "net.bias")),
]


@pytest.mark.parametrize(("bug", "kind", "subject"), BUGS)
def test_the_line_that_loses_a_parameter_is_named(bug, kind, subject):
    assert told(bug) == [(kind, here(bug))]
    assert subject is None or findings(bug)[0].subject == subject


HEALTHY = [
    layer_of_a_list_that_never_runs, result_that_is_used, sum_of_a_loop, numbers_for_a_log,
    outputs_that_are_all_used, array_for_a_log, heads_that_take_turns,
]  # fmt: skip


@pytest.mark.parametrize("healthy", HEALTHY)
def test_a_parameter_that_is_used_or_chosen_from_is_not_told(healthy):
    assert told(healthy) == []
