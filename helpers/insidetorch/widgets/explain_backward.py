"""What do the backward passes of this code do?"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from ..observe.passes import record_passes
from .show import Picture, show


def explain_backward(
    fn: Callable[[], object],
    *,
    module: torch.nn.Module | None = None,
    names: Mapping[str, object] | None = None,
) -> Picture:
    """Run some code, such as an epoch, and tell what each backward pass in it does.

    Args: as for `insidetorch.observe.passes.record_passes`.
    Returns a `Picture` without a picture, whose text names for each pass its line, what every leaf
    receives and what `.grad` held before and holds after; where NaN begins, what the engine summed,
    which nodes ran before; and between passes, gradients that no optimizer step has used, and means
    over unequal numbers that were added up. What the code raises is told with its line, not raised.

    >>> w = torch.nn.Parameter(torch.ones(1))
    >>> print(explain_backward(lambda: (w * 2).sum().backward(), names={"w": w}).alt)
    1 backward pass, 0 optimizer steps.
    """
    return show(record_passes(fn, module=module, names=names))
