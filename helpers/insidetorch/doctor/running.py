"""Run the engine, and write down what the pass did."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from ..observe import private, private_dispatch, private_nodes
from .passes import BAD, FINE, NONE, ZERO, Node, Pass, Watch, states
from .stacks import stack_here
from .tensors import standing_of
from .values import Memory, Value

if TYPE_CHECKING:
    from .recorder import Recorder

_AT_MOST = 2_000  # nodes whose saved tensors are looked at after an error


def run_engine(recorder: Recorder, run: Callable, roots: tuple, args: tuple, kwargs: dict):
    """Run `run(roots, *args, **kwargs)`, torch's engine, under watch."""
    if private_dispatch.transforms():  # grad, vmap and their like: no tensor can be looked at
        return run(roots, *args, **kwargs)
    begun = recorder.guarded(_begin, recorder, roots, args, kwargs)
    if begun is None:
        return run(roots, *args, **kwargs)
    made, watch = begun
    outer, recorder.here.inside = recorder.here.inside, made.number
    try:
        with recorder.again():
            result = run(roots, *args, **kwargs)
    except BaseException as error:
        made.error = error
        recorder.guarded(_failed, recorder, made, watch, roots)
        raise
    finally:
        recorder.here.inside = outer
        watch.finish()
    recorder.guarded(_end, recorder, made, watch, roots, result)
    return result


def _begin(recorder: Recorder, roots: tuple, args: tuple, kwargs: dict) -> tuple[Pass, Watch]:
    _, retain, create, inputs, *_ = args
    tensors = _tensors(roots)
    recorder.passes += 1
    made = Pass(
        recorder.passes, recorder.number, stack_here(),
        tuple(map(recorder.values.of, tensors)), bool(retain), bool(create),
        bool(kwargs.get("accumulate_grad")), tuple(map(recorder.values.of, _tensors(inputs or ()))),
        inside=recorder.here.inside, order=recorder.next_order(),
    )  # fmt: skip
    recorder.history.append(made)
    watch = Watch(recorder)
    try:
        watch.begin(roots)
        made.visited = {
            private_nodes.sequence_nr(node)
            for node, one in watch.nodes.items() if one.leaf is None
        }  # fmt: skip
        if BAD in states(tensors):
            for node, one in list(watch.nodes.items())[:_AT_MOST]:
                one.saved = _saved_states(node)
        made.late = _written_unseen(recorder, watch) if recorder.unseen else []
        if made.accumulate:
            made.added = _with_gradient([v.leaf for v in watch.nodes.values() if v.leaf])
    except Exception:
        watch.finish()
        raise
    return made, watch


def _tensors(given) -> tuple[torch.Tensor, ...]:
    return tuple(t for t in given if isinstance(t, torch.Tensor))


def _failed(recorder: Recorder, made: Pass, watch: Watch, roots: tuple) -> None:
    made.victims = _victims(watch)
    recorder.raised(made.error, "backward", roots, {})
    made.nodes = _kept(watch)


def _end(recorder: Recorder, made: Pass, watch: Watch, roots: tuple, result: object) -> None:
    tensors = _tensors(roots)
    _judge(made, watch, tensors, result)
    for value in made.leaves:
        t = value.tensor
        if t is not None:
            recorder.lasting.keep(t)
    if not made.accumulate:
        wanted = tuple(t for t in (v.tensor for v in made.inputs) if t is not None)
        standing = tuple(standing_of(t) for t in (*tensors, *wanted))
        recorder.note(
            "autograd.grad", [*tensors, *wanted], standing, _tensors(result),
            stack=made.stack, note={"pass": made},
        )  # fmt: skip


def _with_gradient(leaves: list[Value]) -> tuple[Value, ...]:
    """The leaves that have a gradient already, which is not zero."""
    grads = [None if t is None else private.grad(t) for t in (v.tensor for v in leaves)]
    had = [k for k, g in enumerate(grads) if g is not None]
    found = states([grads[k] for k in had])
    return tuple(leaves[k] for k, state in zip(had, found, strict=True) if state != ZERO)


