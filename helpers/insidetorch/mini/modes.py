"""How does another layer see every operator? A mode of MiniTorch that writes down what runs."""

from __future__ import annotations

from collections.abc import Iterator, Set
from contextlib import contextmanager

from .dispatch import exclude, redispatch
from .layers import Dispatcher, Key
from .storage import Tensor


@contextmanager
def log_mode() -> Iterator[list[str]]:
    """Write down every operator that runs inside a `with`, also those of a backward.

    It is a fallback for the key Python, so it needs no operator to know of it. As a
    `TorchDispatchMode` in torch it stands below autograd: it sees what is computed, not what is
    recorded, and what a kernel below it calls goes through no layer from here up. A mode inside
    another takes its place.

    >>> from insidetorch.mini import call, new
    >>> with log_mode() as seen:
    ...     twice = call("add", new([1], ()), new([1], ()))
    >>> seen
    ['add']
    """
    seen: list[str] = []

    def log(op: str, keys: Set[Key], *args: object) -> Tensor:
        seen.append(op)
        with exclude(*(key for key in Key if key >= Key.Python)):
            return redispatch(op, keys, *args)

    before = Dispatcher.included, Dispatcher.fallbacks[Key.Python]
    Dispatcher.included |= {Key.Python}
    Dispatcher.fallbacks[Key.Python] = log
    try:
        yield seen
    finally:
        Dispatcher.included, Dispatcher.fallbacks[Key.Python] = before
