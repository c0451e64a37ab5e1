"""Writes that went to a copy, to places that overlap, or to a view that cannot be."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...observe.places import place_of
from ..finding import PROBLEM, Finding
from ..patient import Patient
from .common import files_of, place, tree_of

_PICKS = {"index_select", "masked_select", "gather", "take"}


def overlaps(patient: Patient) -> Iterator[Finding]:
    """Writes to a tensor whose elements share places in memory."""
    for call in patient.history.calls:
        if call.note.get("overlap"):
            yield Finding(
                "overlap_write", PROBLEM, place(call.spot), "",
                f"{call.name} writes to a tensor whose elements overlap in memory: an element is "
                "changed more than once, and so is what it is a view of.",
                "Write the result into a new tensor, or .clone() before the write.",
                weight=56,
            )  # fmt: skip
            return


def copies(patient: Patient) -> Iterator[Finding]:
    """Writes that went to a copy, or that wrote one place several times."""
    for call in patient.history.calls:
        if call.name == "__setitem__" and call.note.get("repeats"):
            read = next(
                (r for r in call.inputs[0].readers
                 if r.name == "__getitem__" and r.spot == call.spot and r.number < call.number
                 and r.note.get("index") == call.note.get("index")), None,
            )  # fmt: skip
            if read is not None:
                yield Finding(
                    "copy_not_view", PROBLEM, place(call.spot), "",
                    "The index names a place more than once. It is read once, changed in a copy "
                    "and written back: of all changes of one place only the last counts.",
                    "Use index_add_, or index_put_(..., accumulate=True), or torch.bincount.",
                    weight=56,
                )  # fmt: skip
                return
        for value in call.changed:
            made = value.made
            if made is None or made is call or value.tensor is not None:
                continue
            picked = made.name in _PICKS or (
                made.name == "__getitem__" and made.note.get("advanced")
            )
            if picked and all(r is call for r in value.readers):
                yield Finding(
                    "copy_not_view", PROBLEM, place(call.spot), "",
                    "An index of tensors, lists or a mask gives a copy. The write goes into that "
                    "copy, which nobody keeps.",
                    "Write with the index itself, x[index] = ..., or through slices, which are "
                    "views.",
                    weight=56,
                )  # fmt: skip
                return


def negative_strides(patient: Patient) -> Iterator[Finding]:
    """An array that NumPy has flipped, which is a view with a negative stride."""
    if patient.error is None or "negative" not in str(patient.error):
        return
    if "stride" not in str(patient.error):
        return
    found = [(file, node.lineno) for file in files_of(patient) or _script(patient)
             for node in ast.walk(tree_of(file) or ast.Module([], [])) if _flips(node)]  # fmt: skip
    failed = patient.recorder.failed
    where = place_of(*found[0]) if found else place(failed.spot) if failed else None
    yield Finding(
        "numpy_stride", PROBLEM, where, "",
        "A flipped NumPy array is a view with a negative stride, which a tensor cannot have.",
        "Copy the array after the flip: np.ascontiguousarray(...) or .copy().", weight=90,
    )  # fmt: skip


def _script(patient: Patient) -> list[str]:
    failed = patient.recorder.failed
    return list(dict.fromkeys(spot.file for spot in failed.stack)) if failed else []


def _flips(node: ast.AST) -> bool:
    if isinstance(node, ast.Slice) and isinstance(node.step, ast.UnaryOp):
        return isinstance(node.step.op, ast.USub)
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        return name in ("flip", "fliplr", "flipud", "rot90")
    return False
