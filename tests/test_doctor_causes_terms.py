"""Terms, parts and samples that are constants for autograd, in a loss that has a gradient."""

from __future__ import annotations

import pytest
import torch
from doctor_lines import findings, here, told
from torch import nn
from torch.utils.checkpoint import checkpoint


def penalty_as_a_number():
    net, x = nn.Linear(3, 1), torch.randn(5, 3)
    penalty = net.weight.square().sum().item()  # here
    loss = net(x).square().mean() + 0.1 * torch.tensor(penalty)
    loss.backward()
    return locals()


def penalty_from_outside():
    net, x, weight = nn.Linear(3, 1), torch.randn(5, 3), 0.3
    loss = net(x).square().mean() + 0.1 * torch.tensor(weight)
    loss.backward()
    return locals()


def penalty_that_is_detached():
    net, x = nn.Linear(3, 1), torch.randn(5, 3)
    penalty = net.weight.square().sum().detach()  # here
    (net(x).square().mean() + 0.1 * penalty).backward()
    return locals()


def weight_of_a_term_that_is_detached():
    net, x = nn.Linear(3, 1), torch.randn(5, 3)
    importance = net.weight.square().sum().detach()
    (net(x).square().mean() * importance).backward()
    return locals()


def penalty_under_no_grad():
    net, x = nn.Linear(3, 1), torch.randn(5, 3)
    with torch.no_grad():  # here
        penalty = net.weight.abs().sum()
    (net(x).square().mean() + penalty).backward()
    return locals()


def penalty_of_a_frozen_teacher():
    net, teacher, x = nn.Linear(3, 1), nn.Linear(3, 1).requires_grad_(False), torch.randn(5, 3)
    with torch.no_grad():
        aim = teacher(x)
    (net(x) - aim).square().mean().backward()
    return locals()


def count_as_a_penalty():
    net, x = nn.Linear(3, 1), torch.randn(5, 3)
    penalty = (net.weight > 0).sum()  # here
    (net(x).square().mean() + penalty).backward()
    return locals()


def count_as_a_divisor():
    net, x = nn.Linear(3, 1), torch.randn(5, 3)
    out = net(x)
    (out.square().sum() / (x > 0).sum()).backward()
    return locals()


def one_row_under_no_grad():
    rows, x = torch.ones(3, 2, requires_grad=True), torch.randn(4, 2)
    with torch.no_grad():  # here
        first = x @ rows[0].exp()
    (first + x @ rows[1].exp() + x @ rows[2].exp()).square().sum().backward()
    return locals()


def one_row_that_is_left_out():
    rows, x = torch.ones(3, 2, requires_grad=True), torch.randn(4, 2)
    (x @ rows[1].exp() + x @ rows[2].exp()).square().sum().backward()
    return locals()


def loss_of_a_sample():
    mean, optimized = torch.zeros(3, requires_grad=True), torch.ones(3, requires_grad=True)
    sample = torch.distributions.Normal(mean, 1.0).sample()  # here
    (sample * optimized).square().sum().backward()
    return locals()


def loss_of_a_reparametrized_sample():
    mean, optimized = torch.zeros(3, requires_grad=True), torch.ones(3, requires_grad=True)
    sample = torch.distributions.Normal(mean, 1.0).rsample()
    (sample * optimized).square().sum().backward()
    return locals()


def loss_of_a_log_probability():
    mean = torch.zeros(3, requires_grad=True)
    policy = torch.distributions.Normal(mean, 1.0)
    action = policy.sample()
    (-policy.log_prob(action) * action.square()).sum().backward()
    return locals()


def reentrant_checkpoint_of_an_input():
    first, last, x = nn.Linear(3, 3), nn.Linear(3, 1), torch.randn(5, 3)
    hidden = checkpoint(first, x, use_reentrant=True)  # here
    last(hidden).square().mean().backward()
    return locals()


def checkpoint_of_an_input():
    first, last, x = nn.Linear(3, 3), nn.Linear(3, 1), torch.randn(5, 3)
    hidden = checkpoint(first, x, use_reentrant=False)
    last(hidden).square().mean().backward()
    return locals()


def reentrant_checkpoint_of_a_hidden_value():
    first, second, x = nn.Linear(3, 3), nn.Linear(3, 1), torch.randn(5, 3)
    out = checkpoint(second, first(x), use_reentrant=True)
    out.square().mean().backward()
    return locals()


def function_that_marks_its_result():
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result = 2 * x
            ctx.mark_non_differentiable(result)
            return result

    net, last, x = nn.Linear(3, 3), nn.Linear(3, 1), torch.randn(5, 3)
    last(Scale.apply(net(x))).square().mean().backward()  # here
    return locals()


def function_that_marks_its_second_result():
    class ScaleAndSign(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            sign = x.sign()
            ctx.mark_non_differentiable(sign)
            return 2 * x, sign

        @staticmethod
        def backward(ctx, grad, _):
            return 2 * grad

    net, last, x = nn.Linear(3, 3), nn.Linear(3, 1), torch.randn(5, 3)
    last(ScaleAndSign.apply(net(x))[0]).square().mean().backward()
    return locals()


BUGS = [
    (penalty_as_a_number, "item_roundtrip", ("net.weight",)),
    (penalty_that_is_detached, "detach", ("net.weight",)),
    (penalty_under_no_grad, "no_grad", ("net.weight",)),
    (count_as_a_penalty, "non_diff_op", ("net.weight",)),
    (one_row_under_no_grad, "no_grad", ("rows",)),
    (loss_of_a_sample, "no_grad", ("mean",)),
    (reentrant_checkpoint_of_an_input, "checkpoint_input", ("first.weight", "first.bias")),
    (function_that_marks_its_result, "custom_function", ("net.weight", "net.bias")),
]


@pytest.mark.parametrize(("bug", "kind", "subject"), BUGS)
def test_the_part_of_a_loss_that_trains_nothing_is_named(bug, kind, subject):
    assert told(bug) == [(kind, here(bug))]
    assert findings(bug)[0].subject == subject


HEALTHY = [
    penalty_from_outside, weight_of_a_term_that_is_detached, penalty_of_a_frozen_teacher,
    count_as_a_divisor, one_row_that_is_left_out, loss_of_a_reparametrized_sample,
    loss_of_a_log_probability, checkpoint_of_an_input, reentrant_checkpoint_of_a_hidden_value,
    function_that_marks_its_second_result,
]  # fmt: skip


@pytest.mark.parametrize("healthy", HEALTHY)
def test_a_constant_that_is_meant_is_not_told(healthy):
    assert told(healthy) == []
