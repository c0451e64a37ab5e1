"""How does this tensor read its storage?"""

from __future__ import annotations

import torch

from .. import footprint
from ..records import Layout
from . import private

_T = torch.Tensor
_PACKED = (torch.quint4x2, torch.quint2x4)


class NoStorageError(TypeError):
    """The tensor has no addressable storage; the message is one true sentence about why."""


def layout_of(t: torch.Tensor) -> Layout:
    """How does this tensor read its storage?

    Args: `t`, any tensor. Nothing of it changes: no gradient, version, hook or generator.
    Returns a `Layout`; sizes, strides and offset count elements.
    Raises TypeError if `t` is not a tensor, NoStorageError (a TypeError) if its elements have no
    address: sparse, nested, meta, fake and wrapped tensors.

    >>> layout_of(torch.arange(12).reshape(3, 4).t()).strides
    (1, 4)

    Source: torch.Tensor.stride, .storage_offset, .untyped_storage (2.13).
    """
    if not issubclass(type(t), torch.Tensor):
        raise TypeError(
            f"The layout of a {type(t).__name__} was asked. Only a torch.Tensor has sizes and "
            "strides over a storage. Convert it first, for example with torch.as_tensor."
        )
    with private.unseen():
        _require_storage(t)
        # Through the class: a subclass may say something else of itself.
        sizes, strides = tuple(_T.size(t)), tuple(_T.stride(t))
        return Layout(
            type_name=type(t).__name__,
            dtype=str(_T.dtype.__get__(t)).removeprefix("torch."),
            device=str(_T.device.__get__(t)),
            sizes=sizes,
            strides=strides,
            offset=_T.storage_offset(t),
            itemsize=_T.element_size(t),
            storage_bytes=_T.untyped_storage(t).nbytes(),
            distinct=footprint.distinct_elements(sizes, strides),
            version=private.version(t),
            requires_grad=_T.requires_grad.__get__(t),
            is_leaf=_T.is_leaf.__get__(t),
            is_view=private.is_view(t),
            is_contiguous=_T.is_contiguous(t),
            is_channels_last=_is_channels_last(t),
            is_conj=_T.is_conj(t),
            is_neg=_T.is_neg(t),
            is_inference=_T.is_inference(t),
            quantizer=_quantizer(t),
        )


def _require_storage(t: torch.Tensor) -> None:
    """Raise NoStorageError, with the reason, if the elements of `t` have no address."""
    if private.is_functorch_wrapped(t):
        reason = "it stands for a value inside a torch.func transform and wraps the real tensor"
    elif private.is_functional(t):
        reason = "it is a wrapper of the functionalization pass around the real tensor"
    elif private.is_fake(t):
        reason = "it is a fake tensor of the compiler: sizes and strides, but no data"
    elif isinstance(t, torch.nn.parameter.UninitializedTensorMixin):
        reason = "it is uninitialized: a lazy module gives it a size at its first call"
    elif t.is_nested:
        reason = "it is nested: a list of tensors of different sizes has no single set of strides"
    elif t.is_mkldnn:
        reason = "it is in a oneDNN layout, which is opaque and has no strides"
    elif t.layout != torch.strided:
        reason = (
            f"its layout is {t.layout}, and its indices and values are kept in tensors of their own"
        )
    elif t.is_meta:
        reason = "it is on the meta device: sizes and strides, but no data"
    elif t.dtype in _PACKED:
        reason = f"several values of dtype {t.dtype} share one byte"
    elif _T.untyped_storage(t).nbytes() and not private.address(t):
        reason = "its storage has a size but no data: the class keeps its values elsewhere"
    else:
        return
    raise NoStorageError(f"This {type(t).__name__} has no element addresses: {reason}.")


def _is_channels_last(t: torch.Tensor) -> bool:
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return _T.dim(t) in formats and _T.is_contiguous(t, memory_format=formats[_T.dim(t)])


def _quantizer(t: torch.Tensor) -> str:
    if not t.is_quantized:
        return ""
    if t.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        return f"scale {t.q_scale():g}, zero point {t.q_zero_point()}"
    return f"a scale and zero point for each index of dimension {t.q_per_channel_axis()}"
