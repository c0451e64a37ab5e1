"""Each node of a graph is traced to the line, and the module, that made it."""

from __future__ import annotations

import linecache
import threading

import pytest
import torch
from torch import nn

from insidetorch import ForwardRecorder, graph_of
from insidetorch.draw.graph_text import graph_text


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def lines(graph):
    return {
        node.name: node.place.statement.partition("#")[2].strip()
        for node in graph.nodes
        if node.place is not None
    }


def test_each_node_has_its_line():
    x = torch.ones(2, 3, requires_grad=True)
    with ForwardRecorder() as forward:
        y = x * 3  # mul
        y = y.exp()  # exp
        y[0].add_(1)  # write
        z = Twice.apply(y)  # apply
        loss = z.softmax(0).sum()  # end
    graph = graph_of(loss, forward=forward)
    found = lines(graph)
    assert found["MulBackward0"] == "mul" and found["ExpBackward0"] == "exp"
    assert found["TwiceBackward"] == "apply" and found["SoftmaxBackward0"] == "end"
    assert found["SumBackward0"] == "end"
    assert all(node.place.file == __file__ for node in graph.nodes if node.place)
    assert "made by test_recorder.py, line" in graph_text(graph)


def test_what_was_made_elsewhere_has_no_line():
    x = torch.ones(2, requires_grad=True)
    before = x * 2
    with ForwardRecorder() as forward:
        inside = before.exp()
    after = inside.sin()
    assert lines(graph_of(after, forward=forward)).keys() == {"ExpBackward0"}


def test_each_node_has_its_module():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 2)))
    with ForwardRecorder(model) as forward:
        loss = model(torch.ones(5, 3)).sum()
    graph = graph_of(loss, module=model, forward=forward)
    modules = [(node.name, node.module) for node in graph.nodes if not node.is_leaf]
    assert modules == [
        ("SumBackward0", ""),
        *[("AddmmBackward0", "2.0"), ("ReluBackward0", "1"), ("TBackward0", "2.0")],
        *[("AddmmBackward0", "0"), ("TBackward0", "0")],
    ]


def test_a_line_of_a_cell_is_named_by_the_cell(tmp_path):
    source = "scale = 2\ny = x * scale\n"
    name = str(tmp_path / "ipykernel_1" / "5.py")
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope = {"x": torch.ones(2, requires_grad=True)}
    with ForwardRecorder() as forward:
        exec(compile(source, name, "exec"), scope)
    [mul] = [n for n in graph_of(scope["y"], forward=forward).nodes if not n.is_leaf]
    assert str(mul.place) == "cell 'scale = 2', line 2: y = x * scale"


def test_an_error_leaves_no_hook_and_no_mode_behind():
    model = nn.Linear(3, 4)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"), ForwardRecorder(model):
        model(torch.ones(2, 2))
    assert not torch.nn.modules.module._global_forward_hooks
    assert not torch.nn.modules.module._global_forward_pre_hooks
    assert model(torch.ones(2, 3)).shape == (2, 4)


def test_a_recorded_forward_gives_the_same_values_and_gradients():
    torch.manual_seed(0)
    model, x = (
        nn.TransformerEncoderLayer(8, 2, 16, dropout=0.5, batch_first=True),
        torch.randn(2, 3, 8),
    )
    torch.manual_seed(1)
    model(x).sum().backward()
    expected = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    torch.manual_seed(1)
    with ForwardRecorder(model):
        loss = model(x).sum()
    loss.backward()
    assert all(map(torch.equal, expected, (p.grad for p in model.parameters())))


def test_a_forward_in_another_thread_that_began_before_is_no_concern_of_the_recorder():
    began, entered = threading.Event(), threading.Event()

    class Slow(nn.Module):
        def forward(self, x):
            began.set()
            entered.wait()
            return x * 2

    slow, errors = Slow(), []
    slow.register_forward_hook(lambda *_: None)  # so that torch looks at all hooks

    def work():
        try:
            slow(torch.ones(1))
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    began.wait()
    model = nn.Linear(1, 1)
    with ForwardRecorder(model) as forward:
        entered.set()
        thread.join()
        y = model(torch.ones(1, 1))
    assert errors == [] and forward.module_of(y.grad_fn) == ""
