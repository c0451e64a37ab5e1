"""Steps, clippings and schedules at the wrong time: a note on the line."""

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


def clipping_after_the_step():
    net, optimizer, batches = start()
    for x in batches:
        optimizer.zero_grad()
        loss_of(net, x).backward()
        optimizer.step()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # here
    return locals()


def clipping_before_the_step():
    net, optimizer, batches = start()
    for x in batches:
        optimizer.zero_grad()
        loss_of(net, x).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    return locals()


def step_before_backward():
    net, optimizer, batches = start()
    for x in batches:
        optimizer.step()  # here
        optimizer.zero_grad()
        loss_of(net, x).backward()
    return locals()


def first_step_without_a_gradient():
    net, optimizer, batches = start()
    for k, x in enumerate(batches):
        optimizer.zero_grad()
        if k > 0:
            loss_of(net, x).backward()
        optimizer.step()
    return locals()


def schedule_before_the_step():
    net, optimizer, batches = start()
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    for x in batches:
        optimizer.zero_grad()
        loss_of(net, x).backward()
        scheduler.step()  # here
        optimizer.step()
    return locals()


def schedule_after_the_step():
    net, optimizer, batches = start()
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    for x in batches:
        optimizer.zero_grad()
        loss_of(net, x).backward()
        optimizer.step()
        scheduler.step()
    return locals()


def clipping_of_scaled_gradients():
    net, optimizer, batches = start()
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
    for x in batches:
        optimizer.zero_grad()
        scaler.scale(loss_of(net, x)).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # here
        scaler.step(optimizer)
        scaler.update()
    return locals()


def clipping_of_unscaled_gradients():
    net, optimizer, batches = start()
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
    for x in batches:
        optimizer.zero_grad()
        scaler.scale(loss_of(net, x)).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    return locals()


def schedule_that_is_resumed():
    net, optimizer, batches = start()
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    for _ in range(3):
        scheduler.step()
    for x in batches:
        optimizer.zero_grad()
        loss_of(net, x).backward()
        optimizer.step()
        scheduler.step()
    return locals()


def step_with_gradients_set_by_hand():
    net, optimizer, batches = start()
    for p in net.parameters():
        p.grad = torch.zeros_like(p)
    optimizer.step()
    optimizer.zero_grad()
    loss_of(net, batches[0]).backward()
    optimizer.step()
    return locals()


@pytest.mark.parametrize(
    "bug",
    [
        clipping_after_the_step, step_before_backward, schedule_before_the_step,
        clipping_of_scaled_gradients,
    ],
)  # fmt: skip
def test_the_line_that_comes_too_early_or_too_late_is_noted(bug):
    assert told(bug) == [("step_order", here(bug))]
    assert [one.severity for one in findings(bug)] == ["note"]


HEALTHY = [
    clipping_before_the_step, schedule_after_the_step, clipping_of_unscaled_gradients,
    first_step_without_a_gradient, schedule_that_is_resumed, step_with_gradients_set_by_hand,
]  # fmt: skip


@pytest.mark.parametrize("healthy", HEALTHY)
def test_the_order_that_torch_asks_for_is_not_noted(healthy):
    assert told(healthy) == []
