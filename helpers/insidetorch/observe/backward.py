"""What does the real engine do in a backward pass?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import inf

import torch

from .. import engine
from ..records import Backward, BackwardStep, Gradient, Graph, Place
from . import private, private_nodes
from .formulas import formulas_watched
from .graph import graph_of, nodes_below
from .recorder import ForwardRecorder

_MOST_VALUES = 16


def record_backward(
    t: torch.Tensor,
    gradient: torch.Tensor | None = None,
    *,
    module: torch.nn.Module | None = None,
    names: Mapping[str, object] | None = None,
    forward: ForwardRecorder | None = None,
    **how: bool,
) -> Backward:
    """Run `t.backward(gradient, **how)` and record what the engine does, node by node.

    Args: `module`, `names` and `forward` as for `graph_of`; `how`, such as `retain_graph=True`.
    Returns a `Backward`. The pass is the real one: `.grad` is filled and the graph freed as without
    recording, to the last bit. Every hook that is set for it is removed, also where it raises.
    What the pass raises is recorded as text and raised again, as RuntimeError with the record in
    its attribute `record`.

    >>> x = torch.ones(2, requires_grad=True)
    >>> [s.node for s in record_backward((x * x).sum(), names={"x": x}).steps]
    [0, 1, 2]

    Source: torch.autograd.graph.Node.register_prehook, .register_hook (2.13).
    """
    graph = graph_of(t, module=module, names=names, forward=forward)
    if not graph.nodes:
        t.backward(gradient, **how)  # torch says why not
    with recording([t], graph) as recorder:
        t.backward(gradient, **how)
    return recorder.found


@contextmanager
def recording(tensors: Sequence[torch.Tensor], graph: Graph) -> Iterator[Recorder]:
    """Record the pass from these tensors through their graph that runs in this block.

    Yields a recorder; after the block it holds the `Backward` in its attribute `found`. What is
    raised in the block passes through, with the record in its attribute `record`.
    """
    nodes = nodes_below(tensors)
    recorder = Recorder(nodes)
    roots, error = gradients_of(tensors), None
    try:
        with formulas_watched(nodes, recorder.note_returned):
            yield recorder
    except Exception as raised:
        error = raised
        raise
    finally:
        recorder.remove()
        recorder.found = _with_queue(graph, recorder, error, roots)
        if error is not None:
            error.record = recorder.found


class Recorder:
    """Hooks before and after each node; what they see, in the order in which it happens."""

    found: Backward

    def __init__(self, nodes: Sequence[object]) -> None:
        self.sequence = [private_nodes.sequence_nr(node) for node in nodes]
        self.seen: list[dict[str, object]] = []  # what each step so far is made of
        self._nodes = nodes  # a leaf that is the root itself does not keep its node alive
        self._hooks = []
        self._pass: int | None = None
        for number, node in enumerate(nodes):
            self._hooks.append(node.register_prehook(self._before(number, node)))
            self._hooks.append(node.register_hook(self._after(number, node)))

    def note_returned(self, returned: tuple[object, ...], formula: Place | None) -> None:
        """What the formula of the node that runs now has returned, and from which line."""
        if not self._is_this_pass():
            return
        if not all(one is None or isinstance(one, torch.Tensor) for one in returned):
            return  # torch refuses it, and says so
        tensors = list(returned)
        self.seen[-1] |= {"returned": gradients_of(tensors), "formula": formula}

    def remove(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._nodes = []

    def _is_this_pass(self) -> bool:
        """Other passes have leaves in common with it: those inside of it, and in other threads."""
        running = private_nodes.running_pass()
        if self._pass is None:
            self._pass = running
        return running == self._pass

    def _before(self, number: int, node: object):
        leaf = getattr(node, "variable", None)

        def see(received: tuple[torch.Tensor | None, ...]) -> None:
            if not self._is_this_pass():
                return
            held = () if leaf is None else (private.grad(leaf),)
            found = gradients_of((*received, *held))
            step = {"node": number, "received": found[: len(received)], "sent": ()}
            self.seen.append(step if leaf is None else {**step, "before": found[-1]})

        return see

    def _after(self, number: int, node: object):
        leaf = getattr(node, "variable", None)

        def see(sent: tuple[torch.Tensor | None, ...], _received: object) -> None:
            if not self._is_this_pass():
                return
            # Nodes of one thread run one after the other: the last step is this node's.
            if leaf is None:
                self.seen[-1]["sent"] = gradients_of(sent)
            else:
                self.seen[-1]["after"] = gradient_of(private.grad(leaf))

        return see


def gradient_of(t: torch.Tensor | None) -> Gradient | None:
    """A gradient as it is now, without keeping it.

    >>> gradient_of(torch.tensor([3.0, 4.0]))
    Gradient(dtype='float32', sizes=(2,), norm=5.0, values=(3.0, 4.0))
    """
    return gradients_of((t,))[0]


def gradients_of(tensors: Sequence[torch.Tensor | None]) -> tuple[Gradient | None, ...]:
    """Several gradients as they are now: to be unseen takes longer than to look.

    >>> gradients_of([torch.tensor(2.0), None])
    (Gradient(dtype='float32', sizes=(), norm=2.0, values=(2.0,)), None)
    """
    with private.unseen(), torch.no_grad():
        return tuple(None if t is None else _gradient(t) for t in tensors)


def _gradient(t: torch.Tensor) -> Gradient:
    dtype, sizes = str(t.dtype).removeprefix("torch."), private.sizes(t)
    if sizes is None:
        return Gradient(f"nested {dtype}", (), None)
    try:
        values = tuple(t.reshape(-1).tolist()) if t.numel() <= _MOST_VALUES else ()
        norm = torch.linalg.vector_norm(t.detach()).item()
        if norm == inf and torch.isfinite(t).all():  # the squares are too large for the dtype
            largest = t.detach().abs().max()
            norm = largest.item() * torch.linalg.vector_norm(t.detach() / largest).item()
    except (RuntimeError, NotImplementedError):  # sparse, or on a device without data
        return Gradient(dtype, sizes, None)
    return Gradient(dtype, sizes, norm, values)


def first_sentence(error: Exception) -> str:
    """
    >>> first_sentence(ValueError("No. Not so."))
    'No'
    """
    return str(error).partition("\n")[0].partition(". ")[0]


def _with_queue(
    graph: Graph, recorder: Recorder, error: Exception | None, roots: tuple[Gradient, ...]
) -> Backward:
    """The steps, with what the model says was waiting at each; only where its order is the real."""
    edges = [[e.target for e in node.edges if e is not None] for node in graph.nodes]
    modelled = engine.run(edges, recorder.sequence)
    ran = [seen["node"] for seen in recorder.seen]
    same = ran == [step.node for step in modelled][: len(ran)]
    if same:
        for seen, model in zip(recorder.seen, modelled, strict=False):
            seen |= {"ready": model.ready, "missing": model.missing}
    steps = tuple(BackwardStep(**seen) for seen in recorder.seen)
    said = "" if error is None else first_sentence(error)
    return Backward(graph, steps, same, said, roots)
