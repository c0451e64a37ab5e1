"""The graph of autograd as a picture: what backward runs through, from the root to the leaves."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ..records import Graph, Node
from .folding import Item, items_of
from .graph_text import graph_sentence, item_label, item_small, say_item, say_leaf
from .layered import place
from .svg import Canvas
from .theme import CELL_HEIGHT, CHAR_WIDTH, MARGIN, SMALL_CHAR_WIDTH

MOST_BOXES = 600
MOST_LEAVES = 4
# Notes change from step to step, and the boxes must not.
WIDEST_NOTE = 14
_LAYER = CELL_HEIGHT + 26
_MOST_EDGES = 4
_LONGEST_LINE = 40  # a node with hundreds of outputs receives as many sizes
_EDGE_GAP = 10


@dataclass(frozen=True)
class _Box:
    """What is drawn: an item of inner nodes, or one use of a leaf."""

    lines: tuple[str, ...]
    say: str
    kind: str
    link: str
    node: int = -1

    @cached_property
    def width(self) -> float:
        first, *small = self.lines
        widths = [len(first) * CHAR_WIDTH, *(len(line) * SMALL_CHAR_WIDTH for line in small)]
        return round(max(widths)) + 14


def graph_svg(
    graph: Graph,
    *,
    live: bool = False,
    fold: bool | None = None,
    opened: Collection[str] | None = None,
    mark: str = "",
    title: str = "",
    notes: Mapping[int, tuple[str, str]] | None = None,
) -> str:
    """The picture of a graph; "" where it has no node or more boxes than can be read.

    `fold` and `opened` as for `items_of`. A leaf is drawn once for each box that uses it. `mark`
    marks the leaves whose name holds this text. `notes` gives nodes a kind of box and a word below
    their name, in place of what they receive and save.
    """
    canvas, title = Canvas(live=live), title or graph_sentence(graph)
    canvas.text(MARGIN, 18, title, kind="h")
    canvas.text(MARGIN, 34, "the gradient flows down, from the root to the leaves", kind="s")
    items = items_of(graph, fold=fold, opened=opened)
    if not draw_items(canvas, graph, items, top=44, mark=mark, notes=notes or {}):
        return ""
    return canvas.svg(title)


def draw_items(
    canvas: Canvas,
    graph: Graph,
    items: Sequence[Item],
    *,
    top: float,
    mark: str = "",
    notes: Mapping[int, tuple[str, str]],
) -> bool:
    """Draw these items of a graph and their leaves below `top`; False where that cannot be read."""
    boxes, edges = _boxes(graph, items, mark)
    if not boxes or len(boxes) > MOST_BOXES:
        return False
    boxes = [_noted(box, notes) for box in boxes]
    placed = place(len(boxes), list(edges), [box.width for box in boxes])
    for route, times in zip(placed.routes, edges.values(), strict=True):
        for shift in _side_by_side(times):
            points = [(MARGIN + x + shift, top + layer * _LAYER) for x, layer in route]
            start, end = points[0], points[-1]
            # Straight past a layer, so that no line runs behind its boxes; slanted between layers.
            past = [(x, y + down) for x, y in points[1:-1] for down in (0, CELL_HEIGHT)]
            canvas.line([(start[0], start[1] + CELL_HEIGHT), *past, (end[0], end[1] - 1)])
    columns: dict[int, int] = {}
    for k in sorted(range(len(boxes)), key=lambda k: (placed.layer[k], placed.x[k])):
        box, layer = boxes[k], placed.layer[k]
        columns[layer] = columns.get(layer, -1) + 1
        canvas.cell(
            MARGIN + placed.x[k] - box.width / 2,
            top + layer * _LAYER,
            box.width,
            *box.lines,
            kind=box.kind,
            link=box.link,
            say=box.say,
            at=(layer, columns[layer]),
        )
    return True


def _side_by_side(times: int) -> list[float]:
    """Where several edges between two boxes are drawn, from the middle."""
    shown = min(times, _MOST_EDGES)
    return [_EDGE_GAP * (k - (shown - 1) / 2) for k in range(shown)]


def _noted(box: _Box, notes: Mapping[int, tuple[str, str]]) -> _Box:
    if box.node not in notes:
        return box
    kind, word = notes[box.node]
    lines = (box.lines[0], word.ljust(WIDEST_NOTE))
    return replace(box, lines=lines, kind=kind, say=f"{box.say}; {word}")


def _boxes(
    graph: Graph, items: Sequence[Item], mark: str
) -> tuple[list[_Box], dict[tuple[int, int], int]]:
    """The boxes, items first, then the uses of leaves; how many edges lead from one to another.

    From what is folded, that is one.
    """
    where = {number: k for k, item in enumerate(items) for number in item.nodes}
    boxes = [_item_box(graph, item) for item in items]
    edges: dict[tuple[int, int], int] = {}
    for k, item in enumerate(items):
        for number in item.nodes:
            for edge in filter(None, graph.nodes[number].edges):
                target = where.get(edge.target, k)
                if target != k:
                    edges[k, target] = 1 + (
                        edges.get((k, target), 0) if len(item.nodes) == 1 else 0
                    )
        for box, times in _leaf_boxes(graph, item, mark):
            edges[k, len(boxes)] = times
            boxes.append(box)
    if not items:
        boxes = [_leaf_box(node, mark) for node in graph.nodes]
    return boxes, edges


def _leaf_boxes(graph: Graph, item: Item, mark: str) -> list[tuple[_Box, int]]:
    """The leaves that an item uses, and along how many edges a single node does.

    Many leaves are one box; of a repeated step they are those of its first.
    """
    used = [
        edge.target
        for number in item.nodes[: item.step]
        for edge in graph.nodes[number].edges
        if edge is not None and graph.nodes[edge.target].is_leaf
    ]
    leaves = [graph.nodes[number] for number in dict.fromkeys(used)]
    single = len(item.nodes) == 1
    if single or len(leaves) <= MOST_LEAVES:
        return [
            (_leaf_box(leaf, mark), used.count(leaf.number) if single else 1) for leaf in leaves
        ]
    names = ", ".join(leaf.leaf or "a leaf" for leaf in leaves)
    kind = "new" if mark and mark in names else "free"
    lines = f"{len(leaves)} leaves", "in each repeat" if item.times > 1 else "in it"
    say = f"{' '.join(lines)}: {names}"
    return [(_Box(lines, say, kind, f"leaves {item.nodes[0]}"), 1)]


def _item_box(graph: Graph, item: Item) -> _Box:
    nodes = [graph.nodes[number] for number in item.nodes]
    wrong = any(saved.overwritten for node in nodes for saved in node.saved)
    kind = "bad" if wrong else "used" if len(item.nodes) == 1 else "part"
    lines = tuple(map(_cut, (item_label(graph, item), *item_small(graph, item))))
    node = item.nodes[0] if item.times * item.step == 1 else -1
    return _Box(lines, say_item(graph, item), kind, f"item {item.nodes[0]}", node)


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} …"


def _leaf_box(node: Node, mark: str) -> _Box:
    kind = "new" if mark and mark in node.leaf else "free"
    sizes = str(node.leaf_sizes) if node.leaf_sizes else "one value"
    lines = node.leaf or "a leaf", sizes
    return _Box(lines, say_leaf(node), kind, f"leaf {node.number}", node.number)
