"""Dtypes, backends and strides that torch has no kernel for: where did the tensor come from?"""

from __future__ import annotations

import numpy
import pytest
import torch
from doctor_lines import findings, here, told
from torch import nn


def batch_of_doubles():
    net, rows = nn.Linear(2, 1), numpy.ones((3, 2))
    batch = torch.from_numpy(rows)  # here
    net(batch).sum().backward()


def batch_of_doubles_that_is_converted():
    net, rows = nn.Linear(2, 1), numpy.ones((3, 2))
    batch = torch.from_numpy(rows).float()
    net(batch).sum().backward()
    return locals()


def half_in_a_float_layer():
    net = nn.Linear(2, 1)
    batch = torch.ones(3, 2).half()  # here
    net(batch * 2).sum().backward()


def half_that_becomes_float():
    net = nn.Linear(2, 1)
    batch = torch.ones(3, 2).half()
    net((batch * 2).float()).sum().backward()
    return locals()


def targets_of_short_integers():
    net, x = nn.Linear(2, 3), torch.randn(4, 2)
    y = torch.tensor([0, 1, 2, 0], dtype=torch.int32)  # here
    nn.functional.cross_entropy(net(x), y).backward()


def targets_of_longs():
    net, x = nn.Linear(2, 3), torch.randn(4, 2)
    y = torch.tensor([0, 1, 2, 0], dtype=torch.int64)
    nn.functional.cross_entropy(net(x), y).backward()
    return locals()


def exp_of_a_sparse_tensor():
    w = torch.eye(2).to_sparse().requires_grad_()
    torch.exp(w)  # here


def exp_of_a_dense_tensor():
    w = torch.eye(2).to_sparse().requires_grad_()
    torch.exp(w.to_dense()).sum().backward()
    return locals()


def operator_without_a_formula():
    @torch.library.custom_op("doctor_lines::triple", mutates_args=())  # here
    def triple(x: torch.Tensor) -> torch.Tensor:
        return 3 * x

    w = torch.ones(3, requires_grad=True)
    triple(w).sum().backward()


def operator_with_a_formula():
    @torch.library.custom_op("doctor_lines::tripled", mutates_args=())
    def triple(x: torch.Tensor) -> torch.Tensor:
        return 3 * x

    triple.register_autograd(lambda ctx, grad: 3 * grad)
    w = torch.ones(3, requires_grad=True)
    triple(w).sum().backward()
    return locals()


def array_that_is_flipped():
    image = numpy.ones((2, 3))
    mirrored = image[:, ::-1]  # here
    torch.from_numpy(mirrored)


def array_that_is_flipped_and_copied():
    image = numpy.ones((2, 3))
    mirrored = numpy.ascontiguousarray(image[:, ::-1])
    torch.from_numpy(mirrored)
    return locals()


def targets_that_are_no_indices():
    net, x = nn.Linear(2, 3), torch.randn(4, 2)
    y = torch.zeros(4)  # here
    nn.functional.cross_entropy(net(x), y).backward()


def targets_that_are_probabilities():
    net, x = nn.Linear(2, 3), torch.randn(4, 2)
    y = torch.zeros(4, 3)
    nn.functional.cross_entropy(net(x), y + 1 / 3).backward()
    return locals()


def dtype_that_a_helper_is_given():
    def batch_of(dtype):
        return torch.ones(3, 2).to(dtype)

    net = nn.Linear(2, 1)
    batch = batch_of(torch.float64)  # here
    net(batch).sum().backward()


def error_that_the_program_handles():
    net, batch = nn.Linear(2, 1), torch.ones(3, 2).double()
    try:
        net(batch)
    except RuntimeError:
        raise ValueError("of the program's own") from None


BUGS = [
    (batch_of_doubles, "dtype_mismatch", ("batch",)),
    (half_in_a_float_layer, "dtype_mismatch", None),
    (targets_that_are_no_indices, "dtype_mismatch", ("y",)),
    (targets_of_short_integers, "dtype_mismatch", ("y",)),
    (exp_of_a_sparse_tensor, "backend_missing", ()),
    (operator_without_a_formula, "custom_op", ("doctor_lines.triple",)),
    (array_that_is_flipped, "numpy_stride", ()),
    (dtype_that_a_helper_is_given, "dtype_mismatch", ("batch",)),
]


@pytest.mark.parametrize(("bug", "kind", "subject"), BUGS)
def test_the_line_that_made_what_no_kernel_takes_is_named(bug, kind, subject):
    assert told(bug) == [(kind, here(bug))]
    assert subject is None or findings(bug)[0].subject == subject


HEALTHY = [
    batch_of_doubles_that_is_converted, half_that_becomes_float, targets_of_longs,
    targets_that_are_probabilities, exp_of_a_dense_tensor, operator_with_a_formula,
    array_that_is_flipped_and_copied, error_that_the_program_handles,
]  # fmt: skip


@pytest.mark.parametrize("healthy", HEALTHY)
def test_what_was_converted_is_not_told(healthy):
    assert told(healthy) == []
