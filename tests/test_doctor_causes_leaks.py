"""Graphs that are kept alive from step to step: the doctor names the line that keeps them."""

from __future__ import annotations

import pytest
import torch
from doctor_lines import here, told
from torch import nn


def total_of_losses():
    net, total = nn.Linear(2, 1), 0
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in torch.randn(4, 3, 2):
        loss = net(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total = total + loss  # here
    return locals()


def total_of_numbers():
    net, total = nn.Linear(2, 1), 0
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in torch.randn(4, 3, 2):
        loss = net(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total = total + loss.item()
    return locals()


def total_of_losses_for_one_backward():
    net, total = nn.Linear(2, 1), 0
    for x in torch.randn(4, 3, 2):
        total = total + net(x).square().mean()
    total.backward()
    return locals()


def list_of_losses():
    net, kept = nn.Linear(2, 1), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in torch.randn(10, 3, 2):
        loss = net(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kept.append(loss)  # here
    return locals()


def list_of_detached_losses():
    net, values = nn.Linear(2, 1), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in torch.randn(10, 3, 2):
        loss = net(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        values.append(loss.detach())
    return locals()


def dictionary_of_losses():
    net, records = nn.Linear(2, 1), {}
    for k, x in enumerate(torch.randn(10, 3, 2)):
        loss = net(x).square().mean()
        loss.backward()
        net.zero_grad()
        records[k] = loss  # here
    return locals()


def sum_that_every_backward_goes_through():
    net, sums = nn.Linear(2, 1), 0
    for x in torch.randn(4, 3, 2):
        sums = sums + net(x).square().mean()
        sums.backward(retain_graph=True)
    return locals()


@pytest.mark.parametrize("bug", [total_of_losses, list_of_losses, dictionary_of_losses])
def test_the_line_that_keeps_a_history_is_named(bug):
    assert told(bug) == [("graph_leak", here(bug))]


HEALTHY = [
    total_of_numbers, total_of_losses_for_one_backward, list_of_detached_losses,
    sum_that_every_backward_goes_through,
]  # fmt: skip


@pytest.mark.parametrize("healthy", HEALTHY)
def test_numbers_and_what_backward_needs_may_be_kept(healthy):
    assert told(healthy) == []
