"""Every private name of torch that the package uses: one thin function each.

`missing()` lists the names that this torch lacks; a test asserts that the list is empty, so a
release that renames one fails loudly here and nowhere else. Checked with torch 2.13.
"""

from __future__ import annotations

import torch
from torch._subclasses.fake_tensor import FakeTensor

from . import private_dispatch, private_doctor, private_modes, private_nodes
from .private_modes import DispatchMode, unseen  # noqa: F401 - used as private.unseen

_NAMES = (
    "torch.Tensor._base",
    "torch.Tensor._is_view",
    "torch.Tensor._version",
    "torch.Tensor._indices",
    "torch.Tensor._values",
    "torch.UntypedStorage._cdata",
    "torch._C._functorch.is_functorch_wrapped_tensor",
    "torch._C._storage_Use_Count",
    "torch._C._autograd.SavedTensor.unpack_hook",
    "torch._C._autograd._unsafe_set_version_counter",
    "torch._C.DispatchKey",
    "torch._C._data_address",
    "torch._is_functional_tensor",
    "torch.utils.checkpoint._CheckpointFrame.save_inputs",
)


def missing() -> list[str]:
    """Which of the private names does this torch not have?"""
    absent = []
    modules = (private_dispatch, private_doctor, private_modes, private_nodes)
    for name in (*_NAMES, *(name for module in modules for name in module.NAMES)):
        place = torch
        for part in name.split(".")[1:]:
            place = getattr(place, part, None)
        if place is None:
            absent.append(name)
    return absent


def storage_id(t: torch.Tensor) -> int:
    """Which storage is it? Equal for two *living* tensors if and only if they share one."""
    return torch.Tensor.untyped_storage(t)._cdata


def parts(t: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The tensors that hold the memory of a tensor: itself, or the parts of a sparse one."""
    if t.layout == torch.sparse_coo:
        return torch.Tensor._indices(t), torch.Tensor._values(t)
    if t.layout in (torch.sparse_csr, torch.sparse_bsr):
        return t.crow_indices(), t.col_indices(), t.values()
    if t.layout in (torch.sparse_csc, torch.sparse_bsc):
        return t.ccol_indices(), t.row_indices(), t.values()
    return (t,)


def checkpoint_inputs(raw: object) -> list[object] | None:
    """What a checkpointed part keeps to run again; None if `raw` was not saved in such a part."""
    hook = raw.unpack_hook
    if getattr(hook, "__module__", "") != "torch.utils.checkpoint":
        return None
    cells = dict(zip(hook.__code__.co_freevars, hook.__closure__, strict=True))
    args, saved = cells["frame"].cell_contents.saved_args, torch._C._autograd.SavedTensor
    return [arg.data if isinstance(arg, saved) else arg for arg in args]


def address(t: torch.Tensor) -> int:
    """At which address does the storage start? 0 where it has no memory.

    Asking so does not make a copy-on-write tensor copy.
    """
    return torch._C._data_address(t)


def sizes(t: torch.Tensor) -> tuple[int, ...] | None:
    """The sizes of a tensor; None for a nested one, which has a list of them."""
    try:
        return tuple(t.shape)
    except RuntimeError:
        return None


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

    A view has that of its base. Of others torch does not tell: the counter of `a` is moved by one,
    `b` is asked, and the counter is set back, with nothing in between on this thread. A write from
    another thread at that very moment would go uncounted.
    """
    before, other = version(a), version(b)
    if before is None or other is None:
        return None
    if before != other:
        return False
    if a is b or base(a) is b or base(b) is a or (base(a) is not None and base(a) is base(b)):
        return True
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


def arrives_whole(op: object) -> bool:
    """Is it an operator made of others that has not been taken apart, as in inference mode?

    Taking it apart here would not do: its parts look whether a mode watches, and run otherwise.
    """
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    if not hasattr(op, "has_kernel_for_dispatch_key"):
        return False
    try:
        return op.has_kernel_for_dispatch_key(key)
    except RuntimeError:  # sym_size and others, which the dispatcher does not know
        return False


def writes(op: object) -> bool:
    """Does the operator's signature say that it writes to an argument?"""
    schema = getattr(op, "_schema", None)
    return schema is not None and schema.is_mutable
