"""Memory that is shared where a copy was meant, and copies where a view was meant."""

from __future__ import annotations

import copy

import pytest
import torch
from doctor_lines import here, told
from torch import nn


def write_into_an_overlapping_view():
    windows = torch.arange(6.0).unfold(0, 3, 1)
    windows[:, 0] *= 2  # here
    w = torch.ones(3, requires_grad=True)
    (windows * w).sum().backward()
    return locals()


def write_into_a_copy_of_an_overlapping_view():
    windows = torch.arange(6.0).unfold(0, 3, 1).clone()
    windows[:, 0] *= 2
    w = torch.ones(3, requires_grad=True)
    (windows * w).sum().backward()
    return locals()


def write_into_what_an_index_copied():
    x, w = torch.ones(4), torch.ones(4, requires_grad=True)
    x[[0, 2]].zero_()  # here
    (x * w).sum().backward()
    return locals()


def write_into_a_slice():
    x, w = torch.ones(4), torch.ones(4, requires_grad=True)
    x[0:4:2].zero_()
    (x * w).sum().backward()
    return locals()


def count_with_a_repeated_index():
    counts, index = torch.zeros(3), torch.tensor([0, 1, 1])
    counts[index] += 1  # here
    w = torch.ones(3, requires_grad=True)
    (counts * w).sum().backward()
    return locals()


def count_with_index_add():
    counts, index = torch.zeros(3), torch.tensor([0, 1, 1])
    counts.index_add_(0, index, torch.ones(3))
    w = torch.ones(3, requires_grad=True)
    (counts * w).sum().backward()
    return locals()


def second_name_of_a_changed_tensor():
    w = torch.ones(3, requires_grad=True)
    x = w * 2
    residual = x
    x += 1  # here
    (x + residual).sum().backward()
    return locals()


def second_name_of_a_tensor_that_is_bound_again():
    w = torch.ones(3, requires_grad=True)
    x = w * 2
    residual = x
    x = x + 1
    (x + residual).sum().backward()
    return locals()


def weights_that_are_assigned_from_another_model():
    first, second = nn.Linear(2, 1).requires_grad_(False), nn.Linear(2, 1)
    second.load_state_dict(first.state_dict(), assign=True)  # here
    optimizer = torch.optim.SGD(second.parameters(), lr=0.1)
    (first(torch.ones(3, 2)) - second(torch.ones(3, 2)) * 2).sum().backward()
    optimizer.step()
    return locals()


def weights_that_are_copied_from_another_model():
    first, second = nn.Linear(2, 1).requires_grad_(False), nn.Linear(2, 1)
    second.load_state_dict(first.state_dict())
    optimizer = torch.optim.SGD(second.parameters(), lr=0.1)
    (first(torch.ones(3, 2)) - second(torch.ones(3, 2)) * 2).sum().backward()
    optimizer.step()
    return locals()


def best_weights_without_a_copy():
    net = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    best = net.state_dict()  # here
    net(torch.ones(3, 2)).square().sum().backward()
    optimizer.step()
    return locals()


def best_weights_with_a_copy():
    net = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    best = copy.deepcopy(net.state_dict())
    net(torch.ones(3, 2)).square().sum().backward()
    optimizer.step()
    return locals()


def old_weights_without_a_copy():
    w = torch.ones(3, requires_grad=True)
    old = w.detach()  # here
    w.square().sum().backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    change = (w - old).abs().sum()
    return locals()


def old_weights_with_a_copy():
    w = torch.ones(3, requires_grad=True)
    old = w.detach().clone()
    w.square().sum().backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    change = (w - old).abs().sum()
    return locals()


def hidden_values_without_a_copy():
    w = torch.ones(3, requires_grad=True)
    hidden = w * 2
    kept = hidden.detach()  # here
    hidden += 1
    (hidden * kept).sum().backward()
    return locals()


def hidden_values_with_a_copy():
    w = torch.ones(3, requires_grad=True)
    hidden = w * 2
    kept = hidden.detach().clone()
    hidden += 1
    (hidden * kept).sum().backward()
    return locals()


def state_dict_that_is_written_to():
    net = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for value in net.state_dict().values():
        value.fill_(0.5)
    net(torch.ones(3, 2)).square().sum().backward()
    optimizer.step()
    return locals()


def detached_weights_that_are_written_to():
    w = torch.ones(3, requires_grad=True)
    weights, optimizer = w.detach(), torch.optim.SGD([w], lr=0.1)
    w.square().sum().backward()
    optimizer.step()
    weights.clamp_(max=1)
    return locals()


BUGS = [
    (write_into_an_overlapping_view, "overlap_write"),
    (write_into_what_an_index_copied, "copy_not_view"),
    (count_with_a_repeated_index, "copy_not_view"),
    (second_name_of_a_changed_tensor, "inplace_silent"),
    (weights_that_are_assigned_from_another_model, "storage_shared"),
    (best_weights_without_a_copy, "storage_shared"),
    (old_weights_without_a_copy, "storage_shared"),
    (hidden_values_without_a_copy, "inplace_silent"),
]


@pytest.mark.parametrize(("bug", "kind"), BUGS)
def test_the_line_that_mistakes_a_view_for_a_copy_or_a_copy_for_a_view_is_named(bug, kind):
    assert told(bug) == [(kind, here(bug))]


HEALTHY = [
    write_into_a_copy_of_an_overlapping_view, write_into_a_slice, count_with_index_add,
    second_name_of_a_tensor_that_is_bound_again, weights_that_are_copied_from_another_model,
    best_weights_with_a_copy, old_weights_with_a_copy, hidden_values_with_a_copy,
    state_dict_that_is_written_to, detached_weights_that_are_written_to,
]  # fmt: skip


@pytest.mark.parametrize("healthy", HEALTHY)
def test_a_copy_where_it_is_meant_and_a_view_where_it_is_meant_are_not_told(healthy):
    assert told(healthy) == []
