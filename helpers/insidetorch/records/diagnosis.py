"""The way of the values into one loss, and the way of the gradient back, line by line."""

from __future__ import annotations

from dataclasses import dataclass

from .steps import Place


@dataclass(frozen=True)
class Trained:
    """A parameter, or another leaf that requires a gradient, and what came back to it.

    `gradient` is "fine", "zero" (zero everywhere), "not finite" or "none".
    """

    name: str
    gradient: str


@dataclass(frozen=True)
class PathLine:
    """A line of the user's code that the values of leaves passed on their way to the loss.

    `place` is None for what ran outside of the user's code. `calls` are the functions that it
    called, in order; `trained` the leaves that it read first. `gradient` is what came back to it,
    as in `Trained`. `cut` names the cause that ends the gradient's way here, "" for none. `merged`
    counts the lines that stand for one, 1 for a line by itself.
    """

    place: Place | None
    calls: tuple[str, ...]
    trained: tuple[Trained, ...] = ()
    gradient: str = "none"
    cut: str = ""
    merged: int = 1


@dataclass(frozen=True)
class Found:
    """What was found, in words: its kind, its line's number in `lines` (None where it has none
    there), what happened and what to do."""

    kind: str
    severity: str
    place: Place | None
    line: int | None
    message: str
    fix: str


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """One backward pass of a run that was watched.

    `lines` in the order in which they ran first. `values` are pairs of them: the first made what
    the second read; `gradients` the same pairs turned round, where a gradient may pass. The loss
    itself is `len(lines)` in both. `unread` are leaves that no line read on the way to the loss.
    `number` of `passes` is the pass, `place` its line, `error` what it raised.
    """

    lines: tuple[PathLine, ...]
    values: tuple[tuple[int, int], ...]
    gradients: tuple[tuple[int, int], ...]
    place: Place | None
    number: int
    passes: int
    unread: tuple[Trained, ...] = ()
    findings: tuple[Found, ...] = ()
    error: str = ""

    def __repr__(self) -> str:
        what = f"backward pass {self.number} of {self.passes}, {len(self.lines)} lines"
        return f"<the ways of values and gradient in {what}; insidetorch.show draws them>"

    @property
    def cuts(self) -> tuple[PathLine, ...]:
        """The lines where the gradient's way ends."""
        return tuple(line for line in self.lines if line.cut)

    @property
    def trained(self) -> tuple[Trained, ...]:
        """All leaves, in the order in which they were read."""
        return tuple(one for line in self.lines for one in line.trained) + self.unread
