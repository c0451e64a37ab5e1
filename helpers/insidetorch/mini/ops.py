"""Which operators does MiniTorch have, and how does a gradient go back through each?

Every formula uses `call` itself, so a gradient can be recorded and differentiated again.
"""

from __future__ import annotations

import math
import operator

from .dispatch import call, register
from .given import new, pointwise, sum_kernel, sum_to
from .storage import Ints, Tensor, permute_kernel
from .views import expand_kernel, narrow_kernel, reshape, view_kernel


def reduce_to(grad: Tensor, sizes: Ints) -> Tensor:
    """Undo a broadcast of a gradient, recorded; `grad` itself if it has these sizes."""
    return grad if grad.sizes == tuple(sizes) else call("sum_to", grad, sizes)


def zeros(t: Tensor, sizes: Ints) -> Tensor:
    """A tensor of zeros, of the dtype of `t`."""
    return new([0] * math.prod(sizes), sizes, t.dtype)


def _times(grad: Tensor, factor: Tensor | None) -> Tensor | None:
    """The gradient times the factor, which was saved only if somebody needs the product."""
    return None if factor is None else call("mul", grad, factor)


def _permute_back(grad: Tensor, _sizes: Ints, dims: Ints) -> tuple[Tensor]:
    """The inverse permutation of the gradient."""
    return (call("permute", grad, [list(dims).index(d) for d in range(len(dims))]),)


def _narrow_back(grad: Tensor, sizes: Ints, dim: int, start: int, length: int) -> tuple[Tensor]:
    """Zeros, with the gradient written to the indices that were kept."""
    whole = zeros(grad, sizes)
    call("copy_", call("narrow", whole, dim, start, length), grad)
    return (whole,)


register("add", pointwise(operator.add), lambda g: (g, g))
register("mul", pointwise(operator.mul), lambda g, a, b: (_times(g, b), _times(g, a)), "partners")
register("exp", pointwise(math.exp), lambda g, out: (call("mul", g, out),), "output")
register("clone", pointwise(lambda value: value), lambda g: (g,))
register("sum", sum_kernel, lambda g, sizes, dims: (call("expand", g, sizes),), "sizes")
register("sum_to", sum_to, lambda g, sizes, wanted: (call("expand", g, sizes),), "sizes")
register("expand", expand_kernel, lambda g, sizes, wanted: (reduce_to(g, sizes),), "sizes", "view")
register("permute", permute_kernel, _permute_back, "sizes", "view")
register("narrow", narrow_kernel, _narrow_back, "sizes", "view")
register("view", view_kernel, lambda g, sizes, _: (call("reshape", g, sizes),), "sizes", "view")
register("reshape", reshape, lambda g, sizes, wanted: (call("reshape", g, sizes),), "sizes")
