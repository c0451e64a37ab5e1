"""Graphs that break tools: each entry makes a fresh tensor whose graph is asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from threading import Thread

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


def _leaf(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(sizes, dtype=dtype, requires_grad=True)


def _freed() -> torch.Tensor:
    loss = (_leaf(3) * _leaf(3)).sum()
    loss.backward()
    return loss


def _only_a_view_is_left() -> torch.Tensor:
    return (_leaf(4, 4) * 2).exp()[1:, ::2].t()


def _in_another_thread() -> torch.Tensor:
    made: list[torch.Tensor] = []
    thread = Thread(target=lambda: made.append((_leaf(3) * 2).sum()))
    thread.start()
    thread.join()
    return made[0] * 3


def _with_hooks(kind: str) -> torch.Tensor:
    y = _leaf(2) * 2
    if kind == "raises":
        y.register_hook(_raises)
    elif kind == "replaces":
        y.register_hook(lambda gradient: gradient * 10)
    else:
        y.grad_fn.register_hook(lambda sent, _received: (sent[0] * 10, *sent[1:]))
    return (y * y).sum()


def _raises(_gradient: torch.Tensor) -> None:
    raise ValueError("a hook of the user's")


def _packed_by_hooks() -> torch.Tensor:
    with torch.autograd.graph.saved_tensors_hooks(lambda t: [t.clone()], lambda kept: kept[0]):
        return (_leaf(3) * _leaf(3)).exp().sum()


def _overwritten() -> torch.Tensor:
    y = (_leaf(3) * 1).exp()
    y.detach().add_(1)
    return (y * 2).sum()


def _compiled() -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fn = torch.compile(lambda x: (x.sin() * x).sum(), backend="aot_eager")
        return fn(_leaf(3))


class _TwoOutputs(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, one, other):
        return one * 2 + other * 3


class _GivesNone(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        return x * w

    @staticmethod
    def backward(ctx, grad):
        return grad, None


def _in_training() -> torch.Tensor:
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(), nn.BatchNorm1d(4), nn.Linear(4, 1))
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(4, 3)).sum().backward()
        optimizer.step()
    return model(torch.ones(4, 3)).sum()


def _sparse() -> torch.Tensor:
    table = nn.Embedding(5, 2, sparse=True)
    return table(torch.tensor([1, 1, 3])).sum()


def _of_a_graph() -> torch.Tensor:
    x = _leaf(3)
    (slope,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    return slope.sum()


def _written_piece_by_piece() -> torch.Tensor:
    state = torch.zeros(4, 2)
    for k in range(4):
        state[k] = _leaf(2) * k
    return state.sum()


def _list_of_views() -> torch.Tensor:
    parts = (_leaf(6) * 2).unbind()
    return parts[0] * parts[3] + parts[5]


def _tensors_in_a_list() -> torch.Tensor:
    return torch.cat([_leaf(2) * k for k in range(5)] + [torch.zeros(2)]).sum()


HARD_GRAPHS: dict[str, Callable[[], torch.Tensor]] = {
    "a leaf": lambda: _leaf(1),
    "freed by a backward pass": _freed,
    "kept by a view": _only_a_view_is_left,
    "made in another thread": _in_another_thread,
    "a hook that raises": lambda: _with_hooks("raises"),
    "a hook that replaces": lambda: _with_hooks("replaces"),
    "a hook of a node that replaces": lambda: _with_hooks("node"),
    "packed by saved tensor hooks": _packed_by_hooks,
    "overwritten after it was saved": _overwritten,
    "compiled": _compiled,
    "two outputs of a Function": lambda: sum(_TwoOutputs.apply(_leaf(2))).sum(),
    "one output of two unused": lambda: _TwoOutputs.apply(_leaf(2))[1].sum(),
    "a Function that gives None": lambda: _GivesNone.apply(_leaf(2), _leaf(2)).sum(),
    "in training": _in_training,
    "sparse gradient": _sparse,
    "a graph of a graph": _of_a_graph,
    "written piece by piece": _written_piece_by_piece,
    "one of several views": _list_of_views,
    "a list of tensors": _tensors_in_a_list,
    "checkpoint": lambda: checkpoint(torch.exp, _leaf(3), use_reentrant=False).sum(),
    "re-entrant checkpoint": lambda: checkpoint(torch.exp, _leaf(3), use_reentrant=True).sum(),
    "complex": lambda: (_leaf(2, dtype=torch.complex64) * 2j).abs().sum(),
    "half": lambda: (_leaf(2, dtype=torch.bfloat16) * 2).sum(),
    "0-dim": lambda: _leaf() * 2,
    "5-D": lambda: (_leaf(2, 1, 3, 1, 2).transpose(0, 4) * 2).sum(),
    "no values": lambda: (_leaf(0, 3) * 2).sum(),
    "not finite": lambda: (_leaf(2) - 1).sqrt().sum(),
    "used by many": lambda: sum(y.sum() for y in [_leaf(2)] * 40),
    "long": lambda: _chain(3_000),
    "masked": lambda: torch.where(torch.tensor([True, False]), _leaf(2), 0.0).sum(),
    "an LSTM": lambda: nn.LSTM(3, 4, batch_first=True)(torch.ones(2, 5, 3))[0].sum(),
    "attention": lambda: nn.MultiheadAttention(4, 2)(*[torch.ones(3, 1, 4)] * 3)[0].sum(),
}


def _chain(length: int) -> torch.Tensor:
    y = _leaf(1)
    for _ in range(length):
        y = y + 1
    return y


# What has no graph, and a part of the sentence that says so.
WITHOUT_GRAPH: dict[str, tuple[Callable[[], torch.Tensor], str]] = {
    "detached": (lambda: (_leaf(2) * 2).detach(), "does not require a gradient"),
    "integers": (lambda: torch.arange(3), "only floating point and complex values have a graph"),
    "a comparison": (lambda: _leaf(2) > 0, "only floating point and complex values have a graph"),
    "inference": (lambda: _inference(), "made in inference mode"),
    "no_grad": (lambda: _no_grad(), "does not require a gradient"),
    "meta": (lambda: torch.ones(2, device="meta"), "does not require a gradient"),
    "sparse": (lambda: torch.eye(2).to_sparse(), "does not require a gradient"),
}


def _inference() -> torch.Tensor:
    with torch.inference_mode():
        return torch.ones(2) * 2


def _no_grad() -> torch.Tensor:
    with torch.no_grad():
        return _leaf(2) * 2
