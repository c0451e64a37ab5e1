"""What does autograd write down while values are computed? Piece 3 of MiniTorch: the tape.

Values and history are two lines apart. A kernel computes; afterwards `record` gives its output a
node, and the node's edges lead to where the gradients of the arguments belong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import NamedTuple
from weakref import ref

from .given import alias
from .storage import Tensor
from .tracking import GradMode, Op
from .versions import Saved

sequence = count()


class Edge(NamedTuple):
    """Where does a gradient go? To `node`, at the `sizes` of the tensor that it belongs to."""

    node: Node
    sizes: tuple[int, ...]


class Node:
    """How does a gradient go back through one operator? By a formula and what was saved for it.

    Args: `name`, of the operator; `formula`, as in `Op`; `edges`, one for each gradient that the
    formula returns, None where nobody needs it; `saved`, what the formula gets after the gradient:
    `Saved` tensors, and sizes and numbers as they are.
    Nodes made later have a higher `sequence_nr`.

    >>> node = Node("view", lambda grad, sizes: (grad, sizes), (), ((2, 3),))
    >>> node("a gradient"), node.sequence_nr < Node("add", None, (), ()).sequence_nr
    (('a gradient', (2, 3)), True)
    """

    def __init__(
        self,
        name: str,
        formula: Callable[..., tuple[Tensor | None, ...]],
        edges: Sequence[Edge | None],
        saved: Sequence[object],
    ) -> None:
        self.name, self.formula = name, formula
        self.edges, self.saved = tuple(edges), tuple(saved)
        self.sequence_nr = next(sequence)

    def __call__(self, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Which gradients go out, one for each edge, when `grad` has come in?

        Raises RuntimeError if a saved tensor has been freed, or written since it was saved.
        """
        saved = [s.unpack(self) if isinstance(s, Saved) else s for s in self.saved]
        return self.formula(grad, *saved)

    def release(self) -> None:
        """Free the saved tensors. Sizes and numbers stay: a node without tensors runs again."""
        for s in self.saved:
            if isinstance(s, Saved):
                s.tensor = None

    def __repr__(self) -> str:
        return self.name


def edge_of(t: Tensor) -> Edge | None:
    """Where does the gradient of `t` go?

    Returns an edge to the node that made `t`; for a leaf that requires a gradient, to its
    `AccumulateGrad`, one and the same for as long as anything holds it; else None. The leaf holds
    it by a weak reference in `t.accumulator`: it holds the leaf.
    """
    from .backward import AccumulateGrad  # here, since it records what it computes

    if t.grad_fn is not None:
        return Edge(t.grad_fn, t.sizes)
    if not t.requires_grad:
        return None
    node = t.accumulator and t.accumulator()
    if node is None:
        node = AccumulateGrad(t)
        t.accumulator = ref(node)
    return Edge(node, t.sizes)


@contextmanager
def grad_mode(on: bool) -> Iterator[None]:
    """Record operators, or do not, inside a `with`; afterwards as before, even after an error.

    >>> with grad_mode(False):
    ...     GradMode.enabled
    False
    >>> GradMode.enabled
    True
    """
    before, GradMode.enabled = GradMode.enabled, on
    try:
        yield
    finally:
        GradMode.enabled = before


def record(op: Op, out: Tensor, args: Sequence[object]) -> None:
    """Give the output of an operator its node, if a gradient is to go back through it.

    Args: `op`; `out`, which its kernel has computed from `args`.
    Where the mode is on and a tensor among `args` requires a gradient, `out` requires one too, and
    its node has an edge for each of these tensors.
    """
    tensors = [a for a in args if isinstance(a, Tensor)]
    if not (GradMode.enabled and any(t.requires_grad for t in tensors)):
        return
    edges = [edge_of(t) for t in tensors]
    out.requires_grad, out.grad_fn = True, Node(op.name, op.formula, edges, _saved(op, out, args))


def _saved(op: Op, out: Tensor, args: Sequence[object]) -> list[object]:
    """What the formula of `op` will need, and no more."""
    if op.saves == "sizes":
        return [a.sizes if isinstance(a, Tensor) else a for a in args]
    if op.saves == "output":
        return [Saved(out, is_output=True)]
    if op.saves == "partners":
        others = [(*args[:i], *args[i + 1 :]) for i in range(len(args))]
        needed = [any(t.requires_grad for t in partners) for partners in others]
        return [Saved(t) if need else None for t, need in zip(args, needed, strict=True)]
    return []


def detach(t: Tensor) -> Tensor:
    """Which tensor has the values of `t`, in the same storage, and none of its history?

    The history of `t` itself stays, and so does that of its other views. Both have one version:
    a write to either is a write to the other.
    """
    out = alias(t, t.sizes, t.strides)
    out.version = t.version
    return out
