"""The graph that autograd has recorded: nodes, edges, and what the nodes keep for backward."""

from __future__ import annotations

from dataclasses import dataclass

from .layout import Sizes, Value
from .steps import Place


@dataclass(frozen=True)
class Saved:
    """Something that a node keeps for its backward formula.

    A tensor has `dtype` and `sizes`; `storage` numbers the storages of the graph, so that two saved
    tensors with the same number share memory. `expected` is the version that it had when it was
    saved, None where that is not known; where it differs from `version`, backward will raise.
    `value` is that of a tensor with one value. For a tensor that was freed by a backward pass, and
    for other values, `text` says all there is.
    """

    name: str
    text: str
    dtype: str = ""
    sizes: Sizes = ()
    nbytes: int = 0
    storage: int = -1
    version: int | None = None
    expected: int | None = None
    freed: bool = False
    value: Value | None = None

    @property
    def is_tensor(self) -> bool:
        return bool(self.dtype)

    @property
    def overwritten(self) -> bool:
        """Was the tensor written in place after it was saved?"""
        return None not in (self.version, self.expected) and self.version != self.expected


@dataclass(frozen=True)
class Edge:
    """Where a gradient goes: to a node, as the gradient of its output number `output_nr`."""

    target: int
    output_nr: int


@dataclass(frozen=True)
class Node:
    """One node. `number` is its place in `Graph.nodes`.

    `edges` has an entry for each input of the forward operator, None where no gradient is needed.
    `age` ranks the nodes by sequence number, 0 the first that was made; None for AccumulateGrad,
    which keeps no order. `outputs` gives the sizes of the gradients that the node receives, one for
    each output of the operator. `leaf` names the tensor of an AccumulateGrad node, "" elsewhere;
    `hooks` counts those that are set on it.
    """

    number: int
    name: str
    edges: tuple[Edge | None, ...]
    outputs: tuple[Sizes, ...]
    age: int | None
    saved: tuple[Saved, ...] = ()
    leaf: str = ""
    leaf_sizes: Sizes = ()
    hooks: int = 0
    place: Place | None = None
    module: str = ""

    @property
    def is_leaf(self) -> bool:
        return self.age is None


@dataclass(frozen=True, repr=False)
class Graph:
    """All nodes that backward from `roots` can reach, in a fixed order, each root first.

    `whole` is False where the walk was ended early; `reason` says why there is no graph, if so.
    """

    nodes: tuple[Node, ...]
    roots: tuple[Edge, ...]
    whole: bool = True
    reason: str = ""

    def __repr__(self) -> str:
        return f"<Graph of {len(self.nodes):,} nodes; show() draws it>"

    @property
    def edge_count(self) -> int:
        return sum(edge is not None for node in self.nodes for edge in node.edges)

    @property
    def saved_bytes(self) -> int:
        """The bytes of all saved tensors that are alive, shared storages counted once each."""
        largest: dict[int, int] = {}
        for node in self.nodes:
            for saved in node.saved:
                if saved.is_tensor and not saved.freed:
                    largest[saved.storage] = max(largest.get(saved.storage, 0), saved.nbytes)
        return sum(largest.values())

    @property
    def leaves(self) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if node.is_leaf)

    def users_of(self, number: int) -> tuple[int, ...]:
        """The nodes that send a gradient to this one, once for each edge."""
        return tuple(
            node.number
            for node in self.nodes
            for edge in node.edges
            if edge is not None and edge.target == number
        )
