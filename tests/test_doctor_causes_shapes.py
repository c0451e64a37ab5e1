"""Shapes that fit by accident: the doctor names the line where they meet."""

from __future__ import annotations

import pytest
import torch
from doctor_lines import findings, here, told
from torch import nn


def column_minus_row():
    net, x, y = nn.Linear(2, 1), torch.randn(4, 2), torch.randn(4)
    error = net(x) - y  # here
    error.square().mean().backward()
    return locals()


def column_minus_column():
    net, x, y = nn.Linear(2, 1), torch.randn(4, 2), torch.randn(4)
    error = net(x).squeeze(1) - y
    error.square().mean().backward()
    return locals()


def distances_of_all_pairs():
    net, x, y = nn.Linear(2, 1), torch.randn(4, 2), torch.randn(4)
    distances = net(x) - y[None, :]
    distances.square().mean().backward()
    return locals()


def bias_of_each_row():
    scale, x = torch.ones(3, requires_grad=True), torch.randn(4, 3)
    centred = x - x.mean(dim=1, keepdim=True)
    (centred * scale).square().sum().backward()
    return locals()


def loss_of_a_column_and_a_row():
    net, x, y = nn.Linear(2, 1), torch.randn(4, 2), torch.randn(4)
    loss = nn.functional.mse_loss(net(x), y)  # here
    loss.backward()
    return locals()


def loss_of_two_columns():
    net, x, y = nn.Linear(2, 1), torch.randn(4, 2), torch.randn(4)
    loss = nn.functional.mse_loss(net(x), y[:, None])
    loss.backward()
    return locals()


def heads_that_a_reshape_mixes():
    net, x = nn.Linear(4, 12), torch.randn(2, 5, 4)
    heads = net(x).view(2, 5, 3, 4).transpose(1, 2).contiguous()
    merged = heads.view(2, 5, 12)  # here
    merged.square().mean().backward()
    return locals()


def heads_that_are_put_back():
    net, x = nn.Linear(4, 12), torch.randn(2, 5, 4)
    heads = net(x).view(2, 5, 3, 4).transpose(1, 2).contiguous()
    merged = heads.transpose(1, 2).reshape(2, 5, 12)
    merged.square().mean().backward()
    return locals()


def image_that_a_reshape_turns():
    net, image = nn.Linear(4, 1), torch.randn(6, 4)
    turned = image.reshape(4, 6)  # here
    net(turned.t()).square().mean().backward()
    return locals()


def image_that_is_flattened():
    net, image = nn.Linear(24, 1), torch.randn(3, 6, 4)
    net(image.flatten(1)).square().mean().backward()
    return locals()


BUGS = [
    (column_minus_row, "broadcast"),
    (loss_of_a_column_and_a_row, "broadcast"),
    (heads_that_a_reshape_mixes, "scrambled_view"),
    (image_that_a_reshape_turns, "scrambled_view"),
]


@pytest.mark.parametrize(("bug", "kind"), BUGS)
def test_the_line_where_shapes_fit_by_accident_is_noted(bug, kind):
    assert told(bug) == [(kind, here(bug))]
    assert [one.severity for one in findings(bug)] == ["note"]


HEALTHY = [
    column_minus_column, distances_of_all_pairs, bias_of_each_row, loss_of_two_columns,
    heads_that_are_put_back, image_that_is_flattened,
]  # fmt: skip


@pytest.mark.parametrize("healthy", HEALTHY)
def test_shapes_that_are_meant_to_meet_are_not_noted(healthy):
    assert told(healthy) == []
