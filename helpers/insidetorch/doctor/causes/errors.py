"""Errors that torch raises about gradients: the line that made them happen."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ..calls import Call
from ..finding import PROBLEM, Finding
from ..patient import Patient
from ..stacks import Spot
from ..values import LIVE, Value
from .common import in_helper, place, where_lost
from .keepers import setting_line, storing_line
from .operators import formula_missing, kernel_missing
from .versions import in_place_spot


def find(patient: Patient) -> Iterator[Finding]:
    """The error that ended the run, if it is one of these."""
    failed = patient.recorder.failed
    if patient.error is None or failed is None or patient.recorder.error is not patient.error:
        return
    text = str(patient.error)
    for pattern, explain in _ERRORS:
        if re.search(pattern, text):
            found = explain(patient, failed)
            if found is not None:
                yield found
            return


def _finding(
    kind: str, spot: Spot | None, subject: tuple[str, ...], message: str, fix: str
) -> Finding:
    return Finding(kind, PROBLEM, place(spot), subject, message, fix, weight=90)


def _leaf(patient: Patient, failed: Call) -> Finding:
    value = next((v for v in failed.inputs if v.leaf), None)
    name = patient.names.listed([value])
    return _finding(
        "inplace_leaf", failed.spot, name,
        f"{failed.name} changes {name or 'a leaf'} in place, or a view of it, while autograd "
        "records: it is a leaf that requires a gradient, and would lose its value.",
        "Put the update under torch.no_grad(), or write the result into a new tensor.",
    )  # fmt: skip


def _view(patient: Patient, failed: Call) -> Finding:
    spot = in_place_spot(patient, failed)
    return _finding(
        "inplace_view", spot, (),
        f"{failed.name} writes into one of several views that one call made, or into a view that "
        "a custom function or a hook made: autograd cannot follow that.",
        "Write into a copy (.clone()), or use the function that is not in place.",
    )  # fmt: skip


def _scalar(patient: Patient, failed: Call) -> Finding:
    root = failed.inputs[0] if failed.inputs else None
    maker = in_helper(root, failed)
    shape = tuple(root.shape) if root is not None else ()
    return _finding(
        "non_scalar", maker.spot if maker else failed.spot, patient.names.listed([root]),
        f"This value has the shape {shape}, and backward() without an argument starts from one "
        "number only.",
        "Reduce it with .mean() or .sum(), or pass backward(gradient=...).",
    )  # fmt: skip


def _not_leaf(patient: Patient, failed: Call) -> Finding:
    value = next((v for v, how in zip(failed.inputs, failed.standing, strict=False) if how == LIVE),
                 None)  # fmt: skip
    maker = value.made if value is not None else None
    spot = where_lost(maker, failed.stack) if maker else failed.spot
    return _finding(
        "non_leaf", spot, patient.names.listed([value]),
        "The tensor that is made here is the result of a computation, not a leaf.",
        "Make the leaf last: compute first, then .detach().requires_grad_(), or keep the leaf "
        "under a name of its own.",
    )  # fmt: skip


def _deepcopy(patient: Patient, failed: Call) -> Finding:
    value = failed.inputs[0] if failed.inputs else None
    maker = value.made if value is not None else None
    spot = storing_line(maker) or maker.spot if maker else failed.spot
    return _finding(
        "non_leaf", spot, patient.names.listed([value]),
        "What is copied holds a tensor that was computed here, with its history; only leaves can "
        "be copied.",
        "Do not keep the result in the object, keep it detached, or copy before the first forward.",
    )  # fmt: skip


def _integers(patient: Patient, failed: Call) -> Finding:
    value = next((v for v in failed.inputs if v.dtype and not v.dtype.is_floating_point), None)
    maker = value.made if value is not None else None
    return _finding(
        "non_diff_op", maker.spot if maker else failed.spot,
        patient.names.listed([value]),
        "The tensor is made of integers, and gradients exist for floating-point and complex "
        "numbers only.",
        "Give it a floating-point dtype: torch.tensor(..., dtype=torch.float32).",
    )  # fmt: skip


def _numpy(patient: Patient, failed: Call) -> Finding:
    return _finding(
        "item_roundtrip", failed.spot, patient.names.listed(failed.inputs[:1]),
        "A tensor with a history is asked for its NumPy array: NumPy knows nothing of gradients.",
        "Stay in torch if a gradient is to come back; else say so with .detach().numpy().",
    )  # fmt: skip


def _in_inference(value: Value) -> bool:
    off = value.made.off if value.made is not None else None
    return off is not None and off.name == "inference_mode"


def _inference(patient: Patient, failed: Call) -> Finding:
    value = next(filter(_in_inference, failed.inputs), None)
    maker = value.made if value is not None else None
    spot = maker.off.spot if maker and maker.off and maker.off.spot else maker and maker.spot
    return _finding(
        "no_grad", spot or failed.spot, patient.names.listed([value]),
        "A tensor that was made in inference mode is needed for a backward pass.",
        "Use torch.no_grad() instead of inference_mode there, or clone the tensor outside of it.",
    )  # fmt: skip


def _view_shape(patient: Patient, failed: Call) -> Finding:
    return _finding(
        "view_incompatible", failed.spot, (),
        "The memory of this tensor is not in the order that the new shape needs: a view cannot "
        "merge these dimensions.",
        "Use .reshape() or .flatten(), which copy where they must, or .contiguous() before it.",
    )  # fmt: skip


def _overlap(patient: Patient, failed: Call) -> Finding:
    value = failed.inputs[0] if failed.inputs else None
    maker = value.made if value is not None else None
    return _finding(
        "overlap_write", maker.spot if maker else failed.spot,
        patient.names.listed([value]),
        f"{maker.name if maker else 'An earlier call'} makes several elements share one place in "
        f"memory, and {place(failed.spot)} writes to them.",
        "Copy it before the write: .clone(), or repeat instead of expand.",
    )  # fmt: skip


def _nothing_to_optimize(patient: Patient, failed: Call) -> Finding:
    asked = [e for e in patient.history.of("parameters") if e.subject() is not None]
    module = asked[-1].subject() if asked else None
    hidden = [
        name for name, one in (vars(module).items() if module is not None else ())
        if isinstance(one, (list, tuple, dict)) and not name.startswith("_") and one
    ]  # fmt: skip
    where = setting_line(patient, hidden[0]) if hidden else None
    kept = f" It keeps {hidden[0]} in a plain container, where nothing is found." if hidden else ""
    return Finding(
        "unregistered", PROBLEM, where or place(failed.spot), tuple(hidden),
        f"The optimizer gets no parameter at all: .parameters() of the model finds none.{kept}",
        "Keep modules in a ModuleList or ModuleDict, and tensors as Parameters.", weight=90,
    )  # fmt: skip


def _not_used(patient: Patient, failed: Call) -> Finding:
    return _finding(
        "unused_param", failed.spot, (),
        "A gradient is asked for a tensor that the result was not computed from.",
        "Compute the result from it, ask for the tensor that was used, or pass allow_unused=True "
        "where None is right.",
    )  # fmt: skip


Explain = Callable[[Patient, Call], Finding | None]
_ERRORS: tuple[tuple[str, Explain], ...] = (
    (r"leaf Variable that requires grad is being used in an in-place", _leaf),
    (r"is a view and is being modified inplace", _view),
    (r"grad can be implicitly created only for scalar", _scalar),
    (r"can't optimize a non-leaf|only change requires_grad flags of leaf", _not_leaf),
    (r"support the deepcopy protocol", _deepcopy),
    (r"[Oo]nly Tensors of floating point", _integers),
    (r"Can't call numpy\(\) on Tensor that requires grad", _numpy),
    (r"Inference tensors cannot be saved|Inplace update to inference tensor", _inference),
    (r"view size is not compatible", _view_shape),
    (r"more than one element of the written-to tensor", _overlap),
    (r"no autograd formula was registered", formula_missing),
    (r"Could not run '", kernel_missing),
    (r"optimizer got an empty parameter list", _nothing_to_optimize),
    (r"appears to not have been used in the graph", _not_used),
)
