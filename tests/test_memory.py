"""What a graph keeps alive, and who keeps the graph: each holder alone, until it lets go."""

from __future__ import annotations

import code
import functools
import gc
import os
import subprocess
import sys
import types
import weakref
from collections import defaultdict, deque

import pytest
import torch
from jupyter_client.manager import start_new_kernel
from torch import nn

from insidetorch import GraphExplorer, count, graph_cost, graph_holders, ledger
from insidetorch.records import GraphCost, Holder, Holders
from insidetorch.records.memory import MOST_HOLDERS

W = torch.linspace(0, 1, 1000).requires_grad_()


def loss_of():
    """A loss whose graph has 3 nodes and keeps 4,000 bytes."""
    return W.exp().sum()


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        return 3 * g * ctx.saved_tensors[0] ** 2


pytestmark = pytest.mark.usefixtures("small_heap")


def test_a_graph_costs_what_its_step_made():
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))
    batch = torch.ones(5, 8)
    cost = graph_cost(model(batch).sum())
    assert cost.nbytes == ledger(lambda: model(batch).sum()).made_bytes + batch.nbytes
    assert (cost.nodes, cost.freed, cost.whole) == (10, 0, True)
    assert str(graph_cost(loss_of())) == "3 nodes, 4,000 bytes kept."


def test_after_backward_the_nodes_stay_and_keep_nothing():
    for loss, freed in ((loss_of(), 1), (Cube.apply(W * 2).sum(), 2)):
        before = graph_cost(loss)
        loss.backward()
        after = graph_cost(loss)
        assert before.nbytes >= 4000 and (after.nbytes, after.freed) == (0, freed)
        assert after.nodes == before.nodes
        assert "0 bytes kept" in str(after) and "freed by a backward pass" in str(after)
    W.grad = None


def test_leaves_are_not_counted_and_storages_count_once_and_whole():
    y = W.exp()
    assert graph_cost((W * W).sum()).nbytes == 0
    assert graph_cost((y * y * y).sum()).nbytes == 8000
    assert graph_cost([y.sum(), y.sin()]).nbytes == 4000
    assert graph_cost((y[:2] * y[:2]).sum()).nbytes == 4000


def test_without_a_graph_the_reason_is_told_and_no_tensor_is_refused():
    assert graph_cost(torch.ones(2)).nodes == 0
    assert "does not require a gradient" in repr(graph_cost(torch.ones(2)))
    assert graph_cost([torch.ones(2), loss_of()]).nbytes == 4000
    with pytest.raises(TypeError, match=r"graph of a float was asked\. Only a tensor has one\."):
        graph_cost([1.0])


def test_a_part_of_a_deep_graph_says_at_least():
    y = W[:1]
    for _ in range(200):
        y = y.sin()
    cost = graph_cost(y, most=50)
    assert not cost.whole and str(cost).startswith("at least 50 nodes, at least ")


def test_what_a_hook_has_packed_is_told():
    with torch.autograd.graph.saved_tensors_hooks(torch.Tensor.tolist, torch.tensor):
        cost = graph_cost(W[:2].exp())
    assert cost.nbytes == 0 and "1 saved tensor packed by a hook, not counted" in str(cost)


def test_looking_changes_nothing():
    loss = loss_of()
    state = torch.get_rng_state()
    assert count(lambda: (graph_cost(loss), graph_holders())).total == 0
    assert W.grad is None and W._version == 0 and torch.equal(torch.get_rng_state(), state)
    loss.backward()
    assert torch.equal(W.grad, W.detach().exp())
    W.grad = None


def test_looking_keeps_nothing_alive():
    def step():
        loss = loss_of()
        assert graph_holders().found
        dead = weakref.ref(loss)
        del loss
        gc.collect()
        return dead() is None  # while the function that held it still runs

    assert step()


@pytest.fixture
def trainer(monkeypatch):
    """A module of the user's, in which the holders stand."""
    module = types.ModuleType("trainer")
    monkeypatch.setitem(sys.modules, "trainer", module)
    return module


def found(kind, path=""):
    return [h for h in graph_holders().found if h.kind == kind and h.path.startswith(path)]


class Run:
    def __init__(self, last):
        self.last = last


class Slots:
    __slots__ = ("last", "never")


def slots(loss):
    made = Slots()
    made.last = loss
    return made


def tagged(t, loss):
    t.last = loss
    return t


class Remembers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 2), nn.Identity())
        self.layers[1].last = loss_of()


