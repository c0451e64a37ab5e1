"""How long does it take to tell what two tensors of 100 million elements share?

Beside it: the same answer from sets of bits, which list every element.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
from machine import load, machine

from insidetorch import footprint, relation

ROUNDS = 20
SIDE = 10_000


def pairs() -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    x = torch.empty(SIDE * SIDE)
    m = x.view(SIDE, SIDE)
    return {
        "a matrix and its transpose": (m, m.t()),
        "even and odd elements": (x[::2], x[1::2]),
        "left and right half": (m[:, : SIDE // 2], m[:, SIDE // 2 :]),
        "every 3rd row, every 5th column": (m[::3, ::7], m[1:, ::5].t()),
        "overlapping windows and all": (x.unfold(0, 3, 1), x),
        "float32 and its bytes": (x, x.view(torch.int8)[1:]),
    }


def by_bits(a: torch.Tensor, b: torch.Tensor) -> int:
    """The shared bytes, by listing all elements: needs one element size."""
    sets = [footprint.element_set(t.shape, t.stride(), t.storage_offset()) for t in (a, b)]
    return (sets[0] & sets[1]).bit_count() * a.element_size()


def milliseconds(fn: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        fn()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def main() -> None:
    print(machine())
    print(load())
    for name, (a, b) in pairs().items():
        found = relation(a, b)
        ours = milliseconds(lambda a=a, b=b: relation(a, b), ROUNDS)
        line = f"{name:32} {ours:7.3f} ms"
        if a.dtype == b.dtype:
            assert by_bits(a, b) == found.common_bytes
            bits = milliseconds(lambda a=a, b=b: by_bits(a, b), 3)
            line += f", by bits {bits:7.1f} ms ({bits / ours:,.0f} ×)"
        print(f"{line}   {found.words}")
    print(load())


if __name__ == "__main__":
    main()
