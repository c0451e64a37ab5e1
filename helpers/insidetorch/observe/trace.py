"""Which operators ran, and how many bytes did each of them read and write?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ..records import Operand, Place, Trace, Traced
from . import private, private_nodes
from .dispatch import operands, refuse_to_run
from .memory_use import Memory, bytes_together
from .places import current_place
from .placing import placed
from .repeats import repeats_remark
from .signatures import Signature


def trace(fn: Callable[[], object]) -> Trace:
    """Which operators does this function run, with which tensors, and how many bytes do they move?

    Args: `fn`, called once, without arguments; a backward pass inside it is seen as well, other
    threads are not. A compiled function in it runs operator by operator.
    Returns a `Trace`. Bytes are those that an operator cannot do without: each distinct byte that
    its arguments read, once, however often a stride of 0 reads it, and each that it writes; none
    for a view. An operator that chooses, such as an index, is taken to read what it returns and its
    indices. What a kernel reads twice, or keeps in memory of its own, is not counted. Marks of the
    profiler are no operators here. Raises TypeError if `fn` cannot be called; whatever it raises
    passes through.

    >>> a, b, c = torch.ones(3, 1000)
    >>> found = trace(lambda: a * b + c)
    >>> [(one.operator, one.read, one.written) for one in found.found]
    [('aten.mul', 8000, 4000), ('aten.add', 8000, 4000)]
    >>> found.intermediates
    (4000,)

    Source: torch.utils._python_dispatch.TorchDispatchMode (2.13).
    """
    refuse_to_run(fn, asked="A trace")
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
        self.whole = self.on_meta = False
        self._made: dict[int, tuple[StorageWeakRef, int, int]] = {}
        self._signatures: dict[object, Signature] = {}
        self._places: dict[tuple[str, int], Place] = {}

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        signature = self._signatures.get(op)
        if signature is None:
            signature = self._signatures[op] = Signature(op)
        self.whole |= signature.is_whole
        given = [Memory(t) for t in operands((args, kwargs) if kwargs else args)]
        before = {storage for one in given for storage in one.storages}
        written = signature.written(args, kwargs)
        reading = [Memory(t) for t in signature.read(args, kwargs)] if written else given
        places = placed(signature.name, op, args, kwargs) if signature.is_placing else None
        remark = repeats_remark(signature.name, op, args, kwargs)  # before a write changes them
        result = self.run(op, args, kwargs)
        if signature.is_nothing:
            return result
        returned = [Memory(t) for t in operands(result)]
        new = [one for one in returned if one.is_new(before)]
        targets = [Memory(t) for t in written]  # a write may have changed their sizes
        self.on_meta |= any(one.t.is_meta for one in (*given, *returned))
        read, out = _bytes_moved(signature, reading, targets, new, places)
        self.found.append(
            Traced(
                operator=signature.name,
                made=max([self._number(one) for one in new if one.storages], default=0),
                given=tuple([self._operand(one) for one in given]),
                returned=tuple([self._operand(one) for one in returned]),
                read=read,
                written=out,
                place=current_place(known=self._places),
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
        found = tuple(self.found)
        return Trace(found, gone, parts_unseen=self.whole, on_meta=self.on_meta)

    def _operand(self, one: Memory) -> Operand:
        known = self._made.get(one.storages[0]) if one.storages else None
        dtype, number = str(one.t.dtype)[6:], known[2] if known else 0
        return Operand(dtype, one.sizes, one.nbytes, number)

    def _number(self, one: Memory) -> int:
        """The storages are numbered as they are made; a weak reference keeps no memory."""
        first = one.storages[0]
        if first not in self._made:
            for part, key in zip(private.parts(one.t), one.storages, strict=True):
                storage = torch.Tensor.untyped_storage(part)
                self._made[key] = StorageWeakRef(storage), storage.nbytes(), len(self._made) + 1
        return self._made[first][2]


def _bytes_moved(
    signature: Signature,
    reading: Sequence[Memory],
    targets: Sequence[Memory],
    new: Sequence[Memory],
    places: tuple[int, int] | None,
) -> tuple[int, int]:
    """The bytes that an operator has to read and to write; none of both for a view.

    Args: what it reads, the `targets` of its writes, what of its result is `new`, and for a write
    through indices how many elements it writes and reads in its target.
    """
    if signature.is_looking:
        return bytes_together(reading), 0
    if not (new or targets) or signature.is_taking:
        return 0, 0
    if places is not None:
        [target] = targets
        written, kept = (min(n * target.t.element_size(), target.nbytes) for n in places)
        return bytes_together([one for one in reading if one.t is not target.t]) + kept, written
    written = bytes_together([*targets, *new])
    if signature.reads_none:
        return 0, written
    read = bytes_together(reading)
    if signature.is_choosing:
        read = min(read, written + sum(one.nbytes for one in reading[1:]))
    return read, written
