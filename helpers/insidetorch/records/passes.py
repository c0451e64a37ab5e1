"""The backward passes of a run of the user's code, and the optimizer's steps between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .backward import Backward, Gradient
from .steps import Place


@dataclass(frozen=True)
class Leaf:
    """A leaf that a pass can reach: `node` in the pass's graph.

    `number` is the same for the same tensor in every pass of a run; `value` is what the tensor held
    when the pass began.
    """

    node: int
    number: int
    value: Gradient | None = None


@dataclass(frozen=True)
class Pass:
    """One call of backward. A run numbers its passes from 1, in the order in which they began.

    `inside` numbers the pass from within which this one was called, 0 for none. `again` tells for
    each node of the graph that ran in an earlier pass, in which one it ran first.
    """

    backward: Backward
    place: Place
    inside: int = 0
    leaves: tuple[Leaf, ...] = ()
    again: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class OptimizerStep:
    """A step of an optimizer, by the name of its class."""

    optimizer: str
    place: Place


@dataclass(frozen=True)
class Passes:
    """What happened, in order. `unseen` counts passes that could not be recorded.

    `error` holds what the code raised, "" if it came to its end, and `error_place` the line that
    was running then.
    """

    events: tuple[Pass | OptimizerStep, ...]
    error: str = ""
    error_place: Place | None = None
    unseen: int = 0

    @property
    def passes(self) -> tuple[Pass, ...]:
        return tuple(event for event in self.events if isinstance(event, Pass))
