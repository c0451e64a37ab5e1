"""Every private name of torch that the package uses: one thin function each.

`missing()` lists the names that this torch lacks; a test asserts that the list is empty, so a
release that renames one fails loudly here and nowhere else. Checked with torch 2.13.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _python_dispatch

_NAMES = (
    "torch.Tensor._base",
    "torch.Tensor._is_view",
    "torch.Tensor._version",
    "torch.UntypedStorage._cdata",
    "torch._C._functorch.is_functorch_wrapped_tensor",
    "torch._C._storage_Use_Count",
    "torch._C.DisableTorchFunction",
    "torch._C._DisableFuncTorch",
    "torch._C._autograd._unsafe_set_version_counter",
    "torch.autograd._get_sequence_nr",
    "torch._C._current_autograd_node",
    "torch._C._data_address",
    "torch._C._get_tracing_state",
    "torch._C._set_tracing_state",
    "torch._is_functional_tensor",
    "torch.utils._python_dispatch._disable_current_modes",
    "torch.utils._python_dispatch.TorchDispatchMode",
)

DispatchMode = _python_dispatch.TorchDispatchMode


def missing() -> list[str]:
    """Which of the private names does this torch not have?"""
    absent = []
    for name in _NAMES:
        place = torch
        for part in name.split(".")[1:]:
            place = getattr(place, part, None)
        if place is None:
            absent.append(name)
    return absent


def storage_id(t: torch.Tensor) -> int:
    """Which storage is it? Equal for two *living* tensors if and only if they share one."""
    return torch.Tensor.untyped_storage(t)._cdata


def address(t: torch.Tensor) -> int:
    """At which address does the storage start? 0 where it has no memory.

    Asking so does not make a copy-on-write tensor copy.
    """
    return torch._C._data_address(t)


def grad(t: torch.Tensor) -> torch.Tensor | None:
    """The gradient of a leaf, without the warning that asking a result for it gives."""
    with unseen():
        return t.grad if t.is_leaf else None


def storage_users(t: torch.Tensor) -> int:
    """How many tensors, graphs or other holders keep the storage alive? This call is left out."""
    return torch._C._storage_Use_Count(storage_id(t)) - 1


def version(t: torch.Tensor) -> int | None:
    """How often was the tensor, or one that shares its counter, written in place?

    None for an inference tensor: it has no counter.
    """
    return None if t.is_inference() else torch.Tensor._version.__get__(t)


def share_version(a: torch.Tensor, b: torch.Tensor) -> bool | None:
    """Have two tensors one version counter? None where one of them keeps no version.

    torch does not tell, so the counter of `a` is moved by one, `b` is asked, and the counter is
    set back, with nothing in between.
    """
    before, other = version(a), version(b)
    if before is None or other is None:
        return None
    if before != other:
        return False
    torch._C._autograd._unsafe_set_version_counter((a,), (before + 1,))
    try:
        return version(b) == before + 1
    finally:
        torch._C._autograd._unsafe_set_version_counter((a,), (before,))


def base(t: torch.Tensor) -> torch.Tensor | None:
    """Whose view is it, for autograd? The root of the views, never one in between."""
    return torch.Tensor._base.__get__(t)


def is_view(t: torch.Tensor) -> bool:
    """Does autograd record the tensor as a view?"""
    return t._is_view()


def is_functorch_wrapped(t: torch.Tensor) -> bool:
    """Is it the stand-in that torch.func hands to a function that it transforms?"""
    return torch._C._functorch.is_functorch_wrapped_tensor(t)


def is_functional(t: torch.Tensor) -> bool:
    """Is it a wrapper of the functionalization pass?"""
    return torch._is_functional_tensor(t)


def is_fake(t: torch.Tensor) -> bool:
    """Is it one of the compiler's tensors without data?"""
    return isinstance(t, FakeTensor)


def running_node() -> str:
    """The name of the graph's node that the engine runs now on this thread; "" outside of it."""
    node = torch._C._current_autograd_node()
    return "" if node is None else node.name()


def sequence_nr(node: object) -> int:
    """When was a node of the graph made? A count of its thread; AccumulateGrad has the highest."""
    return node._sequence_nr()


def next_sequence_nr() -> int:
    """Which number will the next node have that this thread makes?"""
    return torch.autograd._get_sequence_nr()


def received_sizes(node: object) -> tuple[tuple[int, ...], ...]:
    """The sizes of the gradients that a node receives, one for each output of its operator."""
    return tuple(tuple(one.shape) for one in node._input_metadata)


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


@contextmanager
def unseen() -> Iterator[None]:
    """Run operators that no mode, transform, trace or subclass of the user's sees or changes."""
    tracing = torch._C._get_tracing_state()
    torch._C._set_tracing_state(None)
    try:
        with (
            torch._C.DisableTorchFunction(),
            torch._C._DisableFuncTorch(),
            _python_dispatch._disable_current_modes(),
        ):
            yield
    finally:
        torch._C._set_tracing_state(tracing)
