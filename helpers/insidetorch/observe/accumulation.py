"""Is the gradient of parts of a batch, added up, the gradient of the batch?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import nn

from ..records import Accumulation, Part
from . import private

SAMPLES = 10
IGNORED = (3, 8, 9)
STEPS = 3
ZERO = ("before the first part", "before every part", "never")
DIVIDE = ("by nothing", "by the number of parts", "by the share of samples", "by what counts")
OPTIMIZERS: dict[str, Callable[[list], torch.optim.Optimizer]] = {
    "SGD": lambda weights: torch.optim.SGD(weights, lr=0.01),
    "Adam": lambda weights: torch.optim.Adam(weights, lr=0.5, eps=1e-15),
}


def accumulate(
    length: int,
    *,
    zero: str = ZERO[0],
    divide: str = DIVIDE[1],
    ignore: bool = False,
    normalise: bool = False,
) -> Accumulation:
    """Run a linear model over ten samples in parts, and over all of them at once.

    The loss of a part is the mean of its squared errors over the samples that count.
    Args: `length`, how many samples a part has, the last one maybe fewer; `zero`, when `.grad` is
    cleared, one of ZERO; `divide`, one of DIVIDE: what the loss of a part is multiplied with, "by
    what counts" its share of the samples that count; `ignore`, whether the samples 3, 8 and 9 do
    not count; `normalise`, whether BatchNorm in training mode comes first.
    Returns an `Accumulation`: the parts of one step, before which a step on the whole batch has
    left its gradient in `.grad`, and the weights after three steps. Everything in it was computed
    by torch, in float64.
    Raises ValueError if `length` is not from 1 to 10; torch does where a part of one sample is to
    be normalised.

    >>> accumulate(5).equal, accumulate(4).equal
    (True, False)
    """
    if not 1 <= length <= SAMPLES:
        raise ValueError(
            f"Parts of {length} samples were asked. There are {SAMPLES} samples. "
            f"Give a length from 1 to {SAMPLES}."
        )
    starts = range(0, SAMPLES, length)
    parts = [range(start, min(start + length, SAMPLES)) for start in starts]
    how = {"ignore": ignore, "normalise": normalise}
    with private.unseen(), torch.inference_mode(False), torch.enable_grad():
        weight = _weight()
        _loss(weight, range(SAMPLES), **how).backward()
        whole = tuple(weight.grad.tolist())
        found = tuple(_parts(weight, parts, zero, divide, **how))
        weights = {
            name: (
                _trained(make, parts, zero, divide, **how),
                _trained(make, [range(SAMPLES)], ZERO[0], DIVIDE[0], **how),
            )
            for name, make in OPTIMIZERS.items()
        }
    return Accumulation(found, whole, weights)


def _parts(
    weight: torch.Tensor, parts: Sequence[range], zero: str, divide: str, **how: bool
) -> Iterator[Part]:
    """One step's backward passes, part by part."""
    for number, part in enumerate(parts):
        if zero == ZERO[1] or (zero == ZERO[0] and number == 0):
            weight.grad = None
        over, under = _factor(divide, part, len(parts), ignore=how["ignore"])
        before = torch.zeros_like(weight) if weight.grad is None else weight.grad.clone()
        (_loss(weight, part, **how) * over / under).backward()
        yield Part(
            samples=len(part),
            counted=len(_counted(part, ignore=how["ignore"])),
            factor="1" if over == under else f"{over}/{under}",
            added=tuple((weight.grad - before).tolist()),
            after=tuple(weight.grad.tolist()),
        )


def _trained(
    make: Callable, parts: Sequence[range], zero: str, divide: str, **how: bool
) -> tuple[float, ...]:
    """The weights after three steps."""
    weight = _weight()
    optimizer = make([weight])
    for _ in range(STEPS):
        for _part in _parts(weight, parts, zero, divide, **how):
            pass
        optimizer.step()
    return tuple(weight.tolist())


def _weight() -> torch.Tensor:
    return torch.zeros(2, dtype=torch.float64, requires_grad=True)


def _counted(part: range, *, ignore: bool) -> list[int]:
    return [k for k in part if not (ignore and k in IGNORED)]


def _factor(divide: str, part: range, parts: int, *, ignore: bool) -> tuple[int, int]:
    counted, all_counted = (len(_counted(b, ignore=ignore)) for b in (part, range(SAMPLES)))
    return {
        DIVIDE[0]: (1, 1),
        DIVIDE[1]: (1, parts),
        DIVIDE[2]: (len(part), SAMPLES),
        DIVIDE[3]: (counted, all_counted),
    }[divide]


def _loss(weight: torch.Tensor, part: range, *, ignore: bool, normalise: bool) -> torch.Tensor:
    """The mean squared error over what counts; 0 where nothing does."""
    numbers = torch.arange(SAMPLES, dtype=torch.float64)
    inputs = torch.stack([numbers % 3, numbers % 4 - 1], 1)[part.start : part.stop]
    targets = (numbers % 5 - 4)[part.start : part.stop]
    if normalise:
        inputs = nn.functional.batch_norm(inputs, None, None, training=True)
    kept = torch.tensor([k - part.start for k in _counted(part, ignore=ignore)], dtype=torch.long)
    errors = (inputs @ weight - targets)[kept].pow(2)
    return errors.sum() / max(len(kept), 1)
