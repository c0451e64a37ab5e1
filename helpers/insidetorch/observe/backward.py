"""What does the real engine do in a backward pass?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch

from .. import engine
from ..records import Backward, BackwardStep, Gradient, Graph
from . import private, private_nodes
from .graph import graph_of, nodes_below

_MOST_VALUES = 16


def record_backward(
    t: torch.Tensor,
    gradient: torch.Tensor | None = None,
    *,
    module: torch.nn.Module | None = None,
    names: Mapping[str, object] | None = None,
    **how: bool,
) -> Backward:
    """Run `t.backward(gradient, **how)` and record what the engine does, node by node.

    Args: `module` and `names` as for `graph_of`; `how`, such as `retain_graph=True`.
    Returns a `Backward`. The pass is the real one: `.grad` is filled and the graph freed as without
    recording, to the last bit. Every hook that is set for it is removed, also where it raises.
    What the pass raises is recorded as text and raised again, as RuntimeError with the record in
    its attribute `record`.

    >>> x = torch.ones(2, requires_grad=True)
    >>> [s.node for s in record_backward((x * x).sum(), names={"x": x}).steps]
    [0, 1, 2]

    Source: torch.autograd.graph.Node.register_prehook, .register_hook (2.13).
    """
    graph = graph_of(t, module=module, names=names)
    if not graph.nodes:
        t.backward(gradient, **how)  # torch says why not
    recorder = _Recorder(nodes_below([t]))
    try:
        t.backward(gradient, **how)
        error = None
    except Exception as raised:
        error = raised
    finally:
        recorder.remove()
    found = _with_queue(graph, recorder, str(error).partition("\n")[0] if error else "")
    if error is not None:
        error.record = found
        raise error
    return found


class _Recorder:
    """Hooks before and after each node; what they see, in the order in which it happens."""

    def __init__(self, nodes: Sequence[object]) -> None:
        self.sequence = [private_nodes.sequence_nr(node) for node in nodes]
        self.steps: list[BackwardStep] = []
        self._nodes = nodes  # a leaf that is the root itself does not keep its node alive
        self._hooks = []
        for number, node in enumerate(nodes):
            self._hooks.append(node.register_prehook(self._before(number, node)))
            self._hooks.append(node.register_hook(self._after(number, node)))

    def remove(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._nodes = []

    def _before(self, number: int, node: object):
        leaf = getattr(node, "variable", None)

        def see(received: tuple[torch.Tensor | None, ...]) -> None:
            before = None if leaf is None else gradient_of(private.grad(leaf))
            self.steps.append(
                BackwardStep(number, tuple(map(gradient_of, received)), (), before=before)
            )

        return see

    def _after(self, number: int, node: object):
        leaf = getattr(node, "variable", None)

        def see(sent: tuple[torch.Tensor | None, ...], _received: object) -> None:
            # Nodes of one thread run one after the other: the last step is this node's.
            step = self.steps[-1]
            if leaf is not None:
                self.steps[-1] = replace(step, after=gradient_of(private.grad(leaf)))
            else:
                self.steps[-1] = replace(step, sent=tuple(map(gradient_of, sent)))

        return see


def gradient_of(t: torch.Tensor | None) -> Gradient | None:
    """A gradient as it is now, without keeping it.

    >>> gradient_of(torch.tensor([3.0, 4.0]))
    Gradient(dtype='float32', sizes=(2,), norm=5.0, values=(3.0, 4.0))
    """
    if t is None:
        return None
    dtype, sizes = str(t.dtype).removeprefix("torch."), tuple(t.shape)
    with private.unseen(), torch.no_grad():
        try:
            values = tuple(t.reshape(-1).tolist()) if t.numel() <= _MOST_VALUES else ()
            norm = torch.linalg.vector_norm(t.detach()).item()
        except (RuntimeError, NotImplementedError):  # sparse, or on a device without data
            return Gradient(dtype, sizes, None)
    return Gradient(dtype, sizes, norm, values)


def _with_queue(graph: Graph, recorder: _Recorder, error: str) -> Backward:
    """The steps, with what the model says was waiting at each; only where its order is the real."""
    edges = [[e.target for e in node.edges if e is not None] for node in graph.nodes]
    modelled = engine.run(edges, recorder.sequence)
    ran = [step.node for step in recorder.steps]
    same = ran == [step.node for step in modelled][: len(ran)]
    steps = tuple(recorder.steps)
    if same:
        steps = tuple(
            replace(step, ready=model.ready, missing=model.missing)
            for step, model in zip(steps, modelled, strict=False)
        )
    return Backward(graph, steps, same, error)
