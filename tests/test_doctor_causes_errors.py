"""Errors of torch's about gradients: the doctor names the line that made them happen."""

from __future__ import annotations

import copy

import numpy
import pytest
import torch
from doctor_lines import findings, here, told
from torch import nn


def update_of_a_leaf():
    w = torch.ones(3, requires_grad=True)
    w.square().sum().backward()
    w -= 0.1 * w.grad  # here


def update_of_a_leaf_under_no_grad():
    w = torch.ones(3, requires_grad=True)
    w.square().sum().backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    return locals()


def write_into_one_of_several_views():
    w = torch.ones(4, requires_grad=True)
    first, second = (w * 2).chunk(2)
    first.mul_(3)  # here
    (first + second).sum().backward()


def write_into_a_copy_of_one_view():
    w = torch.ones(4, requires_grad=True)
    first, second = (w * 2).chunk(2)
    first = first.clone().mul_(3)
    (first + second).sum().backward()
    return locals()


def relu_in_place_of_a_chunk():
    relu = nn.ReLU(inplace=True)  # here
    first, second = nn.Linear(2, 4)(torch.randn(3, 2)).chunk(2, dim=1)
    (relu(first) + second).sum().backward()


def backward_of_a_vector():
    w = torch.ones(3, requires_grad=True)
    losses = w.square()  # here
    losses.backward()


def backward_of_a_vector_with_a_gradient():
    w = torch.ones(3, requires_grad=True)
    losses = w.square()
    losses.backward(torch.ones(3))
    return locals()


def loss_of_a_function_that_reduces_nothing():
    def loss_of(prediction, y):
        return nn.functional.mse_loss(prediction, y, reduction="none")  # here

    net, x = nn.Linear(2, 1), torch.randn(4, 2)
    loss_of(net(x), torch.randn(4, 1)).backward()


def optimizer_of_a_result():
    w = torch.ones(3, requires_grad=True) * 0.1  # here
    torch.optim.SGD([w], lr=0.1)


def optimizer_of_a_leaf():
    w = (torch.ones(3) * 0.1).requires_grad_()
    optimizer = torch.optim.SGD([w], lr=0.1)
    w.square().sum().backward()
    optimizer.step()
    return locals()


def flag_of_a_result():
    w = torch.ones(3, requires_grad=True)
    frozen = w * 2  # here
    frozen.requires_grad_(False)


def copy_of_a_result():
    class Net(nn.Linear):
        def encode(self, x):
            return super().forward(x)

        def forward(self, x):
            self.last = self.encode(x)  # here
            return self.last

    model = Net(2, 1)
    model(torch.randn(3, 2)).sum().backward()
    copy.deepcopy(model)


def copy_of_a_detached_result():
    model, x = nn.Linear(2, 1), torch.randn(3, 2)
    model.last = model(x).detach()
    copy.deepcopy(model)
    return locals()


def gradient_of_integers():
    w = torch.tensor([1, 2, 3])  # here
    w.requires_grad_()


def array_of_a_result():
    w = torch.ones(3, requires_grad=True)
    numpy.mean((w * 2).numpy())  # here


def array_of_a_detached_result():
    w = torch.ones(3, requires_grad=True)
    y = w * 2
    numpy.mean(y.detach().numpy())
    y.sum().backward()
    return locals()


def inference_before_training():
    encoder, head = nn.Linear(2, 3), nn.Linear(3, 1)
    with torch.inference_mode():  # here
        hidden = encoder(torch.randn(4, 2))
    head(hidden).sum().backward()


def no_grad_before_the_training_of_a_head():
    encoder, head = nn.Linear(2, 3).requires_grad_(False), nn.Linear(3, 1)
    with torch.no_grad():
        hidden = encoder(torch.randn(4, 2))
    head(hidden).sum().backward()
    return locals()


def view_of_a_transpose():
    w = torch.ones(2, 3, requires_grad=True)
    w.t().view(6).sum().backward()  # here


def reshape_of_a_transpose():
    w = torch.ones(2, 3, requires_grad=True)
    w.t().reshape(6).sum().backward()
    return locals()


def write_into_an_expanded_row():
    row = torch.zeros(1, 3).expand(4, 3)  # here
    row.add_(torch.ones(4, 3))


def write_into_a_repeated_row():
    rows = torch.zeros(1, 3).repeat(4, 1)
    rows.add_(torch.ones(4, 3))
    return locals()


BUGS = [
    (update_of_a_leaf, "inplace_leaf", ("w",)),
    (write_into_one_of_several_views, "inplace_view", ()),
    (relu_in_place_of_a_chunk, "inplace_view", ()),
    (backward_of_a_vector, "non_scalar", ("losses",)),
    (loss_of_a_function_that_reduces_nothing, "non_scalar", None),
    (optimizer_of_a_result, "non_leaf", ("w",)),
    (flag_of_a_result, "non_leaf", ("frozen",)),
    (copy_of_a_result, "non_leaf", None),
    (gradient_of_integers, "non_diff_op", ("w",)),
    (array_of_a_result, "item_roundtrip", None),
    (inference_before_training, "no_grad", ("hidden",)),
    (view_of_a_transpose, "view_incompatible", ()),
    (write_into_an_expanded_row, "overlap_write", ("row",)),
]


@pytest.mark.parametrize(("bug", "kind", "subject"), BUGS)
def test_the_line_behind_an_error_is_named(bug, kind, subject):
    assert told(bug) == [(kind, here(bug))]
    assert subject is None or findings(bug)[0].subject == subject


HEALTHY = [
    update_of_a_leaf_under_no_grad, write_into_a_copy_of_one_view, optimizer_of_a_leaf,
    backward_of_a_vector_with_a_gradient, copy_of_a_detached_result, array_of_a_detached_result,
    no_grad_before_the_training_of_a_head, reshape_of_a_transpose, write_into_a_repeated_row,
]  # fmt: skip


@pytest.mark.parametrize("healthy", HEALTHY)
def test_the_way_around_an_error_is_not_told(healthy):
    assert told(healthy) == []
