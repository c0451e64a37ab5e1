"""The private names of torch that concern its code generator. See `private`."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from unittest import mock

import torch

NAMES = (
    "torch._dynamo.lookup_backend",
    "torch._functorch.aot_autograd.make_boxed_func",
    "torch._functorch.config.enable_autograd_cache",
    "torch._inductor.compile_fx.compile_fx",
    "torch._inductor.compile_fx.compile_fx_inner",
    "torch._inductor.graph.GraphLowering.save_output_code",
    "torch._inductor.metrics.generated_kernel_count",
)
# The source of a kernel in the code that calls it.
_KERNEL = re.compile(r"'''\n?(.*?)'''", re.DOTALL)


def run_by_operators(gm: torch.fx.GraphModule, inputs: Sequence[object]) -> Callable[..., object]:
    """The backend that takes a graph apart into ATen operators and runs them one by one."""
    from torch._dynamo import lookup_backend

    return lookup_backend("aot_eager")(gm, inputs)


def loops_in(source: str) -> int:
    """How many times does this kernel go over its data, loops inside of loops not counted?

    Torch's own count is too high where it has tried to fuse loops and given up. A Triton kernel
    goes over its data once: the loop is the grid.

    >>> loops_in('extern "C" void kernel() { for(i) { for(j) { f(); } } for(k) { g(); } }')
    2
    """
    if 'extern "C"' not in source:
        return 1
    loops, depth, inside = 0, 0, -1
    # "for (int tid": the partial results of the threads, not the data.
    for token in re.findall(r"\bfor\s*\((?!int )|[{}]", source):
        if token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
            inside = -1 if depth == inside else inside
        elif inside < 0:
            loops, inside = loops + 1, depth
    return max(loops, 1)  # a single value needs no loop


class CodeGenerator:
    """The backend that generates kernels, and counts them. `error` is why it could not."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.forward = self.backward = 0
        self.code: list[str] = []

    def __call__(self, gm: torch.fx.GraphModule, inputs: Sequence[object]) -> Callable[..., object]:
        from torch._functorch import config
        from torch._inductor.compile_fx import compile_fx

        # A hit in the cache of whole graphs would not come by; that of kernels stays in use.
        with config.patch(enable_autograd_cache=False):
            return compile_fx(gm, inputs, inner_compile=self._compile)

    def _compile(self, gm: torch.fx.GraphModule, inputs: Sequence[object], **how: object):
        from torch._inductor import metrics
        from torch._inductor.compile_fx import compile_fx_inner
        from torch._inductor.graph import GraphLowering

        plain = torch.fx.GraphModule(gm, copy.deepcopy(gm.graph))
        counted, code = metrics.generated_kernel_count, []
        if self.error is None:
            try:
                with mock.patch.object(GraphLowering, "save_output_code", code.append):
                    compiled = compile_fx_inner(gm, inputs, **how)
            except Exception as error:
                self.error = error
            else:
                sources = [source for text in code for source in _KERNEL.findall(text)]
                self._count(sum(map(loops_in, sources)), how)
                self.code += sources
                return compiled
            finally:
                metrics.generated_kernel_count = counted
        return _boxed(plain)

    def _count(self, kernels: int, how: dict[str, object]) -> None:
        if how.get("is_backward"):
            self.backward += kernels
        else:
            self.forward += kernels


def _boxed(gm: torch.fx.GraphModule) -> Callable[[list], object]:
    """A graph as the compiler wants it: called with a list of arguments, which it may empty."""
    from torch._functorch.aot_autograd import make_boxed_func

    return make_boxed_func(gm.forward)
