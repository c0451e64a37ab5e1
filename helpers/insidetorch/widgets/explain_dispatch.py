"""Which operators does this code run, and why did one of them fail?"""

from __future__ import annotations

from collections.abc import Callable

from ..observe.explanation import explanation_of
from .show import Picture, show


def explain_dispatch(fn: Callable[[], object]) -> Picture:
    """Run some code, and tell which operators it runs, and what the one that fails lacks.

    Args: `fn`, called once, without arguments. What it raises is told with its line, not raised.
    Returns a `Picture`: the operators as `trace` has them; after an error the way of the call that
    failed, the dispatch key at which it stopped, the backends that have a kernel, and which
    dtypes, devices or conversions of its arguments make it run. These are found by running the
    operator again, on copies. Raises TypeError if `fn` cannot be called.

    >>> import torch
    >>> x = torch.eye(2).to_sparse()
    >>> print(explain_dispatch(lambda: x.exp()).text.splitlines()[2])
      The call stops at SparseCPU: nothing is registered there for aten.exp.default. self brings \
this key. There are kernels for CPU and Meta here.
    """
    return show(explanation_of(fn))
