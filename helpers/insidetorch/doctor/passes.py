"""What a backward pass did: which leaves it reached, and where a gradient was lost or spoiled."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from ..observe import private, private_doctor, private_nodes
from .calls import Call
from .stacks import Stack
from .values import Value

if TYPE_CHECKING:
    from .recorder import Recorder

NONE, ZERO, BAD, FINE = "none", "zero", "not finite", "fine"
MOST_BYTES = 1 << 28  # of gradients that wait for the end of a pass


@dataclass(slots=True, eq=False)
class Node:
    """One node of the graph in one pass, and the state of what came in and went out."""

    name: str
    call: Call | None
    below: tuple[tuple[Node | None, int], ...] = ()
    leaf: Value | None = None
    came: tuple = ()
    went: tuple = ()
    ran: bool = False
    saved: dict = field(default_factory=dict)
    overshoot: float = float("inf")
    function: type | None = None  # whose backward it runs, for a custom function


@dataclass(slots=True, eq=False)
class Pass:
    """One run of the engine.

    `leaves` says of each leaf that was reached what its gradient was in this pass; `added` are
    those that had a gradient already. `nodes` are kept only where something was wrong.
    """

    number: int
    at: int
    stack: Stack
    roots: tuple[Value, ...]
    retain: bool
    create: bool
    accumulate: bool
    inputs: tuple[Value, ...]
    inside: int = 0
    order: int = 0
    leaves: dict[Value, str] = field(default_factory=dict)
    added: tuple[Value, ...] = ()
    nodes: list[Node] = field(default_factory=list)
    visited: set[int] = field(default_factory=set)
    results: tuple[Value | None, ...] = ()
    error: BaseException | None = None
    bad_root: bool = False
    late: list[tuple[Node, str, Call]] = field(default_factory=list)
    victims: list[tuple[str, Node, int, int]] = field(default_factory=list)


class Watch:
    """Watches one run of the engine through hooks that it takes away again."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.held = 0
        self.handles: list = []
        self.nodes: dict[object, Node] = {}

    def begin(self, roots: tuple) -> None:
        """Set hooks on all nodes behind these tensors."""
        for root in roots:
            node = root.grad_fn if isinstance(root, torch.Tensor) else getattr(root, "node", None)
            if node is None and isinstance(root, torch.Tensor) and root.requires_grad:
                continue
            self._walk(node)

    def _walk(self, root: object) -> None:
        waiting = [root] if root is not None and root not in self.nodes else []
        for one in waiting:
            self.nodes[one] = None
        while waiting:
            node = waiting.pop()
            self.nodes[node] = self._node(node)
            for below, _ in node.next_functions:
                if below is not None and below not in self.nodes:
                    self.nodes[below] = None
                    waiting.append(below)

    def _node(self, node: object) -> Node:
        variable = getattr(node, "variable", None)
        if variable is not None and isinstance(variable, torch.Tensor):
            made = Node("AccumulateGrad", None, leaf=self.recorder.values.of(variable))
            self.handles.append(node.register_prehook(lambda came: self._leaf(made, came)))
            return made
        name = private_nodes.name_of(node)
        made = Node(name, self.recorder.nodes.call_of(node))
        made.function = private_nodes.function_of(node)
        self.handles.append(node.register_hook(lambda went, came: self._ran(made, went, came)))
        if name.startswith(_LOOKED_AT):  # what it has saved can be read while it runs, no longer
            self.handles.append(
                node.register_hook(lambda *_: self.recorder.guarded(_look_at, made, node))
            )
        return made

    def link(self) -> None:
        """Tell each node what lies below it."""
        for node, made in self.nodes.items():
            made.below = tuple(
                (self.nodes.get(below) if below is not None else None, index)
                for below, index in node.next_functions
            )

    def _leaf(self, made: Node, came: tuple) -> None:
        made.came, made.ran = self._keep(came), True

    def _ran(self, made: Node, went: tuple, came: tuple) -> None:
        made.came, made.went, made.ran = self._keep(came), self._keep(went), True

    def _keep(self, grads: tuple) -> tuple:
        if self.held > MOST_BYTES:
            return tuple(self.recorder.guarded(states, grads) or ())
        for g in grads:
            if g is not None and g.layout == torch.strided:
                self.held += g.nbytes
        return grads

    def finish(self) -> None:
        for handle in self.handles:
            handle.remove()


_LOOKED_AT = ("Clamp", "Softmax", "LogSoftmax")


def _look_at(made: Node, node: object) -> None:
    with private.unseen(), torch.no_grad():
        if made.name.startswith("Clamp"):
            made.overshoot = private_doctor.overshoot(node)
        elif private_doctor.softmax_is_nan(node):
            made.saved["result"] = BAD


def size_below(node: object, index: int) -> tuple | None:
    """Of what size is the gradient that a node receives as its input of this number?"""
    sizes = private_nodes.received_sizes(node)
    if sizes and index < len(sizes):
        return sizes[index]
    variable = getattr(node, "variable", None)
    return tuple(variable.shape) if isinstance(variable, torch.Tensor) else None


def states(grads) -> list[str]:
    """Of each gradient: none, all zero, not finite, or fine."""
    found = [one if isinstance(one, str) else NONE for one in grads]
    with private.unseen(), torch.no_grad():
        places, tensors = [], []
        for k, g in enumerate(grads):
            if g is None or isinstance(g, str):
                continue
            g = g.detach()
            if g.layout != torch.strided:
                try:
                    g = g.coalesce().values() if g.layout == torch.sparse_coo else g.values()
                except (RuntimeError, NotImplementedError):
                    found[k] = FINE
                    continue
            if not (g.is_floating_point() or g.is_complex()) or g.is_meta:
                found[k] = FINE
            elif g.numel() == 0:
                found[k] = ZERO
            else:
                places.append(k)
                tensors.append(g.abs() if g.is_complex() else g)
        for k, most in zip(places, private_doctor.largest(tensors), strict=True):
            found[k] = ZERO if most == 0 else FINE if most < float("inf") else BAD
    return found
