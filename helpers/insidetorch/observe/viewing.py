"""Can this tensor be viewed with other sizes?"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .. import indexing
from ..records import ViewRule
from . import private
from .layout import layout_of


def view_rule(t: torch.Tensor, wanted: Sequence[int]) -> ViewRule:
    """Can `t.view(wanted)` succeed: what does the rule say, and what does torch say?

    Args: `wanted`, sizes, of which one may be -1.
    Returns a `ViewRule`. Nothing of `t` changes; torch's answer is a view made and dropped.
    Raises what `layout_of` raises, ValueError where the tensor has another number of values.

    >>> view_rule(torch.arange(12).reshape(3, 4).t(), (2, 2, 3)).strides
    (2, 1, 4)

    Source: at::detail::computeStride in aten/src/ATen/TensorUtils.cpp (2.13).
    """
    layout = layout_of(t)
    sizes = indexing.inferred(layout.numel, wanted)
    fillings = indexing.fillings(layout.sizes, layout.strides, sizes) if layout.numel else []
    strides, refusal = None, ""
    try:
        with private.unseen(), torch.no_grad():
            strides = torch.Tensor.view(t, sizes).stride()
    except RuntimeError as error:
        refusal = str(error).partition("\n")[0]
    return ViewRule(
        sizes=layout.sizes,
        strides_before=layout.strides,
        wanted=sizes,
        fillings=tuple(fillings),
        strides=indexing.view_strides(layout.sizes, layout.strides, sizes),
        torch_strides=strides,
        refusal=refusal,
    )
