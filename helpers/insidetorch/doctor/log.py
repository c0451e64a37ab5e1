"""The record itself: calls, events and backward passes, of which the oldest are forgotten."""

from __future__ import annotations

from collections.abc import Callable

from .calls import Call, Event
from .nodes import Nodes
from .passes import Pass
from .stacks import Stack, stack_here
from .values import Values

MOST_CALLS = 100_000
# Events of which there are few.
_LASTING = {"flag", "module", "optimizer", "register", "replaced", "requires_grad"}


class Log:
    """What was written down, in the order in which it happened.

    Args: `most`, how many calls are kept: when there are more, the older half is forgotten.
    """

    def __init__(self, most: int = MOST_CALLS) -> None:
        self.values = Values()
        self.nodes = Nodes()
        self.calls: list[Call] = []
        self.events: list[Event] = []
        self.history: list[Pass] = []
        self.failures: dict[str, None] = {}  # what the recorder itself has failed at
        self.forgotten = 0
        self.forgotten_until = 0  # the number of the last call that is forgotten
        self.number = 0
        self._order = 0
        self._most = most

    def guarded(self, work: Callable, *given, **named):
        """What the recorder does for itself: its failure is no matter of the user's."""
        try:
            return work(*given, **named)
        except Exception as error:
            self.failures[repr(error)[:200]] = None
            return None

    def event(self, kind: str, subject: object = None, *, stack: Stack | None = None, **note):
        """Write down something that is no call."""
        stack = stack_here() if stack is None else stack
        self.events.append(Event(kind, self.number, stack, subject, note, self.next_order()))

    def next_order(self) -> int:
        """The place of the next event or pass among all of them."""
        self._order += 1
        return self._order

    def _next(self) -> int:
        self.number += 1
        return self.number

    def _keep(self, call: Call) -> None:
        self.calls.append(call)
        self.nodes.add(call)
        if len(self.calls) > self._most:
            self._forget(len(self.calls) // 2)

    def _forget(self, count: int) -> None:
        """Drop the oldest calls, and what they alone refer to."""
        gone, self.calls = self.calls[:count], self.calls[count:]
        self.forgotten += count
        last = self.forgotten_until = gone[-1].number
        for call in gone:
            call.inputs = call.standing = call.outputs = call.made = call.changed = ()
            call.note = {}
        self.nodes.forget(last)
        self.values.forget(last)
        self.events = [one for one in self.events if one.at > last or one.kind in _LASTING]
        for one in self.history:
            if one.at <= last:
                one.nodes, one.late, one.victims, one.visited = [], [], [], set()
