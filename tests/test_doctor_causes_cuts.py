"""Values that leave the graph on their way to the loss: the doctor names the line that cuts."""

from __future__ import annotations

import copy

import pytest
import torch
from doctor_lines import findings, here, told
from torch import nn


def detach_of_a_hidden_value():
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1)), torch.randn(5, 3)
    hidden = model[0](x).detach()  # here
    model[1](hidden).square().mean().backward()
    return locals()


def detach_of_a_target():
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 4)), torch.randn(5, 3)
    hidden = model[0](x)
    (model[1](hidden) - hidden.detach()).square().mean().backward()
    return locals()


def data_of_a_hidden_value():
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1)), torch.randn(5, 3)
    hidden = model[0](x)
    model[1](hidden.data).square().mean().backward()  # here
    return locals()


def data_to_print():
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1)), torch.randn(5, 3)
    hidden = model[0](x)
    norm = hidden.data.norm()
    model[1](hidden).square().mean().backward()
    return locals()


def data_of_weights():
    net, shift = nn.Linear(2, 1), torch.ones(1, 2, requires_grad=True)
    net.weight.data = shift * 2  # here
    net(torch.ones(3, 2)).sum().backward()
    return locals()


def weights_that_are_called_with():
    net, shift = nn.Linear(2, 1).requires_grad_(False), torch.ones(1, 2, requires_grad=True)
    moved = {"weight": shift * 2, "bias": net.bias}
    torch.func.functional_call(net, moved, (torch.ones(3, 2),)).sum().backward()
    return locals()


def forward_under_no_grad():
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1)), torch.randn(5, 3)
    with torch.no_grad():  # here
        hidden = model[0](x)
    model[1](hidden).square().mean().backward()
    return locals()


def validation_under_no_grad():
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1)), torch.randn(5, 3)
    with torch.no_grad():
        validation = model(x).square().mean()
    model(x).square().mean().backward()
    return locals()


def gradients_that_stay_off():
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1)), torch.randn(5, 3)
    torch.set_grad_enabled(False)  # here
    hidden = model[0](x)
    torch.set_grad_enabled(True)
    model[1](hidden).square().mean().backward()
    return locals()


def item_of_a_scale():
    scale, net = torch.ones(1, requires_grad=True), nn.Linear(2, 1)
    loss = net(torch.ones(3, 2)).mean() * scale.exp().item()  # here
    loss.backward()
    return locals()


def item_for_a_log():
    scale, net = torch.ones(1, requires_grad=True), nn.Linear(2, 1)
    loss = net(torch.ones(3, 2)).mean() * scale.exp().squeeze()
    history = [loss.item()]
    loss.backward()
    return locals()


def tensor_of_tensors():
    w, x = torch.ones(2, requires_grad=True), torch.randn(4, 2)
    rows = torch.tensor([(row * w).sum() for row in x])  # here
    rows.mean().requires_grad_().backward()
    return locals()


def stack_of_tensors():
    w, x = torch.ones(2, requires_grad=True), torch.randn(4, 2)
    torch.stack([(row * w).sum() for row in x]).mean().backward()
    return locals()


def parameter_of_a_result():
    scale, x = torch.ones(2, requires_grad=True), torch.randn(4, 2)
    weight = nn.Parameter(scale.exp())  # here
    (x @ weight).mean().backward()
    return locals()


def parameter_of_a_start():
    start, x = torch.ones(2), torch.randn(4, 2)
    weight = nn.Parameter(start.exp())
    (x @ weight).mean().backward()
    return locals()


def deepcopy_of_a_leaf():
    w, x = torch.ones(2, requires_grad=True), torch.randn(4, 2)
    again = copy.deepcopy(w)  # here
    (x @ again).mean().backward()
    return locals()


def argmax_of_logits():
    net, x, y = nn.Linear(3, 4), torch.randn(5, 3), torch.arange(5.0)
    chosen = net(x).argmax(dim=1)  # here
    loss = (chosen.float() - y).square().mean().requires_grad_()
    loss.backward()
    return locals()


def argmax_for_the_accuracy():
    net, x, y = nn.Linear(3, 4), torch.randn(5, 3), torch.arange(5) % 4
    logits = net(x)
    accuracy = (logits.argmax(dim=1) == y).float().mean()
    nn.functional.cross_entropy(logits, y).backward()
    return locals()


def penalty_without_a_history():
    net, x = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1)), torch.randn(3, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    (slope,) = torch.autograd.grad(net(x.requires_grad_()).sum(), x)  # here
    slope.square().mean().requires_grad_().backward()
    optimizer.step()
    return locals()


def penalty_with_a_history():
    net, x = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1)), torch.randn(3, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    out = net(x.requires_grad_()).sum()
    (slope,) = torch.autograd.grad(out, x, create_graph=True)
    (out + slope.square().mean()).backward()
    optimizer.step()
    return locals()


OF_NET = ("net.0.weight", "net.0.bias", "net.2.weight", "net.2.bias")
BUGS = [
    (detach_of_a_hidden_value, "detach", ("model.0.weight", "model.0.bias")),
    (data_of_a_hidden_value, "data", ("model.0.weight", "model.0.bias")),
    (data_of_weights, "data", ("shift",)),
    (forward_under_no_grad, "no_grad", ("model.0.weight", "model.0.bias")),
    (gradients_that_stay_off, "no_grad", ("model.0.weight", "model.0.bias")),
    (item_of_a_scale, "item_roundtrip", ("scale",)),
    (tensor_of_tensors, "item_roundtrip", ("w",)),
    (parameter_of_a_result, "rewrap", ("scale",)),
    (deepcopy_of_a_leaf, "rewrap", ("w",)),
    (argmax_of_logits, "non_diff_op", ("net.weight", "net.bias")),
    (penalty_without_a_history, "create_graph_missing", OF_NET),
]


@pytest.mark.parametrize(("bug", "kind", "subject"), BUGS)
def test_the_line_that_cuts_is_named_with_what_it_cuts_off(bug, kind, subject):
    assert told(bug) == [(kind, here(bug))]
    assert findings(bug)[0].subject == subject


HEALTHY = [
    detach_of_a_target, data_to_print, weights_that_are_called_with, validation_under_no_grad,
    item_for_a_log, stack_of_tensors, parameter_of_a_start, argmax_for_the_accuracy,
    penalty_with_a_history,
]  # fmt: skip


@pytest.mark.parametrize("healthy", HEALTHY)
def test_the_same_calls_beside_the_loss_are_no_cut(healthy):
    assert told(healthy) == []
