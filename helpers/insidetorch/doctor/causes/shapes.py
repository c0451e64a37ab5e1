"""Shapes that fit by accident: a loss that broadcasts, a reshape that mixes dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from ..calls import Call
from ..finding import NOTE, Finding
from ..patient import Patient
from ..values import Value
from .common import place

_BINARY = {"sub", "__sub__", "__rsub__", "rsub", "add", "__add__", "mul", "__mul__", "div",
           "__truediv__", "eq", "__eq__", "pow", "square"}  # fmt: skip
_LOSSES = {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss",
           "binary_cross_entropy_with_logits", "binary_cross_entropy", "kl_div",
           "poisson_nll_loss"}  # fmt: skip
_MEANT = {"unsqueeze", "expand", "expand_as", "view", "reshape", "meshgrid", "broadcast_to"}
_MOST_DIMS = 6


def broadcasts(patient: Patient) -> Iterator[Finding]:
    """A column minus a row: every element of one with every element of the other."""
    for call in _in_losses(patient):
        if call.name in _BINARY and _outer(call):
            a, b = (tuple(v.shape) for v in call.inputs[:2])
            made = tuple(call.outputs[0].shape)
        elif call.name in _LOSSES and len(call.inputs) > 1:
            a, b = (tuple(v.shape) for v in call.inputs[:2])
            made = "all pairs that broadcasting gives"
            if a == b or not a or not b:
                continue
        else:
            continue
        yield Finding(
            "broadcast", NOTE, place(call.spot), (),
            f"Sizes {a} and {b} are broadcast to {made}: each element of one meets each of the "
            "other.",
            "Give both the same size (pred.squeeze(1), or y[:, None]), if pairs are not meant.",
            weight=40,
        )  # fmt: skip
        return


def _outer(call: Call) -> bool:
    """Is it (n, 1) with (n,), of which neither was reshaped to meet the other?"""
    if len(call.inputs) < 2 or not call.outputs:
        return False
    a, b = sorted((tuple(v.shape) for v in call.inputs[:2]), key=len)
    if len(b) != len(a) + 1 or not a or b[-1] != 1 or a[-1] == 1 or b[:-1] != a:
        return False
    return not any(_shaped(v) for v in call.inputs[:2])


def _shaped(value: Value) -> bool:
    made = value.made
    if made is None:
        return False
    return made.name in _MEANT or bool(made.note.get("new_axis")) or made.note.get("keepdim", False)


def _in_losses(patient: Patient) -> Iterator[Call]:
    inside = {}
    for one in patient.history.samples():
        inside.update(patient.history.flow(one).calls)
    yield from sorted(inside, key=lambda call: call.number)


def scrambled(patient: Patient) -> Iterator[Finding]:
    """A reshape whose sizes fit only if dimensions change places, which it does not do."""
    told = set()
    for call in patient.history.calls:
        if call.name not in ("reshape", "view", "flatten", "unflatten") or not call.outputs:
            continue
        if call.spot in told or not call.inputs:
            continue
        given, made = tuple(call.inputs[0].shape), tuple(call.outputs[0].shape)
        order = reordered(given, made)
        if order is None:
            continue
        told.add(call.spot)
        yield Finding(
            "scrambled_view", NOTE, place(call.spot), (),
            f"{call.name} makes {made} out of {given}: these sizes line up only when the "
            f"dimensions stand in the order {order}, and {call.name} keeps the order of the "
            "elements. Values of different rows end up in one row.",
            f"Permute first: .permute{order}, then .reshape{made}.",
            weight=35,
        )  # fmt: skip


def reordered(given: tuple[int, ...], made: tuple[int, ...]) -> tuple[int, ...] | None:
    """The order of dimensions in which a reshape would only merge or split; None if it does so.

    >>> reordered((2, 4, 5, 3), (2, 5, 12))
    (0, 2, 1, 3)
    >>> reordered((2, 5, 12), (2, 5, 4, 3)) is None
    True
    """
    wide = [k for k, n in enumerate(given) if n != 1]
    sizes = [given[k] for k in wide]
    target = [n for n in made if n != 1]
    if not 2 <= len(sizes) <= _MOST_DIMS or len(target) < 2 or 0 in sizes:
        return None
    if _lines_up(sizes, target):
        return None
    narrow = [k for k, n in enumerate(given) if n == 1]
    for order in permutations(range(len(sizes))):
        if _lines_up([sizes[k] for k in order], target):
            found = [wide[k] for k in order]
            for k in narrow:
                found.insert(k, k)
            return tuple(found)
    return None


def _lines_up(sizes: list[int], target: list[int]) -> bool:
    """Do all borders of one shape fall on borders of the other, in this order?"""
    a, b = _borders(sizes), _borders(target)
    return a <= b or b <= a


def _borders(sizes: list[int]) -> set[int]:
    found, product = set(), 1
    for n in sizes:
        product *= n
        found.add(product)
    return found
