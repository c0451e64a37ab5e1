"""What the explorers of strides and views offer: operators, run on a small tensor of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from .. import indexing
from ..records import Layout
from . import private
from .layout import layout_of

PRESETS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "a": lambda a: a,
    "a.t()": lambda a: a.t(),
    "a[1:]": lambda a: a[1:],
    "a[:, 1]": lambda a: a[:, 1],
    "a[:, ::2]": lambda a: a[:, ::2],
    "a[2, 3]": lambda a: a[2, 3],
    "a[:1].expand(3, 6)": lambda a: a[:1].expand(3, 6),
    "a.diagonal()": lambda a: a.diagonal(),
    "a.unfold(1, 3, 1)": lambda a: a.unfold(1, 3, 1),
    "a.view(2, 3, 4).permute(2, 0, 1)": lambda a: a.view(2, 3, 4).permute(2, 0, 1),
    "a.view(2, 2, 2, 3)": lambda a: a.view(2, 2, 2, 3),
    "channels_last": lambda a: a.view(1, 2, 4, 3).permute(0, 3, 1, 2),
}

# What the view explorer starts from: a tensor of sizes (2, 3, 4), and views of it.
VIEW_SOURCES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "a": lambda a: a,
    "a.transpose(0, 1)": lambda a: a.transpose(0, 1),
    "a.transpose(1, 2)": lambda a: a.transpose(1, 2),
    "a.permute(2, 0, 1)": lambda a: a.permute(2, 0, 1),
    "a[:, :2]": lambda a: a[:, :2],
    "a[:, :, ::2]": lambda a: a[:, :, ::2],
    "a[:, :1]": lambda a: a[:, :1],
    "a[:1].expand(3, 3, 4)": lambda a: a[:1].expand(3, 3, 4),
    "a.unfold(2, 2, 1)": lambda a: a.unfold(2, 2, 1),
}

_MOST_REACH = 1_000_000

DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (torch.int64, torch.float32, torch.int16, torch.uint8)
}


def small_tensor(dtype: str) -> torch.Tensor:
    """A 4 × 6 tensor whose values are the numbers of its storage elements.

    Made outside every mode of the user's. `dtype` is a name in DTYPES.

    >>> small_tensor("uint8")[1].tolist()
    [6, 7, 8, 9, 10, 11]
    """
    with private.unseen():
        return torch.arange(24, dtype=DTYPES[dtype], device="cpu").view(4, 6)


def view_source(name: str) -> Layout:
    """Which layout does torch give this source of the view explorer?

    >>> view_source("a[:, :2]").strides
    (12, 4, 1)
    """
    a = small_tensor("float32").view(2, 3, 4)
    with private.unseen():
        return layout_of(VIEW_SOURCES[name](a))


def tensor_with(sizes: Sequence[int], strides: Sequence[int]) -> torch.Tensor:
    """A tensor with these sizes and strides, over a storage that is just long enough.

    Raises ValueError where torch has no such tensor, or where it would reach too far.

    >>> tensor_with((2, 3), (1, 4)).stride()
    (1, 4)
    """
    if len(sizes) != len(strides) or any(n < 0 for n in (*sizes, *strides)):
        raise ValueError(
            f"A tensor with sizes {tuple(sizes)} and strides {tuple(strides)} was asked. A tensor "
            "has one stride for each size, and none is negative. Give such numbers."
        )
    reach = indexing.span(sizes, strides)
    if reach is not None and reach[1] >= _MOST_REACH:
        raise ValueError(
            f"A tensor with sizes {tuple(sizes)} and strides {tuple(strides)} was asked. It would "
            f"reach element {reach[1]:,}. Give sizes and strides that reach less than "
            f"{_MOST_REACH:,}."
        )
    with private.unseen():
        storage = torch.zeros(1 + (reach[1] if reach else 0), device="cpu")
        return storage.as_strided(tuple(sizes), tuple(strides))


def preset_layout(preset: str, dtype: str) -> Layout:
    """Which layout does torch give the result of this operator on the small tensor?

    >>> preset_layout("a.t()", "int64").strides
    (1, 6)
    """
    a = small_tensor(dtype)
    with private.unseen():
        return layout_of(PRESETS[preset](a))