def _judge(made: Pass, watch: Watch, roots: tuple, result: object) -> None:
    """What the gradients of the leaves are, and where a bad one came from."""
    leaves = [one for one in watch.nodes.values() if one.leaf is not None and one.ran]
    given = [] if made.accumulate else list(result)
    grads = [one.came[0] if one.came else None for one in leaves] + given
    found = states([*grads, *roots])
    ends = found[: len(leaves)]
    made.leaves = {one.leaf: state for one, state in zip(leaves, ends, strict=True)}
    asked = zip(made.inputs, found[len(leaves) :], strict=False)
    if not made.inputs:
        missed = [one.leaf for one in watch.nodes.values() if one.leaf is not None and not one.ran]
        made.leaves.update(dict.fromkeys(missed, NONE))
    made.leaves.update({value: state for value, state in asked if value not in made.leaves})
    if not made.accumulate:
        made.results = tuple(found[len(leaves) : len(leaves) + len(given)])
    made.bad_root = BAD in found[len(grads) :]
    if made.bad_root or any(state != FINE for state in (*found, *made.leaves.values())):
        made.nodes = _kept(watch)


def _kept(watch: Watch) -> list[Node]:
    """The nodes with the states of their gradients in place of these."""
    watch.link()
    nodes = list(watch.nodes.values())
    flat = [g for one in nodes for g in (*one.came, *one.went)]
    found = iter(states(flat))
    for one in nodes:
        one.came = tuple(next(found) for _ in one.came)
        one.went = tuple(next(found) for _ in one.went)
    return nodes


def _saved_states(node: object) -> dict[str, str]:
    """What the values are that a node has saved, where they can be read."""
    found = {}
    for name, raw, _ in private_nodes.saved_tensors(node):
        data = getattr(raw, "data", None)
        if isinstance(data, torch.Tensor):
            found[name] = states([data])[0]
    return found


def _victims(watch: Watch) -> list[tuple[str, Node, int, int]]:
    """The nodes whose saved tensors can no longer be used: why, which, the storage, its number."""
    found = []
    for node, one in list(watch.nodes.items())[:_AT_MOST]:
        if one.ran or one.leaf is not None:
            continue
        for _, raw, unpack in private_nodes.saved_tensors(node):
            try:
                unpack()
            except RuntimeError as error:
                data = getattr(raw, "data", None)
                key = private.storage_id(data) if isinstance(data, torch.Tensor) else 0
                text = str(error)
                if "modified by an inplace operation" in text:
                    found.append(("written", one, key, private_nodes.sequence_nr(node)))
                elif "second time" in text or "been freed" in text:
                    found.append(("freed", one, key, private_nodes.sequence_nr(node)))
            except Exception:  # hooks of the user's that unpack: they may raise what they like
                continue
    return found


def _written_unseen(recorder: Recorder, watch: Watch) -> list:
    """Nodes that saved memory which was then written where autograd does not count it."""
    found = []
    written: dict[int, list] = {}
    for call, memory in recorder.unseen:
        written.setdefault(memory.key, []).append((call, memory))
    for node, one in list(watch.nodes.items())[:_AT_MOST]:
        if one.call is None:
            continue
        for name, raw, _ in private_nodes.saved_tensors(node):
            data = getattr(raw, "data", None)
            if not isinstance(data, torch.Tensor):
                continue
            later = [
                call for call, memory in written.get(private.storage_id(data), ())
                if call.number > one.call.number and _is(memory, one)
            ]  # fmt: skip
            if [call.name for call in later] != ["copy_", "copy_"]:  # there and back again
                found += [(one, name, call) for call in later]
    return found


def _is(memory: Memory, node: Node) -> bool:
    """Is it the memory that a node's call read or made, and not a later one of the same number?"""
    return any(v.memory is memory for v in (*node.call.inputs, *node.call.outputs))
