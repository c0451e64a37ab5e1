"""What are learners handed to write the dispatcher? The layers, and the table of their kernels."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import ClassVar

from .storage import Tensor
from .tracking import Op


class Key(IntEnum):
    """In which layer does a kernel stand? A call goes from the highest down.

    The names and their order are those of torch, which has more of them. The lowest computes; each
    other one does something of its own and lets the call go on below. No key stands for a dtype,
    and none for `requires_grad`.
    """

    CPU = 0
    Python = 1
    ADInplaceOrView = 2
    Autograd = 3


class Fallthrough:
    """The fallback of a layer that lets a call by: the next key below is tried."""


class Dispatcher:
    """Which kernel does an operator have in which layer, and what do modes say about the layers?

    `ops` and `kernels` have an entry for each operator. A kernel is called with the operator's
    name, the keys below its own and the arguments. `fallbacks` has what a layer does for an
    operator that has no kernel there: such a kernel too, or `Fallthrough`. `tracking` has
    such a kernel for each kind, "view" and "write": what ADInplaceOrView does for it.
    Every call tries the keys in `included` beside those of its arguments, and none in `excluded`.
    """

    ops: ClassVar[dict[str, Op]] = {}
    kernels: ClassVar[dict[str, dict[Key, Callable[..., Tensor]]]] = {}
    fallbacks: ClassVar[dict[Key, Callable[..., Tensor] | type[Fallthrough]]] = {
        Key.Python: Fallthrough,
        Key.ADInplaceOrView: Fallthrough,
        Key.Autograd: Fallthrough,
    }
    tracking: ClassVar[dict[str, Callable[..., Tensor]]] = {}
    included: frozenset[Key] = frozenset({Key.ADInplaceOrView})
    excluded: frozenset[Key] = frozenset()
