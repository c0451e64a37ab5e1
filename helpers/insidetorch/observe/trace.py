"""Which operators ran, and how many bytes did each of them read and write?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from .. import footprint
from ..records import Operand, Trace, Traced
from . import private, private_nodes
from .dispatch import operands, operator_name
from .places import current_place
from .repeats import repeats_remark

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
_NOTHING = frozenset({"aten.lift_fresh", "aten.alias", "aten.detach"})


def trace(fn: Callable[[], object]) -> Trace:
    """Which operators does this function run, with which tensors, and how many bytes do they move?

    Args: `fn`, called once, without arguments; a backward pass inside it is seen as well, other
    threads are not. A compiled function in it runs operator by operator.
    Returns a `Trace`. Bytes are those that an operator cannot do without: each distinct byte that
    its arguments read, once, however often a stride of 0 reads it, and each that it writes; none
    for a view. An operator that chooses, such as an index, is taken to read what it returns and its
    indices. What a kernel reads twice, or keeps in memory of its own, is not counted.
    Whatever `fn` raises passes through.

    >>> a, b, c = torch.ones(3, 1000)
    >>> found = trace(lambda: a * b + c)
    >>> [(one.operator, one.read, one.written) for one in found.found]
    [('aten.mul', 8000, 4000), ('aten.add', 8000, 4000)]
    >>> found.intermediates
    (4000,)

    Source: torch.utils._python_dispatch.TorchDispatchMode (2.13).
    """
    with Tracer() as tracer:
        result = fn()
    found = tracer.trace
    del result
    return found


class Tracer(private.DispatchMode):
    """Writes down the operators that run while it is entered."""

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Traced] = []
        self.whole = False
        self._made: dict[int, tuple[StorageWeakRef, int, int]] = {}

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        self.whole |= private.arrives_whole(op)
        given = list(operands((args, kwargs)))
        before = {private.storage_id(t) for t in given if _has_storage(t)}
        written = _written(op, args, kwargs)
        name = ".".join(operator_name(op).split(".")[:2])
        remark = repeats_remark(name, op, args, kwargs)  # before a write changes the indices
        result = self.run(op, args, kwargs)
        if name in _NOTHING:
            return result
        returned = list(operands(result))
        new = [t for t in returned if _has_storage(t) and private.storage_id(t) not in before]
        view = not new and not written
        filled = name in _FILLING
        sources = [t for t in given if not any(t is w for w in written if filled or _is_out(op))]
        shape_only = name.endswith("_like") or name.startswith("aten.new_")
        read = 0 if view or shape_only else _bytes_read(sources)
        out = 0 if view else _bytes_read([*written, *new])
        if name in _CHOOSING and not view:
            read = min(read, out + sum(_bytes(t) for t in sources[1:]))
        self.found.append(
            Traced(
                operator=name,
                made=max((self._number(t) for t in new), default=0),
                given=tuple(map(self._operand, given)),
                returned=tuple(map(self._operand, returned)),
                read=read,
                written=out,
                place=current_place(),
                node=private_nodes.running_node(),
                remark=remark,
            )
        )
        return result

    def run(self, op: Callable, args: tuple, kwargs: dict) -> object:
        """Run one operator."""
        return op(*args, **kwargs)

    @property
    def trace(self) -> Trace:
        """What has run; the intermediate results are those whose memory is gone now."""
        gone = tuple(nbytes for ref, nbytes, _ in self._made.values() if ref.expired())
        return Trace(tuple(self.found), gone, parts_unseen=self.whole)

    def _operand(self, t: torch.Tensor) -> Operand:
        known = self._made.get(private.storage_id(t)) if _has_storage(t) else None
        dtype, number = str(t.dtype).removeprefix("torch."), known[2] if known else 0
        return Operand(dtype, tuple(t.shape), _bytes(t), number)

    def _number(self, t: torch.Tensor) -> int:
        """The storages are numbered as they are made; a weak reference keeps no memory."""
        key = private.storage_id(t)
        if key not in self._made:
            storage = torch.Tensor.untyped_storage(t)
            self._made[key] = StorageWeakRef(storage), storage.nbytes(), len(self._made) + 1
        return self._made[key][2]


def _written(op: object, args: tuple, kwargs: dict) -> list[torch.Tensor]:
    """The arguments that the operator's signature says it writes to."""
    if not private.writes(op) or torch.Tag.inplace_view in getattr(op, "tags", ()):
        return []
    found = []
    for k, argument in enumerate(op._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[k] if k < len(args) else kwargs.get(argument.name)
            found += operands(value)
    return found


def _is_out(op: object) -> bool:
    return any(argument.is_out for argument in op._schema.arguments)


def _bytes_read(tensors: Sequence[torch.Tensor]) -> int:
    """The distinct bytes that these tensors read together.

    Two that overlap are counted exactly; of three in one storage, equal ones are counted once.
    """
    distinct: list[torch.Tensor] = []
    for t in tensors:
        if not any(_same(t, other) for other in distinct):
            distinct.append(t)
    total = sum(map(_bytes, distinct))
    for k, t in enumerate(distinct):
        total -= max((_common(t, other) for other in distinct[:k]), default=0)
    return total


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    if not (_has_storage(a) and _has_storage(b)):
        return a is b
    return (
        private.storage_id(a) == private.storage_id(b)
        and (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())
        and a.storage_offset() == b.storage_offset()
    )


def _common(a: torch.Tensor, b: torch.Tensor) -> int:
    if not (_has_storage(a) and _has_storage(b)) or a.dtype != b.dtype:
        return 0
    if private.storage_id(a) != private.storage_id(b):
        return 0
    layouts = ((tuple(t.shape), tuple(t.stride()), t.storage_offset()) for t in (a, b))
    return footprint.common_elements(*layouts) * a.element_size()


def _bytes(t: torch.Tensor) -> int:
    if not _has_storage(t):
        return t.numel() * t.element_size()
    return footprint.distinct_elements(tuple(t.shape), tuple(t.stride())) * t.element_size()


def _has_storage(t: torch.Tensor) -> bool:
    try:
        private.storage_id(t)
    except (NotImplementedError, RuntimeError):  # sparse, functorch
        return False
    if type(t) is torch.Tensor:
        return True
    return not any(isinstance(size, torch.SymInt) for size in t.shape)  # jagged
