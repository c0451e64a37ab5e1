"""Custom functions whose backward gives back what it should not: the doctor names its line."""

from __future__ import annotations

import pytest
import torch
from doctor_lines import findings, here, told
from torch.autograd import Function


def one_gradient_for_two_arguments():
    class Product(Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[1]  # here

    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    Product.apply(a, b).square().sum().backward()


def two_gradients_for_two_arguments():
    class Product(Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            return grad * b, grad * a

    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    Product.apply(a, b).square().sum().backward()
    return locals()


def gradient_of_another_shape():
    class RowSums(Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum(dim=1)

        @staticmethod
        def backward(ctx, grad):
            return grad.repeat(2)  # here

    x = torch.ones(3, 2, requires_grad=True)
    RowSums.apply(x).square().sum().backward()


def gradient_of_the_same_shape():
    class RowSums(Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum(dim=1)

        @staticmethod
        def backward(ctx, grad):
            return grad[:, None].expand(3, 2)

    x = torch.ones(3, 2, requires_grad=True)
    RowSums.apply(x).square().sum().backward()
    return locals()


def gradient_that_torch_adds_up():
    class AddBias(Function):
        @staticmethod
        def forward(ctx, x, bias):
            return x + bias

        @staticmethod
        def backward(ctx, grad):
            return grad, grad  # here

    x, bias = torch.ones(3, 2, requires_grad=True), torch.ones(2, requires_grad=True)
    AddBias.apply(x, bias).square().sum().backward()
    return locals()


def gradient_that_backward_adds_up():
    class AddBias(Function):
        @staticmethod
        def forward(ctx, x, bias):
            return x + bias

        @staticmethod
        def backward(ctx, grad):
            return grad, grad.sum(dim=0)

    x, bias = torch.ones(3, 2, requires_grad=True), torch.ones(2, requires_grad=True)
    AddBias.apply(x, bias).square().sum().backward()
    return locals()


def gradient_without_the_one_given():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * ctx.saved_tensors[0]  # here

    x = torch.ones(3, requires_grad=True)
    Square.apply(x).square().sum().backward()
    return locals()


def gradient_times_the_one_given():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 * ctx.saved_tensors[0]

    x = torch.ones(3, requires_grad=True)
    Square.apply(x).square().sum().backward()
    return locals()


def none_for_a_weight():
    class Scale(Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.save_for_backward(weight)
            return x * weight

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0], None  # here

    x, weight = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    Scale.apply(x, weight).square().sum().backward()
    return locals()


def none_for_a_constant():
    class Scale(Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.save_for_backward(weight)
            return x * weight

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0], None

    x, weight = torch.ones(3, requires_grad=True), torch.ones(3)
    Scale.apply(x, weight).square().sum().backward()
    return locals()


BUGS = [
    (one_gradient_for_two_arguments, "Product"),
    (gradient_of_another_shape, "RowSums"),
    (gradient_that_torch_adds_up, "AddBias"),
    (gradient_without_the_one_given, "Square"),
    (none_for_a_weight, "weight"),
]


@pytest.mark.parametrize(("bug", "subject"), BUGS)
def test_the_return_of_a_wrong_backward_is_named(bug, subject):
    assert told(bug) == [("custom_function", here(bug))]
    assert findings(bug)[0].subject == (subject,)


HEALTHY = [
    two_gradients_for_two_arguments, gradient_of_the_same_shape, gradient_that_backward_adds_up,
    gradient_times_the_one_given, none_for_a_constant,
]  # fmt: skip


@pytest.mark.parametrize("healthy", HEALTHY)
def test_a_right_backward_is_not_told(healthy):
    assert told(healthy) == []
