"""What does `trace` cost, beside the same calls without it?

Many calls in one trace are measured, plain and traced rounds in turn; what entering the trace takes
is told apart. Beside it: torch's own counter of operations, which sees the same operators.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
from machine import load, machine
from torch.utils.flop_counter import FlopCounterMode

from insidetorch import count, trace

ROUNDS = 9


def cases() -> dict[str, tuple[Callable[[], object], int]]:
    """A call, and how often it is made in one trace."""
    small, other = torch.ones(8), torch.ones(8)
    large, result = torch.ones(4_000_000), torch.ones(4_000_000)
    batch = torch.ones(64, 256)
    matrix = torch.ones(512, 512)
    layer = torch.nn.Linear(256, 256)
    return {
        "a + b of 8 elements": (lambda: small + other, 1000),
        "a + b of 4,000,000 elements": (lambda: torch.add(large, large, out=result), 20),
        "512 × 512 matrix product": (lambda: matrix @ matrix, 20),
        "Linear(256, 256), 64 rows, both passes": (lambda: layer(batch).sum().backward(), 100),
    }


def repeated(fn: Callable[[], object], calls: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(calls):
            fn()

    return run


def counted(fn: Callable[[], None]) -> None:
    with FlopCounterMode(display=False):
        fn()


def microseconds(fn: Callable[[], object]) -> float:
    start = time.perf_counter()
    fn()
    return (time.perf_counter() - start) * 1e6


def main() -> None:
    torch.set_num_threads(1)
    print(machine())
    print(load())
    for name, (fn, calls) in cases().items():
        run = repeated(fn, calls)
        ways = {
            "plain": run,
            "trace": lambda run=run: trace(run),
            "count": lambda run=run: count(run),
            "flops": lambda run=run: counted(run),
        }
        found: dict[str, list[float]] = {way: [] for way in ways}
        for way in ways.values():
            way()
        for _ in range(ROUNDS):
            for way, measured in ways.items():
                found[way].append(microseconds(measured) / calls)
        plain = found["plain"]
        ratios = {
            way: statistics.median(t / p for t, p in zip(times, plain, strict=True))
            for way, times in found.items()
        }
        told = ", ".join(f"{way} {ratios[way]:.2f} ×" for way in ("trace", "count", "flops"))
        print(f"{name:40} plain {statistics.median(plain):9.1f} µs a call; {told}")
    small, other = torch.ones(8), torch.ones(8)
    once = statistics.median(microseconds(lambda: trace(lambda: small + other)) for _ in range(200))
    print(f"one trace of one such addition: {once:.0f} µs")
    print(load())


if __name__ == "__main__":
    main()
