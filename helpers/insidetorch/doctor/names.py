"""What the user calls a tensor."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice

import torch
from torch import nn

from .history import History
from .values import Value

_LISTED = 3  # names that are spelt out
_DEEPEST = 2  # lists in lists, and so on, whose parts get names
_MOST_PARTS = 64


class Named(tuple[str, ...]):
    """Names of tensors; as text, the first of them."""

    def __str__(self) -> str:
        more = f" and {len(self) - _LISTED} more" if len(self) > _LISTED else ""
        return ", ".join(self[:_LISTED]) + more


class Names:
    """Names of tensors: variables of the script, and parts of its modules."""

    def __init__(
        self,
        history: History,
        namespace: Mapping[str, object],
        model: nn.Module | None = None,
    ) -> None:
        self._names: dict[int, str] = {}
        self._named: list[tuple[weakref.ref, str]] = []
        self.modules: dict[int, str] = {}
        self.roots: list[nn.Module] = []
        for name, one in list(namespace.items()):
            if not name.startswith("__"):
                self._add(name, one)
        if model is not None and id(model) not in self.modules:
            self._add("", model)
        for ref in history.recorder.roots.values():
            module = ref()
            if module is not None and id(module) not in self.modules:
                self._add(type(module).__name__, module)
        for root in self.roots:
            self._name_unregistered(root)
        for event in history.of("register"):
            t, module = event.subject.tensor, event.note["module"]()
            if t is not None and module is not None:
                self._give(t, f"{type(module).__name__}.{event.note['name']}")

    def _give(self, t: torch.Tensor, name: str) -> None:
        if id(t) not in self._names:
            self._names[id(t)] = name
            self._named.append((weakref.ref(t), name))

    def _add(self, name: str, one: object, depth: int = 0) -> None:
        if isinstance(one, torch.Tensor):
            self._give(one, name)
        elif isinstance(one, nn.Module):
            if id(one) in self.modules:
                return
            self.roots.append(one)
            for path, part in one.named_modules():
                self.modules.setdefault(id(part), f"{name}.{path}" if path else name)
            named = one.named_parameters(remove_duplicate=False), one.named_buffers()
            for path, t in chain(*named):
                self._give(t, f"{name}.{path}" if name else path)
        elif depth < _DEEPEST:
            for place, part in _parts(one):
                self._add(f"{name}[{place}]", part, depth + 1)

    def _name_unregistered(self, root: nn.Module) -> None:
        """Name what the modules of a model hold in lists and plain attributes."""
        for part in root.modules():
            for name, one in vars(part).items():
                if not name.startswith("_") and isinstance(one, (torch.Tensor, list, tuple, dict)):
                    self._name_parts(f"{self.modules[id(part)]}.{name}".lstrip("."), one)

    def _name_parts(self, name: str, one: object, depth: int = 0) -> None:
        if isinstance(one, torch.Tensor):
            self._give(one, name)
        elif isinstance(one, nn.Module):
            for path, t in chain(one.named_parameters(), one.named_buffers()):
                self._give(t, f"{name}.{path}")
        elif depth < _DEEPEST:
            for place, part in _parts(one):
                self._name_parts(f"{name}[{place}]", part, depth + 1)

    def of(self, value: Value) -> str:
        """The name of a tensor, or what it is."""
        t = value.tensor
        if t is not None and id(t) in self._names:
            return self._names[id(t)]
        kind = "parameter" if isinstance(t, nn.Parameter) else "tensor"
        return f"a {kind} of shape {tuple(value.shape)}"

    def tensors(self) -> dict[str, torch.Tensor]:
        """The tensors of models that live, by their names."""
        return {name: t for ref, name in self._named if (t := ref()) is not None}

    def of_module(self, module: nn.Module) -> str:
        """The name of a module and its class: net.2 (Sigmoid)."""
        kind, name = type(module).__name__, self.modules.get(id(module))
        return f"{name} ({kind})" if name else kind

    def listed(self, values: Iterable[Value | None]) -> Named:
        """The names of several tensors, in the order in which they were first seen."""
        known = sorted((v for v in values if v is not None), key=lambda v: v.number)
        return Named(dict.fromkeys(map(self.of, known)))


def _parts(one: object) -> Iterator[tuple[object, object]]:
    """The parts of a list or a dictionary, each with its index."""
    if type(one) in (list, tuple):
        yield from enumerate(one[:_MOST_PARTS])
    elif isinstance(one, dict):
        yield from ((repr(key), part) for key, part in islice(one.items(), _MOST_PARTS))
