"""Saved tensors that were overwritten, graphs that were freed: the doctor names who did it."""

from __future__ import annotations

import pytest
import torch
from doctor_lines import findings, here, told
from torch import nn


def write_to_a_saved_result():
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y += 1  # here
    y.sum().backward()


def write_to_a_result_that_is_not_saved():
    x = torch.ones(3, requires_grad=True)
    y = x * 3
    y += 1
    y.sum().backward()
    return locals()


def relu_in_place_after_a_sigmoid():
    model = nn.Sequential(
        nn.Linear(2, 3),
        nn.Sigmoid(),
        nn.ReLU(inplace=True),  # here
    )
    model(torch.randn(4, 2)).sum().backward()


def relu_in_place_after_a_layer():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(inplace=True), nn.Linear(3, 1))
    model(torch.randn(4, 2)).sum().backward()
    return locals()


def step_before_the_second_backward():
    model, x = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1)), torch.randn(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    first, second = model(x).mean(), model(x).square().mean()
    first.backward()
    optimizer.step()  # here
    second.backward()


def step_after_the_second_backward():
    model, x = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1)), torch.randn(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    first, second = model(x).mean(), model(x).square().mean()
    first.backward()
    second.backward()
    optimizer.step()
    return locals()


def state_that_is_carried_over_a_step():
    cell, h = nn.RNNCell(2, 3), torch.zeros(1, 3)
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
    for x in torch.randn(3, 1, 2):
        h = cell(x, h)  # here
        optimizer.zero_grad()
        h.sum().backward(retain_graph=True)
        optimizer.step()


def state_that_is_detached_before_each_step():
    cell, h = nn.RNNCell(2, 3), torch.zeros(1, 3)
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
    for x in torch.randn(3, 1, 2):
        h = cell(x, h.detach())
        optimizer.zero_grad()
        h.sum().backward()
        optimizer.step()
    return locals()


def state_whose_graph_is_freed():
    cell, h = nn.RNNCell(2, 3), torch.zeros(1, 3)
    for x in torch.randn(3, 1, 2):
        h = cell(x, h)  # here
        h.sum().backward()


def state_of_one_window():
    cell, h = nn.RNNCell(2, 3), torch.zeros(1, 3)
    for x in torch.randn(3, 1, 2):
        h = cell(x, h)
    h.sum().backward()
    return locals()


def second_backward_of_one_loss():
    model, x = nn.Linear(2, 1), torch.randn(4, 2)
    loss = model(x).square().mean()  # here
    loss.backward()
    loss.backward()


def two_losses_through_what_was_made_once():
    generator, critic = nn.Linear(1, 2), nn.Linear(2, 1)
    made = generator(torch.randn(4, 1))  # here
    critic(made).square().mean().backward()
    (critic(made) - 1).square().mean().backward()


def two_losses_of_which_one_is_detached():
    generator, critic = nn.Linear(1, 2), nn.Linear(2, 1)
    made = generator(torch.randn(4, 1))
    critic(made.detach()).square().mean().backward()
    (critic(made) - 1).square().mean().backward()
    return locals()


def second_backward_of_a_graph_that_is_kept():
    model, x = nn.Linear(2, 1), torch.randn(4, 2)
    loss = model(x).square().mean()
    loss.backward(retain_graph=True)
    loss.backward()
    return locals()


def lstm_state_that_is_detached():
    cell, h, c = nn.LSTMCell(2, 3), torch.zeros(1, 3), torch.zeros(1, 3)
    for x in torch.randn(3, 1, 2):
        h, c = cell(x, (h, c))
        h.sum().backward()
        h, c = h.detach(), c.detach()
    return locals()


def write_through_data_to_a_saved_result():
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y.data.clamp_(max=2)  # here
    y.square().sum().backward()
    return locals()


def write_through_data_before_it_is_saved():
    x = torch.ones(3, requires_grad=True)
    x.data.clamp_(max=2)
    x.exp().square().sum().backward()
    return locals()


BUGS = [
    (write_to_a_saved_result, "inplace_version"),
    (relu_in_place_after_a_sigmoid, "inplace_version"),
    (step_before_the_second_backward, "inplace_version"),
    (state_that_is_carried_over_a_step, "inplace_version"),
    (state_whose_graph_is_freed, "freed_graph"),
    (second_backward_of_one_loss, "freed_graph"),
    (two_losses_through_what_was_made_once, "freed_graph"),
    (write_through_data_to_a_saved_result, "data"),
]


@pytest.mark.parametrize(("bug", "kind"), BUGS)
def test_the_line_that_spoils_what_backward_needs_is_named(bug, kind):
    assert told(bug) == [(kind, here(bug))]


HEALTHY = [
    write_to_a_result_that_is_not_saved, relu_in_place_after_a_layer,
    step_after_the_second_backward, state_that_is_detached_before_each_step, state_of_one_window,
    second_backward_of_a_graph_that_is_kept, lstm_state_that_is_detached,
    two_losses_of_which_one_is_detached,
    write_through_data_before_it_is_saved,
]  # fmt: skip


@pytest.mark.parametrize("healthy", HEALTHY)
def test_what_backward_does_not_need_may_be_written(healthy):
    assert told(healthy) == []


def test_two_losses_of_one_step_are_not_told_as_a_state_that_is_carried_on():
    (one,) = findings(two_losses_through_what_was_made_once)
    assert one.message.startswith("Two backward passes go through made") and "step" not in one.fix
    (other,) = findings(state_whose_graph_is_freed)
    assert "into the next step" in other.message
