"""One memory that is filled again and again, arrays that are shared, parts that keep the whole."""

from __future__ import annotations

import numpy
import pytest
import torch
from doctor_lines import here, told
from torch import nn


def frames_of_one_buffer():
    buffer, frames, w = torch.zeros(2), [], torch.ones(2, requires_grad=True)
    for k in range(3):
        buffer.fill_(k)
        frames.append(buffer.view(2))  # here
    (torch.stack(frames) * w).sum().backward()
    return locals()


def copies_of_one_buffer():
    buffer, frames, w = torch.zeros(2), [], torch.ones(2, requires_grad=True)
    for k in range(3):
        buffer.fill_(k)
        frames.append(buffer.clone())
    (torch.stack(frames) * w).sum().backward()
    return locals()


def snapshots_of_one_buffer():
    state, snapshots, w = torch.zeros(2), [], torch.ones(2, requires_grad=True)
    for k in range(4):
        state += k
        snapshots.append(state.detach())  # here
    (snapshots[0] * w).sum().backward()
    return locals()


def snapshots_that_are_copied():
    state, snapshots, w = torch.zeros(2), [], torch.ones(2, requires_grad=True)
    for k in range(4):
        state += k
        snapshots.append(state.detach().clone())
    (snapshots[0] * w).sum().backward()
    return locals()


def array_that_is_normalized_in_place():
    rows, w = numpy.arange(4.0, dtype=numpy.float32), torch.ones(4, requires_grad=True)
    for _ in range(2):
        x = torch.from_numpy(rows)  # here
        x -= 1
        (x * w).sum().backward()
    return locals()


def array_that_is_normalized():
    rows, w = numpy.arange(4.0, dtype=numpy.float32), torch.ones(4, requires_grad=True)
    for _ in range(2):
        x = torch.from_numpy(rows)
        x = x - 1
        (x * w).sum().backward()
    return locals()


def first_rows_of_large_results():
    net, firsts = nn.Linear(2, 3), []
    for _ in range(3):
        firsts.append(net(torch.randn(64, 2)).detach()[0])  # here
    net(torch.ones(1, 2)).sum().backward()
    return locals()


def copies_of_first_rows():
    net, firsts = nn.Linear(2, 3), []
    for _ in range(3):
        firsts.append(net(torch.randn(64, 2)).detach()[0].clone())
    net(torch.ones(1, 2)).sum().backward()
    return locals()


def first_rows_of_batches_that_are_kept():
    net, batches = nn.Linear(2, 3), [torch.randn(64, 2) for _ in range(3)]
    firsts = [batch[0] for batch in batches]
    net(torch.stack(firsts)).sum().backward()
    return locals()


def list_of_one_tensor():
    rows, w = [torch.zeros(2)] * 3, torch.ones(2, requires_grad=True)  # here
    for k in range(3):
        rows[k] += k
    (torch.stack(rows) * w).sum().backward()
    return locals()


def list_of_several_tensors():
    rows, w = [torch.zeros(2) for _ in range(3)], torch.ones(2, requires_grad=True)
    for k in range(3):
        rows[k] += k
    (torch.stack(rows) * w).sum().backward()
    return locals()


BUGS = [
    frames_of_one_buffer,
    snapshots_of_one_buffer,
    array_that_is_normalized_in_place,
    first_rows_of_large_results,
    list_of_one_tensor,
]


@pytest.mark.parametrize("bug", BUGS)
def test_the_line_that_shares_memory_where_copies_were_meant_is_named(bug):
    assert told(bug) == [("storage_shared", here(bug))]


HEALTHY = [
    copies_of_one_buffer, snapshots_that_are_copied, array_that_is_normalized,
    copies_of_first_rows, first_rows_of_batches_that_are_kept, list_of_several_tensors,
]  # fmt: skip


@pytest.mark.parametrize("healthy", HEALTHY)
def test_copies_that_are_kept_are_not_told(healthy):
    assert told(healthy) == []
