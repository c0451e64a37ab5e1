"""Does a saved tensor still hold what was saved? Piece 6 of MiniTorch: versions.

A version counts the writes to a storage, not who wrote or what. It moves without regard to
gradients; a backward that needs a saved tensor compares it with the one at saving.
"""

from __future__ import annotations

from .given import alias
from .storage import Tensor
from .tracking import GradMode


class VersionCounter:
    """How often was a storage written in place? `value` says so.

    A tensor shares its counter with its views and with what was detached from it; a tensor with a
    storage of its own has its own.

    >>> VersionCounter().value
    0
    """

    def __init__(self) -> None:
        self.value = 0


class Saved:
    """What does a node keep of a tensor? The tensor, until it is freed, and its version.

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
        self.version, self.expected = t.version, t.version.value

    def unpack(self, node: object) -> Tensor:
        """Give the tensor back to `node`, which keeps it.

        Raises RuntimeError if it has been freed, and if it has been written since it was saved.
        """
        if self.tensor is None:
            raise RuntimeError(
                f"The node {node} was asked to run. An earlier backward has freed the tensors "
                "that it had saved. Let the earlier one run with retain_graph=True."
            )
        if self.version.value != self.expected:
            raise RuntimeError(
                f"The node {node} was asked for a tensor that it had saved at version "
                f"{self.expected}. A write in place has since made that version "
                f"{self.version.value}. Write to a clone, or after the backward."
            )
        if not self.is_output:
            return self.tensor
        t = alias(self.tensor, self.tensor.sizes, self.tensor.strides)
        t.version, t.requires_grad, t.grad_fn = self.version, True, node
        return t


def check_write(t: Tensor) -> None:
    """May `t` be written in place, as far as gradients are concerned?

    Asked before the write. Raises RuntimeError, while operators are recorded, for a leaf that
    requires a gradient, for a view of one, and for a view that was made while none were recorded.
    """
    if not GradMode.enabled:
        return
    if t.steps is None:
        raise RuntimeError(
            f"A write in place was asked for on {t}. It is a view that was made in "
            "grad_mode(False), so its base would not learn of the write. Make the view and write "
            "to it in one mode."
        )
    root = t if t.base is None else t.base
    if root.requires_grad and root.grad_fn is None:
        what = "a leaf" if root is t else "a view of a leaf"
        raise RuntimeError(
            f"A write in place was asked for on {t}. It is {what} that requires a gradient, "
            "and a recorded write would leave no leaf. Write in grad_mode(False), or to a clone."
        )