NAMED = [
    (loss_of, "x0", 1),
    (lambda: [loss_of() for _ in range(40)], "x1[0]", 40),
    (lambda: [loss_of() for _ in range(400)], "x2[0]", 400),
    (lambda: {"lr": 1, "loss": loss_of()}, "x3['loss']", 1),
    (lambda: {Run: (1, loss_of())}, "x4[a type][1]", 1),
    (lambda: deque([0, {"epoch": [loss_of()]}]), "x5[1]['epoch'][0]", 1),
    (lambda: Run(loss_of()), "x6.last", 1),
    (lambda: Run({"log": [loss_of(), loss_of()]}), "x7.last['log'][0]", 2),
    (lambda: slots(loss_of()), "x8.last", 1),
    (Remembers, "x9.layers[1].last", 1),
    (lambda: functools.partial(print, loss_of()), "x10.args[0]", 1),
    (lambda: loss_of().backward, "x11.__self__", 1),
    (lambda: {loss_of()}, "x12{…}", 1),
    (lambda: defaultdict(list, {"v1.5": loss_of()}), "x13['v1.5']", 1),
    (lambda: tagged(torch.ones(1), loss_of()), "x14.last", 1),
]


def test_a_name_that_holds_a_graph_is_found_by_its_expression(trainer):
    for k, (make, _, _) in enumerate(NAMED):
        setattr(trainer, f"x{k}", make())
    holders = {h.path.removeprefix("trainer."): h for h in found("name", "trainer.")}
    assert {path: h.tensors for path, h in holders.items()} == {path: n for _, path, n in NAMED}
    for holder in holders.values():
        assert holder.cost.nbytes == 4000 * holder.tensors
        assert str(holder).startswith(f"`{holder.path}`") and ".item()`" in str(holder)
    for k in range(len(NAMED)):
        delattr(trainer, f"x{k}")
    assert found("name", "trainer.") == []


def test_a_variable_of_the_program_is_named_without_a_module():
    source = """
import torch
from insidetorch import graph_holders
x = torch.ones(1000, requires_grad=True)
total = 0
for _ in range(20):
    total += (x.exp() * x).sum()  # the first result lives on inside of the graph
print(graph_holders())
del total
print(graph_holders())
node = x.exp().sin().grad_fn
print(graph_holders())
"""
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.splitlines() == [
        "`total` holds a graph: 81 nodes, 80,000 bytes kept. Keep `total.item()` or "
        "`total.detach()` instead, or `del total`.",
        "No live tensor has a graph behind it.",
        "1 tensor with a graph: held where Python cannot look, by a node that is kept or by a "
        "gradient that create_graph=True made.",
    ]


def test_a_tensor_with_many_values_is_not_told_to_become_a_number(trainer):
    trainer.output = W.exp()
    [holder] = found("name", "trainer.")
    assert holder.advice == "Put `.detach()` of it there instead."
    named = graph_holders({"output": trainer.output})
    assert "Keep `output.detach()` instead, or `del output`." in str(named)


def test_the_holder_of_most_bytes_stands_first(trainer):
    trainer.first, trainer.second = loss_of(), Run([loss_of(), loss_of()])
    paths = [h.path for h in graph_holders().found if h.path.startswith("trainer.")]
    assert paths == ["trainer.second.last[0]", "trainer.first"]


def test_a_list_with_two_names_is_listed_twice(trainer):
    trainer.losses = [loss_of()]
    trainer.run = Run(trainer.losses)
    assert [h.path for h in found("name", "trainer.")] == [
        "trainer.losses[0]",
        "trainer.run.last[0]",
    ]


def test_a_validation_loop_that_keeps_values_holds_nothing(trainer):
    trainer.losses = []
    for _ in range(5):
        with torch.no_grad():
            trainer.losses.append(loss_of())
        trainer.losses.append(loss_of().item())
        trainer.losses.append(loss_of().detach())
    assert found("name", "trainer.") == []


def test_what_stays_after_backward_is_a_graph_that_keeps_nothing(trainer):
    trainer.loss = loss_of()
    trainer.loss.backward()
    W.grad = None
    [holder] = found("name", "trainer.")
    assert (holder.cost.nodes, holder.cost.nbytes, holder.cost.freed) == (3, 0, 1)


def test_a_gradient_that_has_a_graph_is_found_at_its_leaf(trainer):
    trainer.model = nn.Sequential(nn.Linear(2, 1, bias=False))
    loss = trainer.model(torch.ones(1, 2)).square().sum()
    gradient = torch.autograd.grad(loss, trainer.model[0].weight, create_graph=True)[0]
    trainer.model[0].weight.grad = gradient
    del gradient, loss
    [holder] = found("name", "trainer.")
    assert holder.path == "trainer.model[0].weight.grad"
    assert "`trainer.model[0].weight.grad = None` lets it go" in str(holder)
    trainer.model[0].weight.grad = None
    assert found("name", "trainer.") == []


