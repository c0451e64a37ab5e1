"""Which live tensors have a graph behind them, and who holds each of them?"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

import torch

from ..records import GraphCost, Holder, Holders
from . import private
from .graph import walk_below
from .held_paths import told_path, ways_to
from .memory import graph_cost, has_graph
from .referrers import reached_from
from .roots import UNDERSCORES, Root, in_notebook

_MOST_HIDDEN = 200  # how many tensors without a holder are looked at
# Only these are listed once for each name: what is in an object is listed by its shortest path.
_CONTAINERS = (dict, list, tuple, set, frozenset, deque)


class Group(NamedTuple):
    """Targets that one container, or one variable, holds, and the paths to them."""

    root: Root
    paths: list[str]
    tensors: dict[int, torch.Tensor]


def graph_holders(names: Mapping[str, object] | None = None) -> Holders:
    """Which live tensors have a graph behind them, and who holds each of them?

    Args: `names`, a namespace to look into beside those of all modules and of the notebook.
    Returns `Holders`: names, attributes and items with the expression that leads there, variables
    of functions that run, failed, wait or are remembered, and the notebook's output history. Each
    says what its graph keeps, and what ends it. The same each time; it never raises. What waits for
    Python's garbage collector is collected first; nothing is kept alive.

    >>> w = torch.ones(1000, requires_grad=True)
    >>> losses = [(w * k).exp().sum() for k in range(3)]
    >>> "losses[0]" in [holder.path for holder in graph_holders({"losses": losses})]
    True

    Source: gc.get_referrers; the reference counts of CPython.
    """
    gc.collect()
    with private.unseen():
        targets, leaves = _tensors_with_graph()
        if not targets:
            return Holders()
        reached, whole = reached_from(targets, leaves)
        groups, found_all = _groups(targets, reached, names or {})
        found = [_holder(group) for group in groups]
        hidden = _hidden(targets, groups)
    found.sort(key=lambda one: (-one.cost.nbytes, one.kind, one.path, one.function, one.cell))
    return Holders(tuple(found), hidden, whole and found_all)


def _tensors_with_graph() -> tuple[dict[int, torch.Tensor], list[torch.Tensor]]:
    """The tensors with a graph by number, and the leaves of those that are gradients."""
    targets, leaves = {}, []
    for one in gc.get_objects():
        if not issubclass(type(one), torch.Tensor):
            continue
        try:
            if not one.is_leaf:
                grad, t = None, one
            else:
                grad = t = private.grad(one)
            if t is not None and has_graph(t):
                targets[id(t)] = t
                leaves += [one] if grad is not None else []
        except Exception:  # a view that was written to in a way that autograd refuses
            continue
    return targets, leaves


def _groups(
    targets: dict[int, torch.Tensor], reached: dict[int, object], names: Mapping[str, object]
) -> tuple[list[Group], bool]:
    """The shortest paths to the targets; those in one container together, by its first one.

    And whether these are all: many names of many containers would be too many paths.
    """
    ways, whole = ways_to(targets, reached, names, again=_CONTAINERS, through=False)
    groups: dict[object, Group] = {}
    for way in ways:
        history = way.root.kind == "history"
        key = way.root.kind, id(way.target) if history else (way.path, way.root.function)
        if way.inside is not None and issubclass(type(way.inside.value), _CONTAINERS):
            # One that two names hold is listed twice.
            key = id(way.inside.value), "" if history else way.inside.path
        group = groups.setdefault(key, Group(way.root, [], {}))
        group.paths.append(told_path(way))
        group.tensors[id(way.target)] = way.target
    return list(groups.values()), whole


def _holder(group: Group) -> Holder:
    root, path = group.root, group.paths[0]
    if root.kind == "history":
        places = sorted(set(group.paths))
        path = ", ".join([p for p in places if "hidden" not in p] or places)
    tensors = list(group.tensors.values())
    try:
        cost = graph_cost(tensors)
    except Exception as error:  # a subclass may do anything
        cost = GraphCost(reason=f"It cannot be read: {type(error).__name__}.")
    return Holder(
        kind=root.kind,
        path=path,
        cost=cost,
        advice=_advice(root.kind, path, all(t.numel() == 1 for t in tensors)),
        tensors=len(tensors),
        function=root.function,
        cell=root.cell,
    )


def _advice(kind: str, path: str, single: bool) -> str:
    """What lets the graph go. Each of these was tried, in IPython where it is about a notebook."""
    if path.endswith(".grad"):
        return f"A backward pass with create_graph=True made it: `{path} = None` lets it go."
    if kind == "name" and path.isidentifier():
        number = f"`{path}.item()` or " if single else ""
        return f"Keep {number}`{path}.detach()` instead, or `del {path}`."
    number = "`.item()` or " if single else ""
    if kind == "history":
        places = path.split(", ")
        last = [name for name in places if name in UNDERSCORES]
        magic = f"%xdel {last[0]}" if last else "%reset -f out"
        if "Out" not in places and not last:  # where IPython forgets to look
            magic = f"del get_ipython().{places[0]}"
        return f"`{magic}` lets it go; a `;` at the end of a cell keeps its result out of there."
    if kind == "failed" and in_notebook():
        return "The next error takes its place: run `1/0` in a cell of its own."
    return {
        "name": f"Put {number}`.detach()` of it there instead.",
        "closure": f"Let the function remember {number}`.detach()` of it instead.",
        "running": f"It goes when the function ends, or with `del {path}` in it.",
        "ended": "Let go what keeps the function, such as the name of a caught error.",
        "failed": "`sys.last_value = sys.last_exc = sys.last_traceback = None` lets it go.",
        "generator": "Run the generator to its end, or call its `close()`.",
        "widget": "Call its `close()`.",
    }[kind]


def _hidden(targets: dict[int, torch.Tensor], groups: list[Group]) -> int:
    """How many targets have no holder, and are not inside of a graph that has one?"""
    found = {key: t for group in groups for key, t in group.tensors.items()}
    rest = [t for key, t in targets.items() if key not in found][:_MOST_HIDDEN]
    nodes, whole = walk_below(list(found.values()))
    inside = set(nodes)
    if not whole:
        return 0
    return sum(torch.autograd.graph.get_gradient_edge(t).node not in inside for t in rest)
