"""The gradient of one tensor: what became of it?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from .finding import Finding
from .passes import BAD, FINE, NONE, ZERO
from .report import Report

if TYPE_CHECKING:
    from .patient import Patient

_STATES = {
    FINE: "got a gradient",
    ZERO: "got a gradient that is zero everywhere",
    BAD: "got a gradient with NaN or infinity in it",
    NONE: "got none",
}


@dataclass(frozen=True)
class Explained:
    """What became of the gradient of one tensor.

    `name` is what the user calls it, `sentence` what happened in the passes that were watched,
    `findings` what the doctor found that concerns it.
    """

    name: str
    sentence: str
    findings: tuple[Finding, ...]

    @classmethod
    def of(cls, patient: Patient, t: torch.Tensor, findings: tuple[Finding, ...]) -> Explained:
        """The explanation of a tensor of this run."""
        value = patient.recorder.values.of(t)
        name = patient.names.of(value)
        about = tuple(one for one in findings if name in one.subject)
        return cls(name, _sentence(patient, value, t, name), about)

    def __str__(self) -> str:
        told = f"\n\n{Report(self.findings)}" if self.findings else ""
        return self.sentence + told

    __repr__ = __str__


def _sentence(patient: Patient, value, t: torch.Tensor, name: str) -> str:
    passes = [one for one in patient.history.losses() if one.accumulate]
    if not passes:
        return f"No backward pass was watched, so {name} got no gradient."
    if not t.requires_grad:
        return f"{name} does not require a gradient."
    if not t.is_leaf and t.retains_grad:
        return f"{name} is the result of a computation, and retain_grad() keeps its gradient."
    if not t.is_leaf:
        return (
            f"{name} is the result of a computation: its .grad is not kept. Call its "
            "retain_grad() before backward() to keep it."
        )
    if passes[-1].error is not None and value not in passes[-1].leaves:
        return f"{name} got no gradient: the last backward pass ended with an error."
    states = [one.leaves.get(value, NONE) for one in passes]
    counts = {state: states.count(state) for state in _STATES if state in states}
    if len(counts) == 1:
        return f"{name} {_STATES[states[0]]} in {_times(len(passes))}."
    parts = [f"{_STATES[state]} in {_times(n)}" for state, n in counts.items()]
    return f"{name} {', '.join(parts[:-1])} and {parts[-1]}."


def _times(n: int) -> str:
    return "the backward pass" if n == 1 else f"{n} backward passes"
