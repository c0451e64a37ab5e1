"""What did the operators of this function do with memory: view, write, copy?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod

import torch

from ..records import Step, Steps
from . import private, private_nodes
from .dispatch import operands, packet_name, refuse_to_run
from .places import current_place

# Operators whose result holds values of their inputs, and nothing computed, in new memory.
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
        "aten.masked_select",
        "aten.take",
        "aten.embedding",
        "aten.rot90",
        "aten.pixel_shuffle",
        "aten.pixel_unshuffle",
        "aten.channel_shuffle",
        "aten.im2col",
        "aten.view_copy",
        "aten.expand_copy",
        "aten.permute_copy",
        "aten.split_copy",
    }
)
# How a Python number or list becomes a tensor, and other steps that move no memory.
_NOTHING = frozenset({"aten.lift_fresh", "aten._local_scalar_dense", "aten.item"})


def memory_steps(fn: Callable[[], object]) -> Steps:
    """Which operators does this function run, and which of them make a view, a copy, a write?

    Args: `fn`, called once, without arguments; a backward pass inside it is seen as well, other
    threads and the workers of a DataLoader are not. In inference mode operators arrive whole, and
    the copies inside of them are not seen: the result says so.
    Returns `Steps`, in the order in which the operators ran, each with the line that called it.
    Raises TypeError if `fn` cannot be called; whatever it raises passes through.

    >>> x = torch.arange(6).reshape(2, 3)
    >>> [(s.operator, s.effect) for s in memory_steps(lambda: x.t().reshape(6)).found]
    [('aten.t', 'view'), ('aten.clone', 'copy'), ('aten._unsafe_view', 'view')]

    Source: torch.utils._python_dispatch.TorchDispatchMode (2.13).
    """
    refuse_to_run(fn, asked="A list of the steps")
    with _Recorder() as recorder:
        fn()
    return Steps(tuple(recorder.found), parts_unseen=recorder.whole)


def copies(fn: Callable[[], object]) -> Steps:
    """Which operators copy values that were there already, and from which line of your code?

    Args and errors as `memory_steps`. A change of dtype counts as a copy; copies of a single value
    are left out.

    >>> x = torch.arange(6).reshape(2, 3)
    >>> [s.operator for s in copies(lambda: (x.t().contiguous(), x.contiguous(), x[[0]])).found]
    ['aten.clone', 'aten.index']
    """
    steps = memory_steps(fn)
    found = tuple(s for s in steps.found if s.operator in COPYING and prod(s.sizes) > 1)
    return Steps(found, parts_unseen=steps.parts_unseen)


class _Recorder(private.DispatchMode):
    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Step] = []
        self.whole = False

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        self.whole |= private.arrives_whole(op)
        given = set(_storages((args, kwargs)))
        result = op(*args, **kwargs)
        name = packet_name(op)
        made = list(operands(result)) or list(operands((args, kwargs)))
        if made and name not in _NOTHING:
            self.found.append(_step(op, name, made, given))
        return result


def _step(op: object, name: str, made: list[torch.Tensor], given: set[int]) -> Step:
    first, tags = made[0], getattr(op, "tags", ())
    if private.writes(op) and torch.Tag.inplace_view not in tags:
        effect = "write"
    elif given.intersection(_storages(first)):
        effect = "view"
    else:
        effect = "copy" if name in COPYING else "new"
    return Step(
        operator=name,
        effect=effect,
        place=current_place(),
        nbytes=sum(t.numel() * t.element_size() for t in made),
        sizes=tuple(first.shape),
        strides=tuple(first.stride()) if first.layout == torch.strided else (),
        node=private_nodes.running_node(),
    )


def _storages(value: object) -> Iterator[int]:
    for t in operands(value):
        try:
            yield private.storage_id(t)
        except (NotImplementedError, RuntimeError):  # sparse, functorch: no storage to share
            continue
