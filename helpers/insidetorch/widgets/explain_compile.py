"""What does torch.compile make of this function, and what keeps it from making more?"""

from __future__ import annotations

from collections.abc import Callable

from ..observe.compilation import compilation_of
from .show import Picture, show


def explain_compile(
    fn: Callable[..., object],
    *calls: tuple[object, ...],
    backend: str = "inductor",
    dynamic: bool | None = None,
) -> Picture:
    """Call a function compiled, and tell its graphs, breaks, recompiles and kernels.

    Args: as for `insidetorch.observe.compilation.compilation_of`; the function really runs, once
    for each call.
    Returns a `Picture` of the graphs and of what cut them apart, whose text names the operators of
    each graph, what ended it and at which line, the guard that failed where a call was compiled
    again, how many kernels were generated or why none were, and what to do about it.

    >>> import torch
    >>> def scaled(x):
    ...     return x * 2
    >>> print(explain_compile(scaled, (torch.ones(3),), backend="aot_eager").alt)
    1 call: 1 graph, 0 graph breaks, 0 recompiles.
    """
    return show(compilation_of(fn, *calls, backend=backend, dynamic=dynamic))
