"""Tensors that a custom function keeps on ctx, and operators without a formula for backward."""

from __future__ import annotations

import pytest
import torch
from doctor_lines import findings, here, told
from torch.autograd import Function


def result_on_ctx():
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.result = x.exp()  # here
            return ctx.result

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.result

    x = torch.ones(3, requires_grad=True)
    Exp.apply(x).square().sum().backward()
    return locals()


def result_that_is_saved():
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            result = x.exp()
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    x = torch.ones(3, requires_grad=True)
    Exp.apply(x).square().sum().backward()
    return locals()


def value_in_between_on_ctx():
    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.slope = 3 * x * x  # here
            return x**3

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.slope

    x = torch.ones(3, requires_grad=True)
    (slope,) = torch.autograd.grad(Cube.apply(x).square().sum(), x, create_graph=True)
    slope.square().sum().backward()
    return locals()


def value_in_between_for_one_derivative():
    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.slope = 3 * x * x
            return x**3

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.slope

    x = torch.ones(3, requires_grad=True)
    Cube.apply(x).square().sum().backward()
    return locals()


def argument_for_two_derivatives():
    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            return grad * 3 * ctx.saved_tensors[0] ** 2

    x = torch.ones(3, requires_grad=True)
    (slope,) = torch.autograd.grad(Cube.apply(x).square().sum(), x, create_graph=True)
    slope.square().sum().backward()
    return locals()


@pytest.mark.parametrize(
    ("bug", "kind", "subject"),
    [
        (result_on_ctx, "graph_leak", "ctx.result"),
        (value_in_between_on_ctx, "custom_function", "ctx.slope"),
    ],
)
def test_the_line_that_keeps_a_tensor_on_ctx_is_named(bug, kind, subject):
    assert told(bug) == [(kind, here(bug))]
    assert findings(bug)[0].subject == (subject,)


@pytest.mark.parametrize(
    "healthy",
    [result_that_is_saved, value_in_between_for_one_derivative, argument_for_two_derivatives],
)
def test_what_is_saved_for_backward_is_not_told(healthy):
    assert told(healthy) == []
