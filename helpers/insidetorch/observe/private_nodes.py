"""The private names of torch that concern the nodes of its graph. See `private`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial

import torch

NAMES = (
    "torch._C._current_autograd_node",
    "torch._C._current_graph_task_id",
    "torch.autograd._get_sequence_nr",
    "torch.Tensor._backward_hooks",
    "torch.Tensor._post_accumulate_grad_hooks",
)


def running_node() -> str:
    """The name of the graph's node that the engine runs now on this thread; "" outside of it."""
    node = torch._C._current_autograd_node()
    return "" if node is None else name_of(node)


def name_of(node: object) -> str:
    """The name of a node, without the namespace that some of torch's own have."""
    return node.name().removeprefix("torch::autograd::")


def running_pass() -> int:
    """Which backward pass runs now on this thread? Each call has its number; -1 outside of all."""
    return torch._C._current_graph_task_id()


def sequence_nr(node: object) -> int:
    """When was a node of the graph made? A count of its thread; AccumulateGrad has the highest."""
    return node._sequence_nr()


def next_sequence_nr() -> int:
    """Which number will the next node have that this thread makes?"""
    return torch.autograd._get_sequence_nr()


def function_of(node: object) -> type | None:
    """The subclass of autograd.Function whose backward a node runs; None for torch's own nodes."""
    return getattr(node, "_forward_cls", None)


def hooks_dict(node: object) -> object:
    """The dict of a node's hooks, which lives as long as the node does.

    The object that stands for a node in Python does not: torch makes a new one each time.
    """
    handle = node.register_prehook(lambda _: None)
    hooks = handle.hooks_dict_ref()
    handle.remove()
    return hooks


def hooks_of(leaf: torch.Tensor) -> int:
    """How many hooks are set on a leaf, before and after its gradient is put into `.grad`?

    Of results torch does not tell.
    """
    return len(leaf._backward_hooks or ()) + len(leaf._post_accumulate_grad_hooks or ())


def received_sizes(node: object) -> tuple[tuple[int, ...], ...]:
    """The sizes of the gradients that a node receives, one for each output of its operator."""
    try:
        return tuple(tuple(one.shape) for one in node._input_metadata)
    except (RuntimeError, AttributeError):  # a nested tensor has none that could be told
        return ()


def saved_tensors(node: object) -> Iterator[tuple[str, object, Callable[[], object]]]:
    """What a node has saved: the name, the raw record, and a function that unpacks it."""
    for name in _saved_names(type(node))[0]:
        raw, plain = getattr(node, name), name.removeprefix("_raw")
        label = plain.removeprefix("_saved_")
        if isinstance(raw, tuple):
            for k, one in enumerate(raw):
                yield f"{label}[{k}]", one, partial(_unpack, node, plain, k)
        else:
            yield label, raw, partial(getattr, node, plain)


def saved_values(node: object) -> Iterator[tuple[str, object]]:
    """What a node has saved that is no tensor: sizes, dimensions, numbers."""
    for name in _saved_names(type(node))[1]:
        yield name.removeprefix("_saved_"), getattr(node, name)


@cache
def _saved_names(kind: type) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What nodes of this kind save: the names of tensors, and of all else."""
    names = dir(kind)
    tensors = tuple(name for name in names if name.startswith("_raw_saved_"))
    others = (name for name in names if name.startswith("_saved_"))
    return tensors, tuple(name for name in others if f"_raw{name}" not in tensors)


def _unpack(node: object, name: str, k: int) -> object:
    return getattr(node, "saved_tensors" if name == "_saved_tensors" else name)[k]
