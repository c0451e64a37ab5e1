"""Gradients that are NaN, infinite or zero everywhere: the doctor names where that begins."""

from __future__ import annotations

import pytest
import torch
from doctor_lines import findings, here, told
from torch import nn

INFINITY = float("inf")


def log_of_zero():
    w = torch.tensor([0.0, 1.0], requires_grad=True)
    y = (w * 2).log()  # here
    y.square().sum().backward()
    return locals()


def log_of_one_plus():
    w = torch.tensor([0.0, 1.0], requires_grad=True)
    y = (w * 2).log1p()
    y.square().sum().backward()
    return locals()


def division_by_zero():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    y = w * 3 / torch.tensor([0.0, 1.0])  # here
    y.square().sum().backward()
    return locals()


def division_by_almost_zero():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    y = w * 3 / (torch.tensor([0.0, 1.0]) + 1e-6)
    y.square().sum().backward()
    return locals()


def root_at_zero():
    w = torch.tensor([0.0, 1.0], requires_grad=True)
    length = w.square().sqrt()  # here
    length.sum().backward()
    return locals()


def root_beside_zero():
    w = torch.tensor([0.0, 1.0], requires_grad=True)
    length = (w.square() + 1e-12).sqrt()
    length.sum().backward()
    return locals()


def selection_after_the_root():
    w = torch.tensor([0.0, 4.0], requires_grad=True)
    root = w.sqrt()  # here
    torch.where(w > 0, root, 0.0).sum().backward()
    return locals()


def selection_before_the_root():
    w = torch.tensor([0.0, 4.0], requires_grad=True)
    safe = torch.where(w > 0, w, 1.0)
    torch.where(w > 0, safe.sqrt(), 0.0).sum().backward()
    return locals()


def mask_after_the_log():
    w = torch.tensor([0.0, 4.0], requires_grad=True)
    logs = w.log()  # here
    logs.masked_fill(w == 0, 0.0).sum().backward()
    return locals()


def mask_before_the_log():
    w = torch.tensor([0.0, 4.0], requires_grad=True)
    w.masked_fill(w == 0, 1.0).log().sum().backward()
    return locals()


def attention_of_a_row_that_sees_nothing():
    query, value, x = nn.Linear(3, 3), nn.Linear(3, 3), torch.randn(3, 3)
    hidden = torch.tensor([[0, 0, 1], [1, 1, 1], [0, 0, 0]], dtype=torch.bool)
    scores = (query(x) @ x.T).masked_fill(hidden, -INFINITY)  # here
    (scores.softmax(dim=1) @ value(x))[0].square().sum().backward()
    return locals()


def attention_of_rows_that_see_a_part():
    query, value, x = nn.Linear(3, 3), nn.Linear(3, 3), torch.randn(3, 3)
    hidden = torch.tensor([[0, 0, 1], [0, 1, 1], [0, 0, 0]], dtype=torch.bool)
    scores = (query(x) @ x.T).masked_fill(hidden, -INFINITY)
    (scores.softmax(dim=1) @ value(x))[0].square().sum().backward()
    return locals()


def softmax_of_a_masked_row_in_the_loss():
    net, mask = nn.Linear(3, 3), torch.tensor([[0, 1, 1], [1, 1, 1]], dtype=torch.bool)
    scores = torch.where(mask, -INFINITY, net(torch.ones(2, 3)))  # here
    scores.softmax(dim=1).square().sum().backward()
    return locals()


def softmax_of_a_row_masked_with_a_finite_number():
    net, mask = nn.Linear(3, 3), torch.tensor([[0, 1, 1], [1, 1, 1]], dtype=torch.bool)
    scores = torch.where(mask, -1e9, net(torch.ones(2, 3)))
    scores.softmax(dim=1).square().sum().backward()
    return locals()


def mean_of_nothing():
    net, x = nn.Linear(2, 1), torch.randn(4, 2)
    chosen = net(x)[x[:, 0] > 100]
    loss = chosen.mean()  # here
    loss.backward()
    return locals()


def sum_of_nothing():
    net, x = nn.Linear(2, 1), torch.randn(4, 2)
    chosen = net(x)[x[:, 0] > 100]
    loss = chosen.sum() / max(len(chosen), 1) + net(x).mean()
    loss.backward()
    return locals()


def selection_after_what_follows_the_root():
    w = torch.tensor([0.0, 4.0], requires_grad=True)
    root = w.sqrt()  # here
    torch.where(w > 0, root * 2 + 1, 0.0).sum().backward()
    return locals()


def exp_that_overflows():
    w = torch.tensor([100.0, 4.0], requires_grad=True)
    y = w.exp()  # here
    y.sum().backward()
    return locals()


def selection_after_the_sum():
    w = torch.tensor([0.0, 4.0], requires_grad=True)
    total = w.sqrt().sum()  # here
    torch.where(total > 0, total, 0.0).backward()
    return locals()


BUGS = [
    (log_of_zero, "nan_edge", None),
    (division_by_zero, "nan_edge", None),
    (exp_that_overflows, "nan_edge", None),
    (selection_after_what_follows_the_root, "nan_where", ("w",)),
    (root_at_zero, "nan_edge", ("w",)),
    (selection_after_the_root, "nan_where", ("w",)),
    (mask_after_the_log, "nan_where", ("w",)),
    (attention_of_a_row_that_sees_nothing, "nan_masked", None),
    (softmax_of_a_masked_row_in_the_loss, "nan_masked", None),
    (mean_of_nothing, "nan_empty", None),
    (selection_after_the_sum, "nan_edge", ("w",)),
]


@pytest.mark.parametrize(("bug", "kind", "subject"), BUGS)
def test_the_call_where_a_gradient_is_spoiled_is_named(bug, kind, subject):
    assert told(bug) == [(kind, here(bug))]
    assert subject is None or findings(bug)[0].subject == subject


HEALTHY = [
    log_of_one_plus, division_by_almost_zero, root_beside_zero, selection_before_the_root,
    mask_before_the_log, attention_of_rows_that_see_a_part, sum_of_nothing,
    softmax_of_a_row_masked_with_a_finite_number,
]  # fmt: skip


@pytest.mark.parametrize("healthy", HEALTHY)
def test_the_same_functions_inside_their_domain_are_not_told(healthy):
    assert told(healthy) == []
