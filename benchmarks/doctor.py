"""What does the gradient doctor cost, beside the same steps without it and beside anomaly mode?

Forward and backward of three models, plain, watched and under detect_anomaly, in turn. What the
report takes at the end is told apart.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext

import torch
from machine import load, machine
from torch import nn

from insidetorch import watch

ROUNDS = 9


def conv_net() -> Callable[[], None]:
    blocks = []
    for _ in range(8):
        blocks += [nn.Conv2d(24, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU()]
    net = nn.Sequential(nn.Conv2d(3, 24, 3), *blocks, nn.Flatten(), nn.LazyLinear(10))
    x = torch.randn(8, 3, 32, 32)
    net(x)
    return lambda: net(x).square().mean().backward()


def transformer() -> Callable[[], None]:
    layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True, dropout=0.0)
    net = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
    x = torch.randn(8, 32, 128)
    return lambda: net(x).square().mean().backward()


def tiny_mlp() -> Callable[[], None]:
    layers: list[nn.Module] = []
    for _ in range(4):
        layers += [nn.Linear(64, 64), nn.ReLU()]
    net, x = nn.Sequential(*layers), torch.randn(32, 64)
    return lambda: net(x).square().mean().backward()


CASES = {
    "conv net, 9 convolutions": (conv_net, 5),
    "transformer encoder, 4 layers": (transformer, 5),
    "MLP, 4 × 64, 32 rows": (tiny_mlp, 50),
}


def seconds(step: Callable[[], None], steps: int, around: Callable) -> float:
    """The time of steps inside of a context, without entering and leaving it."""
    with around():
        step()
        start = time.perf_counter()
        for _ in range(steps):
            step()
        return (time.perf_counter() - start) / steps


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    print(machine())
    print(load())
    ways = {"plain": nullcontext, "doctor": watch, "anomaly": torch.autograd.detect_anomaly}
    for name, (make, steps) in CASES.items():
        step = make()
        found: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(ROUNDS):
            for way, around in ways.items():
                found[way].append(seconds(step, steps, around))
        plain = found["plain"]
        ratios = {
            way: statistics.median(t / p for t, p in zip(times, plain, strict=True))
            for way, times in found.items()
        }
        print(
            f"{name:32} plain {statistics.median(plain) * 1e3:7.2f} ms a step; "
            f"doctor {ratios['doctor']:.2f} ×, detect_anomaly {ratios['anomaly']:.2f} ×"
        )
        with watch() as run:
            for _ in range(steps):
                step()
        start = time.perf_counter()
        run.report()
        print(f"{'':32} the report of {steps} steps: {time.perf_counter() - start:.2f} s")
    print(load())


if __name__ == "__main__":
    main()
