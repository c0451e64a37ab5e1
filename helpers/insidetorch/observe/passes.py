"""Which backward passes does this code run, and what do they do to `.grad`?"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from traceback import walk_tb

import torch
from torch.autograd.graph import GradientEdge
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.overrides import has_torch_function

from ..records import Graph, Leaf, OptimizerStep, Pass, Passes, Place
from . import private_nodes, watched_backward
from .backward import first_sentence, gradient_of, recording
from .graph import graph_of, nodes_below
from .places import current_place, is_users, place_of
from .recorder import ForwardRecorder


def record_passes(
    fn: Callable[[], object],
    *,
    module: torch.nn.Module | None = None,
    names: Mapping[str, object] | None = None,
) -> Passes:
    """Run some code, such as a training step or an epoch, and record each backward pass in it.

    Args: `fn`, called once, without arguments; `module` and `names` name the leaves, as for
    `graph_of`.
    Returns `Passes`: every call of `Tensor.backward` and `torch.autograd.backward`, with what its
    nodes received and sent and what `.grad` held before and after, and every step of an optimizer.
    Passes in other threads, and from a GradientEdge, are counted only. `backward` imported by its
    name before, and `torch.autograd.grad`, are not seen. `fn` does what it does without recording,
    but for compiled functions (see `ForwardRecorder`). What it raises is part of the record, and
    not raised.

    >>> x = torch.ones(1, requires_grad=True)
    >>> both = record_passes(lambda: [(x * 2).sum().backward() for _ in range(2)])
    >>> [one.backward.steps[-1].after.values for one in both.passes]
    [(2.0,), (4.0,)]

    Source: torch.autograd.backward, which Tensor.backward calls (2.13).
    """
    error, place = "", None
    with ForwardRecorder(module) as forward, _Watch(forward, module, names or {}) as watch:
        try:
            fn()
        except Exception as raised:
            error = ": ".join(filter(None, (type(raised).__name__, first_sentence(raised))))
            place = _raised_at(raised)
    return Passes(tuple(watch.events), error, place, watch.unseen)


class _Watch:
    """Records every call of torch.autograd.backward in its thread while it is entered."""

    def __init__(
        self,
        forward: ForwardRecorder,
        module: torch.nn.Module | None,
        names: Mapping[str, object],
    ) -> None:
        self.events: list[Pass | OptimizerStep | None] = []
        self.unseen = 0
        self._known = {"module": module, "names": names, "forward": forward}
        self.thread = threading.get_ident()
        self._begun = 0
        self._running: list[int] = []
        self._ran = _Remembered()  # in which pass a node ran first
        self._leaves = _Remembered()  # the number of a leaf

    def __enter__(self) -> _Watch:
        self._hook = register_optimizer_step_post_hook(self._stepped)
        watched_backward.begin(self)
        return self

    def __exit__(self, *_: object) -> None:
        watched_backward.end(self)
        self._hook.remove()

    def _stepped(self, optimizer: torch.optim.Optimizer, *_: object) -> None:
        if threading.get_ident() == self.thread:
            self.events.append(OptimizerStep(type(optimizer).__name__, current_place()))

    def missed(self) -> None:
        """Another thread has run a pass."""
        self.unseen += 1

    def called(self, plain: Callable, tensors: object, *args: object, **how: object) -> None:
        """This thread runs a pass."""
        if isinstance(tensors, torch.Tensor | GradientEdge):
            tensors = (tensors,)
        roots = tuple(tensors)
        if has_torch_function(roots):  # a subclass or a mode, which calls this function again
            return plain(roots, *args, **how)
        graph = self._graph_of(roots)
        if graph is None or not graph.nodes:
            plain(roots, *args, **how)  # torch may say why there is no pass
            self.unseen += graph is None
            return None
        return self._record(roots, graph, lambda: plain(roots, *args, **how))

    def _graph_of(self, roots: Sequence[object]) -> Graph | None:
        """None where this class cannot look: an edge as root, or a tensor that cannot be read."""
        if not all(isinstance(root, torch.Tensor) for root in roots):
            return None
        try:
            return graph_of(roots, **self._known)
        except Exception:  # looking must not end the user's run
            return None

    def _record(self, roots: Sequence[torch.Tensor], graph: Graph, run: Callable) -> None:
        nodes = nodes_below(roots)
        inner = {
            one.number: private_nodes.hooks_dict(nodes[one.number])
            for one in graph.nodes
            if not one.is_leaf
        }
        earlier = {k: self._ran.get(hooks) for k, hooks in inner.items()}
        leaves = tuple(self._leaf(one.number, nodes[one.number].variable) for one in graph.leaves)
        del nodes
        place, inside = current_place(), self._running[-1] if self._running else 0
        slot = len(self.events)  # passes inside of this one come after it
        self.events.append(None)
        self._begun += 1
        self._running.append(self._begun)
        try:
            with recording(roots, graph) as recorder:
                run()
        finally:
            number = self._running.pop()
            again = {k: first for k, first in earlier.items() if first}
            self.events[slot] = Pass(recorder.found, place, inside, leaves, again)
            for step in recorder.found.steps:
                if step.sent and step.node in inner and step.node not in again:
                    self._ran.set(inner[step.node], number)

    def _leaf(self, node: int, leaf: torch.Tensor) -> Leaf:
        number = self._leaves.get(leaf)
        if not number:
            number = self._leaves.set(leaf, self._leaves.count + 1)
        return Leaf(node, number, gradient_of(leaf))


class _Remembered:
    """A number for each object, by identity, which keeps none of them alive."""

    def __init__(self) -> None:
        self.count = 0
        self._found: dict[int, tuple[weakref.ref, int]] = {}

    def get(self, one: object) -> int:
        """The number of an object, 0 if it has none."""
        there, number = self._found.get(id(one), (None, 0))
        return number if there is not None and there() is one else 0

    def set(self, one: object, number: int) -> int:
        self.count += 1
        self._found[id(one)] = weakref.ref(one), number
        return number


def _raised_at(error: BaseException) -> Place | None:
    """The innermost line of the user's that was running."""
    lines = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    users = [place for place in lines if is_users(place[0])]
    return place_of(*users[-1]) if users else None
