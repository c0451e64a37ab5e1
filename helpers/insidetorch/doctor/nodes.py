"""Which call made a node of the graph?"""

from __future__ import annotations

import threading
from bisect import bisect_right

from ..observe import private_nodes
from .calls import Call


class Nodes:
    """The calls that made nodes, thread by thread: torch numbers the nodes of each thread."""

    def __init__(self) -> None:
        self._calls: dict[int, list[Call]] = {}
        self._ends: dict[int, list[int]] = {}

    def add(self, call: Call) -> None:
        """A call of this thread has run."""
        if call.end > call.first:
            thread = threading.get_ident()
            self._calls.setdefault(thread, []).append(call)
            self._ends.setdefault(thread, []).append(call.end)

    def call_of(self, node: object) -> Call | None:
        """The call that made a node; None where it was not seen."""
        thread, number = threading.get_ident(), private_nodes.sequence_nr(node)
        k = bisect_right(self._ends.get(thread, []), number)
        calls = self._calls.get(thread, [])
        return calls[k] if k < len(calls) and calls[k].first <= number else None

    def forget(self, last: int) -> None:
        """Drop all calls up to this one."""
        for thread, calls in self._calls.items():
            kept = [call for call in calls if call.number > last]
            self._calls[thread], self._ends[thread] = kept, [call.end for call in kept]
