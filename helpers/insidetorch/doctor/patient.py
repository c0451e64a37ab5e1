"""All that is known of a run when it is over: what the causes look at."""

from __future__ import annotations

import re
from collections.abc import Mapping

from torch import nn

from .history import Cut, Flow, History
from .names import Named, Names
from .passes import FINE, NONE, Pass
from .recorder import Recorder
from .values import DEAD, Value
from .wanted import Wanted


class Patient:
    """A run, its names, and what the user asked.

    Args: `recorder`; `namespace`, the variables of the script; `asked`, questions and
    the tensors that they ask about; `error`, what the run raised.
    """

    def __init__(
        self,
        recorder: Recorder,
        namespace: Mapping[str, object],
        asked: Mapping[str, object] | None = None,
        error: BaseException | None = None,
        *,
        model: nn.Module | None = None,
    ) -> None:
        self.recorder = recorder
        self.history = History(recorder)
        self.namespace = namespace
        self.error = error
        self.names = Names(self.history, namespace, model)
        asked = asked or {}
        self.asked = [recorder.values.of(t) for t in asked.values()]
        self.asked_grads = [
            recorder.values.of(t) for text, t in asked.items() if re.search(r"\.grad\b", text)
        ]
        self.wanted = Wanted(self.history, self.names, self.asked)
        if model is not None:
            self.wanted.read |= {recorder.values.of(p) for p in model.parameters()}
        self.failures: list[str] = []
        self._reached = self.history.reached()
        self._accumulated = self.history.reached(accumulated=True)
        self._cuts: dict[Pass, list[Cut]] = {}

    @property
    def gaps(self) -> bool:
        """Did calls go unseen, or are some forgotten, so that "never used" cannot be said?"""
        return bool(self.recorder.forgotten or self.recorder.unfollowed)

    def only_evaluated(self, leaf: Value) -> bool:
        """Did the model of a leaf never run in training mode, being left alone on purpose?"""
        t = leaf.tensor
        ran = [m for m in (ref() for ref in self.recorder.roots.values()) if m is not None]
        owners = [m for m in ran if any(p is t for p in m.parameters())]
        return bool(owners) and all(id(m) not in self.recorder.in_training for m in owners)

    def missing(self, leaf: Value) -> bool:
        """Did no pass bring a gradient to a leaf, where an optimizer would look for it?"""
        reached = self._accumulated if leaf in self.wanted.held else self._reached
        return reached.get(leaf, set()) <= {NONE}

    def states(self, leaf: Value) -> set[str]:
        """What the gradients were that passes brought to a leaf."""
        return self._reached.get(leaf, set())

    def unjudged(self) -> Named:
        """Parameters without a gradient in models that ran, where no optimizer tells who counts."""
        if self.wanted.optimizers or not any(one.leaves for one in self.history.passes):
            return Named()
        values = [
            self.recorder.values.of(p)
            for root in self.names.roots for p in root.parameters() if p.requires_grad
        ]  # fmt: skip
        return self.names.listed(
            v for v in values if v.readers and self.missing(v) and v not in self.asked
        )

    def unheld(self) -> Named:
        """Parameters with a gradient that no optimizer holds, where none was seen being made."""
        if self.history.of("optimizer") or not self.history.of("step"):
            return Named()
        return self.names.listed(
            v for v, states in self._accumulated.items()
            if v.parameter and FINE in states and v not in self.wanted.held
        )  # fmt: skip

    def cuts(self, one: Pass) -> list[Cut]:
        """Where the gradient's way ends in the calls before a pass."""
        if one not in self._cuts:
            self._cuts[one] = self.history.flow(one).cuts()
        return self._cuts[one]

    def dead_behind(self, flow: Flow, last) -> list[Cut]:
        """The cuts behind a call whose result is outside of the graph, nearest to it."""
        cuts = {}
        for cut in flow.cuts():
            cuts.setdefault(cut.call, cut)
        found, seen, waiting = [], {last}, [last]
        while waiting:
            call = waiting.pop()
            if call in cuts:
                found.append(cuts[call])
                continue
            for value, how in zip(call.inputs, call.standing, strict=False):
                if how != DEAD:
                    continue
                for maker in _makers(value, call):
                    if maker not in seen:
                        seen.add(maker)
                        waiting.append(maker)
        return found


def _makers(value: Value, reader) -> list:
    found = [value.made] if value.made is not None else []
    found += [call for call in value.wrote if call.number < reader.number]
    return found
