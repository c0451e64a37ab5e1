"""A dtype that torch has no kernel for, or two that do not go together: where did it come from?"""

from __future__ import annotations

import re
from collections.abc import Iterator

import torch

from ..calls import Call
from ..finding import PROBLEM, Finding
from ..patient import Patient
from ..stacks import Spot
from ..values import Value
from .common import place, text_of

_TEXTS = (
    r"not implemented for '",
    r"must have the same (?:dtype|scalar type)"
    r"|expected .*(?:dtype|scalar type)|Found dtype|same data ?type",
    r"can't be cast to|Expected tensor for argument .* scalar types?"
    r"|Input type .* should be the same|expected m1 and m2 to have the same dtype"
    r"|Index put requires .* same dtype"
    r"|tensors used as indices must be|weight type .* should be|could not infer output dtype",
)
_WORDS = {
    torch.float16: r"float16|half", torch.bfloat16: r"bfloat16", torch.float64: r"float64|double",
    torch.int32: r"int32|\bint\(|intc|\.int\b", torch.int64: r"int64|long",
    torch.int16: r"int16|short",
    torch.uint8: r"uint8|byte", torch.bool: r"bool", torch.complex64: r"complex",
    torch.float32: r"float32|float\(",
}  # fmt: skip


def find(patient: Patient) -> Iterator[Finding]:
    """The line that gave a tensor the dtype which the failing call cannot take."""
    failed, error = patient.recorder.failed, patient.error
    if error is None or failed is None or patient.recorder.error is not error:
        return
    text = str(error)
    if not any(re.search(one, text) for one in _TEXTS):
        return
    value = _odd(failed, text)
    if value is None:
        return
    spot = origin(value) or failed.spot
    name = patient.names.listed([value])
    yield Finding(
        "dtype_mismatch", PROBLEM, place(spot), name,
        f"{name} got its dtype {value.dtype} here, and {failed.name} "
        f"({place(failed.spot)}) cannot take it: {text.splitlines()[0][:120]}",
        "Convert it where it is made: .float(), .long() or dtype=...; explain_dispatch tells "
        "which dtypes there are kernels for.",
        weight=90,
    )  # fmt: skip


_LETTERS = {"Half": torch.float16, "BFloat16": torch.bfloat16, "Double": torch.float64,
            "Int": torch.int32, "Long": torch.int64, "Short": torch.int16, "Byte": torch.uint8,
            "Bool": torch.bool, "Float": torch.float32, "Char": torch.int8,
            "ComplexFloat": torch.complex64, "ComplexDouble": torch.complex128}  # fmt: skip


def _odd(failed: Call, text: str) -> Value | None:
    """The input whose dtype is the trouble: named in the text, and not a parameter's."""
    named = [_LETTERS[w] for w in re.findall(r"\b[A-Z]\w+\b", text) if w in _LETTERS]
    named += [d for d in map(_dtype_of, re.findall(r"\b[a-z]+\d+\b|\bc10::\w+", text)) if d]
    own = [v for v in failed.inputs if v.dtype is not None]
    if "but got" in text:
        named = named[-1:] + named[:-1]
    default = torch.get_default_dtype()
    ranked = [v for d in named for v in own if v.dtype == d and not v.leaf and d != default]
    ranked += [v for v in own if not v.leaf and v.dtype != default]
    ranked += [v for v in own if v.dtype in named]
    if "indices" in text:
        ranked += [v for v in own if not v.leaf and v.dtype.is_floating_point]
    same = [v for v in ranked if v.dtype == ranked[0].dtype and v.made is not None]
    return min(same, key=lambda v: v.made.number, default=next(iter(ranked), None))


def _dtype_of(name: str) -> torch.dtype | None:
    found = getattr(torch, name.removeprefix("c10::").lower(), None)
    return found if isinstance(found, torch.dtype) else None


def origin(value: Value) -> Spot | None:
    """The line that gave a value its dtype: the one that names it, if a caller does."""
    dtype, maker = value.dtype, value.made
    while maker is not None:
        older = next((v for v in maker.inputs if v.dtype == dtype and v.made is not None), None)
        if older is None:
            break
        maker = older.made
    if maker is None:
        return None
    words = _WORDS.get(dtype, r"dtype")
    for spot in maker.stack:
        if re.search(words, text_of(spot)):
            return spot
    return maker.spot
