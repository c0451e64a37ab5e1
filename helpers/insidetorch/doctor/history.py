"""Where did the values of a loss come from, and where does the gradient's way end?"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .calls import Call, Event
from .passes import Pass
from .recorder import Recorder
from .values import DEAD, LEAF, LIVE, Value

_ENDS = 4  # passes of each line that are looked at, at either end
_MOST_CALLS = 4_000
_LAST_WRITES = 8  # to one memory: older ones were mostly overwritten


class Use(NamedTuple):
    """A value that one call made and another read; `standing` is how it stood when it was read."""

    value: Value
    maker: Call
    reader: Call | None
    standing: int


class Cut(NamedTuple):
    """A call that was given a live tensor, and whose result was used outside of the graph."""

    call: Call
    value: Value
    standing: int
    leaves: frozenset[Value]
    depth: int  # how many cuts there are from here to the loss, this one counted


class Flow:
    """The calls whose values went into some roots, up to a point of time.

    Of a long history those nearest to the roots: `_MOST_CALLS` of them.
    """

    def __init__(self, roots: Iterable[tuple[Value, int]], limit: int) -> None:
        self.calls: dict[Call, None] = {}
        self.uses: dict[Call, list[Use]] = defaultdict(list)
        self._makers: dict[Call, set[Call]] = {}
        self._follow(deque((value, how, None, limit + 1) for value, how in roots))
        self._leaves: list[Value] = []
        self._masks: dict[Call, int] = {}

    def _follow(self, waiting: deque) -> None:
        while waiting:
            value, standing, reader, before = waiting.popleft()
            for maker, made in makers(value, before):
                if maker not in self.calls:
                    if len(self.calls) >= _MOST_CALLS:
                        continue
                    self.calls[maker] = None
                    self._makers[maker] = set()
                    for given, how in zip(maker.inputs, maker.standing, strict=False):
                        if given in maker.changed and len(maker.inputs) > 1 and overwrites(maker):
                            continue
                        waiting.append((given, how, maker, maker.number))
                self.uses[maker].append(Use(made, maker, reader, standing))
                if reader is not None:
                    self._makers[reader].add(maker)

    def leaves_behind(self, call: Call) -> frozenset[Value]:
        """The leaves that require a gradient whose values went into a call."""
        if not self._masks:
            self._mark()
        mask = self._masks[call]
        return frozenset(v for k, v in enumerate(self._leaves) if mask >> k & 1)

    def _mark(self) -> None:
        """Number the leaves, and say of each call in one number which of them went into it."""
        numbers: dict[Value, int] = {}
        for call in sorted(self.calls, key=lambda one: one.number):
            mask = 0
            for value, how in zip(call.inputs, call.standing, strict=False):
                if how == LEAF:
                    mask |= 1 << numbers.setdefault(value, len(numbers))
            for maker in self._makers[call]:
                mask |= self._masks[maker]
            self._masks[call] = mask
        self._leaves = list(numbers)

    def cuts(self) -> list[Cut]:
        """Where the way of the gradient ends, in the order in which the calls ran."""
        found = []
        depth: dict[Call | None, int] = {None: 0}
        for call in sorted(self.calls, key=lambda one: -one.number):
            live = _live_inputs(call)
            ways = []
            for use in self.uses[call]:
                cut = (
                    bool(live)
                    and use.standing != LIVE
                    and (use.value not in live or call.name == "detach_")
                )
                ways.append((depth[use.reader] + cut, cut, use))
            least, cut, use = min(ways, key=lambda way: way[:2])
            depth[call] = least
            if cut and call.name != "step":
                found.append(Cut(call, use.value, use.standing, self.leaves_behind(call), least))
        return found[::-1]


def _live_inputs(call: Call) -> list[Value]:
    return [
        v for v, how in zip(call.inputs, call.standing, strict=False)
        if how != DEAD and (v not in call.changed or call.name == "detach_")
    ]  # fmt: skip


def makers(value: Value, before: int) -> Iterator[tuple[Call, Value]]:
    """The calls that made or wrote what a value holds at a point of time."""
    if value.made is not None and value.made.number < before:
        yield value.made, value
    if value.memory is None:
        writes = [(call, value) for call in value.wrote]
    else:
        writes = value.memory.writes
    end = bisect_left(writes, before, key=lambda write: write[0].number)
    for call, written in writes[max(0, end - _LAST_WRITES) : end]:
        if call is not value.made:
            yield call, written


def overwrites(call: Call) -> bool:
    """Does the call replace all of what it writes to, so that the old values do not matter?"""
    return call.name in ("copy_", "data.set", "fill_", "zero_")


class History:
    """What the recorder wrote down, and the questions that causes ask of it."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.calls = recorder.calls
        self.events = recorder.events
        self.passes = list(recorder.history)
        self._flows: dict[Pass, Flow] = {}

    def flow(self, one: Pass) -> Flow:
        """What went into the roots of a pass."""
        if one not in self._flows:
            roots = [(v, _standing_at(v, one)) for v in one.roots]
            self._flows[one] = Flow(roots, one.at)
        return self._flows[one]

    def of(self, kind: str) -> list[Event]:
        """The events of one kind."""
        return [event for event in self.events if event.kind == kind]

    def reached(self, *, accumulated: bool = False) -> dict[Value, set[str]]:
        """The leaves that passes reached, and what their gradients were.

        Args: `accumulated`, only the passes that put gradients into `.grad`.
        """
        found: dict[Value, set[str]] = defaultdict(set)
        for one in self.passes:
            if accumulated and not one.accumulate:
                continue
            for value, state in one.leaves.items():
                found[value].add(state)
        return found

    def samples(self) -> list[Pass]:
        """The passes that are looked at: of each line the first, the last, and bad ones."""
        lines: dict[object, list[Pass]] = defaultdict(list)
        for one in self.losses():
            lines[one.stack[0] if one.stack else None].append(one)
        chosen: set[Pass] = set()
        for passes in lines.values():
            chosen.update(passes[:_ENDS] + passes[-_ENDS:])
            chosen.update([one for one in passes if one.error is not None or one.nodes][:_ENDS])
        return [one for one in self.losses() if one in chosen]

    def losses(self) -> list[Pass]:
        """The passes that the user's own code began, not one inside of another."""
        return [one for one in self.passes if not one.inside]


def _standing_at(root: Value, one: Pass) -> int:
    """How a root stood when its pass began: dead only where the engine refused it."""
    maker = root.made
    if maker is None:
        return LEAF if root.leaf else DEAD
    for value, how in zip(maker.outputs, maker.made, strict=False):
        if value is root:
            return LIVE if how == LIVE or one.leaves else how
    return LIVE
