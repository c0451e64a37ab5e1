"""What does a function of torch mean for the record: a call, something else, or nothing?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import torch

from .stacks import called_by_user, stack_here
from .tensors import standing_of

if TYPE_CHECKING:
    from .recorder import Recorder


class Kind(NamedTuple):
    """The name under which a function is written down; None where nothing is.

    `handler` names one of `HANDLED`, for a function that is no ordinary call.
    """

    name: str | None
    handler: str | None = None


# Attributes that give a tensor of the user's: others are facts about one.
_ATTRIBUTES = {"T", "mT", "H", "mH", "real", "imag", "data"}
_NOTHING = {
    "dim", "size", "stride", "numel", "nelement", "ndimension", "element_size", "data_ptr",
    "get_device", "storage_offset", "untyped_storage", "storage", "type", "retain_grad",
    "has_names", "is_complex", "is_floating_point", "is_contiguous", "is_pinned", "is_shared",
    "is_inference", "is_conj", "is_neg", "is_nonzero", "is_same_size", "is_set_to", "is_signed",
    "is_coalesced", "is_tensor", "is_storage", "result_type", "can_cast", "__len__", "__repr__",
    "__str__", "__format__", "__hash__", "__dir__", "__reduce_ex__", "_is_view", "__contains__",
    "_record_function_enter_new", "_RecordFunction", "manual_seed", "get_default_dtype",
    "is_grad_enabled", "_has_compatible_shallow_copy_type", "allclose", "equal", "broadcast_shapes",
}  # fmt: skip
_HANDLERS = {
    "_set_grad_enabled": "switch",
    "backward": "engine",
    "grad": "engine",
    "requires_grad_": "requires_grad",
    "requires_grad.set": "set_requires_grad",
    "grad.get": "read_grad",
    "grad.set": "set_grad",
    "data.set": "set_data",
    "register_hook": "hook",
    "register_post_accumulate_grad_hook": "hook",
}


def kind_of(f: Callable) -> Kind:
    """How is a function written down?"""
    name = getattr(f, "__name__", type(f).__name__)
    if name in ("__get__", "__set__", "__delete__"):
        attribute = getattr(getattr(f, "__self__", None), "__name__", "")
        name = f"{attribute}.{name.strip('_')}"
        if name in _HANDLERS:
            return Kind(name, _HANDLERS[name])
        return Kind(attribute) if attribute in _ATTRIBUTES and name.endswith(".get") else Kind(None)
    if name in _HANDLERS and (name != "grad" or f is torch.autograd.grad):
        return Kind(name, _HANDLERS[name])
    return Kind(None if name in _NOTHING or name.startswith("_record_function") else name)


# Functions that are no ordinary calls.


def _switch(recorder: Recorder, f: Callable, args: tuple, kwargs: dict):
    result = f(*args, **kwargs)
    recorder.switch(bool(args[0]))
    return result


def _engine(recorder: Recorder, f: Callable, args: tuple, kwargs: dict):
    """A backward pass: the record goes on inside of it."""
    try:
        with recorder.away():
            return f(*args, **kwargs)
    except BaseException as error:
        recorder.raised(error, f.__name__, args, kwargs)
        raise


def _requires_grad(recorder: Recorder, f: Callable, args: tuple, kwargs: dict):
    on = args[1] if len(args) > 1 else kwargs.get("requires_grad", True)
    return _require(recorder, f, args, kwargs, on)


def _set_requires_grad(recorder: Recorder, f: Callable, args: tuple, kwargs: dict):
    return _require(recorder, f, args, kwargs, args[1])


def _require(recorder: Recorder, f: Callable, args: tuple, kwargs: dict, on: bool):
    try:
        result = f(*args, **kwargs)
    except BaseException as error:
        recorder.raised(error, "requires_grad", args, kwargs)
        raise
    value = recorder.values.of(args[0])
    value.leaf = bool(on) and args[0].is_leaf
    recorder.event("requires_grad", value, stack=stack_here(), on=bool(on))
    return result


def _read_grad(recorder: Recorder, f: Callable, args: tuple, kwargs: dict):
    result = f(*args, **kwargs)
    if not called_by_user():
        return result
    value = recorder.values.of(args[0])
    if result is None:
        recorder.event("read", value, stack=stack_here())
    elif recorder.values.known(result) is None:
        made = [one for one in recorder.history if value in one.leaves]
        roots = [t for t in (v.tensor for v in made[-1].roots) if t is not None] if made else []
        recorder.note(
            "grad", roots, tuple(map(standing_of, roots)), result, stack=stack_here(),
            note={"pass": made[-1] if made else None, "of": value},
        )  # fmt: skip
    return result


def _set_grad(recorder: Recorder, f: Callable, args: tuple, kwargs: dict):
    value = recorder.values.of(args[0])
    recorder.event("grad", value, stack=stack_here(), cleared=args[1] is None)
    return f(*args, **kwargs)


def _set_data(recorder: Recorder, f: Callable, args: tuple, kwargs: dict):
    """`p.data = t`: the values of t are those of p from now on, and autograd knows nothing."""
    target, given = args[0], args[1]
    result = recorder.call("data.set", f, args, kwargs)
    recorder.values.moved(target)
    call = recorder.calls[-1] if recorder.calls else None
    if call is None or call.name != "data.set":
        return result
    value = recorder.values.of(target)
    value.wrote.append(call)
    if value.memory is not None:
        value.memory.writes.append((call, value))
    call.changed = (value,)
    call.outputs += (value,)
    call.made += (0,)
    recorder.values.of(given)
    return result


def _hook(recorder: Recorder, f: Callable, args: tuple, kwargs: dict):
    result = f(*args, **kwargs)
    hook = args[1] if len(args) > 1 else kwargs.get("hook")
    code = getattr(hook, "__code__", None)
    recorder.event("hook", recorder.values.of(args[0]), stack=stack_here(), code=code)
    return result


HANDLED = {
    "switch": _switch,
    "engine": _engine,
    "requires_grad": _requires_grad,
    "set_requires_grad": _set_requires_grad,
    "read_grad": _read_grad,
    "set_grad": _set_grad,
    "set_data": _set_data,
    "hook": _hook,
}
