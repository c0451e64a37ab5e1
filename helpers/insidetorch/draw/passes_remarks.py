"""What only several backward passes together show."""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose

from ..records import BackwardStep, Gradient, Node, OptimizerStep, Pass, Passes
from .backward_remarks import averaged, is_known
from .text import value_text

_MOST_NUMBERS = 6


def between_passes(found: Passes) -> Iterator[str]:
    """Gradients that no step used, and means that were added up; a sentence each."""
    if cleared := list(_cleared(found)):
        yield (
            f"Before {passes_named(cleared)} .grad was cleared, and no optimizer step had used "
            "what an earlier pass had left there."
        )
    if left := _after_the_last_step(found):
        which = "1 more pass: no step has used its" if left == 1 else ""
        which = which or f"{left:,} more passes: no step has used their"
        yield f"After the last optimizer step came {which} gradients."
    yield from _unequal_means(found)


def passes_named(numbers: list[int]) -> str:
    """
    >>> passes_named([2]), passes_named([2, 3, 4]), passes_named([*range(9)])
    ('pass 2', 'passes 2, 3 and 4', 'passes 0, 1, 2, 3, 4, 5 and 3 more')
    """
    if len(numbers) == 1:
        return f"pass {numbers[0]}"
    last = str(numbers[-1])
    if len(numbers) > _MOST_NUMBERS:
        numbers, last = numbers[: _MOST_NUMBERS + 1], f"{len(numbers) - _MOST_NUMBERS:,} more"
    return f"passes {', '.join(map(str, numbers[:-1]))} and {last}"


def _cleared(found: Passes) -> Iterator[int]:
    """The passes that find nothing in `.grad` where an earlier one left a gradient.

    A weight that has changed since was updated by hand. What runs inside of a pass has no order.
    """
    left: dict[int, Gradient] = {}
    number = 0
    for event in found.events:
        if isinstance(event, OptimizerStep):
            left = {}
            continue
        number += 1
        leaves = {leaf.node: leaf for leaf in event.leaves}
        ends = [(leaves[s.node], s) for s in event.backward.steps if s.node in leaves]
        empty = [leaf for leaf, step in ends if not _is_some(step.before)]
        if not event.inside and any(left.get(leaf.number) == leaf.value for leaf in empty):
            yield number
        left |= {leaf.number: leaf.value for leaf, step in ends if _is_some(step.after)}


def _is_some(gradient: Gradient | None) -> bool:
    """Is there a gradient, and not zeros, which zero_grad(set_to_none=False) leaves?"""
    return gradient is not None and gradient.norm != 0


def _after_the_last_step(found: Passes) -> int:
    """How many passes filled a `.grad` after the last step; 0 where the run has no step."""
    steps = [k for k, event in enumerate(found.events) if isinstance(event, OptimizerStep)]
    if not steps or found.error:
        return 0
    after = [one for one in found.events[steps[-1] + 1 :] if not one.inside]
    return sum(any(_is_some(step.after) for step in one.backward.steps) for one in after)


def _unequal_means(found: Passes) -> Iterator[str]:
    """Two passes that add up gradients of means over unequal numbers, as if each value counted
    the same.
    """
    group: list[tuple[int, Node, float, float]] = []
    number = 0
    for event in found.events:
        if isinstance(event, OptimizerStep):
            group = []
            continue
        number += 1
        if event.inside:
            continue
        if not any(_is_some(step.before) for step in event.backward.steps):
            group = []
        if (mean := _mean(event)) is None:
            continue
        node, values, each = mean
        for earlier, other, fewer, counts in group:
            same = (other.name, other.place) == (node.name, node.place)
            if same and fewer != values and not isclose(each, counts, rel_tol=1e-3):
                made = f", {node.place}" if is_known(node.place) else ""
                yield (
                    f"Passes {earlier} and {number} were added up. Each takes a mean ({node.name}"
                    f"{made}), over {value_text(fewer)} and over {value_text(values)} values, of "
                    f"which one counts {value_text(counts)} and {value_text(each)}: the sum is not "
                    "the gradient of the mean over all of them."
                )
                return
        group.append((number, node, values, each))


def _mean(one: Pass) -> tuple[Node, float, float] | None:
    """The node that makes the loss a mean, over how many values, and how much each counts."""
    mean = averaged(one.backward)
    if mean is None or not mean[1] or mean[0].place is None:
        return None
    steps: list[BackwardStep] = [s for s in one.backward.steps if s.node == mean[0].number]
    gradient = steps[0].received[0] if steps else None
    if gradient is None or len(gradient.values) != 1:
        return None
    return mean[0], mean[1], abs(gradient.values[0]) / mean[1]
