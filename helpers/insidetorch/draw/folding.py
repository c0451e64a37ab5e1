"""Which nodes of a graph are shown as one? The modules of a model, and steps that repeat."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..records import Graph, Node

# More boxes than these are not read at a glance: above, modules and repeats are folded.
MOST_UNFOLDED = 60
_LONGEST = 64
_FEWEST_REPEATS = 3


@dataclass(frozen=True)
class Item:
    """What is drawn as one box: the nodes of one step, and how often the step is repeated.

    `nodes` holds all of its nodes, youngest first, the first `step` of them those of the first
    repeat; `modules` the modules that one repeat consists of, where it is made of modules alone.
    """

    nodes: tuple[int, ...]
    step: int
    times: int = 1
    modules: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """By which name the item, or its first repeat, is opened; "" for a single node."""
        if self.modules:
            return self.modules[0]
        return f"node {self.nodes[0]}" if self.times > 1 else ""


@dataclass(frozen=True)
class _Unit:
    """Neighbours in the order of age that belong to one module, or a single node."""

    nodes: tuple[Node, ...]
    module: str
    sign: tuple


def items_of(
    graph: Graph, *, fold: bool | None = None, opened: Collection[str] | None = None
) -> list[Item]:
    """The inner nodes in the order youngest first, what is folded as one item.

    `fold=None` folds where there are more than `MOST_UNFOLDED` of them; `opened` holds the keys of
    items that are not folded, `opened_at_first` if it is None: a module shows its parts, a repeated
    step its first repeat. Two steps repeat one another if they have the same nodes with the same
    edges: to the nodes beside them, to a far node that many lead to, such as the input of a
    recurrent net, and to leaves of the same name but for its numbers.
    """
    order = _youngest_first(graph)
    if not (len(order) > MOST_UNFOLDED if fold is None else fold):
        return [Item((node.number,), 1) for node in order]
    signs = _signs(graph, order)
    return _folded(order, signs, _opened(order, signs) if opened is None else opened)


def opened_at_first(graph: Graph) -> tuple[str, ...]:
    """Which modules are opened so that as much is seen as can be read?

    The largest one first, and of modules that differ in their numbers only the first.
    """
    order = _youngest_first(graph)
    return _opened(order, _signs(graph, order))


def _opened(order: Sequence[Node], signs: dict[int, int]) -> tuple[str, ...]:
    opened: list[str] = []
    tried: set[str] = set()
    while any(node.module for node in order):
        items = _folded(order, signs, opened)
        closed = [
            (len(item.nodes) // item.times, item.modules[0])
            for item in items
            if item.modules and pattern(item.modules[0]) not in tried
        ]
        if not closed:
            break
        module = max(closed, key=lambda found: found[0])[1]
        tried.add(pattern(module))
        if len(_folded(order, signs, [*opened, module])) <= MOST_UNFOLDED:
            opened.append(module)
    return tuple(opened)


@lru_cache(maxsize=4096)
def pattern(name: str) -> str:
    """A name without its numbers.

    >>> pattern("layers.0.linear1")
    'layers.#.linear#'
    """
    return re.sub(r"\d+", "#", name)


def _units(order: Sequence[Node], signs: dict[int, int], opened: Collection[str]) -> list[_Unit]:
    """Runs of one module each. An edge leads to an older node, so no two runs form a circle."""
    groups: list[tuple[str, list[Node]]] = []
    for node in order:
        module = _closed(node.module, opened)
        if module and groups and groups[-1][0] == module:
            groups[-1][1].append(node)
        else:
            groups.append((module, [node]))
    return [
        _Unit(tuple(nodes), module, (pattern(module), *(signs[n.number] for n in nodes)))
        for module, nodes in groups
    ]


def _closed(module: str, opened: Collection[str]) -> str:
    """The outermost module around a node that is not opened; "" if all are."""
    parts = module.split(".") if module else []
    paths = (".".join(parts[: k + 1]) for k in range(len(parts)))
    return next((path for path in paths if path not in opened), "")


def _folded(
    order: Sequence[Node], node_signs: dict[int, int], opened: Collection[str]
) -> list[Item]:
    units = _units(order, node_signs, opened)
    signs = _numbered(unit.sign for unit in units)
    items, k = [], 0
    while k < len(units):
        step, times = _repeat(signs, k)
        item = _item(units[k : k + step * times], step, times)
        if item.times > 1 and item.key in opened:
            items += [_item([unit], 1, 1) for unit in units[k : k + step]]
            k += step
            continue
        items.append(item)
        k += step * times
    return items


def _item(units: Sequence[_Unit], step: int, times: int) -> Item:
    first = units[:step]
    whole = all(unit.module and len(unit.nodes) > 1 for unit in first)
    modules = tuple(unit.module for unit in first) if whole else ()
    nodes = tuple(node.number for unit in units for node in unit.nodes)
    return Item(nodes, sum(len(unit.nodes) for unit in first), times, modules)


def _youngest_first(graph: Graph) -> list[Node]:
    return sorted((node for node in graph.nodes if not node.is_leaf), key=lambda node: -node.age)


def _signs(graph: Graph, order: Sequence[Node]) -> dict[int, int]:
    """The same number for nodes that repeat one another."""
    place = {node.number: k for k, node in enumerate(order)}
    common = _common(order, place)
    signs = _numbered(_sign(graph, node, place, common) for node in order)
    return {node.number: sign for node, sign in zip(order, signs, strict=True)}


def _numbered(signs: Iterable[tuple]) -> list[int]:
    """Small numbers in place of signs: they are compared often."""
    numbers: dict[tuple, int] = {}
    return [numbers.setdefault(sign, len(numbers)) for sign in signs]


def _common(order: Sequence[Node], place: dict[int, int]) -> set[int]:
    """The nodes to which several others lead from farther away than a step is long."""
    far: dict[int, int] = {}
    for k, node in enumerate(order):
        for edge in node.edges:
            if edge is not None and place.get(edge.target, k) - k > _LONGEST:
                far[edge.target] = far.get(edge.target, 0) + 1
    return {target for target, times in far.items() if times >= _FEWEST_REPEATS}


def _sign(graph: Graph, node: Node, place: dict[int, int], common: set[int]) -> tuple:
    """What makes two nodes equal: name, sizes, and where their edges lead, relative to them."""
    edges: list[object] = []
    for edge in node.edges:
        if edge is None:
            edges.append(None)
        elif graph.nodes[edge.target].is_leaf:
            edges.append(pattern(graph.nodes[edge.target].leaf))
        elif edge.target in common:
            edges.append(edge.target)
        else:
            edges.append((place[edge.target] - place[node.number], edge.output_nr))
    return node.name, node.outputs, tuple(edges)


def _repeat(signs: Sequence[int], start: int) -> tuple[int, int]:
    """The step that is repeated most from here on: its length, and how often; (1, 1) for none."""
    best = (1, 1)
    for step in range(1, min(_LONGEST, (len(signs) - start) // _FEWEST_REPEATS) + 1):
        if 1 < step <= best[0] * best[1] and step % best[0] == 0:
            continue  # several steps of the best in a row: they end where it ends
        end = start + step
        while end < len(signs) and signs[end] == signs[end - step]:
            end += 1
        times = (end - start) // step
        if times >= _FEWEST_REPEATS and times * step > best[0] * best[1]:
            best = (step, times)
    return best
