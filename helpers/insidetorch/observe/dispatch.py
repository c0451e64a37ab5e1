"""Which operators ran?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import torch

from ..records import OperatorCount
from . import private


class _Counter(private.DispatchMode):
    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        self.calls[operator_name(op)] += 1
        return op(*args, **(kwargs or {}))


def operator_name(op: object) -> str:
    """The full name of an operator, with its overload.

    >>> import torch
    >>> operator_name(torch.ops.aten.t.default)
    'aten.t.default'
    """
    return f"{getattr(op, 'namespace', 'higher_order')}.{op.__name__}"


def packet_name(op: object) -> str:
    """The name of an operator without its overload.

    >>> import torch
    >>> packet_name(torch.ops.aten.add.Tensor)
    'aten.add'
    """
    return ".".join(operator_name(op).split(".")[:2])


def refuse_to_run(fn: object, *, asked: str) -> None:
    """Raises TypeError for what is not a function, most often the result of one."""
    if not callable(fn):
        raise TypeError(
            f"{asked} of {type(fn).__name__} was asked. It cannot be called, so there is nothing "
            "to run. Give a function without arguments, such as lambda: f(x)."
        )


def operands(value: object) -> Iterator[torch.Tensor]:
    """The tensors of an operator's arguments or result: themselves, or in tuples, lists, dicts.

    >>> [t.item() for t in operands(([torch.tensor(1)], {"out": torch.tensor(2)}, 3))]
    [1, 2]
    """
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from operands(item)


def count(fn: Callable[[], object]) -> OperatorCount:
    """Which operators does this function run, and how often?

    Args: `fn`, called once, without arguments. What counts are the operators below autograd, as
    kernels see them; those of this thread only. (In inference mode operators arrive whole.)
    Returns an `OperatorCount`. Raises TypeError if `fn` cannot be called; whatever it raises passes
    through.

    >>> import torch
    >>> print(count(lambda: torch.arange(6).reshape(2, 3).t().contiguous()))
    aten.arange.default, aten.view.default, aten.t.default, aten.clone.default

    Source: torch.utils._python_dispatch.TorchDispatchMode (2.13).
    """
    refuse_to_run(fn, asked="A count of the operators")
    with _Counter() as counter:
        fn()
    return OperatorCount(tuple(counter.calls.items()))
