"""Which kernel runs when an operator is called? Piece 5 of MiniTorch: the dispatcher.

The caller does not say. The arguments and the modes give a set of keys, and of the operator's
kernels that of the highest key runs. Only the lowest computes: each other one does something of its
own and calls the same operator again, with the keys below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager

from .layers import Dispatcher, Fallthrough, Key
from .storage import Tensor
from .tape import record
from .tracking import Op


def keys_of(args: Sequence[object]) -> set[Key]:
    """Which layers does a call with these arguments go through?

    Returns the keys that every tensor has, those of the CPU and of autograd, if there is a tensor
    among `args`; and those that are included; without those that are excluded. A tensor has the
    key of autograd whether or not it requires a gradient.

    >>> from insidetorch.mini import new
    >>> sorted(key.name for key in keys_of((new([1], ()), 3)))
    ['ADInplaceOrView', 'Autograd', 'CPU']
    """
    found = {Key.CPU, Key.Autograd} if any(isinstance(a, Tensor) for a in args) else set()
    return (found | Dispatcher.included) - Dispatcher.excluded


@contextmanager
def exclude(*keys: Key) -> Iterator[None]:
    """Leave these layers out inside a `with`; afterwards as before, even after an error.

    >>> with exclude(Key.Autograd, Key.ADInplaceOrView):
    ...     keys_of(())
    set()
    """
    before = Dispatcher.excluded
    Dispatcher.excluded = before | set(keys)
    try:
        yield
    finally:
        Dispatcher.excluded = before


def call(op: str, *args: object) -> Tensor:
    """Run an operator, through every layer that its arguments and the modes ask for.

    Raises KeyError for an operator that MiniTorch does not have, NotImplementedError for one that
    has no kernel for the keys.

    >>> from insidetorch.mini import new
    >>> list(call("add", new([1, 2], (2,)), new([10], ())))
    [11.0, 12.0]
    """
    return redispatch(op, keys_of(args), *args)


def redispatch(op: str, keys: Set[Key], *args: object) -> Tensor:
    """Run the kernel of an operator for the highest of these keys that does not fall through.

    Args: `keys`, as they are: neither the arguments nor the modes are asked again.
    Raises as `call` does.
    """
    kernels = Dispatcher.kernels[op]
    for key in sorted(keys, reverse=True):
        kernel = kernels.get(key) or Dispatcher.fallbacks.get(key)
        if kernel is None:
            break
        if kernel is not Fallthrough:
            return kernel(op, {below for below in keys if below < key}, *args)
    asked, there = (", ".join(k.name for k in sorted(of)) or "none" for of in (keys, kernels))
    raise NotImplementedError(
        f"The operator {op} was asked to run with the keys: {asked}. It has kernels for {there}, "
        "and no other layer computes it. Call it with a tensor, or register a kernel for the key."
    )


def register(
    name: str,
    kernel: Callable[..., Tensor],
    formula: Callable[..., tuple[Tensor | None, ...]] | None = None,
    saves: str = "",
    kind: str = "",
) -> None:
    """Make an operator: what the CPU computes, and the layers that have something to do about it.

    Args: `formula` and `saves`, as in `Op`; without a formula, autograd lets the operator by.
    `kind`, "view" or "write" if the result reads, or the kernel changes, the memory of the first
    argument; "" for an operator with a fresh result, which ADInplaceOrView lets by.

    >>> from insidetorch.mini import new, pointwise
    >>> register("halve", pointwise(lambda value: value / 2))
    >>> list(call("halve", new([3], ())))
    [1.5]
    >>> del Dispatcher.ops["halve"], Dispatcher.kernels["halve"]
    """
    Dispatcher.ops[name] = Op(name, kernel, formula, saves, kind)
    Dispatcher.kernels[name] = {Key.CPU: _compute}
    if formula is not None:
        Dispatcher.kernels[name][Key.Autograd] = _autograd
    if kind:
        Dispatcher.kernels[name][Key.ADInplaceOrView] = _track


def _compute(op: str, keys: Set[Key], *args: object) -> Tensor:
    """The layer CPU: compute, and know nothing of gradients."""
    return Dispatcher.ops[op].kernel(*args)


def _autograd(op: str, keys: Set[Key], *args: object) -> Tensor:
    """The layer of autograd: let the layers below compute, then record what they did.

    It runs whether or not anything is to be recorded; `record` asks for that. What a kernel below
    calls on its own account is not recorded a second time.
    """
    with exclude(Key.Autograd):
        out = redispatch(op, keys, *args)
    record(Dispatcher.ops[op], out, args)
    return out


def _track(op: str, keys: Set[Key], *args: object) -> Tensor:
    """The layer of views and of writes in place: what piece 6 has for an operator of this kind."""
    return Dispatcher.tracking[Dispatcher.ops[op].kind](op, keys, *args)
