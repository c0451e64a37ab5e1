"""How do others draw a graph, and what does each of them need?

torchviz draws the graph of autograd, torchview and torchlens that of the forward pass; all three
call Graphviz's `dot`. `dot` itself is given the very graph that the course draws.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

import torch

from insidetorch import graph_of
from insidetorch.records import Graph

LIMIT_S = 60


def missing() -> list[str]:
    """What cannot be measured here, and which package brings it."""
    peers = ("torchviz", "torchview", "torchlens")
    absent = [
        f"{name} is not installed: pip install {name}" for name in peers if not find_spec(name)
    ]
    if not has_dot():
        absent.append("no dot is found, by which all of them draw: install the package graphviz")
    return absent


def has_dot() -> bool:
    return shutil.which("dot") is not None


def torchviz(model: torch.nn.Module, loss: torch.Tensor) -> str:
    from torchviz import make_dot

    graph = make_dot(loss, params=dict(model.named_parameters()), show_saved=True)
    return graph.pipe("svg", encoding="utf-8")


def torchview(model: torch.nn.Module, x: torch.Tensor) -> str:
    from torchview import draw_graph

    return draw_graph(model, input_data=x).visual_graph.pipe("svg", encoding="utf-8")


def torchlens(model: torch.nn.Module, x: torch.Tensor) -> str:
    from torchlens import trace

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "graph")
        trace(model, x).draw(vis_outpath=str(path), vis_save_only=True, vis_fileformat="svg")
        return path.with_suffix(".svg").read_text(encoding="utf-8")


def dot(loss: torch.Tensor, *, copies: bool) -> str:
    """The picture that plain dot makes of the nodes of a graph; raises TimeoutExpired."""
    graph = graph_of(loss)
    count, edges = boxes_and_edges(graph, copies=copies)
    names = [node.name for node in graph.nodes] + ["AccumulateGrad"] * (count - len(graph.nodes))
    lines = [f'{k} [shape=box, label="{name}"]' for k, name in enumerate(names)]
    lines += [f"{a} -> {b}" for a, b in edges]
    text = "digraph {\n" + "\n".join(lines) + "\n}\n"
    ran = subprocess.run(
        ["dot", "-Tsvg"],
        input=text,
        capture_output=True,
        encoding="utf-8",
        timeout=LIMIT_S,
        check=True,
    )
    return ran.stdout


def boxes_and_edges(graph: Graph, *, copies: bool) -> tuple[int, list[tuple[int, int]]]:
    """How many boxes, and from which to which; `copies` has a box for each use of a leaf."""
    edges = [(node.number, e.target) for node in graph.nodes for e in node.edges if e is not None]
    if not copies:
        return len(graph.nodes), edges
    inner = [node.number for node in graph.nodes if not node.is_leaf]
    box = {number: k for k, number in enumerate(inner)}
    count = len(inner)
    out = []
    for a, b in edges:
        if b in box:
            out.append((box[a], box[b]))
        else:
            out.append((box[a], count))
            count += 1
    return count, out
