"""Whose version moves? Piece 6 of MiniTorch: the layer ADInplaceOrView.

It stands below that of autograd, so versions move and are shared in any mode.
"""

from __future__ import annotations

from collections.abc import Set

from .dispatch import redispatch
from .families import join
from .layers import Dispatcher, Key
from .storage import Tensor


def track_view(op: str, keys: Set[Key], t: Tensor, *args: object) -> Tensor:
    """The layer's kernel for an operator whose result reads the memory of `t`.

    The result shares the version counter of `t`, and joins the views of its base.

    >>> from insidetorch.mini import call, new
    >>> t = new(range(6), (2, 3))
    >>> row = call("narrow", call("permute", t, (1, 0)), 1, 0, 1)
    >>> row.version is t.version, row.base is t
    (True, True)
    """
    out = redispatch(op, keys, t, *args)
    out.version = t.version
    join(out, t, op, args)
    return out


def bump(op: str, keys: Set[Key], t: Tensor, *args: object) -> Tensor:
    """The layer's kernel for an operator that writes to `t`: afterwards the version is one more.

    A write that the kernel below refuses moves nothing.

    >>> from insidetorch.mini import call, new
    >>> t = new([1, 2], (2,))
    >>> list(call("add_", call("view", t, (2, 1)), new([10], ()))), t.version.value
    ([11.0, 12.0], 1)
    """
    out = redispatch(op, keys, t, *args)
    t.version.value += 1
    return out


Dispatcher.tracking.update(view=track_view, write=bump)
