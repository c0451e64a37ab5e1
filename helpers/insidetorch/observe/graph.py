"""Which graph has autograd recorded behind this tensor?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from ..records import Edge, Graph, Node
from . import depth, private, private_nodes
from .reach import tensors_in
from .recorder import ForwardRecorder
from .saved import saved_of

# No picture and no text shows more; how deep a walk may go is the matter of `depth`.
MOST_NODES = 10_000


def graph_of(
    t: torch.Tensor | Sequence[torch.Tensor],
    *,
    module: torch.nn.Module | None = None,
    names: Mapping[str, object] | None = None,
    forward: ForwardRecorder | None = None,
    most: int = MOST_NODES,
) -> Graph:
    """Which graph would `t.backward()` run through?

    Args: `t`, a tensor or several; `module`, whose parameters name the leaves; `names`, further
    names of tensors, and of lists, tuples and dicts of them; `forward`, a recorder under which the
    forward pass ran: then each node has its line and module; `most`, after how many nodes the walk
    ends. It also ends where very deep graphs that were looked at are still alive (see `depth`).
    Returns a `Graph`, the same each time: nodes in the order in which they are first reached from
    the root, inputs from left to right. It is empty, with the reason, for a tensor without history.
    Nothing changes by looking: no gradient, version, hook or saved tensor.
    Raises TypeError if `t` is no tensor.

    >>> w = torch.ones(3, requires_grad=True)
    >>> [node.name for node in graph_of((w * w).sum(), names={"w": w}).nodes]
    ['SumBackward0', 'MulBackward0', 'AccumulateGrad']

    Source: torch.autograd.graph.Node, .next_functions, get_gradient_edge (2.13).
    """
    tensors = list(t) if issubclass(type(t), list | tuple) else [t]
    for one in tensors:
        if not issubclass(type(one), torch.Tensor):
            raise TypeError(
                f"The graph of a {type(one).__name__} was asked. Only a tensor has one. Give a "
                "tensor, such as a loss, or a list of tensors."
            )
    with private.unseen():
        if reason := _no_graph(tensors):
            return Graph((), (), reason=reason)
        starts = _starts(tensors)
        nodes, place, whole = _walk([start.node for start in starts], most)
        roots = tuple(Edge(place[start.node], start.output_nr) for start in starts)
        leaf_names = _leaf_names(module, names or {})
        ages, storages = _ages(nodes), {}
        return Graph(
            tuple(
                _node(number, node, place, ages, storages, leaf_names, forward)
                for number, node in enumerate(nodes)
            ),
            roots,
            whole,
        )


def nodes_below(tensors: Sequence[torch.Tensor], *, most: int = MOST_NODES) -> list[object]:
    """The nodes of torch that `graph_of` describes, in the same order.

    >>> [node.name() for node in nodes_below([torch.ones(1, requires_grad=True) * 2])]
    ['MulBackward0', 'torch::autograd::AccumulateGrad']
    """
    return walk_below(tensors, most=most)[0]


def walk_below(
    tensors: Sequence[torch.Tensor], *, most: int = MOST_NODES
) -> tuple[list[object], bool]:
    """The same nodes, and whether these are all.

    >>> len(walk_below([torch.ones(1, requires_grad=True) * 2])[0])
    2
    """
    with private.unseen():
        nodes, _, whole = _walk([start.node for start in _starts(tensors)], most)
    return nodes, whole


def _starts(tensors: Sequence[torch.Tensor]) -> list[torch.autograd.graph.GradientEdge]:
    return [torch.autograd.graph.get_gradient_edge(one) for one in tensors if _has_graph(one)]


def _has_graph(t: torch.Tensor) -> bool:
    return torch.Tensor.requires_grad.__get__(t)


def _no_graph(tensors: Sequence[torch.Tensor]) -> str:
    if any(private.is_functorch_wrapped(t) for t in tensors):
        return "It stands for a value inside a torch.func transform: its graph is another one."
    if any(map(_has_graph, tensors)):
        return ""
    if not tensors:
        return "No tensor was given."
    if any(t.is_inference() for t in tensors):
        return "It was made in inference mode, where autograd records nothing."
    if any(not (t.is_floating_point() or t.is_complex()) for t in tensors):
        return f"It holds {tensors[0].dtype}: only floating point and complex values have a graph."
    return "It does not require a gradient: nothing was recorded for it."


def _walk(roots: Sequence[object], most: int) -> tuple[list[object], dict[object, int], bool]:
    """All nodes below the roots, breadth first, the place of each, and whether these are all."""
    nodes: list[object] = []
    place: dict[object, int] = {}
    for root in roots:
        if root not in place:
            place[root] = len(nodes)
            nodes.append(root)
    if not nodes:
        return nodes, place, True
    depths, room, whole = [0] * len(nodes), depth.room(nodes[0]), True
    for node, below in zip(nodes, depths, strict=False):  # both grow while they are read
        for target, _ in node.next_functions:
            if target is None or target in place:
                continue
            if len(nodes) >= most or below + 1 >= room:
                whole = False
                break
            place[target] = len(nodes)
            nodes.append(target)
            depths.append(below + 1)
    depth.looked_at(nodes[0], nodes[-1], depths[-1])
    return nodes, place, whole


def _ages(nodes: Sequence[object]) -> dict[object, int]:
    """Ranks by sequence number: the numbers themselves differ from run to run."""
    made = [
        (private_nodes.sequence_nr(node), k) for k, node in enumerate(nodes) if not _is_leaf(node)
    ]
    return {nodes[k]: rank for rank, (_, k) in enumerate(sorted(made))}


def _node(
    number: int,
    node: object,
    place: dict[object, int],
    ages: dict[object, int],
    storages: dict[int, int],
    leaf_names: dict[int, str],
    forward: ForwardRecorder | None,
) -> Node:
    edges = tuple(
        None if target is None or target not in place else Edge(place[target], output_nr)
        for target, output_nr in node.next_functions
    )
    leaf = node.variable if _is_leaf(node) else None
    return Node(
        number=number,
        name=private_nodes.name_of(node),
        edges=edges,
        outputs=private_nodes.received_sizes(node),
        age=ages.get(node),
        saved=() if leaf is not None else saved_of(node, storages),
        leaf="" if leaf is None else leaf_names.get(id(leaf), ""),
        leaf_sizes=() if leaf is None else tuple(leaf.shape),
        hooks=0 if leaf is None else private_nodes.hooks_of(leaf),
        place=None if forward is None else forward.place_of(node),
        module="" if forward is None else forward.module_of(node),
    )


def _is_leaf(node: object) -> bool:
    return hasattr(node, "variable")


def _leaf_names(module: torch.nn.Module | None, names: Mapping[str, object]) -> dict[int, str]:
    found = {id(t): name for name, t in reversed(list(tensors_in(names)))}
    if module is not None:
        found |= {id(p): name for name, p in module.named_parameters()}
    return found
