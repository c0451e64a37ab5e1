"""One step of a backward pass, in the picture of its graph and in words."""

from __future__ import annotations

from ..records import Backward, BackwardStep, Gradient, Node
from .backward_remarks import remarks
from .folding import MOST_UNFOLDED, items_of
from .graph import WIDEST_NOTE, draw_items
from .svg import Canvas
from .text import count, value_text
from .theme import MARGIN

_MOST_SHOWN = 6
# Of a large graph, so many steps are shown before and after the current one.
_BEFORE, _AFTER = 8, 24
_MOST_WAITING = 20


def step_svg(record: Backward, number: int, *, live: bool = False) -> str:
    """The graph as it stands when step `number` runs: what has run, what is ready, what waits."""
    title = f"step {number + 1} of {len(record.steps)}: {_name(record, record.steps[number])}"
    canvas, items = Canvas(live=live), items_of(record.graph, fold=False)
    canvas.text(MARGIN, 18, title, kind="h")
    below = "the gradient flows down, from the root to the leaves"
    if len(items) > MOST_UNFOLDED:
        near = _near(record, number)
        items = [item for item in items if item.nodes[0] in near]
        below += (
            f"; shown are {len(items)} of {len(record.graph.nodes):,} nodes, where the engine is"
        )
    canvas.text(MARGIN, 34, below, kind="s")
    draw_items(canvas, record.graph, items, top=44, notes=_notes(record, number))
    return canvas.svg(title)


def step_sentence(record: Backward, number: int) -> str:
    """What a step does: what arrives, what leaves, what is added to which `.grad`."""
    step = record.steps[number]
    node = record.graph.nodes[step.node]
    text = f"Step {number + 1} of {len(record.steps)}: {_name(record, step)} receives "
    text += " and ".join(map(gradient_text, step.received)) or "nothing"
    edges = len(record.graph.users_of(step.node)) if number else 1
    if edges > 1:
        text += f", the sum of what came along {edges} edges"
    if step.after is not None:
        held = "nothing" if step.before is None else gradient_text(step.before)
        return f"{text}. Its .grad held {held} and now holds {gradient_text(step.after)}."
    sent = [
        f"{gradient_text(gradient)} to {_target(record, node, k)}"
        for k, gradient in enumerate(step.sent)
        if k < len(node.edges) and node.edges[k] is not None
    ]
    return f"{text}. It sends {'; '.join(sent) or 'nothing'}."


def backward_text(record: Backward, *, most: int = 60) -> str:
    """A line for each step, in the order in which the engine ran them."""
    told = f"{count(len(record.steps), 'step')}, in the order in which the engine ran them:"
    lines = [told if record.steps else "No node ran."]
    lines += [f"  {step_sentence(record, k)}" for k in range(min(most, len(record.steps)))]
    if len(record.steps) > most:
        lines.append(f"and {len(record.steps) - most:,} more steps")
    lines += remarks(record)
    if record.error:
        lines.append(f"Then it raised: {record.error}")
    return "\n".join(lines)


def gradient_text(gradient: Gradient | None) -> str:
    """A gradient in a few words.

    >>> gradient_text(Gradient("float32", (2,), 5.0, (3.0, 4.0)))
    '[3, 4]'
    >>> gradient_text(Gradient("float32", (100,), 10.0)), gradient_text(None)
    ('(100,) of norm 10', 'no gradient')
    """
    if gradient is None:
        return "no gradient"
    if gradient.values and len(gradient.values) <= _MOST_SHOWN:
        shown = ", ".join(map(value_text, gradient.values))
        return f"[{shown}]" if gradient.sizes else shown
    if gradient.norm is None:  # sparse, nested, or on a device without data
        return f"{gradient.dtype} {gradient.sizes}, not read"
    return f"{gradient.sizes} of norm {value_text(gradient.norm)}"


def _notes(record: Backward, number: int) -> dict[int, tuple[str, str]]:
    """The kind of box and the word for each node at this step."""
    step = record.steps[number]
    notes = {node.number: ("free", "") for node in record.graph.nodes}
    notes |= {ran.node: ("used", _has_run(ran)) for ran in record.steps[:number]}
    notes |= {node: ("part", f"waits for {more}") for node, more in step.missing}
    notes |= {node: ("part", f"ready, place {k}") for k, node in enumerate(step.ready)}
    return notes | {step.node: ("new", "runs now")}


def _has_run(step: BackwardStep) -> str:
    """That a node has run, and what it received if that is short enough for its box."""
    received = " and ".join(map(gradient_text, step.received))
    return f"got {received}" if received and len(received) + 4 <= WIDEST_NOTE else "has run"


def _near(record: Backward, number: int) -> set[int]:
    """The nodes around a step: what has just run, what waits, and what runs next."""
    step = record.steps[number]
    around = record.steps[max(number - _BEFORE, 0) : number + _AFTER]
    waiting = [*step.ready, *(node for node, _ in step.missing)][:_MOST_WAITING]
    return {*(other.node for other in around), *waiting}


def _name(record: Backward, step: BackwardStep) -> str:
    node = record.graph.nodes[step.node]
    return f"AccumulateGrad of {node.leaf or 'a leaf'}" if node.is_leaf else node.name


def _target(record: Backward, node: Node, k: int) -> str:
    target = record.graph.nodes[node.edges[k].target]
    return (target.leaf or "a leaf") if target.is_leaf else target.name
