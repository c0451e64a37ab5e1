"""Which small training loops keep their graphs, and which let them go?"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from textwrap import dedent

import torch
from torch import nn

Loop = tuple[Callable[[], object], nn.Module]  # one step, and whose gradients it fills


def _a_healthy_loop() -> Loop:
    model = nn.Linear(100, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        batch = torch.ones(32, 100)
        loss = model(batch).tanh().square().mean()
        loss.backward()
        optimizer.step()

    return step, model


def _losses_in_a_list() -> Loop:
    model, losses = nn.Linear(100, 1), []

    def step():
        batch = torch.ones(32, 100)
        loss = model(batch).tanh().square().mean()
        loss.backward()
        losses.append(loss)

    return step, model


def _losses_without_backward() -> Loop:
    model, losses = nn.Linear(100, 1), []

    def step():  # a validation loop without no_grad
        batch = torch.ones(32, 100)
        losses.append(model(batch).tanh().square().mean())

    return step, model


def _a_running_sum() -> Loop:
    model, total = nn.Linear(100, 1), 0

    def step():  # a validation loop without no_grad
        nonlocal total
        batch = torch.ones(32, 100)
        total += model(batch).tanh().square().mean()

    return step, model


def _a_carried_hidden_state() -> Loop:
    class Reader:
        def __init__(self):
            self.cell = nn.RNNCell(10, 20)
            self.h = torch.zeros(32, 20)

        def step(self):
            self.h = self.cell(torch.ones(32, 10), self.h)

    reader = Reader()
    return reader.step, reader.cell


def _a_carried_state_and_backward() -> Loop:
    class Reader:
        def __init__(self):
            self.cell = nn.RNNCell(10, 20)
            self.h = torch.zeros(32, 20)

        def step(self):
            self.h = self.cell(torch.ones(32, 10), self.h)
            self.h.square().mean().backward()

    reader = Reader()
    return reader.step, reader.cell


def _a_detached_hidden_state() -> Loop:
    class Reader:
        def __init__(self):
            self.cell = nn.RNNCell(10, 20)
            self.h = torch.zeros(32, 20)

        def step(self):
            self.h = self.cell(torch.ones(32, 10), self.h.detach())
            self.h.square().mean().backward()

    reader = Reader()
    return reader.step, reader.cell


def _retain_graph_and_nothing_kept() -> Loop:
    model = nn.Linear(100, 1)

    def step():
        batch = torch.ones(32, 100)
        loss = model(batch).tanh().square().mean()
        loss.backward(retain_graph=True)

    return step, model


def _retain_graph_and_losses_kept() -> Loop:
    model, losses = nn.Linear(100, 1), []

    def step():
        batch = torch.ones(32, 100)
        loss = model(batch).tanh().square().mean()
        loss.backward(retain_graph=True)
        losses.append(loss)

    return step, model


def _create_graph_into_grad() -> Loop:
    model = nn.Linear(100, 1)

    def step():
        batch = torch.ones(32, 100)
        loss = model(batch).tanh().square().mean()
        loss.backward(create_graph=True)

    return step, model


def _create_graph_and_zero_grad() -> Loop:
    model = nn.Linear(100, 1)

    def step():
        model.zero_grad()
        batch = torch.ones(32, 100)
        loss = model(batch).tanh().square().mean()
        loss.backward(create_graph=True)

    return step, model


LOOPS: dict[str, Callable[[], Loop]] = {
    "a healthy loop": _a_healthy_loop,
    "losses.append(loss) after backward": _losses_in_a_list,
    "losses.append(loss), no backward": _losses_without_backward,
    "total += loss, no backward": _a_running_sum,
    "a hidden state carried on": _a_carried_hidden_state,
    "a hidden state carried on, backward": _a_carried_state_and_backward,
    "a hidden state, detached": _a_detached_hidden_state,
    "retain_graph=True, nothing kept": _retain_graph_and_nothing_kept,
    "retain_graph=True, losses kept": _retain_graph_and_losses_kept,
    "create_graph=True, .grad not cleared": _create_graph_into_grad,
    "create_graph=True, .grad cleared": _create_graph_and_zero_grad,
}


def source_of(name: str) -> str:
    """The code of a loop, as it runs.

    >>> source_of("a healthy loop").splitlines()[0]
    'model = nn.Linear(100, 1)'
    """
    lines = inspect.getsource(LOOPS[name]).splitlines()
    return dedent("\n".join(lines[1:-1])).strip()
