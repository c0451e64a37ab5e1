"""Which memory does a graph keep alive?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch

from ..records import GraphCost
from . import private, private_nodes
from .graph import MOST_NODES, graph_of, walk_below
from .reach import tensors_in


class Held(NamedTuple):
    """One thing that a node keeps for backward: `tensor`, or why there is none to look at.

    `packed` names the class of what a hook has put in the tensor's place; "checkpoint" stands for
    a value that will be computed again.
    """

    name: str
    tensor: torch.Tensor | None
    freed: bool = False
    packed: str = ""


def graph_cost(t: torch.Tensor | Sequence[torch.Tensor], *, most: int = MOST_NODES) -> GraphCost:
    """How much memory does the graph behind this tensor keep alive?

    Args: `t`, a tensor or several, whose graphs are counted as one; `most`, as in `graph_of`.
    Returns a `GraphCost`. Its bytes are those of the storages that saved tensors read, each storage
    once and whole, without the storages of the leaves, which live anyway. A tensor that a name of
    yours holds as well, such as an input batch, is counted: deleting the name alone frees nothing.
    After a backward pass the nodes are still there, and keep nothing.
    Raises TypeError if `t` is no tensor. Nothing changes by looking.

    >>> w = torch.ones(1000, requires_grad=True)
    >>> loss = w.exp().sum()
    >>> graph_cost(loss)
    3 nodes, 4,000 bytes kept.
    >>> loss.backward()
    >>> graph_cost(loss)
    3 nodes, 0 bytes kept; 1 saved tensor freed by a backward pass.

    Source: torch.autograd.graph.Node, saved tensors (2.13).
    """
    tensors = [t] if issubclass(type(t), torch.Tensor) else list(t)
    if reason := reason_for_none(tensors):
        return GraphCost(reason=reason)
    nodes, whole = walk_below(tensors, most=most)
    with private.unseen():
        held = [one for node in nodes for one in held_by(node)]
        tensors = [one.tensor for one in held if one.tensor is not None]
        kept = {key: storage.nbytes() for t in tensors for key, storage in storages(t)}
        for node in nodes:
            if hasattr(node, "variable"):
                for key, _ in storages(node.variable):
                    kept.pop(key, None)
    return GraphCost(
        nodes=len(nodes),
        saved=len(tensors),
        nbytes=sum(kept.values()),
        freed=sum(one.freed for one in held),
        packed=sum(one.packed not in ("", "checkpoint") for one in held),
        whole=whole,
    )


def reason_for_none(tensors: Sequence[object]) -> str:
    """Why is there no graph behind any of these tensors? "" if there is one.

    >>> reason_for_none([torch.ones(2)])
    'It does not require a gradient: nothing was recorded for it.'
    """
    known = all(issubclass(type(t), torch.Tensor) for t in tensors)
    with private.unseen():
        if known and any(map(has_graph, tensors)):
            return ""
    return graph_of(tensors).reason


def has_graph(t: torch.Tensor) -> bool:
    """Has autograd recorded a graph behind it that can be walked?"""
    return torch.Tensor.requires_grad.__get__(t) and not private.is_functorch_wrapped(t)


def held_by(node: object) -> Iterator[Held]:
    """What does a node keep for backward: tensors that it saved, and those that hang on its ctx?"""
    try:
        saved = list(private_nodes.saved_tensors(node))
    except RuntimeError:  # a Function of the user's tells no more than that they are freed
        saved = []
        yield Held("tensors", None, freed=True)
    for name, raw, unpack in saved:
        yield from _opened(name, raw, unpack)
    yield from (Held(f"ctx{name}", t) for name, t in _tensors(getattr(node, "__dict__", {})))


def storages(t: torch.Tensor) -> Iterator[tuple[int, torch.UntypedStorage]]:
    """The storages that a tensor reads, each with what tells it from others; maybe none."""
    for part in private.parts(t):
        try:
            yield private.storage_id(part), torch.Tensor.untyped_storage(part)
        except (NotImplementedError, RuntimeError):  # a layout without a storage
            continue


def _opened(name: str, raw: object, unpack: Callable[[], object]) -> Iterator[Held]:
    """A saved tensor, or what a hook has made of it."""
    try:
        kept = raw.data
    except RuntimeError:
        kept = None
    if isinstance(kept, torch.Tensor):
        yield Held(name, kept)
    elif kept is None:
        if _is_freed(unpack):
            yield Held(name, None, freed=True)
    elif (inputs := private.checkpoint_inputs(raw)) is not None:
        yield Held(name, None, packed="checkpoint")
        yield from (Held(f"input{path}", t) for path, t in _tensors({"": inputs}))
    else:
        found = [Held(f"{name}{path}", t) for path, t in _tensors({"": kept})]
        yield from found or [Held(name, None, packed=type(kept).__name__)]


def _tensors(named: dict[str, object]) -> Iterator[tuple[str, torch.Tensor]]:
    """Tensors in plain containers; modules and other objects are not looked into."""
    plain = (torch.Tensor, list, tuple, dict)
    return tensors_in({f".{k}" if k else k: v for k, v in named.items() if isinstance(v, plain)})


def _is_freed(unpack: Callable[[], object]) -> bool:
    try:
        unpack()
    except RuntimeError as error:
        return "after they have already been freed" in str(error)
    return False
