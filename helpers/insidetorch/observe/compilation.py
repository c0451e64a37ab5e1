"""What does torch.compile make of this function?"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType

import torch

from ..records import Compilation, CompiledGraph, Recompile
from . import private_compile, private_inductor
from .compile_reasons import (
    break_text,
    guard_text,
    place_of_break,
    place_of_guard,
    skipped_text,
)
from .graph_operators import operators_of
from .places import is_users, place_of

_BACKENDS = ("inductor", "aot_eager")


def compilation_of(
    fn: Callable[..., object],
    *calls: tuple[object, ...],
    backend: str = "inductor",
    dynamic: bool | None = None,
) -> Compilation:
    """What does torch.compile make of this function, call by call?

    Args: `fn`, a function or a module, which really runs, once for each of `calls`: the arguments
    of one call each, as a tuple; without any, it is called once, without arguments. `backend` is
    "inductor", which generates kernels, or "aot_eager", which needs no compiler. Without a C++
    compiler that works the graphs run operator by operator instead, and the record says so.
    `dynamic` goes to torch.compile.
    Returns a `Compilation`. What the learner has compiled stays as it is: `fn` is compiled apart
    from it, and forgotten. Whatever `fn` raises passes through. Raises TypeError for a call that is
    no tuple or a `fn` that cannot be called, and ValueError for another backend.

    >>> def f(x):
    ...     return (x * 2 + 1).sin()
    >>> found = compilation_of(f, (torch.ones(3),), (torch.ones(4),), backend="aot_eager")
    >>> [graph.operators for graph in found.graphs][0]
    ('aten.mul', 'aten.add', 'aten.sin')
    >>> [(one.call, one.guard) for one in found.recompiles]
    [(2, "tensor 'x' size mismatch at index 0. expected 3, actual 4")]

    Source: torch._dynamo.convert_frame, torch._inductor.compile_fx (2.13).
    """
    _check(fn, calls, backend)
    calls = calls or ((),)
    with private_compile.apart() as notes:
        plain = private_compile.uncompiled(fn)
        watch = _Watch(backend, notes, dynamic)
        compiled = torch.compile(
            _alone(plain), backend=watch, dynamic=dynamic, isolate_recompiles=True
        )
        hindrance = _hindrance()
        for arguments in calls:
            watch.begin_call()
            compiled(*arguments)
            watch.end_call()
        return watch.record(was_compiled=plain is not fn, hindrance=hindrance)


def _check(fn: object, calls: Sequence[object], backend: str) -> None:
    if not callable(fn):
        raise TypeError(
            f"The compilation of a {type(fn).__name__} was asked. It cannot be called. Give a "
            "function or a module, and the arguments of each call as a tuple."
        )
    for arguments in calls:
        if type(arguments) is not tuple:
            kind = type(arguments).__name__
            raise TypeError(
                f"A call with a {kind} was asked. The arguments of a call are one tuple. Write "
                "(x,) for a call with x."
            )
    if backend not in _BACKENDS:
        raise ValueError(
            f"The backend {backend!r} was asked. Only those that are counted here are known. Use "
            '"inductor" or "aot_eager".'
        )


def _alone(fn: Callable[..., object]) -> Callable[..., object]:
    """The same function with code of its own, since torch keeps what it compiles with the code."""
    if isinstance(fn, MethodType):
        return MethodType(_alone(fn.__func__), fn.__self__)
    if not isinstance(fn, FunctionType) or not is_users(fn.__code__.co_filename):
        return fn
    code, name = fn.__code__.replace(), fn.__name__
    twin = FunctionType(code, fn.__globals__, name, fn.__defaults__, fn.__closure__)
    twin.__kwdefaults__, twin.__qualname__ = fn.__kwdefaults__, fn.__qualname__
    twin.__module__ = fn.__module__
    twin.__dict__.update(fn.__dict__)
    return twin


def _hindrance() -> str:
    """What keeps torch from compiling anything now, in a sentence."""
    if private_compile.watched_by_mode():
        return (
            "Nothing was compiled: a dispatch mode is on, and then torch runs compiled functions "
            "operator by operator. Leave its block first."
        )
    if switch := private_compile.switched_off():
        return (
            f"Nothing was compiled: {switch} has switched the compiler off. Take that back first."
        )
    stance = private_compile.stance()
    if stance in ("force_eager", "eager_on_recompile"):
        return (
            f"Nothing was compiled: torch.compiler.set_stance has chosen {stance!r}. Choose "
            "'default' first."
        )
    return ""


class _Watch:
    """The backend that is given to torch.compile: notes each graph, and hands it on."""

    def __init__(self, backend: str, notes: deque, dynamic: bool | None) -> None:
        self.generator = private_inductor.CodeGenerator() if backend == "inductor" else None
        self.notes, self.dynamic = notes, dynamic
        self.graphs: list[CompiledGraph] = []
        self.recompiles: list[Recompile] = []
        self.calls = 0
        self.gave_up = False
        self._seen = len(private_compile.break_reasons())

    def __call__(self, gm: torch.fx.GraphModule, inputs: Sequence[object]) -> Callable[..., object]:
        reason = gm.compile_subgraph_reason
        self._breaks_without_graph(reason)
        operators, views, aten = operators_of(gm, inputs)
        ended_by, place = "", None
        if reason.graph_break:
            ended_by, place = break_text(reason.reason), place_of_break(reason.user_stack)
        if operators or ended_by:  # else it only leaves a block, such as that of torch.no_grad
            self.graphs.append(CompiledGraph(tuple(operators), ended_by, place, views, aten))
        backend = self.generator or private_inductor.run_by_operators
        return backend(gm, inputs)

    def begin_call(self) -> None:
        self.calls += 1

    def end_call(self) -> None:
        self._breaks_without_graph(None)
        while self.notes:
            self._note(self.notes.popleft())

    def _breaks_without_graph(self, now: object) -> None:
        """The breaks since the last graph that came before any operator; `now` has one."""
        reasons = private_compile.break_reasons()
        for reason in reasons[self._seen :]:
            if reason is not now:
                place = place_of_break(reason.user_stack)
                self.graphs.append(CompiledGraph((), break_text(reason.reason), place))
        self._seen = len(reasons)

    def _note(self, note: object) -> None:
        """What torch has noted of one compilation: why it was needed, why it failed."""
        if "recompile limit exceeded" in (note.fail_reason or ""):
            self.gave_up = True
            return
        if note.recompile_reason:
            guard, place = guard_text(note.recompile_reason), place_of_guard(note.recompile_reason)
            self.recompiles.append(Recompile(self.calls, guard, place))
        if note.fail_type == "Unsupported":
            file, line = note.fail_user_frame_filename, note.fail_user_frame_lineno
            place = place_of(file, line) if file and is_users(file) else None
            why = break_text(note.fail_reason)
            in_loop = "graph break in loop" in note.fail_reason
            self.graphs.append(CompiledGraph((), why, place, eager=True, in_loop=in_loop))

    def record(self, *, was_compiled: bool, hindrance: str) -> Compilation:
        skipped = hindrance or self._skipped()
        generator = None if skipped else self.generator
        by_operators = self.generator is None or self.generator.error is not None
        return Compilation(
            calls=self.calls,
            graphs=tuple(self.graphs),
            recompiles=tuple(self.recompiles),
            kernels=generator.forward if generator else None,
            backward_kernels=generator.backward if generator else None,
            code=tuple(generator.code) if generator else (),
            backend="aot_eager" if by_operators else "inductor",
            skipped=skipped,
            gave_up=self.gave_up,
            dynamic=self.dynamic,
            was_compiled=was_compiled,
        )

    def _skipped(self) -> str:
        if not any(graph.operators for graph in self.graphs):
            return "No kernels were generated: torch found no operator to compile in this function."
        if self.generator is None:
            return (
                'No kernels were generated: the backend "aot_eager" was asked, which runs the '
                'operators of a graph one by one. Use "inductor" for kernels.'
            )
        return skipped_text(self.generator.error) if self.generator.error else ""
