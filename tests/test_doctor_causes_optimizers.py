"""What the optimizer holds and what the model trains are two things: which line parted them?"""

from __future__ import annotations

import pytest
import torch
from doctor_lines import findings, here, told
from torch import nn


def optimizer_of(*modules):
    return torch.optim.SGD([p for one in modules for p in one.parameters()], lr=0.1)


def train(optimizer, predict, x):
    for _ in range(2):
        optimizer.zero_grad()
        predict(x).square().mean().backward()
        optimizer.step()


def layers_in_a_plain_list():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(2, 3)
            self.rest = [nn.Linear(3, 1)]  # here

        def forward(self, x):
            return self.rest[0](self.first(x))

    model = Net()
    train(optimizer_of(model), model, torch.randn(4, 2))
    return locals()


def layers_in_a_module_list():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(2, 3)
            self.rest = nn.ModuleList([nn.Linear(3, 1)])

        def forward(self, x):
            return self.rest[0](self.first(x))

    model = Net()
    train(optimizer_of(model), model, torch.randn(4, 2))
    return locals()


def plain_tensor_as_a_weight():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 3)
            self.scale = torch.ones(3, requires_grad=True)  # here

        def forward(self, x):
            return self.layer(x) * self.scale

    model = Net()
    train(optimizer_of(model), model, torch.randn(4, 2))
    return locals()


def buffer_as_a_constant():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 3)
            self.register_buffer("scale", torch.ones(3))

        def forward(self, x):
            return self.layer(x) * self.scale

    model = Net()
    train(optimizer_of(model), model, torch.randn(4, 2))
    return locals()


def second_model_that_is_forgotten():
    encoder, decoder = nn.Linear(2, 3), nn.Linear(3, 2)
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)  # here
    train(optimizer, lambda x: decoder(encoder(x)), torch.randn(4, 2))
    return locals()


def second_model_with_its_own_optimizer():
    encoder, decoder = nn.Linear(2, 3), nn.Linear(3, 2)
    second = torch.optim.SGD(decoder.parameters(), lr=0.1)
    train(optimizer_of(encoder), lambda x: decoder(encoder(x)), torch.randn(4, 2))
    second.step()
    return locals()


def half_of_a_layer():
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD([model.weight], lr=0.1)  # here
    train(optimizer, model, torch.randn(4, 2))
    return locals()


def head_that_alone_is_trained():
    body, head = nn.Linear(2, 3), nn.Linear(3, 1)
    model = nn.Sequential(body, head)
    train(optimizer_of(head), model, torch.randn(4, 2))
    return locals()


def weight_that_is_replaced():
    model = nn.Linear(2, 1)
    optimizer = optimizer_of(model)
    model.weight = nn.Parameter(torch.ones(1, 2))  # here
    train(optimizer, model, torch.randn(4, 2))
    return locals()


def weight_that_is_replaced_before():
    model = nn.Linear(2, 1)
    model.weight = nn.Parameter(torch.ones(1, 2))
    optimizer = optimizer_of(model)
    train(optimizer, model, torch.randn(4, 2))
    return locals()


def optimizer_of_another_model():
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # here
    model = nn.Linear(2, 1)
    train(optimizer, model, torch.randn(4, 2))
    return locals()


def optimizer_of_the_new_model():
    model = nn.Linear(2, 1)
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(optimizer, model, torch.randn(4, 2))
    return locals()


def head_that_comes_after_the_optimizer():
    model = nn.Sequential(nn.Linear(2, 3))
    optimizer = optimizer_of(model)
    model.append(nn.Linear(3, 1))  # here
    train(optimizer, model, torch.randn(4, 2))
    return locals()


def head_that_is_added_to_the_optimizer():
    model = nn.Sequential(nn.Linear(2, 3))
    optimizer = optimizer_of(model)
    model.append(nn.Linear(3, 1))
    optimizer.add_param_group({"params": model[1].parameters()})
    train(optimizer, model, torch.randn(4, 2))
    return locals()


BUGS = [
    (layers_in_a_plain_list, "unregistered", ("model.rest[0].weight", "model.rest[0].bias")),
    (plain_tensor_as_a_weight, "unregistered", ("model.scale",)),
    (second_model_that_is_forgotten, "unregistered", ("decoder.weight", "decoder.bias")),
    (half_of_a_layer, "unregistered", ("model.bias",)),
    (weight_that_is_replaced, "stale_optimizer", ("model.weight",)),
    (optimizer_of_another_model, "stale_optimizer", ("model.weight", "model.bias")),
    (head_that_comes_after_the_optimizer, "unregistered", ("model.1.weight", "model.1.bias")),
]


@pytest.mark.parametrize(("bug", "kind", "subject"), BUGS)
def test_the_line_that_parts_the_optimizer_from_the_model_is_named(bug, kind, subject):
    assert told(bug) == [(kind, here(bug))]
    assert findings(bug)[0].subject == subject


HEALTHY = [
    layers_in_a_module_list, buffer_as_a_constant, second_model_with_its_own_optimizer,
    weight_that_is_replaced_before, optimizer_of_the_new_model, head_that_is_added_to_the_optimizer,
]  # fmt: skip


@pytest.mark.parametrize("healthy", HEALTHY)
def test_an_optimizer_of_what_is_meant_to_be_trained_is_not_told(healthy):
    assert told(healthy) == []


def test_a_part_that_is_left_out_is_a_note():
    (found,) = findings(head_that_alone_is_trained)
    assert (found.kind, found.severity) == ("unregistered", "note")
    assert found.subject == ("body.weight", "body.bias")
    assert "requires_grad_(False)" in found.fix
