"""The private names of torch that concern its modes. See `private`."""

from __future__ import annotations

import sys

import torch
from torch.utils import _python_dispatch

NAMES = (
    "torch._C.DisableTorchFunction",
    "torch._C._DisableFuncTorch",
    "torch._C._dispatch_key_parse",
    "torch._C._dispatch_tls_is_dispatch_key_excluded",
    "torch._C._get_tracing_state",
    "torch._C._set_tracing_state",
    "torch._C._len_torch_dispatch_stack",
    "torch._ops._len_torch_dispatch_stack_pre_dispatch",
    "torch.utils._python_dispatch._disable_current_modes",
    "torch.utils._python_dispatch.TorchDispatchMode",
)

_TRACER = torch._C._dispatch_key_parse("Tracer")


class DispatchMode(_python_dispatch.TorchDispatchMode):
    """torch's dispatch mode, without loading the compiler for it.

    torch keeps the compiler out of a mode's `__torch_dispatch__`, and loads it to do so, which
    takes more than a second. Where it is not loaded there is nothing to keep out.
    """

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        guarded = cls.__dict__.get("__torch_dispatch__")
        plain = getattr(guarded, "__wrapped__", None)
        if plain is None:
            return

        def dispatch(self, op, types, args=(), kwargs=None):
            if "torch._dynamo" not in sys.modules:
                return plain(self, op, types, args, kwargs)
            cls.__torch_dispatch__ = guarded
            return guarded(self, op, types, args, kwargs)

        cls.__torch_dispatch__ = dispatch


class unseen:
    """Run operators that no mode, transform, trace or subclass of the user's sees or changes.

    A class, and modes put aside only where there are any: it is entered for every gradient.
    """

    def __enter__(self) -> None:
        # Inside of a __torch_dispatch__ no call is traced, and the state must not be set.
        self._traced = not torch._C._dispatch_tls_is_dispatch_key_excluded(_TRACER)
        if self._traced:
            self._tracing = torch._C._get_tracing_state()
            torch._C._set_tracing_state(None)
        self._parts = [torch._C.DisableTorchFunction(), torch._C._DisableFuncTorch()]
        if (
            torch._C._len_torch_dispatch_stack()
            or torch._ops._len_torch_dispatch_stack_pre_dispatch()
        ):
            self._parts.append(_python_dispatch._disable_current_modes())
        for part in self._parts:
            part.__enter__()

    def __exit__(self, *error: object) -> None:
        for part in reversed(self._parts):
            part.__exit__(*error)
        if self._traced:
            torch._C._set_tracing_state(self._tracing)
