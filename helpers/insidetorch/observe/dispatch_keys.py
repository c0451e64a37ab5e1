"""What stands at a dispatch key, what does it do, and does the call go on after it?"""

from __future__ import annotations

from collections.abc import Mapping

from ..records.dispatch import (
    AUTOGRAD,
    COMPOSITE,
    DEFAULT,
    FALLBACK,
    FALLTHROUGH,
    KERNEL,
    MISSING,
    KeyStep,
)
from . import private_dispatch

FRONT = "FuncTorchDynamicLayerFrontMode"
BACK = "FuncTorchDynamicLayerBackMode"

# torch's words for what is in a table, where they are not ours.
_KINDS = {
    "math kernel": COMPOSITE,
    "nested kernel": COMPOSITE,
    "batched kernel": COMPOSITE,
    "ambiguous autogradother": MISSING,
}

# After these the call does not go on by itself: what they call has a path of its own.
_HANDING_OVER = {
    "Python": "Hands the call to the __torch_dispatch__ of a mode or a subclass; what that runs "
    "is up to its code.",
    "PythonDispatcher": "Lets Python choose the kernel.",
    "PreDispatch": "Hands the call to a mode that looks before autograd and autocast.",
    "FuncTorchBatched": "Runs the operator for all the samples of a vmap: by operators that know "
    "the batch dimension, or sample by sample.",
    "BatchedNestedTensor": "Runs the operator for the samples of a vmap over a nested tensor.",
    "Batched": "Runs the operator for a batch of gradients.",
    "Functionalize": "Takes the tensors out of their wrappers and calls an operator that writes to "
    "none of its arguments.",
}

# What the other keys that are no backend do with a kernel or a fallback, and why they are there.
_GOING_ON = {
    "PythonTLSSnapshot": "Notes the thread's modes for the Python key.",
    FRONT: "Calls the operator again inside the innermost transform of torch.func.",
    BACK: "Leaves that transform and calls the operator again on what its tensors stand for.",
    "FuncTorchVmapMode": "Looks after random numbers inside vmap, then calls the operator again.",
    "VmapMode": "Looks after random numbers in a batch of gradients.",
    "FuncTorchGradWrapper": "Stands for a tensor of torch.func that has lost its transform.",
    "Tracer": "Writes the call down for torch.jit.trace.",
    "ADInplaceOrView": "Counts the write in the version counter, or ties the view to its base.",
    "ZeroTensor": "Treats a tensor of zeros that has no memory.",
    "Negative": "Writes the negated values out, because the operator cannot read the neg bit.",
    "Conjugate": "Writes the conjugated values out, because the operator cannot read the conj bit.",
    "BackendSelect": "Chooses the backend from the device, the layout and the dtype asked for.",
}

_LEFT_OUT = {
    "BackendSelect": "Chooses a backend where no tensor does; this operator leaves it to its "
    "tensors.",
    "ADInplaceOrView": "Would count a write or tie a view; the operator has nothing here.",
    "Conjugate": "The operator treats the conj bit itself.",
    "Negative": "The operator treats the neg bit itself.",
}


def holds(table: Mapping[str, str], key: str) -> str:
    """What an operator's table has at a key, in the words of the record."""
    kind = table.get(key, MISSING)
    return _KINDS.get(kind, kind)


def is_backend(key: str) -> bool:
    """Does the key stand for a kind of memory, where values are computed?"""
    known = key in _HANDING_OVER or key in _GOING_ON or key in ("DeferredInit", "Fake")
    return not known and not key.startswith(("Autograd", "Autocast", "TESTING_ONLY"))


def ends(key: str, kind: str) -> bool:
    """Is the call over at this key?"""
    if kind == FALLTHROUGH:
        return False
    computed = is_backend(key) or (key == "ZeroTensor" and kind == KERNEL)
    return kind in (COMPOSITE, MISSING) or key in _HANDING_OVER or computed


def sentence(key: str, kind: str) -> str:
    """What is done at this key, and why."""
    if kind == MISSING:
        return "Nothing is registered here, so the call fails."
    if kind == COMPOSITE:
        return "The operator is made of others: each of them is dispatched from the start."
    if kind == FALLTHROUGH:
        return _LEFT_OUT.get(key, _passing(key))
    if key.startswith("Autograd"):
        return _autograd(kind)
    if key.startswith("Autocast"):
        return "Casts what autocast wants cast, then calls the operator again without this key."
    if key in _HANDING_OVER or key in _GOING_ON:
        return (_HANDING_OVER | _GOING_ON)[key]
    if is_backend(key):
        return _backend(key, kind)
    return "Runs for every operator, then passes the call on."


def refusal(operator: str, table: Mapping[str, str], last: KeyStep) -> str:
    """Why no kernel takes the call; "" if one does.

    Args: `operator`, its full name; `table`, what it has at each key; `last`, the step at which the
    call ends.
    """
    if last.key == "Meta" and last.holds == FALLBACK:
        return (
            f"{operator}: attempted to run this operator with Meta tensors. It has no kernel that "
            "works out the result's sizes. Register one with torch.library.register_fake."
        )
    if last.holds != MISSING:
        return ""
    if last.key == "Undefined":
        return (
            f"{operator} has got no tensor, and no kernel that runs without one. Torch cannot tell "
            "the backend. Give it a tensor."
        )
    own = sorted(key for key, kind in table.items() if is_backend(key) and kind == KERNEL)
    common = any(kind in (DEFAULT, "math kernel") for kind in table.values())
    has = [f"kernels for {', '.join(own)}"] if own else []
    has += ["one kernel for several backends"] if common else []
    backend = private_dispatch.backend_name(last.key)
    return (
        f"Could not run '{operator}' with arguments from the '{backend}' backend. "
        f"It has {' and '.join(has) or 'no kernel at all'}. Convert the arguments, or register a "
        f"kernel for {last.key} with torch.library."
    )


def _passing(key: str) -> str:
    if key.startswith("Autocast"):
        return "Autocast leaves this operator's arguments as they are."
    return "The operator has nothing to do here."


def _autograd(kind: str) -> str:
    if kind == FALLBACK:
        return "No derivative is registered: the call goes on, and no formula is recorded."
    if kind == AUTOGRAD:
        return (
            "Looks at requires_grad and the grad mode, records a node if they ask for one, and "
            "passes the call on."
        )
    return "Runs the operator's own code for autograd, which may pass the call on."


def _backend(key: str, kind: str) -> str:
    if key == "Undefined":
        return "Runs with no tensor given: one kernel for every backend."
    if key == "Meta" and kind == FALLBACK:
        return "No kernel works out the result's sizes, so the call fails."
    if key == "Meta":
        return "Works out sizes, strides and dtype; a meta tensor has no values to compute."
    if kind == DEFAULT:
        return f"Runs on {key} by code that serves every backend and calls other operators."
    if kind == FALLBACK:
        return f"Runs the code that {key} has for every operator without a kernel of its own."
    return f"Runs the kernel written for {key}; a choice by dtype is made inside of it."
