"""The graph of autograd in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ..records import Graph, Node, Saved
from .folding import Item, items_of, pattern
from .text import count

MOST_LINES = 80
_MOST_NAME = 32


def graph_sentence(graph: Graph) -> str:
    """How large is the graph, and what does it keep?"""
    if not graph.nodes:
        return graph.reason
    more = "" if graph.whole else "at least "
    text = f"{more}{count(len(graph.nodes), 'node')}, {count(graph.edge_count, 'edge')}, "
    text += "1 leaf" if len(graph.leaves) == 1 else f"{len(graph.leaves):,} leaves"
    if graph.saved_bytes:
        text += f"; {count(graph.saved_bytes, 'byte')} saved for backward"
    freed = sum(saved.freed for node in graph.nodes for saved in node.saved)
    if freed:
        text += f"; {count(freed, 'saved tensor')} freed by a backward pass"
    wrong = sum(saved.overwritten for node in graph.nodes for saved in node.saved)
    if wrong:
        text += f"; {count(wrong, 'saved tensor')} written in place since"
    return f"{text}."


def graph_text(
    graph: Graph, *, fold: bool | None = None, opened: Collection[str] | None = None
) -> str:
    """A line for each node, youngest first, what is folded as one; see `items_of`."""
    lines = [graph_sentence(graph)]
    if not graph.nodes:
        return lines[0]
    if not graph.whole:
        lines.append("The walk ended early: what lies deeper is not listed.")
    if graph.nodes[graph.roots[0].target].is_leaf and len(graph.nodes) == 1:
        lines.append("It is a leaf: while recording is on, torch refuses a write to it in place.")
    lines += _lines(graph, items_of(graph, fold=fold, opened=opened))
    lines += [f"  {say_leaf(leaf)}" for leaf in graph.leaves if leaf.hooks]
    left_out = len(lines) - MOST_LINES
    if left_out > 1:
        lines = [*lines[:MOST_LINES], f"and {left_out:,} more lines"]
    return "\n".join(lines)


def item_label(graph: Graph, item: Item) -> str:
    """The name of a node, a module or a step, and how often it is repeated.

    >>> from insidetorch.records import Node
    >>> item_label(Graph((Node(0, "MulBackward0", (), (), 0),), ()), Item((0,), 1))
    'MulBackward0'
    """
    if item.modules:
        names = item.modules if item.times == 1 else map(pattern, item.modules)
        name = ", ".join(dict.fromkeys(names))
        name = name if len(name) <= _MOST_NAME else f"{len(item.modules)} modules"
    else:
        name = graph.nodes[item.nodes[0]].name if item.step == 1 else f"{item.step} nodes"
    return name if item.times == 1 else f"{name} × {item.times:,}"


def item_small(graph: Graph, item: Item) -> tuple[str, ...]:
    """What stands below the name: the sizes of what arrives, and what is saved."""
    nodes = [graph.nodes[number] for number in item.nodes]
    if item.modules:
        each = " each" if item.times > 1 else ""
        return (f"{item.step} nodes{each}",)
    kept = [saved for node in nodes for saved in node.saved if saved.is_tensor or saved.freed]
    sizes = _received(nodes[0])
    if not kept:
        return (sizes,)
    if all(saved.freed for saved in kept):
        return (f"{sizes}, freed",)
    return (f"{sizes}, saves {len(kept):,}",)


def say_item(graph: Graph, item: Item) -> str:
    """What is read out for a box of inner nodes."""
    nodes = [graph.nodes[number] for number in item.nodes[: item.step]]
    names = ", ".join(node.name for node in nodes[:8]) + (" and more" if len(nodes) > 8 else "")
    if item.times > 1:
        return f"{item.times:,} times {', '.join(item.modules) or 'the step'}: {names}"
    if item.modules:
        return f"{item.modules[0]}, {count(len(nodes), 'node')}: {names}"
    return f"{nodes[0].name}: {_node_facts(nodes[0])}"


def say_leaf(node: Node) -> str:
    """What is read out for a leaf."""
    sizes = node.leaf_sizes if node.leaf_sizes else "one value"
    hooks = f"; {count(node.hooks, 'hook')} set on it" if node.hooks else ""
    return (
        f"{node.leaf or 'a leaf without a name here'}, sizes {sizes}: its gradient ends here{hooks}"
    )


def saved_text(saved: Saved) -> str:
    """A saved tensor or value in a few words."""
    if saved.overwritten:
        return (
            f"{saved.name} {saved.text}, saved at version {saved.expected}, now at version "
            f"{saved.version}: backward will raise"
        )
    return f"{saved.name} {saved.text}"


def _is_noise(saved: Saved) -> bool:
    """Sizes and the like, noted without any memory, and what is not kept at all."""
    return not saved.is_tensor and (saved.text == "None" or "_sym_" in saved.name)


def _received(node: Node) -> str:
    """The sizes of the gradients that a node receives; many of one size as one."""
    sizes = [str(size) if size else "one value" for size in node.outputs]
    if not sizes:
        return "sizes that torch does not tell"
    if len(sizes) > 2 and len(set(sizes)) == 1:
        return f"{len(sizes):,} times {sizes[0]}"
    return " and ".join(sizes)


def _node_facts(node: Node) -> str:
    sizes = _received(node)
    kept = "; ".join(saved_text(saved) for saved in node.saved if not _is_noise(saved))
    made = f"; in {node.module}" if node.module else ""
    made += f"; made by {node.place}" if node.place else ""
    return f"receives {sizes}" + (f"; saves {kept}" if kept else "; saves no tensor") + made


def _lines(graph: Graph, items: list[Item]) -> Iterator[str]:
    for item in items:
        nodes = [graph.nodes[number] for number in item.nodes[: item.step]]
        indent = "  "
        if item.times > 1 or item.modules:
            times = f"{item.times:,} times" if item.times > 1 else ""
            yield f"  {' '.join(filter(None, (times, ', '.join(item.modules))))}:"
            indent = "    "
        for node in nodes:
            yield f"{indent}{node.name} → {_targets(graph, node)}; {_node_facts(node)}"


def _targets(graph: Graph, node: Node) -> str:
    names = []
    for edge in node.edges:
        if edge is None:
            names.append("no gradient")
        else:
            target = graph.nodes[edge.target]
            names.append((target.leaf or "a leaf") if target.is_leaf else target.name)
    return ", ".join(names) or "nothing"