def test_an_attribute_of_a_class_is_found(trainer):
    class Trainer:
        best = loss_of()

    [holder] = found("name")
    assert holder.path.endswith(".Trainer.best")
    del Trainer.best
    assert found("name") == []


def test_a_variable_that_a_function_remembers_is_found(trainer):
    def closing():
        loss = loss_of()
        return lambda: loss

    def defaulting(a, worst=loss_of(), *, best=None):  # noqa: B008
        return worst

    trainer.step = closing()
    [holder] = found("closure", "loss")
    assert "`loss` that the function `test_a_variable" in str(holder)
    trainer.step = None
    assert found("closure", "loss") == []
    assert [(h.path, h.cost.nbytes) for h in found("closure", "worst")] == [("worst", 4000)]


def test_a_variable_of_a_running_function_is_found():
    def train():
        loss = loss_of()
        assert loss.requires_grad
        return found("running", "loss")

    [holder] = train()
    assert holder.function.endswith("train") and "It goes when the function ends" in str(holder)
    assert found("running", "loss") == []


def test_a_generator_that_waits_is_found():
    def batches():
        loss = loss_of()
        yield 1
        yield loss

    waiting = batches()
    assert next(waiting) == 1
    [holder] = found("generator")
    assert holder.path == "loss" and "call its `close()`" in str(holder)
    waiting.close()
    assert found("generator") == []


def test_a_caught_error_that_is_kept_is_found(trainer):
    def step():
        loss = loss_of()
        raise ValueError(loss.shape)

    try:
        step()
    except ValueError as error:
        trainer.error = error
    [holder] = found("ended")
    assert holder.path == "loss" and holder.function.endswith("step")
    del trainer.error
    assert found("ended") == []


def test_the_last_traceback_of_an_interpreter_is_found(monkeypatch, capsys):
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        monkeypatch.setattr(sys, name, None, raising=False)
    python = code.InteractiveInterpreter({"loss_of": loss_of})
    python.runcode(compile("def step():\n loss = loss_of()\n loss.view(7)", "<cell>", "exec"))
    python.runcode(compile("step()", "<cell>", "exec"))
    assert "shape '[7]' is invalid" in capsys.readouterr().err
    [holder] = found("failed")
    assert (holder.path, holder.function) == ("loss", "step")
    advice = "sys.last_value = sys.last_exc = sys.last_traceback = None"
    assert advice in str(holder)
    exec(advice, {"sys": sys})
    assert found("failed") == []


def test_what_cannot_be_looked_into_ends_no_search(trainer):
    class Proud:
        __slots__ = ("loss",)

        def __getattribute__(self, name):
            raise RuntimeError(name)

        def __eq__(self, other):
            raise RuntimeError

        __hash__ = None

    trainer.proud = Proud()
    Proud.loss.__set__(trainer.proud, loss_of())
    assert [h.path for h in found("name", "trainer.")] == ["trainer.proud.loss"]


def test_a_tensor_that_autograd_refuses_to_answer_for_ends_no_search(trainer):
    trainer.rows = (W[:4] * 1).unbind()
    trainer.loss = loss_of()
    with torch.no_grad():
        trainer.rows[0].mul_(2)
    with pytest.raises(RuntimeError, match="Such functions do not allow the output views"):
        trainer.rows[0].is_leaf  # noqa: B018
    assert [h.path for h in found("name", "trainer.")] == ["trainer.loss"]


def test_a_graph_that_cannot_be_read_has_a_holder_all_the_same(trainer, monkeypatch):
    def refuses(tensors):
        raise NotImplementedError

    monkeypatch.setattr("insidetorch.observe.holders.graph_cost", refuses)
    trainer.loss = loss_of()
    [holder] = found("name", "trainer.")
    assert "`trainer.loss` holds a graph: It cannot be read: NotImplementedError." in str(holder)


def test_the_answer_is_the_same_each_time_and_long_ones_are_cut(trainer):
    for k in range(MOST_HOLDERS + 2):
        setattr(trainer, f"loss{k:02}", loss_of())
    mine = {"mine": trainer.loss00}
    first, again = graph_holders(mine), graph_holders(mine)
    assert first == again and first[0].cost.nbytes == 4000
    assert any(h.path == "mine" for h in first.found)
    assert "more holder" in str(first).splitlines()[MOST_HOLDERS]
    assert len(first) > MOST_HOLDERS and repr(first) == str(first)


