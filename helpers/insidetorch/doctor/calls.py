"""What the recorder writes down: calls, switches of the gradient mode, and what else happened."""

from __future__ import annotations

from dataclasses import dataclass, field

from .stacks import Spot, Stack
from .values import Value


@dataclass(slots=True)
class Switch:
    """A place that switched gradients on or off.

    `spot` is the line of the `with`, of the call, or of the decorator.
    """

    on: bool
    spot: Spot | None
    name: str


@dataclass(slots=True, eq=False)
class Call:
    """One call of torch by the user's code.

    `standing` tells of each input how it stood to autograd (DEAD, LIVE, LEAF), `made` the same of
    each output. `changed` are inputs that were written in place. `first` and `end` bound the
    numbers of the graph's nodes that it made. `off` is the switch that had turned gradients off.
    """

    number: int
    name: str
    stack: Stack
    inputs: tuple[Value, ...]
    standing: tuple[int, ...]
    outputs: tuple[Value, ...] = ()
    made: tuple[int, ...] = ()
    changed: tuple[Value, ...] = ()
    first: int = 0
    end: int = 0
    off: Switch | None = None
    inside: int = 0  # in which backward pass it ran; 0 outside of all
    module: object = None  # a weak reference to the innermost module
    note: dict = field(default_factory=dict)

    @property
    def spot(self) -> Spot | None:
        return self.stack[0] if self.stack else None


@dataclass(slots=True, eq=False)
class Event:
    """Something that is no call: an optimizer's step, a module's construction, a flag that is set.

    `at` is the number of the last call before it, `order` its place among events and passes.
    """

    kind: str
    at: int
    stack: Stack
    subject: object = None
    note: dict = field(default_factory=dict)
    order: int = 0
