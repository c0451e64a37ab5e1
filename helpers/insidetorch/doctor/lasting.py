"""What was trained is still there when the report is made, though the script has let go of it."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn
from torch.optim import Optimizer

from ..observe import private

MOST_BYTES = 1 << 30  # of parameters that are kept, those of the last steps

Kept = nn.Module | Optimizer | torch.Tensor


class Lasting:
    """Keeps modules that ran, optimizers and leaves alive: models often live in a function.

    The oldest are let go where they would hold more than `MOST_BYTES`, gradients not counted.
    """

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Kept, int]] = {}
        self._bytes = 0

    def keep(self, one: Kept) -> None:
        """Keep one of them; what was kept last is let go last."""
        known = self._kept.pop(id(one), None)
        if known is None:
            with private.unseen():  # a mode of the user's own would see these questions
                size = sum(t.nbytes for t in _tensors(one))
            self._bytes += size
            known = one, size
        self._kept[id(one)] = known
        while self._bytes > MOST_BYTES and len(self._kept) > 1:
            oldest = next(iter(self._kept))
            self._bytes -= self._kept.pop(oldest)[1]


def _tensors(one: Kept) -> Iterable[torch.Tensor]:
    if isinstance(one, nn.Module):
        tensors = [*one.parameters(), *one.buffers()]
    elif isinstance(one, Optimizer):
        tensors = [p for group in one.param_groups for p in group["params"]]
    else:
        tensors = [one]
    return [t for t in tensors if t.layout == torch.strided]
