"""In which order do gradients go back, and where do they add up? Piece 4 of MiniTorch: the engine.

There are two sums, and they are kept apart. What reaches one node is added up before the node
runs; what reaches a leaf is added to its `grad`, which lives on from one backward to the next.
"""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush
from itertools import count
from math import prod

from .dispatch import call
from .given import new
from .ops import reduce_to
from .storage import Tensor
from .tape import Edge, Node, edge_of, grad_mode
from .tracking import GradMode


class AccumulateGrad(Node):
    """Where does a gradient end? In the `grad` of a leaf.

    It saves nothing, sends nothing on, and has the highest sequence number there is, so it runs as
    soon as it is ready.
    """

    def __init__(self, variable: Tensor) -> None:
        self.name, self.edges, self.saved = "AccumulateGrad", (), ()
        self.variable, self.sequence_nr = variable, 2**64 - 1

    def __call__(self, grad: Tensor) -> tuple[()]:
        """Add `grad` to that of the leaf.

        The first one is copied: several leaves may get the same. Later ones are added to it in
        place, unless the sum is itself to be differentiated.
        """
        have = self.variable.grad
        if have is None:
            self.variable.grad = call("clone", grad)
        elif GradMode.enabled:
            self.variable.grad = call("add", have, grad)
        else:
            call("add_", have, grad)
        return ()


def backward(
    root: Tensor,
    grad: Tensor | None = None,
    retain_graph: bool = False,
    create_graph: bool = False,
) -> list[str]:
    """Send a gradient from `root` back to the leaves.

    Args: `grad`, of the sizes of `root`; may be left out where `root` has one value, and is 1 then.
    `retain_graph` keeps the saved tensors for another backward. `create_graph` records what the
    formulas compute, so that the gradients can be differentiated; it keeps the saved tensors too.
    Returns the names of the nodes in the order in which they ran.
    Raises RuntimeError if `root` requires no gradient, if it needs a `grad` and if a saved tensor
    has been freed or written; ValueError if `grad` has other sizes.

    >>> x = new([3], ())
    >>> x.requires_grad = True
    >>> backward(call("mul", x, x)), list(x.grad)
    (['mul', 'AccumulateGrad'], [6.0])
    """
    start = edge_of(root)
    if start is None:
        raise RuntimeError(
            f"A backward was asked for from {root}. It requires no gradient, so no history leads "
            "to a leaf. Set requires_grad on a leaf before computing."
        )
    missing = _dependencies(start.node)
    arrived = {start.node: _first_gradient(root, grad)}
    turns, ran = count(), []  # of two nodes with one sequence number the first to come runs first
    ready = [(-start.node.sequence_nr, next(turns), start.node)]
    with grad_mode(create_graph):
        while ready:
            node = heappop(ready)[-1]
            ran.append(node.name)
            for edge, piece in _sent(node, arrived.pop(node)):
                have = arrived.get(edge.node)
                arrived[edge.node] = piece if have is None else call("add", have, piece)
                missing[edge.node] -= 1
                if missing[edge.node] == 0:
                    heappush(ready, (-edge.node.sequence_nr, next(turns), edge.node))
            if not (retain_graph or create_graph):
                node.release()
    return ran


def _dependencies(root: Node) -> Counter[Node]:
    """How many edges lead to each node from the nodes that will run? Without recursion."""
    missing, reached, waiting = Counter(), {root}, [root]
    while waiting:
        for edge in waiting.pop().edges:
            if edge is None:
                continue
            missing[edge.node] += 1
            if edge.node not in reached:
                reached.add(edge.node)
                waiting.append(edge.node)
    return missing


def _sent(node: Node, grad: Tensor) -> list[tuple[Edge, Tensor]]:
    """What a node sends along its edges: each gradient with its broadcast undone.

    All are undone before one is added up. With `create_graph` that decides the sequence numbers.
    """
    pieces = zip(node.edges, node(grad), strict=True)
    return [(edge, reduce_to(piece, edge.sizes)) for edge, piece in pieces if edge is not None]


def _first_gradient(root: Tensor, grad: Tensor | None) -> Tensor:
    """The gradient that the root starts with."""
    if grad is None:
        if prod(root.sizes) != 1:
            raise RuntimeError(
                f"A backward was asked for from {root} without a gradient. Only for one value is "
                "it 1. Give a grad with the sizes of the root."
            )
        return new([1], root.sizes, root.dtype)
    if grad.sizes != root.sizes:
        raise ValueError(
            f"A backward was asked for from {root} with a gradient of sizes {grad.sizes}. A "
            "gradient has the sizes of its tensor. Give one with those of the root."
        )
    return grad
