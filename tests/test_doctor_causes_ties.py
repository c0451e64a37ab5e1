"""Copies of what is trained, and parameters that were one and have become two."""

from __future__ import annotations

import copy

import pytest
import torch
from doctor_lines import findings, here, told
from torch import nn


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = torch.ones(3, requires_grad=True)

    def forward(self, x):
        return x * self.factor


def train(optimizer, predict, x):
    for _ in range(2):
        optimizer.zero_grad()
        predict(x).square().mean().backward()
        optimizer.step()


def copy_that_is_trained():
    model = Scale()
    optimizer = torch.optim.SGD([model.factor], lr=0.1)
    again = copy.deepcopy(model)  # here
    train(optimizer, lambda x: again(x) + model(x), torch.randn(4, 3))
    return locals()


def copy_as_a_teacher():
    model = Scale()
    optimizer = torch.optim.SGD([model.factor], lr=0.1)
    again = copy.deepcopy(model)
    again.factor.requires_grad_(False)
    train(optimizer, lambda x: again(x) - 2 * model(x), torch.randn(4, 3))
    return locals()


def tie_that_is_broken():
    embedding, head = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
    head.weight = embedding.weight
    head.weight = nn.Parameter(embedding.weight.detach().clone())  # here
    optimizer = torch.optim.SGD([embedding.weight, head.weight], lr=0.1)
    train(optimizer, lambda x: head(embedding(x)), torch.tensor([1, 2, 3]))
    return locals()


def tie_that_holds():
    embedding, head = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
    head.weight = embedding.weight
    optimizer = torch.optim.SGD([embedding.weight], lr=0.1)
    train(optimizer, lambda x: head(embedding(x)), torch.tensor([1, 2, 3]))
    return locals()


def tie_that_a_load_breaks():
    embedding, head = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
    head.weight = embedding.weight
    embedding.load_state_dict({"weight": torch.randn(5, 3)}, assign=True)  # here
    optimizer = torch.optim.SGD([embedding.weight, head.weight], lr=0.1)
    train(optimizer, lambda x: head(embedding(x)), torch.tensor([1, 2, 3]))
    return locals()


def tie_that_a_load_keeps():
    embedding, head = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
    head.weight = embedding.weight
    embedding.load_state_dict({"weight": torch.randn(5, 3)})
    optimizer = torch.optim.SGD([embedding.weight], lr=0.1)
    train(optimizer, lambda x: head(embedding(x)), torch.tensor([1, 2, 3]))
    return locals()


def data_of_another_parameter():
    embedding, head = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
    head.weight.data = embedding.weight.data  # here
    optimizer = torch.optim.SGD([embedding.weight, head.weight], lr=0.1)
    train(optimizer, lambda x: head(embedding(x)), torch.tensor([1, 2, 3]))
    return locals()


def copied_data_of_another_parameter():
    embedding, head = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
    head.weight.data = embedding.weight.data.clone()
    optimizer = torch.optim.SGD([embedding.weight, head.weight], lr=0.1)
    train(optimizer, lambda x: head(embedding(x)), torch.tensor([1, 2, 3]))
    return locals()


BUGS = [
    (copy_that_is_trained, "rewrap", ("again.factor",)),
    (tie_that_is_broken, "broken_tie", ("Embedding.weight", "Linear.weight")),
    (tie_that_a_load_breaks, "broken_tie", ("Embedding.weight", "Linear.weight")),
    (data_of_another_parameter, "storage_shared", ("embedding.weight", "head.weight")),
]


@pytest.mark.parametrize(("bug", "kind", "subject"), BUGS)
def test_the_line_that_makes_two_of_one_parameter_is_named(bug, kind, subject):
    assert told(bug) == [(kind, here(bug))]
    assert findings(bug)[0].subject == subject


HEALTHY = [
    copy_as_a_teacher, tie_that_holds, tie_that_a_load_keeps, copied_data_of_another_parameter,
]  # fmt: skip


@pytest.mark.parametrize("healthy", HEALTHY)
def test_a_copy_that_is_meant_and_a_tie_that_holds_are_not_told(healthy):
    assert told(healthy) == []
