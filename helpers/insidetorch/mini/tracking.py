"""What are learners handed to write the tape? An operator, a saved tensor and the mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .given import alias
from .storage import Tensor


class Op(NamedTuple):
    """What is an operator? Its name, how it computes, and how a gradient goes back through it.

    `kernel` computes and knows nothing of gradients. `formula` gets the gradient of the output and
    then what `saves` names, and returns one gradient for each tensor among the arguments:

    - `"sizes"`: the arguments, with its sizes in the place of each tensor;
    - `"partners"`: each tensor if another one requires a gradient, else None;
    - `"output"`: the output;
    - `""`: nothing.

    Of use from piece 5 on: an operator without a `formula` is not recorded, and `kind` is "view"
    if its result reads the memory of its tensor, "write" if it changes that, else "".
    """

    name: str
    kernel: Callable[..., Tensor]
    formula: Callable[..., tuple[Tensor | None, ...]] | None = None
    saves: str = ""
    kind: str = ""


class Saved:
    """What does a node keep of a tensor? The tensor, until it is freed.

    An output is kept without its history. Else it would hold the node that holds it, and neither
    would ever be let go; `unpack` gives the history back.

    >>> from insidetorch.mini import new
    >>> t = new([1, 2], (2,))
    >>> Saved(t).unpack(None) is t, Saved(t, is_output=True).tensor is t
    (True, False)
    """

    def __init__(self, t: Tensor, is_output: bool = False) -> None:
        self.tensor: Tensor | None = alias(t, t.sizes, t.strides) if is_output else t
        self.is_output = is_output

    def unpack(self, node: object) -> Tensor:
        """Give the tensor back to `node`, which keeps it.

        Raises RuntimeError if it has been freed.
        """
        if self.tensor is None:
            raise RuntimeError(
                f"The node {node} was asked to run. An earlier backward has freed the tensors "
                "that it had saved. Let the earlier one run with retain_graph=True."
            )
        if not self.is_output:
            return self.tensor
        t = alias(self.tensor, self.tensor.sizes, self.tensor.strides)
        t.requires_grad, t.grad_fn = True, node
        return t


class GradMode:
    """Are operators recorded? `GradMode.enabled` says so, for the whole MiniTorch."""

    enabled = True
