"""Which operators does a graph that torch.compile has captured run?"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from . import private, private_compile
from .dispatch import operands, packet_name

# They neither compute nor view: torch puts them in for itself.
_NOTHING = frozenset(
    f"aten.{name}" for name in ("lift_fresh", "alias", "detach", "_local_scalar_dense")
)


def operators_of(gm: torch.fx.GraphModule, inputs: Sequence[object]) -> tuple[list[str], int, bool]:
    """The names of the operators, how many of them are views, and whether they are ATen's.

    The graph runs on tensors without data, below autograd, as eager execution would run it: before
    the compiler takes operators apart. Where that fails, the names are those in the graph.
    """
    watch = _Names()
    try:
        with private_compile.sizes_only() as like:
            given = [like(value) for value in inputs]
            with watch:
                torch.fx.Interpreter(gm).run(*given)
    except Exception:  # sizes that depend on values, classes of tensors of the user's own
        return _called(gm), 0, False
    return watch.found, watch.views, True


class _Names(private.DispatchMode):
    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.views = 0

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        before = {private.storage_id(t) for t in operands((args, kwargs))}
        result = op(*args, **kwargs)
        name = packet_name(op)
        if name not in _NOTHING and not name.startswith("prim."):  # asks for a device or dtype
            self.found.append(name)
            made = [private.storage_id(t) for t in operands(result)]
            view = made and before.issuperset(made) and not private.writes(op)
            self.views += bool(view)
        return result


def _called(gm: torch.fx.GraphModule) -> list[str]:
    """What the graph calls, by the names that Python has for it."""
    nodes = [node for node in gm.graph.nodes if node.op.startswith("call_")]
    return [getattr(node.target, "__name__", None) or str(node.target) for node in nodes]
