"""Writes that went to a copy, to places that overlap, or to a view that cannot be."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...observe.places import place_of
from ..finding import PROBLEM, Finding
from ..patient import Patient
from .common import enclosing, files_of, place, statement_at, tree_of

_PICKS = {"index_select", "masked_select", "gather", "take"}


def overlaps(patient: Patient) -> Iterator[Finding]:
    """Writes to a tensor whose elements share places in memory."""
    for call in patient.history.calls:
        if call.note.get("overlap"):
            yield Finding(
                "overlap_write", PROBLEM, place(call.spot), (),
                f"{call.name} writes to a tensor whose elements overlap in memory: an element is "
                "changed more than once, and so is what it is a view of.",
                "Write the result into a new tensor, or .clone() before the write.",
                weight=56,
            )  # fmt: skip
            return


def second_names(patient: Patient) -> Iterator[Finding]:
    """A tensor with two names that is changed in place under one and used under the other."""
    told = set()
    for call in patient.history.calls:
        if not call.changed or call.spot is None or call.spot in told:
            continue
        told.add(call.spot)
        statement = statement_at(call.spot)
        name = _changed_name(statement)
        function = enclosing(call.spot, (ast.FunctionDef, ast.AsyncFunctionDef))
        if name is None or function is None:
            continue
        other = _second_name(function, name, statement)
        if other is not None:
            yield Finding(
                "inplace_silent", PROBLEM, place(call.spot), (other,),
                f"{other} and {name} are two names of one tensor: this line changes it in place, "
                f"and {other} is used afterwards.",
                f"Make a new tensor: {name} = {name} + ..., or {other} = {name}.clone().",
                weight=51,
            )  # fmt: skip
            return


def _changed_name(statement: ast.stmt | None) -> str | None:
    """The variable that a statement changes in place."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        return statement.target.id
    value = getattr(statement, "value", None)
    if isinstance(statement, ast.Assign) and isinstance(value, ast.Call):
        return _rebound_name(statement, value)
    if isinstance(statement, ast.Expr) and isinstance(value, ast.Call):
        called = value.func
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            return called.value.id if called.attr.endswith("_") else None
    return None


def _rebound_name(statement: ast.Assign, value: ast.Call) -> str | None:
    """The variable of `h = relu(h, inplace=True)` or `h = h.relu_()`."""
    target, called = statement.targets[0], value.func
    base = called.value if isinstance(called, ast.Attribute) else None
    for given in (base, *value.args[:1]):
        if isinstance(given, ast.Name) and given.id == getattr(target, "id", None):
            return given.id
    return None


def _second_name(function: ast.stmt, name: str, changed: ast.stmt) -> str | None:
    """Another variable that was bound to the same object before, and is read after."""
    for node in ast.walk(function):
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Name)):
            continue
        target = node.targets[0]
        if node.value.id != name or not isinstance(target, ast.Name):
            continue
        bound = [
            n.lineno for n in ast.walk(function)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            and n.id in (name, target.id) and node.lineno < n.lineno < changed.lineno
        ]  # fmt: skip
        read = [
            n.lineno for n in ast.walk(function)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
            and n.id == target.id and n.lineno > changed.lineno
        ]  # fmt: skip
        if node.lineno < changed.lineno and not bound and read:
            return target.id
    return None


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
                    "copy_not_view", PROBLEM, place(call.spot), (),
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
                    "copy_not_view", PROBLEM, place(call.spot), (),
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
    spot = failed.spot if failed else None
    if spot is not None:  # the last one before the line that fails, where it stands in that file
        found.sort(key=lambda one: (one[0] != spot.file, one[1] > spot.line, -one[1]))
    where = place_of(*found[0]) if found else place(spot)
    yield Finding(
        "numpy_stride", PROBLEM, where, (),
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
