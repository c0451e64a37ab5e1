"""The graph that is shown is the graph that torch will run."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from insidetorch import count, graph_cost, show
from insidetorch.observe.graph import graph_of


def names(graph):
    return [node.name for node in graph.nodes]


def some_leaves():
    return torch.ones(2, 3, requires_grad=True), torch.full((3,), 2.0, requires_grad=True)


class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b, a + b

    @staticmethod
    def backward(ctx, g, h):
        a, b = ctx.saved_tensors
        return g * b + h, g * a + h


def test_nodes_edges_and_leaves_stand_in_a_fixed_order():
    x, w = some_leaves()
    graph = graph_of((x * w).exp().sum(), names={"x": x, "w": w})
    assert names(graph) == [
        *("SumBackward0", "ExpBackward0", "MulBackward0", "AccumulateGrad", "AccumulateGrad")
    ]
    assert [[edge.target for edge in node.edges] for node in graph.nodes] == [
        *([1], [2], [3, 4], [], [])
    ]
    assert [(leaf.leaf, leaf.leaf_sizes) for leaf in graph.leaves] == [("x", (2, 3)), ("w", (3,))]
    assert [node.age for node in graph.nodes] == [2, 1, 0, None, None]
    assert graph == graph_of((x * w).exp().sum(), names={"x": x, "w": w})


def test_every_edge_is_torchs():
    x, w = some_leaves()
    loss = (Two.apply(x, w * x)[1].unbind()[1] * x[0] + x.mean()).sum()
    graph, seen, waiting = graph_of(loss), [], [loss.grad_fn]
    for node in waiting:
        seen.append(node)
        waiting += [t for t, _ in node.next_functions if t is not None and t not in waiting]
    assert len(graph.nodes) == len(seen)
    for shown, node in zip(graph.nodes, seen, strict=True):
        assert shown.name == node.name().removeprefix("torch::autograd::")
        for edge, (target, output_nr) in zip(shown.edges, node.next_functions, strict=True):
            if target is None:
                assert edge is None
            else:
                assert (seen[edge.target], edge.output_nr) == (target, output_nr)


def test_a_node_with_two_outputs_is_reached_by_output_number():
    x, w = some_leaves()
    first, second = Two.apply(x, x * w)
    graph = graph_of([second, first.sum()])
    assert graph.roots[0].output_nr == 1 and graph.nodes[1].edges[0].output_nr == 0
    assert graph.nodes[0].outputs == ((2, 3), (2, 3))


@pytest.mark.parametrize(
    ("make", "saved"),
    [
        (lambda x, w: x.exp(), {"result": (2, 3)}),
        (lambda x, w: x + 1, {}),
        (lambda x, w: x**2, {"self": (2, 3)}),
        (lambda x, w: x * w, {"self": (2, 3), "other": (3,)}),
        (lambda x, w: x * torch.ones(3), {"other": (3,)}),
        (lambda x, w: x[torch.tensor([0, 1])], {"indices[0]": (2,)}),
        (lambda x, w: Two.apply(x, x)[0], {"tensors[0]": (2, 3), "tensors[1]": (2, 3)}),
        (lambda x, w: nn.functional.linear(x, w[None]), {"self": (2, 3), "mat2": (3, 1)}),
    ],
)
def test_a_node_keeps_what_its_formula_needs(make, saved):
    node = graph_of(make(*some_leaves())).nodes[0]
    if node.name == "TBackward0":
        node = graph_of(make(*some_leaves())).nodes[1]
    kept = {one.name: one.sizes for one in node.saved if one.is_tensor}
    assert kept == saved


def test_saved_tensors_that_share_memory_have_one_number():
    x, _ = some_leaves()
    y = x.exp()
    graph = graph_of((y * y).sum())
    [mul] = [node for node in graph.nodes if node.name == "MulBackward0"]
    [exp] = [node for node in graph.nodes if node.name == "ExpBackward0"]
    assert {one.storage for one in mul.saved} == {exp.saved[0].storage}
    assert graph.saved_bytes == y.nbytes


def test_a_tensor_written_after_it_was_saved_has_two_versions():
    x, _ = some_leaves()
    y = x.exp()
    z = y.sum()
    graph = graph_of(z * 1)
    assert not any(one.overwritten for node in graph.nodes for one in node.saved)
    with torch.no_grad():
        y.add_(1)
    [exp] = [node for node in graph_of(z).nodes if node.name == "ExpBackward0"]
    assert (exp.saved[0].version, exp.saved[0].expected) == (1, 0) and exp.saved[0].overwritten
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        z.backward()


def test_after_backward_the_nodes_stay_and_what_they_kept_is_freed():
    x, w = some_leaves()
    loss = (x * w).sum()
    loss.backward()
    graph = graph_of(loss)
    [mul] = [node for node in graph.nodes if node.name == "MulBackward0"]
    assert [one.freed for one in mul.saved] == [True, True] and graph.saved_bytes == 0
    assert mul.saved[0].text == "freed by a backward pass"


def test_a_write_to_a_view_rewrites_the_graph():
    x, w = some_leaves()
    y = x * 1
    y[0].mul_(w)
    assert names(graph_of(y))[0] == "CopySlices"
    view = (x * 1)[0]
    view.add_(1)
    assert names(graph_of(view))[:2] == ["AsStridedBackward0", "CopySlices"]


def test_a_graph_of_a_graph_and_a_checkpoint_are_read():
    x, w = some_leaves()
    (gradient,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    assert "PowBackward0" in names(graph_of(gradient)) and graph_of(gradient).whole
    runs = []
    again = checkpoint(lambda t: (runs.append(1), (t * w).exp())[1], x, use_reentrant=False)
    graph = graph_of(again.sum())
    assert "packed by a hook" in graph.nodes[1].saved[0].text
    assert graph.nodes[1].name == "ExpBackward0" and runs == [1]  # looking runs nothing again


def test_leaves_are_named_by_the_module():
    model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
    graph = graph_of(model(torch.ones(4, 3)).sum(), module=model)
    assert {leaf.leaf for leaf in graph.leaves} == {name for name, _ in model.named_parameters()}


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: torch.ones(2), "does not require a gradient"),
        (lambda: torch.ones(2, dtype=torch.int64), "only floating point and complex"),
        (lambda: torch.ones(2, requires_grad=True).detach(), "does not require a gradient"),
    ],
)
def test_where_there_is_no_graph_the_reason_is_told(make, reason):
    graph = graph_of(make())
    assert graph.nodes == () and reason in graph.reason


def test_an_inference_tensor_says_so():
    with torch.inference_mode():
        t = torch.ones(2)
    assert "inference mode" in graph_of(t).reason


def test_a_leaf_is_a_graph_of_one_node():
    x, _ = some_leaves()
    assert names(graph_of(x, names={"x": x})) == ["AccumulateGrad"]


def test_looking_changes_nothing():
    x, w = some_leaves()
    y = (x * w).exp()
    loss = y.sum()
    state = torch.get_rng_state()
    assert count(lambda: graph_of(loss)).total == 0
    assert (x.grad, w.grad, y._version) == (None, None, 0)
    assert torch.equal(torch.get_rng_state(), state)
    loss.backward()
    first = x.grad.clone()
    x.grad = None
    (x * w).exp().sum().backward()
    assert torch.equal(x.grad, first)


def test_looking_keeps_nothing_alive():
    class Mark:
        pass

    x, w = some_leaves()
    y = (x * w).exp()
    y.grad_fn.metadata["mark"] = Mark()
    alive = weakref.ref(y.grad_fn.metadata["mark"])
    graph = graph_of(y.sum())
    del y
    gc.collect()
    assert alive() is None and len(graph.nodes) == 5


def test_a_long_chain_needs_no_recursion_and_a_walk_can_be_ended():
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(5_000):
        y = y + 1
    graph = graph_of(y)
    assert len(graph.nodes) == 5_001 and graph.whole
    part = graph_of(y, most=100)
    assert len(part.nodes) == 100 and not part.whole


def test_a_very_deep_graph_that_was_looked_at_is_freed_without_ending_the_process():
    code = """
