"""The value reaches the loss, and the gradient does not come back: where is the way cut?"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from ..finding import PROBLEM, Finding
from ..history import Cut
from ..passes import NONE
from ..patient import Patient
from ..stacks import Spot
from ..values import LIVE, Value
from .common import place, text_of
from .cut_kinds import fix_of, kind_of, spot_of, what


def find(patient: Patient) -> Iterator[Finding]:
    """Leaves that no pass reached though their values went into a loss."""
    lost: dict[tuple[Spot | None, str], tuple[Cut, dict[Value, None]]] = {}
    for one in patient.history.samples():
        if one.error is not None and "does not require grad" not in str(one.error):
            continue  # it may have ended before it reached them
        dead = one.error is not None
        nearest: dict[Value, list[Cut]] = {}
        for cut in patient.cuts(one):
            for leaf in cut.leaves:
                if (dead or patient.missing(leaf)) and patient.wanted.wants(leaf, kind_of(cut)):
                    known = nearest.setdefault(leaf, [cut])
                    if cut.depth < known[0].depth:
                        nearest[leaf] = [cut]
                    elif cut.depth == known[0].depth and cut not in known:
                        known.append(cut)
        for leaf, cuts in nearest.items():
            for cut in cuts:
                kind = kind_of(cut)
                lost.setdefault((spot_of(cut, kind), kind), (cut, {}))[1][leaf] = None
    for (spot, kind), (cut, leaves) in lost.items():
        names = patient.names.listed(leaves)
        yield Finding(
            kind, PROBLEM, place(spot), names,
            f"No gradient comes back to {names}: {what(cut, kind)}, and the loss was computed "
            "from the result.",
            fix_of(cut, kind), weight=60 + min(len(leaves), 9) - cut.depth + cut.call.number * 1e-9,
        )  # fmt: skip
    yield from silent_parts(patient)
    yield from samples(patient)


def silent_parts(patient: Patient) -> Iterator[Finding]:
    """Leaves of the user's whose gradient is zero in the parts whose way is cut."""
    for one in patient.history.samples():
        cuts = patient.cuts(one) if one.accumulate else []
        for cut in cuts:
            for leaf in cut.leaves:
                t = leaf.tensor
                if t is None or isinstance(t, torch.nn.Parameter) or leaf not in one.leaves:
                    continue
                grad = t.grad if t.is_leaf else None
                if grad is None or one.leaves[leaf] == NONE or not _zero_slices(grad):
                    continue
                kind = kind_of(cut)
                if kind == "non_diff_op":  # a condition or an index, which carries no gradient
                    continue
                name = patient.names.listed([leaf])
                yield Finding(
                    kind, PROBLEM, place(spot_of(cut, kind)), name,
                    f"Parts of {name} get no gradient at all: {what(cut, kind)}, and they reach "
                    "the loss only through the result.",
                    fix_of(cut, kind), weight=55,
                )  # fmt: skip
                return


def _zero_slices(grad: torch.Tensor) -> bool:
    """Are some, and not all, of the parts along the first dimension exactly zero?"""
    if grad.dim() == 0 or grad.layout != torch.strided:
        return False
    zero = (grad == 0).reshape(grad.shape[0], -1).all(dim=1)
    return bool(zero.any()) and not bool(zero.all())


def samples(patient: Patient) -> Iterator[Finding]:
    """Samples of a distribution that a loss is computed from, and not their log-probability."""
    for one in patient.history.samples():
        for cut in patient.cuts(one):
            off = cut.call.off
            if off is None or off.name != "distributions" or one.error is not None:
                continue
            flow = patient.history.flow(one)
            readers = [r for r in cut.value.readers if r in flow.calls and LIVE in r.made]
            if not readers or any("log_prob" in text_of(s) for r in readers for s in r.stack):
                continue
            leaves = [v for v in cut.leaves if patient.wanted.wants(v)]
            if leaves:
                names = patient.names.listed(leaves)
                yield Finding(
                    "no_grad", PROBLEM, place(off.spot), names,
                    f"No gradient comes back through this sample to {names}: sample() runs without "
                    "gradients, and the loss is computed from the sample itself.",
                    "Use rsample(), which keeps the graph, or the log-probability of the sample.",
                    weight=56,
                )  # fmt: skip
                return
