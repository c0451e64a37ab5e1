"""Memory that is shared where a copy was meant, and copies where a view was meant."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Iterator
from types import FrameType

import torch
from torch import nn

from ...observe import private_doctor
from ..calls import Event
from ..finding import PROBLEM, Finding
from ..patient import Patient
from ..stacks import Spot
from ..values import Value
from .common import place


def aliases(patient: Patient) -> Iterator[Finding]:
    """Tensors that were kept as if they were copies, and changed with what they share."""
    yield from _two_parameters(patient)
    yield from _snapshots(patient)


def _two_parameters(patient: Patient) -> Iterator[Finding]:
    """Parameters of two modules that are two objects and one memory, which a step has written."""
    owners: dict[int, list[tuple[str, nn.Parameter]]] = defaultdict(list)
    for root in patient.names.roots:
        for name, p in root.named_parameters():
            if p.numel() and p.layout == torch.strided:
                owners[p.untyped_storage().data_ptr(), p.storage_offset()].append((name, p))
    for shared in owners.values():
        if len({id(p) for _, p in shared}) < 2 or len({p.shape for _, p in shared}) > 1:
            continue
        calls = [e for e in patient.history.of("load_state_dict") if e.note.get("assign")]
        calls += [c for c in patient.history.calls if c.name == "data.set"]
        written = [c for c in patient.history.calls if c.name == "step"]
        spots = [one.stack[0] for one in calls if one.stack]
        if spots and written:
            names = patient.names.listed(patient.recorder.values.of(p) for _, p in shared)
            yield Finding(
                "storage_shared", PROBLEM, place(spots[-1]), names,
                f"{names} are one piece of memory since this line: a step of one changes both.",
                "Copy the values: load_state_dict without assign=True, or .data.clone().",
                weight=54,
            )  # fmt: skip
            return


def _snapshots(patient: Patient) -> Iterator[Finding]:
    """A state_dict that was kept while its parameters went on changing."""
    for event in patient.history.of("state_dict"):
        if any(v.wrote for _, v in event.note["tensors"]):  # it is used to write to the parameters
            continue
        changed = [
            v for _, v in event.note["tensors"]
            if v.memory is not None and _written_after(v, event.at)
            and (v.tensor is not None or _read_after_write(v))
        ]  # fmt: skip
        if changed and not _saved(patient, event):
            yield Finding(
                "storage_shared", PROBLEM, place(event.stack[0]) if event.stack else None,
                ("state_dict()",),
                "state_dict() gives the parameters themselves, not copies. They have been written "
                f"since, so {len(changed)} tensors in it are no longer what they were.",
                "Keep copy.deepcopy(model.state_dict()), or clone each value.",
                weight=54,
            )  # fmt: skip
            return


def _saved(patient: Patient, event: Event) -> bool:
    """Was something saved to a file before the parameters changed, so that it has served?"""
    first = min(
        (c.number for _, v in event.note["tensors"] if v.memory is not None
         for c, _ in v.memory.writes if c.number > event.at), default=1 << 62,
    )  # fmt: skip
    return any(event.at <= e.at < first for e in patient.history.of("save"))


def _written_after(value: Value, at: int) -> bool:
    return any(c.number > at and w is not value for c, w in value.memory.writes)


def _read_after_write(value: Value) -> bool:
    writes = [
        c.number for c, _ in value.memory.writes if value.made and c.number > value.made.number
    ]
    return bool(writes) and any(r.number > min(writes) for r in value.readers)


def slices(patient: Patient) -> Iterator[Finding]:
    """Small parts that keep large memories alive."""
    parts: dict[Spot, list[torch.Tensor]] = defaultdict(list)
    seen = set()
    for call in patient.history.calls:
        for value in call.outputs:
            t = value.tensor
            if t is None or call.spot is None or value.made is not call or value.memory is None:
                continue
            if all(value.memory is not given.memory for given in call.inputs):  # no view
                continue
            if id(value.memory) in seen or t.untyped_storage().nbytes() < 8 * max(t.nbytes, 1):
                continue
            seen.add(id(value.memory))
            parts[call.spot].append(t)
    groups = {
        spot: [(t.untyped_storage().nbytes(), t.nbytes) for t in tensors if not _whole_is_held(t)]
        for spot, tensors in parts.items() if len(tensors) > 2
    }  # fmt: skip
    for spot, found in groups.items():
        if len(found) > 2:
            held, used = (sum(column) for column in zip(*found, strict=True))
            yield Finding(
                "storage_shared", PROBLEM, place(spot), (),
                f"{len(found)} parts that were made here use {used:,} bytes and keep {held:,} "
                "bytes alive: a view holds all of the memory that it looks into.",
                "Keep copies of the parts: .clone().", weight=52,
            )  # fmt: skip
            return


def _whole_is_held(t: torch.Tensor) -> bool:
    """Does something of the user's hold the tensor that this is a part of?

    A view alone keeps its base alive too, where no Python object refers to it.
    """
    base = private_doctor.base(t)
    if base is None:
        return False
    return any(not isinstance(one, FrameType) for one in gc.get_referrers(base))
