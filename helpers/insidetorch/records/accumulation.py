"""A batch in parts: what each part adds to `.grad`, beside the gradient of the whole batch."""

from __future__ import annotations

from dataclasses import dataclass

Vector = tuple[float, ...]


@dataclass(frozen=True)
class Part:
    """One part: how many samples it has, how many of them count, and what its backward did.

    `factor` is what its loss was multiplied with, as a fraction in words; `added` the gradient of
    that loss, `after` what `.grad` held then.
    """

    samples: int
    counted: int
    factor: str
    added: Vector
    after: Vector


@dataclass(frozen=True)
class Accumulation:
    """The parts of one step, the gradient of the whole batch, and where three steps lead.

    `weights` maps the name of an optimizer to the weights after three such steps, and after three
    steps on the whole batch.
    """

    parts: tuple[Part, ...]
    whole: Vector
    weights: dict[str, tuple[Vector, Vector]]
    tolerance: float = 1e-9

    @property
    def equal(self) -> bool:
        """Is the accumulated gradient that of the whole batch, up to rounding?"""
        return self._close(self.parts[-1].after, self.whole)

    def same_weights(self, optimizer: str) -> bool:
        """Does this optimizer come to the same weights with both, up to rounding?"""
        return self._close(*self.weights[optimizer])

    def _close(self, a: Vector, b: Vector) -> bool:
        pairs = zip(a, b, strict=True)
        return all(abs(x - y) <= self.tolerance * max(1, abs(y)) for x, y in pairs)