import torch
from insidetorch.observe.graph import graph_of
x = y = torch.ones(1, requires_grad=True)
for _ in range(100_000):
    y = y + 1
assert not graph_of(y).whole
del y
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


GROWING = """
import torch
from insidetorch import graph_cost
y = torch.ones(1, requires_grad=True)
for _ in range(8):
    for _ in range(9_900):
        y = y + 1
    graph_cost(y)
del y
other = torch.ones(1, requires_grad=True)
for _ in range(9_000):
    other = other + 1
print([graph_cost(other).nodes for _ in range(3)])
"""


def test_a_chain_that_grows_between_looks_is_freed_without_ending_the_process():
    ran = subprocess.run([sys.executable, "-c", GROWING], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "[9001, 9001, 9001]\n"), ran.stderr


def test_what_is_no_tensor_is_refused():
    with pytest.raises(TypeError, match=r"graph of a float was asked\. Only a tensor has one\."):
        graph_of([1.0])


def test_hooks_of_a_leaf_are_counted_and_told():
    x = torch.ones(2, requires_grad=True)
    y = (x * 2).sum()
    assert [node.hooks for node in graph_of(y).leaves] == [0]
    hooks = [x.register_hook(lambda g: g), x.register_post_accumulate_grad_hook(lambda p: None)]
    assert [node.hooks for node in graph_of(y).leaves] == [2]
    assert "its gradient ends here; 2 hooks set on it" in show(graph_of(y)).text
    for hook in hooks:
        hook.remove()
    assert [node.hooks for node in graph_of(y).leaves] == [0]


def test_a_tensor_that_is_an_attribute_of_ctx_is_told_with_what_it_lacks():
    class Keeps(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.factor = torch.full_like(x, 2)
            return x * ctx.factor

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor

    y = Keeps.apply(torch.ones(3, requires_grad=True))
    saved = {one.name: one.text for one in graph_of(y).nodes[0].saved}
    assert saved["tensors[0]"] == "float32 (3,)"
    assert "a second derivative takes it for a constant" in saved["ctx.factor"]
    y.sum().backward()
    freed = {one.name: one.freed for one in graph_of(y).nodes[0].saved}
    assert freed == {"tensors": True, "ctx.factor": False}  # it stays as long as the node does


def test_a_class_that_overrides_everything_is_not_asked():
    class Closed(torch.Tensor):
        @classmethod
        def __torch_function__(cls, fn, types, args=(), kwargs=None):
            raise ValueError("not for you")

    y = (torch.ones(2, requires_grad=True) * 2).as_subclass(Closed)
    assert graph_of(y).nodes and graph_cost(y).nodes
    with pytest.raises(TypeError, match=r"The graph of a int was asked\. Only a tensor has one"):
        graph_of(3)
