"""What torch.compile made of a function: its graphs, its breaks, its recompiles, its kernels."""

from __future__ import annotations

from dataclasses import dataclass

from .steps import Place


@dataclass(frozen=True)
class CompiledGraph:
    """One graph that torch has captured, or a place where it captured none.

    `operators` are those that the graph runs, in order, as `trace` names them, views among them:
    `views` says how many. Where they could not be told, `aten` is False and the names are those of
    the Python functions. `ended_by` is "" if the function returned, else what ended the graph, at
    `place`. `eager` says that torch gave up a whole function there, and that it runs as written;
    `in_loop`, because a loop or a block was broken.
    """

    operators: tuple[str, ...]
    ended_by: str = ""
    place: Place | None = None
    views: int = 0
    aten: bool = True
    eager: bool = False
    in_loop: bool = False


@dataclass(frozen=True)
class Recompile:
    """A call, counted from 1, for which no graph fitted: the guard that failed, and its line."""

    call: int
    guard: str
    place: Place | None = None


@dataclass(frozen=True)
class Compilation:
    """What torch.compile made of a function in `calls` calls.

    `backend` is the one that ran, "inductor" or "aot_eager"; `skipped` says in a sentence why no
    kernels were generated, "" where they were. `kernels` and `backward_kernels` count them, None
    where there are none for that reason: a loop over the data each, since a loop is what operators
    share when they are fused. `code` is the source; in C++ a function may hold several loops.
    `gave_up` says that the limit of recompiles was reached, so that later calls ran as written.
    `dynamic` is what torch.compile was given: with False, numbers and sizes stay constants.
    `was_compiled` says that the function was the result of torch.compile, and was looked at as it
    was before.
    """

    calls: int
    graphs: tuple[CompiledGraph, ...] = ()
    recompiles: tuple[Recompile, ...] = ()
    kernels: int | None = None
    backward_kernels: int | None = None
    code: tuple[str, ...] = ()
    backend: str = "inductor"
    skipped: str = ""
    gave_up: bool = False
    dynamic: bool | None = None
    was_compiled: bool = False

    @property
    def breaks(self) -> tuple[CompiledGraph, ...]:
        """The graphs that ended before the function did."""
        return tuple(graph for graph in self.graphs if graph.ended_by)

    @property
    def captured(self) -> tuple[CompiledGraph, ...]:
        """The graphs that hold an operator."""
        return tuple(graph for graph in self.graphs if graph.operators)
