"""What do the name and the schema of an operator say that it does to memory?"""

from __future__ import annotations

import torch

from . import private
from .dispatch import operands, packet_name
from .placing import PLACING

# These read as much as they return, whatever they choose from.
_CHOOSING = frozenset(
    f"aten.{name}"
    for name in ("index", "index_select", "gather", "embedding", "take", "masked_select", "slice")
)
# These overwrite what they are given without reading it.
_FILLING = frozenset(
    f"aten.{name}_"
    for name in (
        *("copy", "fill", "zero", "normal", "uniform", "bernoulli", "random", "exponential"),
        *("geometric", "cauchy", "log_normal"),
    )
)
# These take memory and leave in it what was there.
_TAKING = frozenset(
    f"aten.{name}"
    for name in ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty")
) | {"aten.new_empty_strided"}
# These return no tensor, and look at every value.
_LOOKING = frozenset({"aten.equal", "aten._local_scalar_dense"})
# These return what they are given; and the marks of torch.profiler.record_function, which the
# step of every optimizer sets, do nothing at all.
_NOTHING = frozenset({"aten.lift_fresh", "aten.alias", "aten.detach"})


class Signature:
    """What the name and the schema of an operator say: looked up once for many calls."""

    def __init__(self, op: object) -> None:
        self.name = packet_name(op)
        arguments = getattr(getattr(op, "_schema", None), "arguments", ())
        moves = private.writes(op) and torch.Tag.inplace_view not in getattr(op, "tags", ())
        self._writes = [
            (k, argument.name)
            for k, argument in enumerate(arguments)
            if moves and argument.alias_info is not None and argument.alias_info.is_write
        ]
        # What is only written to is not read.
        self.is_out = self.name in _FILLING or any(argument.is_out for argument in arguments)
        self.is_choosing = self.name in _CHOOSING
        self.is_placing = self.name in PLACING
        self.is_looking = self.name in _LOOKING
        self.is_taking = self.name in _TAKING
        self.is_nothing = self.name in _NOTHING or self.name.startswith("profiler.")
        self.is_whole = private.arrives_whole(op)
        self.reads_none = self.name.endswith("_like") or self.name.startswith("aten.new_")

    def read(self, args: tuple, kwargs: dict) -> list[torch.Tensor]:
        """The arguments of a call that the operator reads: not those that it only writes to."""
        if not self._writes or not self.is_out:
            return list(operands((args, kwargs)))
        places, names = zip(*self._writes, strict=True)
        left = [value for k, value in enumerate(args) if k not in places]
        return list(operands((left, {k: v for k, v in kwargs.items() if k not in names})))

    def written(self, args: tuple, kwargs: dict) -> list[torch.Tensor]:
        """The arguments of a call that the operator writes to."""
        found: list[torch.Tensor] = []
        for k, name in self._writes:
            found += operands(args[k] if k < len(args) else kwargs.get(name))
        return found
