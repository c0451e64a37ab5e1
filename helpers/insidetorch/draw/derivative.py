"""The graph behind a derivative: what was there before, and what create_graph added."""

from __future__ import annotations

from ..records import Derivative
from .backward import gradient_text
from .graph import graph_svg
from .graph_text import graph_sentence, graph_text
from .text import count

_NAMES = ("the value", "the first derivative", "the second derivative", "the third derivative")


def derivative_sentence(found: Derivative) -> str:
    """The values, how large the graph is, and how much of it is new."""
    name = _order_name(found.order)
    if found.refusal:
        return f"There is no {name.removeprefix('the ')} to be had: {found.refusal}."
    text = f"{name[0].upper()}{name[1:]} is {gradient_text(found.value)}. "
    if not found.graph.nodes:
        return f"{text}There is no graph behind it, so it cannot be differentiated again."
    text += graph_sentence(found.graph)
    if found.order:
        added = len(found.graph.nodes) - len(found.kept)
        text += f" {count(added, 'node')} {'was' if added == 1 else 'were'} added for it."
    return text


def derivative_text(found: Derivative) -> str:
    """The sentence, and the graph."""
    graph = f"\n{graph_text(found.graph)}" if found.graph.nodes else ""
    return derivative_sentence(found) + graph


def derivative_svg(found: Derivative, *, live: bool = False) -> str:
    """The graph; nodes that stand in the graph of the order below say so, the others are new."""
    notes = {}
    if found.order:
        notes = {node.number: ("new", "added") for node in found.graph.nodes}
        notes |= {number: ("used", "there before") for number in found.kept}
    notes |= {node.number: ("free", "a leaf") for node in found.graph.leaves}
    title = derivative_sentence(found).partition(". ")[0]
    return graph_svg(found.graph, live=live, title=title, notes=notes)


def _order_name(order: int) -> str:
    return _NAMES[order] if order < len(_NAMES) else f"the derivative of order {order}"
