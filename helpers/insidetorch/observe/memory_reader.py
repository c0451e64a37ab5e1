"""Which value stands at this byte? Elements of a storage, whatever their dtype."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..records import Index, Value

_QUANTIZED = {torch.quint8: torch.uint8, torch.qint8: torch.int8, torch.qint32: torch.int32}


def values_at(t: torch.Tensor, elements: Sequence[int]) -> list[Value]:
    """What stands in the storage of `t` at these elements, read with the dtype of `t`?

    Returns one value per element, None where the storage has no memory for it. What is read is
    the memory itself: a lazy conjugate or negation is not applied, a quantised value is the
    stored integer, and a dtype that has no numbers of its own gives its bytes in hexadecimal.
    The bytes are copied out; nothing of `t` changes.
    """
    storage = torch.Tensor.untyped_storage(t)
    itemsize, size, device = torch.Tensor.element_size(t), storage.nbytes(), storage.device
    inside = [k for k in elements if k >= 0 and (k + 1) * itemsize <= size]
    if not inside:
        return [None] * len(elements)
    raw = torch.empty(0, dtype=torch.uint8, device=device).set_(storage)
    starts = torch.tensor(inside, device=device)[:, None] * itemsize
    rows = raw[starts + torch.arange(itemsize, device=device)].cpu()
    found = dict(zip(inside, _decode(rows, torch.Tensor.dtype.__get__(t)), strict=True))
    return [found.get(k) for k in elements]


def logical(t: torch.Tensor, index: Index, value: Value) -> Value:
    """Which value does the tensor show at `index`, where its memory holds `value`?

    Applies what the memory itself does not show: the conjugate bit, the negative bit, the scale
    and zero point of a quantised tensor.
    """
    if value is None or isinstance(value, str):
        return value
    if t.is_conj():
        value = complex(value).conjugate()
    if t.is_neg():
        value = -value
    if t.is_quantized:
        scale, zero_point = _quantizer_at(t, index)
        value = (value - zero_point) * scale
    return value


def _decode(rows: torch.Tensor, dtype: torch.dtype) -> list[Value]:
    """Rows of bytes, shape (elements, itemsize), as Python numbers."""
    try:
        column = rows.view(_QUANTIZED.get(dtype, dtype))[:, 0]
        if column.is_floating_point():
            column = column.double()
        return column.tolist()
    except (RuntimeError, TypeError):
        return ["0x" + bytes(row).hex() for row in rows.tolist()]


def _quantizer_at(t: torch.Tensor, index: Index) -> tuple[float, float]:
    if t.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        return t.q_scale(), t.q_zero_point()
    channel = index[t.q_per_channel_axis()]
    scales, zero_points = t.q_per_channel_scales(), t.q_per_channel_zero_points()
    return scales[channel].item(), zero_points[channel].item()
