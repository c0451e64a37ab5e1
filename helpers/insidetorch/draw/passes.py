"""The backward passes of a run in words: what each found in `.grad`, and what it left there."""

from __future__ import annotations

from collections.abc import Iterator

from ..records import Gradient, OptimizerStep, Pass, Passes
from .backward import gradient_text
from .backward_remarks import is_known, node_text, remarks
from .graph_text import saved_text
from .passes_remarks import between_passes, passes_named
from .text import count

_MOST_PASSES = 12
_MOST_LEAVES = 12
_MOST_OVERWRITTEN = 4


def passes_sentence(found: Passes) -> str:
    """How many passes and steps there were, and what ended them."""
    n = len(found.passes)
    steps = len(found.events) - n
    text = f"{n:,} backward {'pass' if n == 1 else 'passes'}, {count(steps, 'optimizer step')}."
    if found.unseen:
        text += f" {found.unseen:,} more, in another thread or from a GradientEdge, not seen."
    if found.error:
        text += f" Then it raised {found.error.removesuffix('.')}"
        text += f", at {found.error_place}" if is_known(found.error_place) else ""
    return text


def passes_text(found: Passes) -> str:
    """Every pass with its line, what its leaves received, and what is worth knowing.

    Of many passes the first are told, and of the others those with something to remark.
    """
    lines, number, told, left_out = [passes_sentence(found)], 0, 0, 0
    for event in found.events:
        if isinstance(event, OptimizerStep):
            if not left_out:
                lines.append(f"step of {event.optimizer}{_at(event)}")
            continue
        number += 1
        words = _remarks(event)
        if told >= _MOST_PASSES and (not words or told >= 2 * _MOST_PASSES):
            left_out += 1
            continue
        lines += _skipped(left_out)
        left_out, told = 0, told + 1
        lines += [*_pass_lines(event, number), *(f"  {one}" for one in words)]
    return "\n".join([*lines, *_skipped(left_out), *between_passes(found)])


def _skipped(passes: int) -> list[str]:
    return [f"and {passes:,} more {'pass' if passes == 1 else 'passes'}"] if passes else []


def _at(event: Pass | OptimizerStep) -> str:
    return f", {event.place}" if is_known(event.place) else ""


def _pass_lines(one: Pass, number: int) -> Iterator[str]:
    record = one.backward
    nodes, numbers = record.graph.nodes, {leaf.node: leaf.number for leaf in one.leaves}
    value = " and ".join(map(gradient_text, record.roots))
    inside = f", called inside of pass {one.inside}" if one.inside else ""
    yield f"pass {number}{_at(one)}{inside}: from {value}, {count(len(record.steps), 'node')} ran"
    if not record.graph.whole:
        yield f"  The graph is larger than the {len(nodes):,} nodes that are watched."
    ends = [step for step in record.steps if nodes[step.node].is_leaf]
    for step in ends[:_MOST_LEAVES]:
        held, now = map(_held, (step.before, step.after))
        name = nodes[step.node].leaf or f"leaf {numbers.get(step.node, 0)} without a name"
        yield (
            f"  {name} receives {' and '.join(map(gradient_text, step.received))}; .grad held "
            f"{held}, now {now}"
        )
    if len(ends) > _MOST_LEAVES:
        yield f"  and {len(ends) - _MOST_LEAVES:,} more leaves"


def _held(gradient: Gradient | None) -> str:
    return "nothing" if gradient is None else gradient_text(gradient)


def _remarks(one: Pass) -> list[str]:
    return [*remarks(one.backward), *_again(one), *_error(one)]


def _again(one: Pass) -> Iterator[str]:
    """Which nodes ran in an earlier pass, and whether what they keep is still there."""
    if not one.again:
        return
    nodes = [one.backward.graph.nodes[number] for number in one.again]
    youngest = max(nodes, key=lambda node: node.age)
    which = passes_named(sorted(set(one.again.values())))
    text = f"{count(len(nodes), 'node')} of this graph ran before, in {which}"
    text += f"; the youngest was made by {youngest.place}." if is_known(youngest.place) else "."
    saved = [saved for node in nodes for saved in node.saved]
    freed, kept = sum(one.freed for one in saved), any(one.is_tensor for one in saved)
    if freed:
        text += (
            f" {count(freed, 'tensor')} that they had kept {'is' if freed == 1 else 'are'} "
            "freed since then, and a node that lacks one raises."
        )
    elif kept:
        text += " What they keep is still there, as after retain_graph=True."
    yield text


def _error(one: Pass) -> Iterator[str]:
    record = one.backward
    if not record.error:
        return
    wrong = [(node, one) for node in record.graph.nodes for one in node.saved if one.overwritten]
    for node, saved in wrong[:_MOST_OVERWRITTEN]:
        yield f"{node_text(node)} kept {saved_text(saved)}"
    if len(wrong) > _MOST_OVERWRITTEN:
        yield f"and {len(wrong) - _MOST_OVERWRITTEN:,} more"
    yield f"it raised: {record.error}"
