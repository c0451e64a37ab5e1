"""Which operators of MiniTorch write in place, and how does a gradient go back through a write?"""

from __future__ import annotations

import operator
from collections.abc import Callable, Set
from math import prod

from .dispatch import call, exclude, redispatch, register
from .families import rebase
from .given import alias, pointwise
from .layers import Dispatcher, Key
from .ops import zeros
from .storage import Tensor
from .tape import record
from .tracking import GradMode
from .versions import check_write


def write_kernel(fn: Callable[..., int | float]) -> Callable[..., Tensor]:
    """Make a kernel that writes `fn` of the old values and of another tensor to the first one.

    It raises ValueError if the other one does not broadcast to the sizes of the first, and if an
    element of the first stands at several indices.

    >>> from insidetorch.mini import new
    >>> add_ = write_kernel(operator.add)
    >>> t = new([1, 2], (2,))
    >>> add_(t, new([10], ())) is t, list(t)
    (True, [11.0, 12.0])
    """
    compute = pointwise(fn)

    def kernel(t: Tensor, other: Tensor) -> Tensor:
        values = compute(t, other)
        if values.sizes != t.sizes:
            raise ValueError(
                f"A tensor of sizes {t.sizes} was asked to be written with one of sizes "
                f"{other.sizes}. A write does not change its sizes. Give one that broadcasts to it."
            )
        steps = zip(t.sizes, t.strides, strict=True)
        if prod(t.sizes) and any(size > 1 and stride == 0 for size, stride in steps):
            raise ValueError(
                f"A tensor of sizes {t.sizes} and strides {t.strides} was asked to be written. "
                "An element of its storage stands at several indices. Write to a clone."
            )
        t.write(values)
        return t

    return kernel


def record_write(op: str, keys: Set[Key], t: Tensor, *others: Tensor) -> Tensor:
    """The layer of autograd for a write: ask, save what is needed, write, change the history.

    What is saved is saved before the write: of `t` a clone, as in torch, and of the others the
    tensors themselves, so that one which shares the memory of `t` is found to be written.
    """
    tensors = [t, *others] if t.base is None else [t, t.base, *others]
    if any(tensor.requires_grad for tensor in tensors):
        check_write(t)
    needed = GradMode.enabled and any(other.requires_grad for other in others)
    old = call("clone", t) if needed and Dispatcher.ops[op].saves == "partners" else t
    written = alias(t, t.sizes, t.strides)  # has the history until the write is done
    record(Dispatcher.ops[op], written, (old, *others))
    with exclude(Key.Autograd):
        redispatch(op, keys, t, *others)
    if written.grad_fn is not None:
        rebase(t, written.grad_fn)
    return t


def register_write(
    name: str,
    fn: Callable[..., int | float],
    formula: Callable[..., tuple[Tensor | None, ...]],
    saves: str = "",
) -> None:
    """Make an operator that writes `fn` of its two tensors to the first one, and is recorded so.

    Args: `formula` and `saves`, as in `Op`; `saves` is not "output".
    """
    register(name, write_kernel(fn), formula, saves, "write")
    Dispatcher.kernels[name][Key.Autograd] = record_write


register_write("add_", operator.add, Dispatcher.ops["add"].formula)
register_write("mul_", operator.mul, Dispatcher.ops["mul"].formula, "partners")
register_write("copy_", lambda old, value: value, lambda g: (zeros(g, g.sizes), g))
