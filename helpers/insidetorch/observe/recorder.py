"""From which line of the user's code, and in which module, was each node of a graph made?"""

from __future__ import annotations

import threading
from bisect import bisect_right

import torch

from ..records import Place
from . import private, private_nodes
from .places import current_place


class ForwardRecorder(private.DispatchMode):
    """Remembers, while it is entered, the line and the module that make nodes of the graph.

    Args: `module`, whose parts are named by their path in it.
    Records the thread in which it is entered; nodes that other threads make meanwhile may be taken
    for nodes of its lines. Nothing of the recorded code changes, but one thing: torch runs a
    compiled function operator by operator under any dispatch mode, and one that is called for the
    first time so may stay uncompiled until `torch.compiler.reset()`.

    >>> with ForwardRecorder() as forward:
    ...     y = torch.ones(2, requires_grad=True) * 2
    >>> forward.place_of(y.grad_fn).statement.startswith("y = ")
    True
    """

    supports_higher_order_operators = True

    def __init__(self, module: torch.nn.Module | None = None) -> None:
        super().__init__()
        self._paths = {id(m): path for path, m in module.named_modules()} if module else {}
        self._modules: list[str] = []
        self._ends: list[int] = []
        self._made: list[tuple[Place, str]] = []
        self._hooks: list = []

    def __enter__(self) -> ForwardRecorder:
        self._thread = threading.get_ident()
        hooks = torch.nn.modules.module
        self._hooks = [
            hooks.register_module_forward_pre_hook(self._enter_module),
            hooks.register_module_forward_hook(self._leave_module, always_call=True),
        ]
        self._first = private_nodes.next_sequence_nr()
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        if self._made:  # what was made since the last operator belongs to its line
            self._note(*self._made[-1])
        for hook in self._hooks:
            hook.remove()

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        if private_nodes.next_sequence_nr() > (self._ends[-1] if self._ends else self._first):
            self._note(
                current_place(outside_functions=True), self._modules[-1] if self._modules else ""
            )
        return op(*args, **(kwargs or {}))

    def place_of(self, node: object) -> Place | None:
        """The line that made a node of the graph; None if it was made elsewhere."""
        found = self._found(node)
        return found and found[0]

    def module_of(self, node: object) -> str:
        """The path of the innermost module in whose forward a node was made; "" for none."""
        found = self._found(node)
        return found[1] if found else ""

    def _found(self, node: object) -> tuple[Place, str] | None:
        number = private_nodes.sequence_nr(node)
        if not self._ends or not self._first <= number < self._ends[-1]:
            return None
        return self._made[bisect_right(self._ends, number)]

    def _note(self, place: Place, module: str) -> None:
        """All nodes that were made since the last note come from here."""
        self._ends.append(private_nodes.next_sequence_nr())
        self._made.append((place, module))

    def _enter_module(self, module: torch.nn.Module, _args: object) -> None:
        if threading.get_ident() == self._thread:
            self._modules.append(self._paths.get(id(module), ""))

    def _leave_module(self, _module: torch.nn.Module, _args: object, _result: object) -> None:
        # A forward that began before leaves last, when the list is empty again.
        if threading.get_ident() == self._thread and self._modules:
            self._modules.pop()
