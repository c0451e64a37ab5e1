"""What did the operators of this function do with memory: view, write, copy?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod

import torch

from ..records import Step, Steps
from . import private
from .places import current_place

# Operators whose result holds the values of an input, and nothing else, in new memory.
COPYING = frozenset(
    {
        "aten.clone",
        "aten._to_copy",
        "aten.copy_",
        "aten.index",
        "aten.index_select",
        "aten.gather",
        "aten.repeat",
        "aten.cat",
        "aten.stack",
        "aten.flip",
        "aten.roll",
        "aten._reshape_copy",
    }
)


def memory_steps(fn: Callable[[], object]) -> Steps:
    """Which operators does this function run, and which of them make a view, a copy, a write?

    Args: `fn`, called once, without arguments; a backward pass inside it is seen as well.
    Returns `Steps`, in the order in which the operators ran, each with the line that called it.
    Whatever `fn` raises passes through.

    >>> x = torch.arange(6).reshape(2, 3)
    >>> [(s.operator, s.effect) for s in memory_steps(lambda: x.t().reshape(6)).found]
    [('aten.t', 'view'), ('aten.clone', 'copy'), ('aten._unsafe_view', 'view')]

    Source: torch.utils._python_dispatch.TorchDispatchMode (2.13).
    """
    with _Recorder() as recorder:
        fn()
    return Steps(tuple(recorder.found))


def copies(fn: Callable[[], object]) -> Steps:
    """Which operators copy values that were there already, and from which line of your code?

    Args and errors as `memory_steps`. Copies of a single value are left out.

    >>> x = torch.arange(6).reshape(2, 3)
    >>> [s.operator for s in copies(lambda: (x.t().contiguous(), x.contiguous(), x[[0]])).found]
    ['aten.clone', 'aten.index']
    """
    found = memory_steps(fn).found
    return Steps(tuple(s for s in found if s.operator in COPYING and prod(s.sizes) > 1))


class _Recorder(private.DispatchMode):
    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Step] = []

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = op(*args, **kwargs)
        given = set(_storages((args, kwargs)))
        made = next(_tensors(result), None)
        if made is not None:
            self.found.append(_step(op, made, given))
        return result


def _step(op: object, made: torch.Tensor, given: set[int]) -> Step:
    name = f"{getattr(op, 'namespace', 'higher_order')}.{op.__name__.partition('.')[0]}"
    schema = getattr(op, "_schema", None)
    if schema is not None and schema.is_mutable:
        effect = "write"
    elif given.intersection(_storages(made)):
        effect = "view"
    else:
        effect = "copy" if name in COPYING else "new"
    return Step(
        operator=name,
        effect=effect,
        place=current_place(),
        nbytes=made.numel() * made.element_size(),
        sizes=tuple(made.shape),
        strides=tuple(made.stride()) if made.layout == torch.strided else (),
        node=private.running_node(),
    )


def _tensors(value: object) -> Iterator[torch.Tensor]:
    """The tensors of an operator's arguments or result: themselves, or in tuples, lists, dicts."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)


def _storages(value: object) -> Iterator[int]:
    for t in _tensors(value):
        try:
            yield private.storage_id(t)
        except (NotImplementedError, RuntimeError):  # sparse, functorch: no storage to share
            continue
