"""An operator that lacks something: a formula for its backward pass, or a kernel."""

from __future__ import annotations

import re

from ...observe import private_doctor
from ..calls import Call
from ..finding import PROBLEM, Finding
from ..patient import Patient
from ..stacks import Spot
from .common import place


def formula_missing(patient: Patient, failed: Call) -> Finding:
    found = re.search(r"through (\S+)\.default but no autograd formula", str(patient.error))
    name = found[1] if found else ""
    maker, code = _op_call(patient, name), private_doctor.custom_op_code(name)
    spot = Spot(code, code.co_firstlineno) if code else maker.spot if maker else failed.spot
    return Finding(
        "custom_op", PROBLEM, place(spot), (name,),
        "This operator has no formula for its backward pass.",
        "Register one: torch.library.register_autograd(name, backward, setup_context=...).",
        weight=90,
    )  # fmt: skip


def _op_call(patient: Patient, name: str) -> Call | None:
    short = name.split(".")[-1]
    return next((c for c in reversed(patient.history.calls) if short and short in c.name), None)


def kernel_missing(patient: Patient, failed: Call) -> Finding:
    found = re.search(r"'(\w+)' backend", str(patient.error))
    return Finding(
        "backend_missing", PROBLEM, place(failed.spot), (),
        f"{failed.name} has no kernel for {found[1] if found else 'this backend'}.",
        "Convert the tensor first (dequantize(), to_dense(), .cpu()), or call the operator that is "
        "made for it. explain_dispatch tells which kernels there are.",
        weight=90,
    )  # fmt: skip
