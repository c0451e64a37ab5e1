"""Tensors that make inspectors fail: one maker for each, by what is hard about it."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
from torch._subclasses.fake_tensor import FakeTensorMode


class Named(torch.Tensor):
    """A subclass with a storage of its own."""


class Refusing(torch.Tensor):
    """A subclass that lets no function run on it."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise RuntimeError("this class answers nothing")


class Lying(torch.Tensor):
    """A subclass whose Python attributes say something else than torch does."""

    shape = property(lambda self: torch.Size([99]))
    dtype = property(lambda self: torch.int64)

    def stride(self):
        return (7,)


class Wrapping(torch.Tensor):
    """A subclass that keeps its values in another tensor."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    @classmethod
    def __torch_dispatch__(cls, op, types, args=(), kwargs=None):
        raise NotImplementedError(op)


def _inference() -> torch.Tensor:
    with torch.inference_mode():
        return torch.arange(6.0)


def _released() -> torch.Tensor:
    t = torch.ones(1000)
    t.untyped_storage().resize_(0)
    return t


def _half_released() -> torch.Tensor:
    t = torch.arange(10)
    t.untyped_storage().resize_(40)
    return t


def _fake() -> torch.Tensor:
    with FakeTensorMode():
        return torch.ones(3)


def _quiet(make: Callable[[], torch.Tensor]) -> Callable[[], torch.Tensor]:
    """Without the warning that a layout is in beta, or a dtype is leaving."""

    def made() -> torch.Tensor:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make()

    return made


def _quantised() -> torch.Tensor:
    return torch.quantize_per_tensor(torch.tensor([0.0, 0.5, 1.0]), 0.1, 10, torch.quint8)


def _per_channel() -> torch.Tensor:
    scales, zeros = torch.tensor([0.1, 0.2]), torch.tensor([0, 5])
    return torch.quantize_per_channel(torch.ones(2, 3), scales, zeros, 0, torch.qint8)


def _per_channel_with_floats() -> torch.Tensor:
    scales, zeros = torch.tensor([0.5, 0.25]), torch.tensor([0.5, 1.25])
    return torch.quantize_per_channel(torch.ones(2, 3), scales, zeros, 0, torch.quint8)


def _four_bits() -> torch.Tensor:
    scales, zeros = torch.tensor([0.1]), torch.tensor([0.0])
    return torch.quantize_per_channel(torch.ones(1, 6), scales, zeros, 0, torch.quint4x2)


SHOWN: dict[str, Callable[[], torch.Tensor]] = {
    "0-dim": lambda: torch.tensor(3.5),
    "empty": lambda: torch.zeros(2, 0, 3),
    "nothing": lambda: torch.tensor([]),
    "expanded": lambda: torch.arange(3).expand(4, 3),
    "overlapping": lambda: torch.arange(5).unfold(0, 3, 1),
    "transposed slice": lambda: torch.arange(24).view(4, 6)[1:, ::2].t(),
    "5-D": lambda: torch.arange(32).view(2, 2, 2, 2, 2),
    "24-D": lambda: torch.zeros(1).expand([2] * 24),
    "7-D": lambda: torch.zeros(2, 3, 1, 4, 5, 2, 3),
    "channels_last": lambda: torch.zeros(2, 3, 4, 4).contiguous(memory_format=torch.channels_last),
    "conj": lambda: torch.view_as_complex(torch.arange(8.0).view(2, 2, 2)).conj(),
    "neg": lambda: torch.tensor([1 + 2j, 3 - 4j]).conj().imag,
    "Parameter": lambda: torch.nn.Parameter(torch.ones(2, 2)),
    "result": lambda: torch.ones(2, requires_grad=True) * 2,
    "inference": _inference,
    "subclass": lambda: torch.arange(4).as_subclass(Named),
    "lying subclass": lambda: torch.arange(4.0).as_subclass(Lying),
    "refusing subclass": lambda: torch.arange(4).as_subclass(Refusing),
    "10 million": lambda: torch.arange(10_000_000, dtype=torch.float32),
    "10 million, 4-D": lambda: torch.zeros(10, 100, 100, 100),
    "released": _released,
    "half released": _half_released,
    "bool": lambda: torch.tensor([True, False]),
    "bfloat16": lambda: torch.ones(3, dtype=torch.bfloat16),
    "float8": lambda: torch.ones(3).to(torch.float8_e4m3fn),
    "uint16": lambda: torch.tensor([1, 65535], dtype=torch.uint16),
    "complex128": lambda: torch.ones(2, dtype=torch.complex128),
    "nan and inf": lambda: torch.tensor([float("nan"), float("inf"), -0.0]),
    "dtype view": lambda: torch.tensor([1.0, 2.0]).view(torch.uint8),
    "packed dtype": lambda: torch.zeros(4, dtype=torch.uint8).view(torch.float4_e2m1fn_x2),
    "from NumPy": lambda: torch.from_numpy(__import__("numpy").arange(4)),
    "quantised": _quiet(_quantised),
    "quantised per channel": _quiet(_per_channel),
    "quantised with floats": _quiet(_per_channel_with_floats),
    "copy on write": lambda: torch._lazy_clone(torch.arange(4)),
}

# The tensor, and the words that must stand in the one sentence about it.
ANSWERED: dict[str, tuple[Callable[[], torch.Tensor], str]] = {
    "sparse COO": (lambda: torch.eye(3).to_sparse(), "torch.sparse_coo"),
    "sparse CSR": (_quiet(lambda: torch.eye(3).to_sparse_csr()), "torch.sparse_csr"),
    "nested": (
        _quiet(lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])),
        "nested",
    ),
    "jagged": (
        _quiet(
            lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)
        ),
        "nested",
    ),
    "meta": (lambda: torch.empty(2, 3, device="meta"), "meta device"),
    "fake": (_fake, "fake tensor"),
    "four bits": (_quiet(_four_bits), "several values of dtype torch.quint4x2 share one byte"),
    "oneDNN": (lambda: torch.ones(2, 2).to_mkldnn(), "oneDNN"),
    "lazy": (lambda: torch.nn.LazyLinear(3).weight, "uninitialized"),
    "wrapping": (lambda: Wrapping(torch.ones(3)), "keeps its values elsewhere"),
}
