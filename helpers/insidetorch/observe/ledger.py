"""What does one step keep for its backward pass, and which line of the user's code keeps it?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ..records import Kept, Ledger
from . import private, private_nodes
from .dispatch import operands
from .graph import walk_below
from .memory import Held, held_by, reason_for_none, storages
from .reach import tensors_in
from .recorder import ForwardRecorder


def ledger(fn: Callable[[], object], *, module: torch.nn.Module | None = None) -> Ledger:
    """What does this step keep for its backward pass, line by line?

    Args: `fn`, called once, without arguments; it returns the loss, or tensors in a list, tuple or
    dict, and stops before backward. A compiled function in it runs operator by operator. `module`,
    whose parts are told apart by their paths.
    Returns a `Ledger`. A byte counts once, however many nodes keep its storage, and belongs to the
    line that keeps it first; a view keeps its whole storage. What an operator of `fn` made costs
    extra memory and is told apart from what was there before. Other threads are not seen.
    `fn` runs as a plain call of it would; nothing else changes. Whatever it raises passes through.
    Raises TypeError if `fn` returns no tensor.

    >>> x = torch.ones(1000, requires_grad=True)
    >>> found = ledger(lambda: (x.exp() + 1).sin().sum())
    >>> found.made_bytes, [line.operators for line in found.lines]
    (8000, [('Exp', 'Sin')])

    Source: torch.autograd.graph.Node, saved tensors (2.13).
    """
    with _StepRecorder(module) as step:
        result = fn()
    tensors = [t for _, t in tensors_in({"result": result})]
    if not tensors:
        raise TypeError(
            f"The ledger of a step that returned a {type(result).__name__} was asked. What it "
            "keeps is found through the graph of a tensor. Return the loss."
        )
    with_graph = [t for t in tensors if not reason_for_none([t])]
    if not with_graph:
        return Ledger(reason=reason_for_none(tensors))
    with private.unseen():
        nodes, whole = walk_below(with_graph)
        notes = [] if whole else [f"Only the last {len(nodes):,} nodes were read."]
        nodes = sorted((n for n in nodes if not hasattr(n, "variable")), key=_age)
        held = [(node, one) for node in nodes for one in held_by(node)]
        kept = tuple(_kept(held, step))
        notes += [*_notes([one for _, one in held]), *_cast_note(held, step), *_write_note(nodes)]
    return Ledger(kept, tuple(notes))


class _StepRecorder(ForwardRecorder):
    """Remembers as well which storages the operators were given, made, and made as casts.

    A weak reference keeps no memory, but it keeps the number of a freed storage from coming again.
    """

    def __init__(self, module: torch.nn.Module | None) -> None:
        super().__init__(module)
        self._seen: dict[int, StorageWeakRef] = {}
        self._new: set[int] = set()
        self.casts: set[int] = set()

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        result = super().__torch_dispatch__(op, types, args, kwargs)
        if not op.__name__.startswith("lift_fresh"):  # how a list becomes a tensor: it is new
            self._note_storages((args, kwargs))
        new = self._note_storages(result)
        self._new |= new
        if op.__name__.startswith("_to_copy") and args[0].dtype != result.dtype:
            self.casts |= new
        return result

    def has_made(self, key: int, t: torch.Tensor) -> bool:
        """Did the step make it? An operator did, or autograd, out of a number that was given."""
        return key in self._new or (key not in self._seen and not t.dim())

    def _note_storages(self, value: object) -> set[int]:
        """The storages of an operator's arguments or result that are seen for the first time."""
        new = set()
        for t in operands(value):
            for key, storage in storages(t):
                if key not in self._seen:
                    self._seen[key] = StorageWeakRef(storage)
                    new.add(key)
        return new


def _age(node: object) -> int:
    return private_nodes.sequence_nr(node)


def _kept(held: list[tuple[object, Held]], step: _StepRecorder) -> Iterator[Kept]:
    """A record for each storage of each tensor that a node keeps."""
    numbers: dict[int, int] = {}
    for node, one in held:
        if one.tensor is None:
            continue
        for key, storage in storages(one.tensor):
            first = key not in numbers
            yield Kept(
                node=private_nodes.name_of(node),
                name=one.name,
                sizes=private.sizes(one.tensor) or (),
                dtype=str(one.tensor.dtype).removeprefix("torch."),
                nbytes=storage.nbytes(),
                storage=numbers.setdefault(key, len(numbers)),
                first=first,
                made=step.has_made(key, one.tensor),
                place=step.place_of(node),
                module=step.module_of(node),
            )


def _notes(held: list[Held]) -> Iterator[str]:
    if freed := sum(one.freed for one in held):
        yield (
            f"Saved tensors freed by a backward pass inside the function: {freed:,}. To count "
            "them, let it return the loss before backward."
        )
    packed = Counter(one.packed for one in held if one.packed)
    if again := packed.pop("checkpoint", 0):
        yield (
            f"Tensors of checkpointed parts that are not kept: {again:,}. Backward computes them "
            "again from the inputs of their part."
        )
    for kind, n in packed.items():
        yield f"Saved tensors that a hook packed into a {kind}, not counted: {n:,}."
    if bare := sum(one.tensor is not None and not any(storages(one.tensor)) for one in held):
        yield f"Saved tensors whose memory torch does not tell, not counted: {bare:,}."


def _cast_note(held: list[tuple[object, Held]], step: _StepRecorder) -> Iterator[str]:
    tensors = [one.tensor for _, one in held if one.tensor is not None]
    cast = {key: s.nbytes() for t in tensors for key, s in storages(t) if key in step.casts}
    if cast:
        yield (
            f"Of these, {sum(cast.values()):,} bytes are copies in another dtype, as autocast "
            "makes them."
        )


def _write_note(nodes: list[object]) -> Iterator[str]:
    if any("CopySlices" in node.name() for node in nodes):
        yield (
            "A write in place into a view (CopySlices) keeps its own formula inside, and torch "
            "does not show what that saves: it may be more."
        )
