"""What do graphs cost: inspecting, laying out, drawing, recording a backward pass, stepping?

Beside it stand torchviz, torchview and torchlens where they can be imported, and Graphviz's `dot`
on the same graph where it is found. The cases of a table alternate, each on a graph made anew, so a
ratio is the median of the ratios within a round. Times are of the processor, child processes
included, with one thread of torch. What is printed are the tables in README.md.
"""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec

import graph_peers as peers
import torch
from machine import load, machine
from torch import nn

from insidetorch import BackwardStepper, ForwardRecorder, graph_of, record_backward, show
from insidetorch.draw.graph import graph_svg
from insidetorch.draw.layered import place

ROUNDS = 11
SLOW_S = 3.0
_Case = Callable[[torch.Tensor], object]


def encoder(width: int) -> nn.Module:
    """Six layers; 512 wide it is the example of torch's documentation."""
    layer = nn.TransformerEncoderLayer(width, 8, 4 * width)
    return nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)


def chain(length: int) -> torch.Tensor:
    y = torch.ones(4, requires_grad=True)
    for k in range(length - 2):  # the sum and the leaf are nodes, too
        y = y.sin() if k % 2 else y * 2
    return y.sum()


def recurrent(steps: int) -> torch.Tensor:
    """A cell called again and again: every step uses the same four parameters."""
    cell, hidden = nn.RNNCell(16, 16), torch.zeros(2, 16)
    for x in torch.randn(steps, 2, 16):
        hidden = cell(x, hidden)
    return hidden.sum()


def picture(
    loss: torch.Tensor, *, module: nn.Module | None = None, fold: bool | None = None
) -> str:
    """Inspect, lay out, draw."""
    return graph_svg(graph_of(loss, module=module), fold=fold)


def picture_of_run(model: nn.Module, x: torch.Tensor) -> str:
    """Run the forward pass under a recorder of lines and modules, inspect, lay out, draw."""
    with ForwardRecorder(model) as forward:
        loss = model(x).sum()
    return graph_svg(graph_of(loss, module=model, forward=forward))


def layout(loss: torch.Tensor) -> None:
    """Inspect and lay out every node, each leaf once for every use."""
    count, edges = peers.boxes_and_edges(graph_of(loss), copies=True)
    place(count, list(dict.fromkeys(edges)), [120.0] * count)


def cpu() -> float:
    """The processor's seconds for this process and for its child processes that have ended."""
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


def table(
    title: str, make: Callable[[], torch.Tensor], cases: Mapping[str, _Case], rounds: int = ROUNDS
) -> None:
    """Print a row for each case with its ratio to the first; one that takes long runs once."""
    times: dict[str, list[float]] = {name: [] for name in cases}
    made: dict[str, object] = {}
    for number in range(rounds + 1):
        for name, case in cases.items():
            if number and (not times[name] or times[name][0] > SLOW_S):
                continue
            loss = make()
            gc.collect()
            start = cpu()
            try:
                made[name] = case(loss)
            except subprocess.TimeoutExpired:
                continue
            times[name].append(cpu() - start)
    print(f"\n| {title} | median | shortest | beside the first | bytes |\n|---|---|---|---|---|")
    first = next(iter(times.values()))
    for name, found in times.items():
        if not found:
            print(f"| {name} | stopped after {peers.LIMIT_S} s | | | |")
            continue
        kept = found[1:] or found  # the first round pays for what is loaded late
        ratio = statistics.median(a / b for a, b in zip(kept, first[-len(kept) :], strict=True))
        size = f"{len(made[name]):,}" if isinstance(made[name], str) else ""
        print(
            f"| {name} | {1e3 * statistics.median(kept):,.1f} ms | {1e3 * min(kept):,.1f} ms "
            f"| {ratio:,.2f} × | {size} |",
            flush=True,
        )


def drawing() -> None:
    """The encoder, beside the tools that draw a model."""
    model, x = encoder(64), torch.randn(10, 2, 64)
    cases: dict[str, _Case] = {
        "insidetorch, every node": partial(picture, module=model, fold=False),
        "insidetorch, folded as by default": partial(picture, module=model),
        "insidetorch, forward pass included": lambda _: picture_of_run(model, x),
        "torchviz, saved tensors shown": lambda loss: peers.torchviz(model, loss),
        "torchview, forward pass included": lambda _: peers.torchview(model, x),
        "torchlens, forward pass included": lambda _: peers.torchlens(model, x),
    }
    here = {
        name: case
        for name, case in cases.items()
        if name.startswith("insidetorch") or (peers.has_dot() and find_spec(name.split(",")[0]))
    }
    table("encoder of 6 layers", lambda: model(x).sum(), here)


def long_graphs() -> None:
    """Chains and a recurrent net, beside dot."""
    cases: dict[str, _Case] = {
        "insidetorch, folded as by default": picture,
        "insidetorch, layout of every node": layout,
    }
    if peers.has_dot():
        cases["dot, a leaf for each use"] = partial(peers.dot, copies=True)
        cases["dot, the graph as it is"] = partial(peers.dot, copies=False)
    table("chain of 5,000 nodes", lambda: chain(5_000), cases)
    table("200 steps of a cell", lambda: recurrent(200), cases)
    shown = {"`show(graph_of(t))`": lambda t: (p := show(graph_of(t)))._repr_html_() + repr(p)}
    table("chain of 100,000 nodes", lambda: chain(100_000), shown, rounds=3)


def backwards(width: int, length: int, batch: int) -> None:
    """A backward pass that is recorded, beside one that is not."""
    model, x = encoder(width), torch.randn(length, batch, width)

    def recorded(loss: torch.Tensor) -> None:
        record_backward(loss, module=model)

    cases = {"`backward()`": torch.Tensor.backward, "`record_backward`": recorded}
    title = f"encoder, {width} wide, {length * batch} tokens"
    table(title, lambda: model(x).sum(), cases)


def steps(title: str, loss: torch.Tensor) -> None:
    """From a step to its picture, over all steps of one backward pass."""
    stepper = BackwardStepper(loss)
    times = []
    for number in range(2, stepper.step.max + 1):
        start = cpu()
        stepper.step.value = number
        times.append(1e3 * (cpu() - start))
    p95 = statistics.quantiles(times, n=20)[-1]
    print(
        f"| {title}, {len(times) + 1} steps | {statistics.median(times):.1f} ms | {p95:.1f} ms "
        f"| {len(stepper.view.svg):,} |"
    )


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(machine(), load(), *peers.missing(), sep="\n")
    drawing()
    long_graphs()
    backwards(512, 10, 32)
    backwards(64, 10, 2)
    print("\n| stepper: step → picture | median | p95 | bytes |\n|---|---|---|---|")
    steps("chain", chain(200))
    steps("200 steps of a cell", recurrent(200))
    steps("encoder", encoder(64)(torch.randn(10, 2, 64)).sum())
    print(load())


if __name__ == "__main__":
    main()
