"""Which ways do some calls take, on tensors of many kinds and under many modes?"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn.functional as F

from ..records import DispatchPath
from . import private, private_dispatch
from .paths import path_of

Ask = Callable[[torch.Tensor], DispatchPath]

OPERATORS: dict[str, Ask] = {
    "torch.add(x, x)": lambda x: path_of(torch.add, x, x),
    "torch.add(x, 2)": lambda x: path_of(torch.add, x, 2),
    "x.add_(x)": lambda x: path_of(torch.Tensor.add_, x, x),
    "torch.add(x, x, out=x)": lambda x: path_of(torch.add, x, x, out=x),
    "torch.mm(x, x)": lambda x: path_of(torch.mm, x, x),
    "torch.matmul(x, x)": lambda x: path_of(torch.matmul, x, x),
    "F.linear(x, x)": lambda x: path_of(F.linear, x, x),
    "x.view(4)": lambda x: path_of(torch.Tensor.view, x, 4),
    "torch.cat([x, x])": lambda x: path_of(torch.cat, [x, x]),
    "torch.sigmoid(x)": lambda x: path_of(torch.sigmoid, x),
    "torch.bernoulli(x)": lambda x: path_of(torch.bernoulli, x),
    "torch.ones(2, 2)": lambda _: path_of(torch.ones, 2, 2),
}


class _Wrapped(torch.Tensor):
    """A subclass that answers operators itself."""

    @staticmethod
    def __new__(cls) -> torch.Tensor:
        return private_dispatch.wrapper(cls, (2, 2))

    @classmethod
    def __torch_dispatch__(cls, op, types, args=(), kwargs=None):
        return args[0]


def _complex() -> torch.Tensor:
    return torch.ones(2, 2, dtype=torch.complex64)


def _inference() -> torch.Tensor:
    with torch.inference_mode():
        return torch.ones(2, 2)


TENSORS: dict[str, Callable[[], torch.Tensor]] = {
    "plain": lambda: torch.ones(2, 2),
    "requires grad": lambda: torch.ones(2, 2, requires_grad=True),
    "float64": lambda: torch.ones(2, 2, dtype=torch.float64),
    "int64": lambda: torch.ones(2, 2, dtype=torch.int64),
    "complex64": _complex,
    "conj bit": lambda: _complex().conj(),
    "neg bit": lambda: _complex().conj().imag,
    "sparse": lambda: torch.ones(2, 2).to_sparse(),
    "meta": lambda: torch.ones(2, 2, device="meta"),
    "inference tensor": _inference,
    "subclass": _Wrapped,
}


class _Seeing(private.DispatchMode):
    """A mode that sees every call and lets it run."""

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        return op(*args, **(kwargs or {}))


def _under(mode: Callable[[], object]) -> Callable[[Ask, torch.Tensor], DispatchPath]:
    def asked(ask: Ask, x: torch.Tensor) -> DispatchPath:
        with mode():
            return ask(x)

    return asked


def _inside(transform: Callable, *, batched: bool = False) -> Callable:
    """Ask where a transform of torch.func calls its function; a vmap needs a batch."""

    def asked(ask: Ask, x: torch.Tensor) -> DispatchPath:
        found = []

        def function(y: torch.Tensor) -> torch.Tensor:
            found.append(ask(y))
            return y.sum()

        try:
            transform(function)(torch.stack([x, x]) if batched else x)
        except RuntimeError:  # what the sum may not do is not asked
            if not found:
                raise
        return found[0]

    return asked


MODES: dict[str, Callable[[Ask, torch.Tensor], DispatchPath]] = {
    "no mode": lambda ask, x: ask(x),
    "no_grad": _under(torch.no_grad),
    "inference_mode": _under(torch.inference_mode),
    "autocast": _under(lambda: torch.autocast("cpu", dtype=torch.bfloat16)),
    "a TorchDispatchMode": _under(_Seeing),
    "vmap": _inside(torch.vmap, batched=True),
    "torch.func.grad": _inside(torch.func.grad),
    "vmap of grad": _inside(lambda f: torch.vmap(torch.func.grad(f)), batched=True),
    "functionalize": _inside(torch.func.functionalize),
}


def preset_path(operator: str, tensor: str, mode: str) -> DispatchPath:
    """The way of a call on a new tensor.

    Args: names in OPERATORS, TENSORS and MODES. The call is asked about in a new thread, which no
    mode of the caller's reaches. Returns a `DispatchPath`, with torch's reason as its `refusal`
    where the transform does not take the tensor.

    >>> preset_path("torch.add(x, x)", "conj bit", "no_grad").ran
    ('AutogradCPU', 'Conjugate', 'CPU')
    """

    def asked() -> DispatchPath:
        try:
            return MODES[mode](OPERATORS[operator], TENSORS[tensor]())
        except (RuntimeError, NotImplementedError) as error:
            reason = str(error).partition("\n")[0].partition(". ")[0]
            return DispatchPath(f"{operator}, {mode}", refusal=f"torch refuses. {reason}.")

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asked).result()
