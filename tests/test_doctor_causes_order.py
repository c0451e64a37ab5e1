"""Gradients that are added up or thrown away where that is seldom meant: a note on the line."""

from __future__ import annotations

import pytest
import torch
from doctor_lines import findings, here, told
from torch import nn


def start():
    net = nn.Linear(2, 1)
    return net, torch.optim.SGD(net.parameters(), lr=0.1), torch.randn(4, 3, 2)


def loss_of(net, x):
    return net(x).square().mean()


def steps_without_zero_grad():
    net, optimizer, batches = start()
    for x in batches:
        loss_of(net, x).backward()  # here
        optimizer.step()
    return locals()


def steps_with_zero_grad():
    net, optimizer, batches = start()
    for x in batches:
        optimizer.zero_grad()
        loss_of(net, x).backward()
        optimizer.step()
    return locals()


def steps_with_gradients_of_none():
    net, optimizer, batches = start()
    for x in batches:
        for p in net.parameters():
            p.grad = None
        loss_of(net, x).backward()
        optimizer.step()
    return locals()


def zero_grad_between_backward_and_step():
    net, optimizer, batches = start()
    for x in batches:
        loss_of(net, x).backward()
        optimizer.zero_grad()  # here
        optimizer.step()
    return locals()


def zero_grad_in_a_window():
    net, optimizer, batches = start()
    for k, x in enumerate(batches):
        optimizer.zero_grad()  # here
        (loss_of(net, x) / 2).backward()
        if k % 2 == 1:
            optimizer.step()
    return locals()


def zero_grad_after_each_window():
    net, optimizer, batches = start()
    for k, x in enumerate(batches):
        (loss_of(net, x) / 2).backward()
        if k % 2 == 1:
            optimizer.step()
            optimizer.zero_grad()
    return locals()


def window_without_a_last_step():
    net, optimizer, batches = start()
    for k, x in enumerate(batches[:3]):
        (loss_of(net, x) / 2).backward()
        if k % 2 == 1:  # here
            optimizer.step()
            optimizer.zero_grad()
    return locals()


def second_order_in_grad():
    net, optimizer, batches = start()
    for x in batches[:1]:
        loss_of(net, x).backward(create_graph=True)  # here
        penalty = sum(p.grad.square().sum() for p in net.parameters())
        penalty.backward()
        optimizer.step()
    return locals()


def second_order_beside_grad():
    net, optimizer, batches = start()
    for x in batches[:1]:
        loss = loss_of(net, x)
        grads = torch.autograd.grad(loss, list(net.parameters()), create_graph=True)
        (loss + sum(g.square().sum() for g in grads)).backward()
        optimizer.step()
    return locals()


def zero_grad_before_the_only_step():
    net, optimizer, batches = start()
    loss_of(net, batches[0]).backward()
    optimizer.zero_grad()  # here
    optimizer.step()
    return locals()


def zero_grad_after_a_trial():
    net, optimizer, batches = start()
    loss_of(net, batches[0]).backward()
    optimizer.zero_grad()
    loss_of(net, batches[1]).backward()
    optimizer.step()
    return locals()


def last_pass_without_a_step():
    net, optimizer, batches = start()
    for x in batches:
        optimizer.zero_grad()
        loss_of(net, x).backward()
        optimizer.step()
    optimizer.zero_grad()
    loss_of(net, batches[0]).backward()
    return locals()


def windows_of_different_lengths():
    net, optimizer, batches = start()
    for k, x in enumerate(batches):
        (loss_of(net, x) / 2).backward()
        if k in (1, 2):
            optimizer.step()
            optimizer.zero_grad()
    return locals()


def two_optimizers_in_turn():
    first, second = nn.Linear(2, 2), nn.Linear(2, 1)
    optimizers = [torch.optim.SGD(part.parameters(), lr=0.1) for part in (first, second)]
    for k, x in enumerate(torch.randn(4, 3, 2)):
        optimizers[k % 2].zero_grad()
        second(first(x)).square().mean().backward()
        optimizers[k % 2].step()
    return locals()


BUGS = [
    (steps_without_zero_grad, "zero_grad_missing", "note"),
    (zero_grad_between_backward_and_step, "zero_grad_misplaced", "note"),
    (zero_grad_before_the_only_step, "zero_grad_misplaced", "note"),
    (zero_grad_in_a_window, "zero_grad_misplaced", "note"),
    (window_without_a_last_step, "accum_tail", "note"),
    (second_order_in_grad, "grad_accumulated_twice", "problem"),
]


@pytest.mark.parametrize(("bug", "kind", "severity"), BUGS)
def test_the_line_that_comes_at_the_wrong_time_is_named(bug, kind, severity):
    assert told(bug) == [(kind, here(bug))]
    assert [one.severity for one in findings(bug)] == [severity]


HEALTHY = [
    steps_with_zero_grad, steps_with_gradients_of_none, zero_grad_after_each_window,
    second_order_beside_grad, zero_grad_after_a_trial, last_pass_without_a_step,
    windows_of_different_lengths, two_optimizers_in_turn,
]  # fmt: skip


@pytest.mark.parametrize("healthy", HEALTHY)
def test_the_usual_order_is_not_told(healthy):
    assert told(healthy) == []
