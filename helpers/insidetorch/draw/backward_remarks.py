"""What is worth knowing about a backward pass that no single step says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isfinite, prod

from ..records import Backward, BackwardStep, Gradient, Node, Place

_MEAN = re.compile(r"(Mean|NllLoss|MseLoss|SmoothL1Loss|HuberLoss|BinaryCrossEntropy)\w*Backward")
_MOST_NAMES = 8
_MOST_ORIGINS = 3


def remarks(record: Backward) -> list[str]:
    """Where NaN begins, what the engine summed to size, where nothing was sent; a sentence each."""
    return [*_start(record), *_empty_means(record), *_not_finite(record), *_returned(record)]


def node_text(node: Node, *, formula: Place | None = None) -> str:
    """A node by its name, or its leaf, with the line that made it, and that of its formula."""
    name = (node.leaf or "a leaf") if node.is_leaf else node.name
    lines = [f"made by {node.place}"] if is_known(node.place) else []
    lines += [f"its backward: {formula}"] if is_known(formula) else []
    return f"{name} ({'; '.join(lines)})" if lines else name


def is_known(place: Place | None) -> bool:
    """Is there a file or a cell to name?

    >>> is_known(Place("", 1, ""))
    False
    """
    return place is not None and bool(place.file or place.cell)


def averaged(record: Backward) -> tuple[Node, float] | None:
    """The node that makes the loss a mean, and over how many values; None if there is none.

    Only single values lie between it and the loss: another mean is a part of the model.
    """
    waiting = [edge.target for edge in record.graph.roots]
    for number in waiting:
        node = record.graph.nodes[number]
        if node.outputs != ((),):
            continue
        if _MEAN.match(node.name) and (values := _averaged_over(node)) is not None:
            return node, values
        targets = [edge.target for edge in node.edges if edge is not None]
        waiting += [target for target in dict.fromkeys(targets) if target not in waiting]
    return None


def _averaged_over(node: Node) -> float | None:
    saved = {one.name: one for one in node.saved}
    if "reduction" in saved and saved["reduction"].text != "1":  # 1 stands for a mean
        return None
    if "total_weight" in saved:  # of what is not ignored
        value = saved["total_weight"].value
        return None if value is None else float(value)
    for name in ("self_sym_numel", "self_numel"):
        if name in saved and saved[name].text.isdigit():
            return int(saved[name].text)
    if "self" in saved and saved["self"].is_tensor:
        return prod(saved["self"].sizes)
    return None


def _start(record: Backward) -> Iterator[str]:
    """What is wrong before the first node runs."""
    for edge, root in zip(record.graph.roots, record.roots, strict=False):
        if not _finite(root):
            yield "The value that is differentiated is not finite itself."
        if not record.steps and "scalar" in record.error and prod(root.sizes) != 1:
            yield (
                f"The pass starts from {prod(root.sizes):,} values, of "
                f"{node_text(record.graph.nodes[edge.target])}. Only a single value needs no "
                "gradient to start with: reduce them, such as with .mean(), or give gradient=."
            )
    if record.steps and not all(map(_finite, record.steps[0].received)):
        yield "The gradient that the pass starts with is not finite."


def _empty_means(record: Backward) -> Iterator[str]:
    for node in record.graph.nodes:
        some = all(map(prod, node.outputs))
        if _MEAN.match(node.name) and some and _averaged_over(node) == 0:
            yield f"{node_text(node)} takes the mean of no values, which is NaN."


def _not_finite(record: Backward) -> list[str]:
    """Where gradients that are not finite begin, and which leaves they reach."""
    origins = [step for step in record.steps if _begins(step)]
    if not origins:
        return []
    reached = [(step, leaves) for step in origins if (leaves := _spoiled(record, step))]
    if not reached:
        where = node_text(record.graph.nodes[origins[0].node])
        return [f"{where} sends NaN or infinity, and no leaf receives any of it."]
    found = [
        f"Here NaN or infinity begins: {node_text(record.graph.nodes[step.node])} receives finite "
        f"values and sends others. They reach {_names(leaves)}."
        for step, leaves in reached[:_MOST_ORIGINS]
    ]
    if more := len(reached) - _MOST_ORIGINS:
        found += [f"NaN or infinity begins at {more:,} more nodes."] if more > 0 else []
    return found


def _spoiled(record: Backward, origin: BackwardStep) -> list[Node]:
    """The leaves that what is not finite reaches from here, edge by edge."""
    steps = {step.node: step for step in record.steps}
    waiting, leaves = [origin.node], []
    seen = set(waiting)
    for number in waiting:
        node = record.graph.nodes[number]
        for edge, sent in zip(node.edges, steps[number].sent, strict=False):
            if edge is None or _finite(sent) or edge.target in seen or edge.target not in steps:
                continue
            seen.add(edge.target)
            if all(map(_finite, steps[edge.target].received)):  # a hook has replaced it
                continue
            waiting.append(edge.target)
            if record.graph.nodes[edge.target].is_leaf:
                leaves.append(record.graph.nodes[edge.target])
    return leaves


def _names(leaves: list[Node]) -> str:
    named = [leaf.leaf for leaf in leaves if leaf.leaf]
    shown = named[:_MOST_NAMES]
    more = len(leaves) - len(shown)
    if not shown:
        return "a leaf" if more == 1 else f"{more:,} leaves"
    if more:
        shown.append("1 more leaf" if more == 1 else f"{more:,} more leaves")
    return ", ".join(shown)


def _begins(step: BackwardStep) -> bool:
    return all(map(_finite, step.received)) and not all(map(_finite, step.sent))


def _finite(gradient: Gradient | None) -> bool:
    if gradient is None or gradient.norm is None:
        return True
    return isfinite(abs(gradient.norm))


def _returned(record: Backward) -> Iterator[str]:
    """What formulas written in Python returned that is not as large as its input, or missing."""
    for step in record.steps:
        if step.returned is None or not any(step.received):
            continue
        node = record.graph.nodes[step.node]
        edges = [edge for edge in node.edges if edge is not None]
        who = node_text(node, formula=step.formula)
        if step.returned == ():
            yield f"{who} returns None, as a function without a return statement does."
            continue
        for edge, gradient in zip(edges, step.returned, strict=False):
            target = record.graph.nodes[edge.target]
            if gradient is None:
                yield f"{who} returns no gradient for {node_text(target)}."
                continue
            wanted = target.leaf_sizes if target.is_leaf else target.outputs[edge.output_nr]
            if gradient.sizes != wanted:
                text = f"{who} returns {_sized(gradient.sizes)} for {node_text(target)}, "
                text += f"which has {_sized(wanted)}."
                if step.sent:
                    text += " The engine sums it to that size, without an error."
                yield text


def _sized(sizes: tuple[int, ...]) -> str:
    return f"sizes {sizes}" if sizes else "one value"
