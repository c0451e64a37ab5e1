"""Causes that show in one of several ways: the rarer ones are found too."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from doctor_lines import here, told
from torch import nn
from torch.nn.utils import clip_grad_norm_


def layer_and_optimizer(n=1):
    net = nn.Linear(2, n)
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


def step(loss, opt):
    opt.zero_grad()
    loss.backward()
    opt.step()


def best_state_loaded_back():
    net, opt = layer_and_optimizer()
    best = net.state_dict()  # here
    step(net(torch.ones(3, 2)).square().mean(), opt)
    net.load_state_dict(best)
    return locals()


def old_weights_copied_back():
    w = torch.ones(3, requires_grad=True)
    old = w.detach()  # here
    w.square().sum().backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.copy_(old)
    return locals()


def log_of_zero_straight_into_a_mean():
    net = nn.Linear(2, 3)
    p = net(torch.full((2, 2), 1e20)).softmax(1)
    loss = -p.log()[range(2), [0, 1]].mean()  # here
    loss.backward()
    return locals()


def division_by_zero_straight_into_a_sum():
    w = torch.zeros(2, requires_grad=True)
    u = w / w.norm()  # here
    u.sum().backward()
    return locals()


def all_targets_ignored():
    net = nn.Linear(2, 3)
    loss = F.cross_entropy(net(torch.ones(4, 2)), torch.full((4,), -100))  # here
    loss.backward()
    return locals()


def layer_appended_after_the_optimizer():
    net = nn.Sequential(nn.Linear(2, 3))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    net.append(nn.Linear(3, 1))  # here
    for _ in range(2):
        step(net(torch.ones(4, 2)).square().mean(), opt)
    return locals()


def tied_module_replaced():
    class LM(nn.Module):
        def __init__(self):
            super().__init__()
            self.e, self.h = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
            self.h.weight = self.e.weight

        def forward(self, x):
            return self.h(self.e(x))

    model = LM()
    model.e = nn.Embedding(7, 3)  # here
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    step(model(torch.arange(5)).sum(), opt)
    return locals()


def last_window_of_one_pass():
    net, opt = layer_and_optimizer()
    batches = torch.randn(3, 4, 2)
    for first in range(0, 3, 2):
        opt.zero_grad()
        for x in batches[first : first + 2]:
            (net(x).square().mean() / 2).backward()  # here
        opt.step()
    return locals()


def clipping_imported_before_watch():
    net, opt = layer_and_optimizer()
    for x in torch.randn(3, 4, 2):
        step(net(x).square().mean(), opt)
        clip_grad_norm_(net.parameters(), 1.0)  # here
    return locals()


def window_cleared_by_hand():
    net, opt = layer_and_optimizer()
    for k, x in enumerate(torch.randn(4, 3, 2)):
        for p in net.parameters():
            p.grad = None  # here
        (net(x).square().mean() / 2).backward()
        if k % 2 == 1:
            opt.step()
    return locals()


def index_of_floats():
    table = nn.Embedding(4, 2)
    index = torch.ones(2)  # here
    table(index).sum().backward()


def index_of_floats_in_brackets():
    table = torch.ones(4, 2, requires_grad=True)
    index = torch.ones(2)  # here
    table[index].sum().backward()


def mean_of_integers():
    x = torch.tensor([1, 2, 3])  # here
    x.mean()


def gradients_in_the_wrong_order():
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, k, x):
            ctx.k = k
            return x * k

        @staticmethod
        def backward(ctx, g):
            return g * ctx.k, None  # here

    Scale.apply(2.0, torch.ones(3, requires_grad=True)).square().sum().backward()


def gradient_of_what_was_not_used():
    x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    torch.autograd.grad((x * 2).sum(), w)  # here


def relu_in_place_of_a_second_name():
    w = torch.ones(3, requires_grad=True)
    h = w * 2
    skip = h
    h = F.relu(h, inplace=True)  # here
    (h + skip).sum().backward()
    return locals()


def second_derivative_of_a_linear_layer():
    w, x = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    y = (w * x).sum()  # here
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    torch.autograd.grad(slope.sum(), x, materialize_grads=True)
    return locals()


BUGS = {
    second_derivative_of_a_linear_layer: "linear_second",
    best_state_loaded_back: "storage_shared",
    old_weights_copied_back: "storage_shared",
    log_of_zero_straight_into_a_mean: "nan_edge",
    division_by_zero_straight_into_a_sum: "nan_edge",
    all_targets_ignored: "nan_empty",
    layer_appended_after_the_optimizer: "unregistered",
    tied_module_replaced: "broken_tie",
    last_window_of_one_pass: "accum_tail",
    clipping_imported_before_watch: "step_order",
    window_cleared_by_hand: "zero_grad_misplaced",
    index_of_floats: "dtype_mismatch",
    index_of_floats_in_brackets: "dtype_mismatch",
    mean_of_integers: "dtype_mismatch",
    gradients_in_the_wrong_order: "custom_function",
    gradient_of_what_was_not_used: "unused_param",
    relu_in_place_of_a_second_name: "inplace_silent",
}


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_the_line_of_this_bug_is_named(bug):
    kinds_and_lines = told(bug)
    assert kinds_and_lines == [(BUGS[bug], here(bug))]
