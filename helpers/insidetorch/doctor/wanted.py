"""Which leaves does the user want a gradient for?"""

from __future__ import annotations

from torch import nn

from .history import History
from .names import Names
from .values import Value

_CERTAIN = {"detach", "no_grad"}  # ways to leave the graph that are often meant


class Wanted:
    """Who wants a gradient: optimizers, questions, and what is left when there are neither."""

    def __init__(self, history: History, names: Names, asked: list[Value]) -> None:
        self.history = history
        self.asked = set(asked)
        self.read = {event.subject for event in history.of("read")}
        self.held = {v for event in history.of("optimizer") for v in event.note["held"]}
        self.held |= {v for event in history.of("step") for v in event.note["held"]}
        self.optimizers = bool(history.of("optimizer") or history.of("step"))
        self._copied = {
            v for call in history.calls if call.name == "__deepcopy__" for v in call.outputs
        }
        self._names = names

    def wants(self, leaf: Value, kind: str = "") -> bool:
        """Should a leaf that got no gradient have had one?"""
        t = leaf.tensor
        if t is None or not t.requires_grad:
            return False
        if leaf in self.asked or leaf in self.read:
            return True
        if self.optimizers:
            return leaf in self.held or not isinstance(t, nn.Parameter)
        if kind == "create_graph_missing":  # a gradient that is used, as in sampling
            return False
        return not (kind in _CERTAIN and (leaf in self._copied or self._in_evaluation(t)))

    def _in_evaluation(self, t) -> bool:
        """Does it belong to a module that was put into eval mode?"""
        for root in self._names.roots:
            for module in root.modules():
                if not module.training and any(p is t for p in module.parameters(recurse=False)):
                    return True
        return False
