"""Does the result of this operator require a gradient?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

from ..records import Tracked
from . import private

Operator = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

OPERATORS: dict[str, Operator] = {
    "x * w": lambda x, w: x * w,
    "x.clone()": lambda x, _: x.clone(),
    "x[:1]": lambda x, _: x[:1],
    "x.detach()": lambda x, _: x.detach(),
    "x.round()": lambda x, _: x.round(),
    "x.to(torch.float64)": lambda x, _: x.to(torch.float64),
    "x.long()": lambda x, _: x.long(),
    "x > 0": lambda x, _: x > 0,
    "(x > 0).float()": lambda x, _: (x > 0).float(),
    "x.argmax()": lambda x, _: x.argmax(),
    "x.detach() * w": lambda x, w: x.detach() * w,
    "torch.zeros(2)": lambda *_: torch.zeros(2),
    "torch.zeros(2, requires_grad=True)": lambda *_: torch.zeros(2, requires_grad=True),
    "nn.Parameter(torch.zeros(2))": lambda *_: nn.Parameter(torch.zeros(2)),
}

MODES: dict[str, tuple[Callable[[], object], ...]] = {
    "no mode": (),
    "no_grad": (torch.no_grad,),
    "inference_mode": (torch.inference_mode,),
    "enable_grad inside no_grad": (torch.no_grad, torch.enable_grad),
    "enable_grad inside inference_mode": (torch.inference_mode, torch.enable_grad),
}


def tracked(operator: str, mode: str, *, x: bool = True, w: bool = True) -> Tracked:
    """Run an operator on new tensors, and look at its result.

    Args: `operator`, a name in OPERATORS; `mode`, one in MODES; `x` and `w`, whether the tensors of
    that name require a gradient. They are made outside the mode.
    Returns a `Tracked`.

    >>> tracked("x > 0", "no mode").requires_grad
    False
    """
    with private.unseen(), torch.inference_mode(False), torch.enable_grad():
        tensors = [torch.tensor([1.5, -2.0], requires_grad=flag) for flag in (x, w)]
        try:
            with _entered(MODES[mode]):
                result = OPERATORS[operator](*tensors)
        except RuntimeError as error:
            return Tracked(operator, mode, False, False, refusal=str(error).partition("\n")[0])
        node = "" if result.grad_fn is None else result.grad_fn.name()
        view = private.is_view(result)
        return Tracked(operator, mode, result.requires_grad, result.is_leaf, view, node)


@contextmanager
def _entered(modes: tuple[Callable[[], object], ...]) -> Iterator[None]:
    """Enter modes from the outermost in."""
    if not modes:
        yield
        return
    with modes[0](), _entered(modes[1:]):
        yield
