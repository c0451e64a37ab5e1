"""Whether the result of an operator requires a gradient."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tracked:
    """What torch says of one operator under one mode.

    `requires_grad`, `is_leaf` and `is_view` are those of the result, `node` the name of its
    `grad_fn`, "" for none. `refusal` holds torch's words where the call is an error.
    """

    operator: str
    mode: str
    requires_grad: bool
    is_leaf: bool
    is_view: bool = False
    node: str = ""
    refusal: str = ""
