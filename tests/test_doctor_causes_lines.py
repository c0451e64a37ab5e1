"""The line that is to blame, where another one looks as guilty."""

from __future__ import annotations

import copy

import numpy
import pytest
import torch
from doctor_lines import here, told
from torch import nn
from torch.utils.checkpoint import checkpoint


def layer_and_optimizer(n=1):
    net = nn.Linear(2, n)
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


def step(loss, opt):
    opt.zero_grad()
    loss.backward()
    opt.step()


def validate(model, x):
    with torch.no_grad():
        return model(x)


def never_called(model):
    model[0].weight.requires_grad = False


def lbfgs_closure():
    net, x = nn.Linear(4, 1), torch.randn(4, 4)
    opt = torch.optim.LBFGS(net.parameters())

    def closure():
        opt.zero_grad()
        loss = (net(x) - 1).square().mean()
        loss.backward()
        return loss

    opt.step(closure)
    return locals()


def sam():
    net, opt = layer_and_optimizer()
    for x in torch.randn(3, 3, 2):
        opt.zero_grad()
        net(x).square().mean().backward()
        with torch.no_grad():
            moves = [0.05 * p.grad / p.grad.norm() for p in net.parameters()]
            for p, e in zip(net.parameters(), moves, strict=True):
                p.add_(e)
        opt.zero_grad()
        net(x).square().mean().backward()
        with torch.no_grad():
            for p, e in zip(net.parameters(), moves, strict=True):
                p.sub_(e)
        opt.step()
    return locals()


def argument_on_ctx_is_right_for_second_derivatives():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x
            return x**3

        @staticmethod
        def backward(ctx, grad):
            return 3 * grad * ctx.x**2

    w = torch.ones(3, requires_grad=True)
    (g,) = torch.autograd.grad(Cube.apply(w).sum(), w, create_graph=True)
    g.square().sum().backward()
    assert w.grad.tolist() == [36, 36, 36]
    return locals()


def copy_under_no_grad_is_kind_data():
    net, shift = nn.Linear(2, 1), torch.ones(1, 2, requires_grad=True)
    moved = shift * 2
    with torch.no_grad():
        net.weight.copy_(moved)  # here
    net(torch.ones(3, 2)).sum().backward()
    return locals()


def no_grad_inside_no_grad():
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1)), torch.randn(5, 3)
    with torch.no_grad():  # here
        validate(model, x)
        hidden = model[0](x)
    model[1](hidden).square().mean().backward()
    return locals()


def enable_grad_inside_no_grad():
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1)), torch.randn(5, 3)
    with torch.no_grad():  # here
        with torch.enable_grad():
            model(x)
        hidden = model[0](x)
    model[1](hidden).square().mean().backward()
    return locals()


def custom_function_under_no_grad():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    w, v = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    with torch.no_grad():  # here
        y = Twice.apply(w)
    (y * v).sum().backward()
    return locals()


def checkpoint_under_no_grad():
    first, last, x = nn.Linear(3, 3), nn.Linear(3, 1), torch.randn(5, 3)
    with torch.no_grad():  # here
        hidden = checkpoint(first, x, use_reentrant=True)
    last(hidden).square().mean().backward()
    return locals()


def state_detached_in_part():
    cell, h, c = nn.LSTMCell(2, 3), torch.zeros(1, 3), torch.zeros(1, 3)
    for x in torch.randn(3, 1, 2):
        h, c = cell(x, (h, c))
        h.sum().backward()
        h = h.detach()  # here


def module_made_after_the_optimizer():
    net, opt = layer_and_optimizer(3)
    head = nn.Linear(3, 1)  # here
    for _ in range(2):
        step(head(net(torch.ones(4, 2))).square().mean(), opt)
    return locals()


def none_for_a_result():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, s):
            ctx.save_for_backward(x, s)
            return x * s

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[1], None  # here

    first, second = nn.Linear(2, 1), nn.Linear(2, 1)
    opt = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    x = torch.ones(3, 2)
    loss = Product.apply(first(x), second(x)).square().sum()
    step(loss, opt)
    return locals()


def second_flip_of_a_file():
    image = numpy.ones((2, 3))
    upside = image[::-1]
    torch.from_numpy(numpy.ascontiguousarray(upside))
    mirrored = image[:, ::-1]  # here
    torch.from_numpy(mirrored)


def flag_of_a_module_beside_a_function_that_never_ran():
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    model[0].requires_grad = False  # here
    model(torch.randn(4, 2)).square().mean().backward()
    return locals()


def unfreezing_a_module_is_told_twice():
    net = nn.Linear(2, 1)
    net.requires_grad_(False)
    net.requires_grad = True  # here
    net(torch.randn(4, 2)).square().mean().backward()


def last_result_of_a_loop_beside_backward():
    branches, x = nn.ModuleList(nn.Linear(2, 3) for _ in range(3)), torch.randn(4, 2)
    opt = torch.optim.SGD(branches.parameters(), lr=0.1)
    for branch in branches:
        y = branch(x)  # here
    y.square().mean().backward()
    opt.step()
    return locals()


def copy_of_parameters_is_trained():
    net, opt = layer_and_optimizer()
    again = copy.deepcopy(net)  # here
    again(torch.ones(4, 2)).square().mean().backward()
    opt.step()
    return locals()


BUGS = {
    copy_under_no_grad_is_kind_data: "data",
    no_grad_inside_no_grad: "no_grad",
    enable_grad_inside_no_grad: "no_grad",
    custom_function_under_no_grad: "no_grad",
    checkpoint_under_no_grad: "no_grad",
    state_detached_in_part: "freed_graph",
    module_made_after_the_optimizer: "unregistered",
    none_for_a_result: "custom_function",
    second_flip_of_a_file: "numpy_stride",
    flag_of_a_module_beside_a_function_that_never_ran: "frozen",
    unfreezing_a_module_is_told_twice: "frozen",
    last_result_of_a_loop_beside_backward: "unused_param",
    copy_of_parameters_is_trained: "rewrap",
}


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_the_line_of_this_bug_is_named(bug):
    kinds_and_lines = told(bug)
    assert kinds_and_lines == [(BUGS[bug], here(bug))]


HEALTHY = [lbfgs_closure, sam, argument_on_ctx_is_right_for_second_derivatives]


@pytest.mark.parametrize("code", HEALTHY, ids=lambda code: code.__name__)
def test_this_healthy_code_is_spared(code):
    assert told(code) == []
