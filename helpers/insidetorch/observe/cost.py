"""What does it cost? Times of calls, measured side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter

import torch


def times(fns: Mapping[str, Callable[[], object]], *, rounds: int = 30) -> dict[str, float]:
    """How long does each of these functions take, measured in turn, in microseconds?

    Args: `fns` maps names to functions without arguments; each runs once before the measurement
    and then `rounds` times, one after the other, so that a busy machine slows all alike.
    Returns the shortest time of each. With one thread, and without gradients.

    >>> sorted(times({"a": lambda: None, "b": lambda: None}, rounds=2))
    ['a', 'b']
    """
    if rounds < 1:
        raise ValueError(
            f"{rounds} rounds of measurement were asked. A time needs at least one. Give 1 or more."
        )
    threads = torch.get_num_threads()
    best = dict.fromkeys(fns, float("inf"))
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            for fn in fns.values():
                fn()
            for _ in range(rounds):
                for name, fn in fns.items():
                    start = perf_counter()
                    fn()
                    best[name] = min(best[name], (perf_counter() - start) * 1e6)
    finally:
        torch.set_num_threads(threads)
    return best
