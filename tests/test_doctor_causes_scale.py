"""Losses that are added up and do not count alike: a note on the line that weighs them."""

from __future__ import annotations

import pytest
import torch
from doctor_lines import findings, here, told
from torch import nn
from torch.nn.functional import cross_entropy


def start(*layers):
    net = nn.Sequential(nn.Linear(2, 3), *layers)
    return net, torch.optim.SGD(net.parameters(), lr=0.1), torch.randn(5, 5, 2)


def sum_of_means():
    net, optimizer, batches = start()
    for x in batches:
        net(x).square().mean().backward()  # here
    optimizer.step()
    return locals()


def mean_of_means():
    net, optimizer, batches = start()
    for x in batches:
        (net(x).square().mean() / 5).backward()
    optimizer.step()
    return locals()


def sum_of_sums():
    net, optimizer, batches = start()
    for x in batches:
        net(x).square().sum().backward()
    optimizer.step()
    return locals()


def sum_of_means_divided_by_another_number():
    net, optimizer, batches = start()
    for x in batches:
        loss = net(x).square().mean() / 2  # here
        loss.backward()
    optimizer.step()
    return locals()


def sum_of_means_times_a_weight():
    net, optimizer, batches = start()
    for x in batches:
        loss = net(x).square().mean() * 0.2
        loss.backward()
    optimizer.step()
    return locals()


def means_over_different_counts():
    net, optimizer, batches = start()
    for k, x in enumerate(batches):
        y = torch.where(torch.arange(5) >= k, 1, -100)
        (cross_entropy(net(x), y) / 5).backward()  # here
    optimizer.step()
    return locals()


def sums_over_different_counts():
    net, optimizer, batches = start()
    for k, x in enumerate(batches):
        y = torch.where(torch.arange(5) >= k, 1, -100)
        (cross_entropy(net(x), y, reduction="sum") / 10).backward()
    optimizer.step()
    return locals()


def norm_of_small_batches():
    norm = nn.BatchNorm1d(3)  # here
    net, optimizer, batches = start(norm)
    for x in batches:
        (net(x).square().mean() / 5).backward()
    optimizer.step()
    return locals()


def norm_of_each_row():
    net, optimizer, batches = start(nn.LayerNorm(3))
    for x in batches:
        (net(x).square().mean() / 5).backward()
    optimizer.step()
    return locals()


def norm_of_one_batch_for_each_step():
    net, optimizer, batches = start(nn.BatchNorm1d(3))
    for x in batches:
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
    return locals()


def short_last_window():
    net, optimizer, batches = start()
    for first in range(0, 5, 3):
        optimizer.zero_grad()
        for x in batches[first : first + 3]:
            (net(x).square().mean() / 3).backward()  # here
        optimizer.step()
    return locals()


def short_last_window_with_its_own_number():
    net, optimizer, batches = start()
    for window in (batches[:3], batches[3:]):
        optimizer.zero_grad()
        for x in window:
            (net(x).square().mean() / len(window)).backward()
        optimizer.step()
    return locals()


BUGS = [
    (sum_of_means, "accum_scale"),
    (sum_of_means_divided_by_another_number, "accum_scale"),
    (means_over_different_counts, "accum_scale"),
    (norm_of_small_batches, "accum_batchnorm"),
    (short_last_window, "accum_tail"),
]


@pytest.mark.parametrize(("bug", "kind"), BUGS)
def test_the_line_that_makes_losses_count_differently_is_noted(bug, kind):
    assert told(bug) == [(kind, here(bug))]
    assert [one.severity for one in findings(bug)] == ["note"]


HEALTHY = [
    mean_of_means, sum_of_sums, sum_of_means_times_a_weight, sums_over_different_counts,
    norm_of_each_row, norm_of_one_batch_for_each_step, short_last_window_with_its_own_number,
]  # fmt: skip


@pytest.mark.parametrize("healthy", HEALTHY)
def test_losses_that_count_alike_are_not_noted(healthy):
    assert told(healthy) == []
