"""What are learners handed to write the tape? An operator and the mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

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


class GradMode:
    """Are operators recorded? `GradMode.enabled` says so, for the whole MiniTorch."""

    enabled = True
