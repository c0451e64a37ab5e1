"""What does a picture of 10 million elements cost, beside torch's repr and other viewers?

treescope and rainbow-tensor are measured where they can be imported.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from importlib.util import find_spec

import torch
from machine import load, machine

from insidetorch import show

ELEMENTS = 10_000_000
ROUNDS = 20
SLOW_S = 1.0


def ours(t: torch.Tensor) -> str:
    return show(t)._repr_html_()


def treescope_html(t: torch.Tensor) -> str:
    import treescope

    return treescope.render_to_html(t)


def rainbow_html(t: torch.Tensor) -> str:
    import rainbow_tensor

    return rainbow_tensor.shape(t).svg


CASES: dict[str, tuple[str | None, Callable[[torch.Tensor], str]]] = {
    "insidetorch.show": (None, ours),
    "torch's repr": (None, repr),
    "treescope": ("treescope", treescope_html),
    "rainbow-tensor": ("rainbow_tensor", rainbow_html),
}


def measure(fn: Callable[[torch.Tensor], str], t: torch.Tensor) -> tuple[list[float], int]:
    """Milliseconds of each round after a first one, and the bytes of the result."""
    times = []
    for _ in range(ROUNDS + 1):
        gc.collect()
        start = time.perf_counter()
        size = len(fn(t).encode())
        times.append((time.perf_counter() - start) * 1e3)
        if times[0] > SLOW_S * 1e3:  # a single round says enough
            return times, size
    return times[1:], size


def main() -> None:
    print(machine())
    print(load())
    t = torch.arange(ELEMENTS, dtype=torch.float32).view(1000, -1)
    base = None
    for name, (module, fn) in CASES.items():
        if module is not None and find_spec(module) is None:
            print(f"{name:18} not installed")
            continue
        try:
            times, size = measure(fn, t)
        except Exception as error:  # a viewer that fails is a result, too
            print(f"{name:18} fails: {type(error).__name__}: {error}")
            continue
        median = statistics.median(times)
        base = base or median
        print(
            f"{name:18} median {median:9.2f} ms, shortest {min(times):9.2f} ms, "
            f"{size:11,} bytes, {median / base:8.1f} × the first"
        )
    print(load())


if __name__ == "__main__":
    main()
