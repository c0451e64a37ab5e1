"""The operators that the stride explorer offers, run on a small tensor of its own."""

from __future__ import annotations

from collections.abc import Callable

import torch

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


def preset_layout(preset: str, dtype: str) -> Layout:
    """Which layout does torch give the result of this operator on the small tensor?

    >>> preset_layout("a.t()", "int64").strides
    (1, 6)
    """
    a = small_tensor(dtype)
    with private.unseen():
        return layout_of(PRESETS[preset](a))
