"""What are learners handed for views that are written? A base, its views, and their new history.

A write to one of them changes the values of the others, so it has to change their histories too:
the base's becomes that of the write, and each view's that of the base and of the operators that
made the view.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import ref

from .dispatch import call
from .layers import Dispatcher
from .storage import Tensor
from .tape import Node, edge_of, record
from .tracking import GradMode

Steps = Sequence[tuple[str, tuple[object, ...]]]


class CopySlices(Node):
    """How does a gradient go back through a write to a part of a tensor? Around the part, too.

    Args: `base`, before the write; `steps`, which lead from it to the part; `write`, the node of
    the write as if the part had no base.
    As in torch, a backward that retains nothing frees the node of the write whole.
    """

    def __init__(self, base: Tensor, steps: Steps, write: Node) -> None:
        super().__init__("CopySlices", None, (edge_of(base), *write.edges[1:]), ())
        self.steps, self.write = steps, write

    def __call__(self, grad: Tensor) -> tuple[Tensor | None, ...]:
        """The base's gradient is `grad`, but for the part; the others' are those of the part.

        Raises RuntimeError if the write has been freed, and as its node does.
        """
        if self.write is None:
            raise RuntimeError(
                f"The node {self} was asked to run. An earlier backward has freed the write that "
                "it leads to. Let the earlier one run with retain_graph=True."
            )
        whole = part = call("clone", grad)
        for op, args in self.steps:
            part = call(op, part, *args)
        inside, *others = self.write(call("clone", part))
        if inside is not None:
            call("copy_", part, inside)
        return (whole, *others)

    def release(self) -> None:
        """Free the write."""
        self.write = None


def join(out: Tensor, t: Tensor, op: str, args: tuple[object, ...]) -> None:
    """Make `out`, which the operator has made of `t`, a view of the base of `t`.

    Its `base` is the one at the root, its `steps` are the operators that lead there from it. If
    operators are not recorded they are None: such a view takes no part in the history of its base.
    """
    out.base = t if t.base is None else t.base
    if not GradMode.enabled or t.steps is None:
        out.steps = None
        return
    out.steps = (*t.steps, (op, args))
    out.base.views = [*(view for view in out.base.views if view() is not None), ref(out)]


def rebase(t: Tensor, node: Node) -> None:
    """Give `t`, which was written, the history of the write, and the other views of its base too.

    Args: `node`, of the write, as if `t` had no base.
    """
    base = t if t.base is None else t.base
    base.grad_fn = node if base is t else CopySlices(base, t.steps, node)
    base.requires_grad = True
    for view in [found() for found in base.views]:
        if view is not None:
            view.requires_grad, view.grad_fn = True, _made_again(base, view.steps).grad_fn


def _made_again(t: Tensor, steps: Steps) -> Tensor:
    """The view that these steps make of a base, with a history; no layer takes it for a new one."""
    for name, args in steps:
        op = Dispatcher.ops[name]
        out = op.kernel(t, *args)
        record(op, out, (t, *args))
        t = out
    return t
