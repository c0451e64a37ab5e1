"""What the user calls a tensor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import nn

from .history import History
from .values import Value


class Names:
    """Names of tensors: variables of the script, and parts of its modules."""

    def __init__(
        self,
        history: History,
        namespace: Mapping[str, object],
        model: nn.Module | None = None,
    ) -> None:
        self._names: dict[int, str] = {}
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
        for event in history.of("register"):
            t, module = event.subject.tensor, event.note["module"]()
            if t is not None and module is not None:
                self._names.setdefault(id(t), f"{type(module).__name__}.{event.note['name']}")

    def _add(self, name: str, one: object, depth: int = 0) -> None:
        if isinstance(one, torch.Tensor):
            self._names.setdefault(id(one), name)
        elif isinstance(one, nn.Module):
            if id(one) in self.modules:
                return
            self.roots.append(one)
            for path, part in one.named_modules():
                self.modules.setdefault(id(part), f"{name}.{path}" if path else name)
            for path, p in one.named_parameters(remove_duplicate=False):
                self._names.setdefault(id(p), f"{name}.{path}" if name else path)
        elif isinstance(one, (list, tuple)) and depth < 2:
            for k, part in enumerate(one[:64]):
                self._add(f"{name}[{k}]", part, depth + 1)
        elif isinstance(one, dict) and depth < 2:
            for key, part in list(one.items())[:64]:
                self._add(f"{name}[{key!r}]", part, depth + 1)

    def of(self, value: Value) -> str:
        """The name of a tensor, or what it is."""
        t = value.tensor
        if t is not None and id(t) in self._names:
            return self._names[id(t)]
        kind = "parameter" if isinstance(t, nn.Parameter) else "tensor"
        return f"a {kind} of shape {tuple(value.shape)}"

    def listed(self, values: Iterable[Value], most: int = 3) -> str:
        """Several names, the first of them spelt out."""
        ordered = sorted(values, key=lambda v: v.number)
        names = list(dict.fromkeys(map(self.of, ordered)))
        more = f" and {len(names) - most} more" if len(names) > most else ""
        return ", ".join(names[:most]) + more
