"""Operators of one's own that log at which dispatch keys they run: the oracle of path_of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch.utils._python_dispatch import TorchDispatchMode

C = torch._C

BACKENDS = ("CPU", "Meta", "SparseCPU", "SparseCsrCPU", "QuantizedCPU", "NestedTensorCPU")
PASSING = (
    *("AutogradCPU", "AutogradMeta", "AutogradNestedTensor", "ADInplaceOrView", "AutocastCPU"),
    *("Conjugate", "Negative", "ZeroTensor", "Tracer", "FuncTorchVmapMode"),
)
ENDING = ("Functionalize", "FuncTorchBatched")
SCHEMAS = {
    "one": "(Tensor x) -> Tensor",
    "two": "(Tensor x, Tensor y) -> Tensor",
    "listed": "(Tensor[] xs) -> Tensor",
    "maybe": "(int n, Tensor? x=None, *, Tensor? y=None) -> Tensor",
    "write_": "(Tensor(a!) x) -> Tensor(a!)",
    "into": "(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
    "make": "(int n, *, Layout? layout=None, Device? device=None) -> Tensor",
    "composite": "(Tensor x) -> Tensor",
    "anywhere": "(Tensor x) -> Tensor",
    "nowhere": "(Tensor x) -> Tensor",
}


class Log:
    """A library whose operators note each dispatch key at which they run."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.library = torch.library.Library("logged", "DEF")
        for name, schema in SCHEMAS.items():
            self.library.define(name + schema)
        layered = ("one", "two", "listed", "maybe", "write_", "into")
        for name in layered:
            self._register(name, PASSING, self._passing)
            self._register(name, (*BACKENDS, *ENDING), self._ending)
        self._register("make", ("BackendSelect",), self._selecting)
        self._register("make", ("CPU", "Meta", "SparseCPU"), self._ending)
        self._register("composite", ("CompositeImplicitAutograd",), self._ending)
        self._register("anywhere", ("CompositeExplicitAutograd",), self._ending)

    def run(self, name: str, *args: object, **kwargs: object) -> list[str]:
        """The keys at which a call of an operator runs."""
        self.keys.clear()
        getattr(torch.ops.logged, name)(*args, **kwargs)
        return list(self.keys)

    def _register(self, name: str, keys: tuple[str, ...], make: Callable) -> None:
        for key in keys:
            self.library.impl(name, make(name, key), key, with_keyset=True)

    def _passing(self, name: str, key: str) -> Callable:
        rest = C._dispatch_keyset_full_after(C._dispatch_key_parse(key))
        op = getattr(torch.ops.logged, name).default

        def kernel(keys, *args, **kwargs):
            self.keys.append(key)
            if key.startswith("Autocast"):  # as torch's kernels do: from the start, without it
                with C._ExcludeDispatchKeyGuard(C.DispatchKeySet(C._dispatch_key_parse(key))):
                    return op(*args, **kwargs)
            return op.redispatch(keys & rest, *args, **kwargs)

        return kernel

    def _selecting(self, name: str, key: str) -> Callable:
        op = getattr(torch.ops.logged, name).default

        def kernel(keys, n, *, layout=None, device=None):
            self.keys.append(key)
            backend = torch.device(device or "cpu").type
            prefix = "Sparse" if layout == torch.sparse_coo else ""
            found = C._dispatch_key_parse(prefix + {"cpu": "CPU", "meta": "Meta"}[backend])
            return op.redispatch(C.DispatchKeySet(found), n, layout=layout, device=device)

        return kernel

    def _ending(self, _name: str, key: str) -> Callable:
        def kernel(keys, *args, **kwargs):
            self.keys.append(self._now(keys) if key.startswith("Composite") else key)
            given = [*args, *kwargs.values()]
            given += [t for one in given if isinstance(one, (list, tuple)) for t in one]
            return next((t for t in given if isinstance(t, torch.Tensor)), torch.empty(0))

        return kernel

    @staticmethod
    def _now(keys) -> str:
        """A composite kernel stands at many keys: the one that it runs at."""
        return C._dispatch_key_name(keys.highestPriorityTypeId())


class Watching(TorchDispatchMode):
    """A mode that notes the calls that reach it, and answers them itself."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self.log = log

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        if op.namespace == "logged":
            self.log.keys.append("Python")
            return args[0] if args and isinstance(args[0], torch.Tensor) else torch.empty(0)
        return op(*args, **(kwargs or {}))


def subclass(log: Log) -> torch.Tensor:
    """A tensor of a class with a __torch_dispatch__ of its own."""

    class Noting(torch.Tensor):
        @staticmethod
        def __new__(cls):
            return torch.Tensor._make_wrapper_subclass(cls, (2, 2))

        @classmethod
        def __torch_dispatch__(cls, op, types, args=(), kwargs=None):
            log.keys.append("Python")
            return next(t for t in (*args, torch.empty(0)) if isinstance(t, torch.Tensor))

    return Noting()


@contextmanager
def tracing() -> Iterator[None]:
    """As inside torch.jit.trace, for the dispatcher."""
    key = C._dispatch_key_parse("Tracer")
    with C._IncludeDispatchKeyGuard(key):
        yield