def test_what_was_left_out_is_told():
    one = Holder("name", "loss", GraphCost(3, 1, 8), "Let go.", 2)
    assert str(Holders((one,), whole=False)).splitlines() == [
        "`loss` and 1 more beside it hold graphs: 3 nodes, 8 bytes kept. Let go.",
        "There was too much to look at: some holders are not listed.",
    ]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """Run a cell in a real kernel; what it printed or returned comes back as text."""
    folder = str(tmp_path_factory.mktemp("ipython"))
    manager, client = start_new_kernel(env=os.environ | {"IPYTHONDIR": folder})

    def run(source):
        said = []

        def hear(message):
            content = message["content"]
            said.append(content.get("text") or content.get("data", {}).get("text/plain", ""))

        client.execute_interactive(source, output_hook=hear, allow_stdin=False, timeout=120)
        return "".join(said).strip()

    run(
        "import torch\nfrom insidetorch import graph_holders\n"
        "x = torch.ones(1000, requires_grad=True)\n"
        "def step():\n    loss = x.exp().sum()\n    return loss.view(7)"
    )
    yield run
    client.stop_channels()
    manager.shutdown_kernel(now=True)


HELD = "print(graph_holders())"
NOTHING = "No live tensor has a graph behind it."


def test_the_last_value_of_a_cell_stays_in_the_output_history(kernel):
    kernel("# the loss\nloss = x.exp().sum()\nloss")
    said = kernel(HELD).splitlines()
    assert said == [
        "The output history of the notebook (Out, _), from the cell 'loss = x.exp().sum()', holds "
        "a graph: 3 nodes, 4,000 bytes kept. `%xdel _` lets it go; a `;` at the end of a cell "
        "keeps its result out of there.",
        "`loss` holds a graph: 3 nodes, 4,000 bytes kept. Keep `loss.item()` or `loss.detach()` "
        "instead, or `del loss`.",
    ]
    kernel("del loss")
    assert kernel(HELD) == said[0]  # the name is gone, the graph is not
    kernel("%xdel _")
    assert kernel(HELD) == NOTHING


def test_a_history_that_was_emptied_too_early_says_where_the_rest_is(kernel):
    kernel("x.exp().sum()")
    kernel("%reset -f out")
    said = kernel(HELD)
    assert said.startswith("The output history of the notebook (user_ns_hidden['_']) holds a graph")
    kernel("del get_ipython().user_ns_hidden['_']")
    assert kernel(HELD) == NOTHING


def test_an_older_output_goes_with_the_history(kernel):
    kernel("[x.exp().sum(), 0]")
    for k in range(4):
        kernel(str(k))
    said = kernel(HELD)
    assert said.startswith("The output history of the notebook (Out), from the cell '[x.exp()")
    assert "`%reset -f out` lets it go" in said
    kernel("%reset -f out")
    assert kernel(HELD) == NOTHING


def test_a_semicolon_keeps_a_result_out_of_the_history(kernel):
    kernel("x.exp().sum();")
    assert kernel(HELD) == NOTHING


def test_a_failed_cell_keeps_its_variables_until_the_next_error(kernel):
    assert kernel("step()") == ""
    said = kernel(HELD)
    assert said == (
        "The variable `loss` of `step`, which failed and is in the last traceback, holds a graph: "
        "3 nodes, 4,000 bytes kept. The next error takes its place: run `1/0` in a cell of its own."
    )
    kernel("import sys; sys.last_value = sys.last_traceback = None")
    assert kernel(HELD) == said  # IPython has it as well
    kernel("1/0")
    assert kernel(HELD) == NOTHING


def test_the_text_of_a_notebook_has_no_numbers_of_cells(kernel):
    kernel("losses = [x.exp().sum() for _ in range(40)]\nlosses[-1]")
    said = kernel(HELD)
    assert "`losses[0]` and 39 more beside it hold graphs: 81 nodes, 160,000 bytes kept." in said
    assert "Out[" not in said and "In[" not in said and "0x" not in said
    kernel("%reset -f out")
    kernel("del losses")
    assert kernel(HELD) == NOTHING


def test_a_widget_holds_what_it_shows_until_it_is_closed():
    closing = weakref.ref(GraphExplorer(torch.ones(3, requires_grad=True).exp().sum()))
    found = [str(one) for one in graph_holders() if one.kind == "widget"]
    assert found == [
        "A widget that was not closed, GraphExplorer, holds a graph: 3 nodes, 12 bytes kept. Call "
        "its `close()`."
    ]
    closing().close()
    assert [one for one in graph_holders() if one.kind == "widget"] == []
