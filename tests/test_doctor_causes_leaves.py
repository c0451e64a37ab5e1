"""Leaves that are frozen or that no pass reaches, and results that were taken for leaves."""

from __future__ import annotations

import pytest
import torch
from doctor_lines import findings, here, told
from torch import nn


def training_of_a_frozen_model():
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    for p in model.parameters():
        p.requires_grad = False  # here
    model(torch.randn(4, 2)).square().mean().backward()


def training_of_what_is_not_frozen():
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    for p in model[0].parameters():
        p.requires_grad = False
    model(torch.randn(4, 2)).square().mean().backward()
    return locals()


def attribute_of_a_module():
    model = nn.Linear(2, 1)
    model.requires_grad_(False)
    model.requires_grad = True  # here
    model(torch.randn(4, 2)).square().mean().backward()


def flag_of_each_parameter():
    model = nn.Linear(2, 1)
    model.requires_grad_(False)
    model.requires_grad_(True)
    model(torch.randn(4, 2)).square().mean().backward()
    return locals()


def frozen_norm_in_training_mode():
    body, head = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)), nn.Linear(3, 1)
    model = nn.Sequential(body, head)
    body.requires_grad_(False)
    model.train()  # here
    model(torch.randn(4, 2)).square().mean().backward()
    return locals()


def frozen_norm_in_evaluation_mode():
    body, head = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)), nn.Linear(3, 1)
    model = nn.Sequential(body, head)
    body.requires_grad_(False)
    model.train()
    body.eval()
    model(torch.randn(4, 2)).square().mean().backward()
    return locals()


def gradient_of_a_result():
    w = torch.ones(3, requires_grad=True)
    scaled = w * 0.01  # here
    scaled.square().sum().backward()
    assert scaled.grad is None
    return locals()


def gradient_of_a_result_that_is_retained():
    w = torch.ones(3, requires_grad=True)
    scaled = w * 0.01
    scaled.retain_grad()
    scaled.square().sum().backward()
    assert scaled.grad is not None
    return locals()


def second_derivative_of_a_relu():
    net, x = nn.Sequential(nn.Linear(1, 4), nn.ReLU(), nn.Linear(4, 1)), torch.ones(3, 1)  # here
    x.requires_grad_()
    (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), x)
    return locals()


def second_derivative_of_a_tanh():
    net, x = nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1)), torch.ones(3, 1)
    x.requires_grad_()
    (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), x)
    return locals()


def gradient_of_a_parametrized_weight():
    net = nn.utils.parametrizations.weight_norm(nn.Linear(2, 1))
    weight = net.weight
    net(torch.randn(4, 2)).square().mean().backward()
    assert weight.grad is None
    return locals()


def frozen_norm_of_a_model_of_its_own():
    body, head = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)), nn.Linear(3, 1)
    body.requires_grad_(False)
    head(body(torch.randn(4, 2))).square().mean().backward()
    return locals()


BUGS = [
    (training_of_a_frozen_model, "frozen"),
    (frozen_norm_in_training_mode, "frozen"),
    (gradient_of_a_result, "non_leaf"),
    (second_derivative_of_a_relu, "linear_second"),
]


@pytest.mark.parametrize(("bug", "kind"), BUGS)
def test_the_line_that_leaves_a_leaf_without_a_gradient_is_named(bug, kind):
    assert told(bug) == [(kind, here(bug))]


HEALTHY = [
    training_of_what_is_not_frozen, flag_of_each_parameter, frozen_norm_in_evaluation_mode,
    gradient_of_a_result_that_is_retained, second_derivative_of_a_tanh,
    gradient_of_a_parametrized_weight, frozen_norm_of_a_model_of_its_own,
]  # fmt: skip


@pytest.mark.parametrize("healthy", HEALTHY)
def test_a_leaf_that_is_meant_to_have_no_gradient_is_not_told(healthy):
    assert told(healthy) == []


def test_a_result_that_is_no_leaf_is_named():
    assert findings(gradient_of_a_result)[0].subject == ("scaled",)


def test_an_attribute_that_was_to_unfreeze_a_module_is_named_first():
    assert told(attribute_of_a_module)[0] == ("frozen", here(attribute_of_a_module))
