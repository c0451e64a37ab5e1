"""Which graphs are alive after each step of a loop, which step made them, and who holds them."""

from __future__ import annotations

import ast
import gc
import inspect
import re
import weakref
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import count as counter
from xml.etree import ElementTree

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from insidetorch import GraphMemory, count, graph_memory, show
from insidetorch.draw.graph_memory_text import MOST_STEPS
from insidetorch.observe import depth
from insidetorch.observe.graph_memory_presets import LOOPS, source_of
from insidetorch.observe.loop_memory import loop_memory
from insidetorch.records import AfterStep, GraphHold, GraphsOverSteps, StepGraph
from insidetorch.widgets.show import picture_of

W = torch.linspace(0, 1, 1000).requires_grad_()


def loss_of():
    """A loss whose graph has 2 nodes beside that of the leaf, and keeps 4,000 bytes."""
    return W.exp().sum()


pytestmark = pytest.mark.usefixtures("small_heap")


@pytest.fixture(autouse=True)
def no_gradient_left():
    yield
    W.grad = None


@cache
def loop(name, steps):
    """A loop that was run once for all tests."""
    return loop_memory(name, steps=steps)


def steps_of(found):
    """The steps whose graphs are alive after each step."""
    return [[graph.made for graph in after.graphs] for after in found.after]


def paths_of(found):
    """Who holds each graph after the last step; with the step through which, if there is one."""
    last = found.after[-1].graphs
    return [[(h.path, h.through) if h.through else h.path for h in g.holds] for g in last]


GROWS = [[1], [1, 2], [1, 2, 3]]
BIAS, WEIGHT = "model.bias.grad", "model.weight.grad"
# The loop: the steps alive after each of three, and after the last one for each of them the number
# of roots, of nodes, of bytes, and who holds them.
EXPECTED = {
    "a healthy loop": ([[], [], []], []),
    "losses.append(loss) after backward": (
        GROWS,
        [(1, 5, 0, [f"losses[{k}]"]) for k in range(3)],
    ),
    "losses.append(loss), no backward": (
        GROWS,
        [(1, 5, 12928, [f"losses[{k}]"]) for k in range(3)],
    ),
    "total += loss, no backward": (
        GROWS,
        [*[(0, 6, 12928, [("total", 3)])] * 2, (1, 6, 12928, ["total"])],
    ),
    "a hidden state carried on": (
        GROWS,
        [(0, 6, 6400, [("self.h", 3)]), (0, 6, 3840, [("self.h", 3)]), (1, 6, 3840, ["self.h"])],
    ),
    "a hidden state carried on, backward": ([[1]], [(1, 6, 0, ["self.h"])]),
    "a hidden state, detached": ([[1], [2], [3]], [(1, 6, 0, ["self.h"])]),
    "retain_graph=True, nothing kept": ([[], [], []], []),
    "retain_graph=True, losses kept": (
        GROWS,
        [(1, 5, 12928, [f"losses[{k}]"]) for k in range(3)],
    ),
    "create_graph=True, .grad not cleared": (
        GROWS,
        [*[(0, 15, 13184, [(BIAS, 3), (WEIGHT, 3)])] * 2, (2, 15, 13184, [BIAS, WEIGHT])],
    ),
    "create_graph=True, .grad cleared": ([[1], [2], [3]], [(2, 15, 13184, [BIAS, WEIGHT])]),
}


@pytest.mark.parametrize("name", LOOPS)
def test_each_loop_keeps_these_graphs(name):
    found = loop(name, 3)
    alive, last = EXPECTED[name]
    assert steps_of(found) == alive and found.whole
    graphs = found.after[-1].graphs
    told = [(g.graphs, g.nodes, g.nbytes) for g in graphs]
    assert [(*one, path) for one, path in zip(told, paths_of(found), strict=True)] == last
    assert (found.failed == 2) == (name == "a hidden state carried on, backward")


@pytest.mark.filterwarnings("ignore:Using backward:UserWarning")
@pytest.mark.parametrize("name", [name for name in LOOPS if "healthy" not in name])
def test_the_bytes_are_those_of_the_saved_tensors_that_are_alive(name):
    """Counted by what torch hands to a hook when it saves, which dies with what is saved."""
    step, model = LOOPS[name]()
    refs, expected = [], []

    def pack(t):
        mine = t.detach()
        refs.append(weakref.ref(mine))
        return mine

    def note():
        gc.collect()
        alive = [ref() for ref in refs if ref() is not None]
        storages = {t.untyped_storage().data_ptr(): t.untyped_storage() for t in alive}
        for p in model.parameters():
            storages.pop(p.untyped_storage().data_ptr(), None)
        expected.append(sum(storage.nbytes() for storage in storages.values()))

    def noted(k):
        if k:
            note()
        step()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        found = graph_memory(noted, steps=2)
        if not found.failed:
            note()
    model.zero_grad()
    assert [after.nbytes for after in found.after] == expected
    assert sum(expected) > 0 or "losses kept" not in name


def test_a_sliding_window_is_flat_and_an_item_that_comes_each_second_step_grows():
    window = deque(maxlen=2)
    found = graph_memory(lambda: window.append(loss_of()), steps=4)
    assert steps_of(found)[-1] == [3, 4] and found.constant_since == 2
    assert "1 more than a step needs; `window` holds them." in show(found).alt
    assert "It has been as many since step 2: nothing grows." in show(found).alt
    seconds = []
    found = graph_memory(lambda k: k % 2 or seconds.append(loss_of()), steps=4)
    assert steps_of(found)[-1] == [1, 3] and "After step 2 it was 1." in show(found).alt
    assert "nothing grows" not in show(found).alt


def test_graphs_that_are_let_go_are_gone():
    losses = []

    def step(k):
        losses.append(loss_of())
        if k == 2:
            losses.clear()

    found = graph_memory(step, steps=3)
    assert steps_of(found) == [[1], [1, 2], []]
    assert show(found).alt == "The graphs of 2 steps were alive at most; in the end 0 steps."


def test_every_hidden_state_in_a_list_is_held_twice():
    states = [torch.ones(4)]
    found = graph_memory(lambda: states.append((states[-1] * W[:4]).tanh()), steps=3)
    assert paths_of(found) == [
        ["states[1]", ("states[3]", 3)],
        ["states[2]", ("states[3]", 3)],
        ["states[3]"],
    ]
    assert "held by `states[2]`, which" in show(found).text
    assert "; and the graph of step 3" in show(found).text
    assert "through a newer graph" not in show(found).alt


def test_an_output_beside_its_loss_is_no_graph_of_its_own_but_a_holder():
    outputs, losses = [], []

    def step():
        outputs.extend([W.exp(), W.exp()])
        losses.append(outputs[-1].sum() + outputs[-2].sum())

    found = graph_memory(step, steps=2)
    assert [graph.graphs for graph in found.after[-1].graphs] == [1, 1]
    assert paths_of(found) == [["losses[0]", "outputs[0]"], ["losses[1]", "outputs[2]"]]


class Trainer:
    def __init__(self) -> None:
        self.history = [0, 0, 0]
        self.best = None

    def step(self):
        self.history.append(loss_of())
        self.best = self.history[-1]


def test_attributes_of_the_object_whose_method_is_the_step_are_named():
    found = graph_memory(Trainer().step, steps=2)
    assert paths_of(found) == [["self.history[3]"], ["self.best", "self.history[4]"]]
    assert "+1" in picture_of(found, live=True).svg
    assert "held by `self.best`; and `self.history[4]`" in show(found).text


def test_a_name_that_was_given_is_told():
    kept = {}
    found = graph_memory(lambda k: kept.update({k: loss_of()}), steps=2, names={"mine": kept})
    assert paths_of(found) == [["mine[0]"], ["mine[1]"]]


def test_objects_that_hold_each_other_end_no_search():
    web = [{} for _ in range(12)]
    for one in web:
        one.update(enumerate(web))

    def step(k):
        web[3]["loss"] = loss_of()

    found = graph_memory(step, steps=1, names={"web": web})
    assert found.whole and paths_of(found) == [["web[3]['loss']"]]


def test_a_node_that_is_kept_holds_its_graph():
    nodes = []
    found = graph_memory(lambda: nodes.append(loss_of().grad_fn), steps=2)
    assert paths_of(found) == [["nodes[0]"], ["nodes[1]"]]
    assert [graph.nbytes for graph in found.after[-1].graphs] == [4000, 4000]


def test_a_frame_that_has_ended_and_is_kept_by_its_error_is_named():
    errors = []

    def step():
        loss = loss_of()
        try:
            loss.view(7)
        except RuntimeError as error:
            errors.append(error)

    found = graph_memory(step, steps=2)
    assert steps_of(found) == [[1], [1, 2]]
    assert {(h.kind, h.path) for g in found.after[-1].graphs for h in g.holds} == {
        ("ended", "loss")
    }
    assert "held by `loss` of `step`, which has ended but is kept" in show(found).text


@pytest.mark.filterwarnings("ignore:Using backward:UserWarning")
def test_a_model_that_ends_with_a_gradient_that_has_a_graph_is_a_cycle_for_good():
    known = set()

    def step():
        model = nn.Linear(2, 1, bias=False)
        known.add(weakref.ref(model.weight))
        model(torch.ones(1, 2)).square().sum().backward(create_graph=True)

    found = graph_memory(step, steps=2)
    assert steps_of(found) == [[1], [1, 2]]
    assert {h.kind for g in found.after[-1].graphs for h in g.holds} == {"cycle"}
    assert "a cycle of a leaf, its .grad and the graph of that holds them" in show(found).alt
    for ref in known:
        ref().grad = None
    gc.collect()
    assert [ref() for ref in known] == [None, None]


def test_what_python_cannot_look_into_is_told():
    @cache
    def cached(k):
        return loss_of()

    found = graph_memory(lambda k: cached(k) and None, steps=2)
    assert {h.kind for g in found.after[-1].graphs for h in g.holds} == {"hidden"}
    assert "something that Python cannot look into holds them" in show(found).alt


def test_a_cycle_of_python_is_collected_before_the_look():
    class Result:
        pass

    def step():
        result = Result()
        result.loss, result.self = loss_of(), result

    gc.disable()
    try:
        assert steps_of(graph_memory(step, steps=2)) == [[], []]
    finally:
        gc.enable()


def test_what_only_a_cycle_held_is_counted_and_told():
    def step():
        result = loss_of()
        cycle = [result]
        cycle.append(cycle)

    found = graph_memory(step, steps=3)
    assert [look.collected for look in found.after] == [1, 1, 1]
    assert "3 tensors with a graph had no holder but a cycle of objects" in show(found).text
    healthy = graph_memory(lambda: loss_of().backward(), steps=3)
    assert [look.collected for look in healthy.after] == [0, 0, 0]
    assert "cycle" not in show(healthy).text


def test_a_graph_from_before_the_first_step_is_told_where_a_step_reaches_into_it():
    trunk, losses = W.exp(), []
    other = loss_of()
    found = graph_memory(lambda: losses.append(trunk.neg().sum()), steps=2)
    before, *steps = found.after[-1].graphs
    assert (before.made, before.nodes, before.nbytes) == (0, 1, 4000)
    assert found.after[-1].of_steps == 2 and [g.nbytes for g in steps] == [0, 0]
    assert "before step 1: 1 node, 4,000 bytes; held by the graph of step 2" in show(found).text
    assert other.requires_grad


def test_what_another_thread_has_kept_is_not_taken_for_the_steps():
    losses = []
    step = lambda: losses.append(loss_of())  # noqa: E731
    assert steps_of(graph_memory(step, steps=2)) == [[1], [1, 2]]
    with ThreadPoolExecutor(1) as pool:  # where autograd counts its nodes from 0 again
        found = pool.submit(graph_memory, step, steps=2).result()
    assert steps_of(found) == [[1], [1, 2]] and paths_of(found) == [["losses[2]"], ["losses[3]"]]


def test_a_sum_from_before_that_goes_on_in_place_is_seen():
    total = torch.zeros(())
    total += loss_of()

    def step():
        nonlocal total
        total += loss_of()

    found = graph_memory(step, steps=2)
    assert steps_of(found) == [[0, 1], [0, 1, 2]] and paths_of(found)[-1] == ["total"]


def test_inputs_that_live_anyway_are_not_counted():
    batch, losses = torch.ones(1000), []
    step = lambda: losses.append((batch * W).sum())  # noqa: E731
    assert graph_memory(step, steps=1).after[0].nbytes == 4000
    losses.clear()
    assert graph_memory(step, steps=1, inputs={"x": [batch]}).after[0].nbytes == 0


def test_the_step_gets_its_number_where_it_takes_one():
    seen = []
    graph_memory(seen.append, steps=3)
    graph_memory(partial(seen.append, "partial"), steps=1)
    graph_memory(lambda k, *more, lr=0.1: seen.append((k, more, lr)), steps=1)
    graph_memory(lambda lr=0.1: seen.append(lr), steps=1)
    graph_memory(next(iter([lambda: seen.append("none")])), steps=1)
    assert seen == [0, 1, 2, "partial", (0, (), 0.1), 0.1, "none"]


def test_a_step_that_cannot_be_called_so_is_refused():
    with pytest.raises(TypeError, match=r"steps of a Tensor were asked\. It cannot be called\."):
        graph_memory(W)
    with pytest.raises(TypeError, match=r"a function that needs x, y\. A step is given its number"):
        graph_memory(lambda x, y: None)
    with pytest.raises(TypeError, match=r"a function that needs lr\. .* Wrap it in a function of"):
        graph_memory(lambda *, lr: None)
    with pytest.raises(ValueError, match=r"after 0 steps were asked\. A loop without a step"):
        graph_memory(loss_of, steps=0)


def test_an_error_of_a_step_is_told_with_what_was_seen_until_then():
    losses = []

    def step(k):
        losses.append(loss_of())
        if k == 2:
            losses[0].view(7)

    found = graph_memory(step, steps=5)
    assert steps_of(found) == [[1], [1, 2]] and found.failed == 3
    assert found.place.statement == "losses[0].view(7)"
    told = show(found)
    assert "Step 3 raised RuntimeError: shape '[7]' is invalid for input of size 1 at" in told.alt
    assert ">step 3<" in told.svg and ">raised<" in told.svg
    first = graph_memory(lambda: 1 / 0)
    assert first.after == () and show(first).text.startswith("Step 1 raised ZeroDivisionError")
    assert ">raised<" in show(first).svg

    def ends():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        graph_memory(ends)


def test_looking_changes_nothing():
    def loop(run):
        torch.manual_seed(3)
        model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.Linear(4, 1))
        optimizer, losses = torch.optim.Adam(model.parameters()), []

        def step():
            optimizer.zero_grad()
            losses.append(model(torch.rand(8, 4)).square().mean())
            losses[-1].backward(retain_graph=True)
            optimizer.step()

        run(step)
        kept = [*model.parameters(), *(p.grad for p in model.parameters()), *losses]
        hooks = [t._backward_hooks or () for t in kept]
        return [(t.detach(), t._version) for t in kept], hooks, torch.get_rng_state()

    plain = loop(lambda step: [step() for _ in range(3)])
    looked = loop(lambda step: graph_memory(step, steps=3))
    for (a, version), (b, again) in zip(plain[0], looked[0], strict=True):
        assert torch.equal(a, b) and version == again
    assert plain[1] == looked[1] and torch.equal(plain[2], looked[2])
    losses = []
    step = lambda: losses.append(loss_of())  # noqa: E731
    assert count(lambda: graph_memory(step, steps=3)).total == 3 * count(loss_of).total


def test_looking_keeps_nothing_alive():
    refs, kept = [], []

    def step():
        gc.disable()
        kept.clear()
        gone = [ref() is None for ref in refs]  # though no collector has run
        gc.enable()
        assert all(gone)
        activation = W.exp()
        kept.append(activation.sum())
        refs.extend(map(weakref.ref, (kept[0], activation, activation.untyped_storage())))

    found = graph_memory(step, steps=3)
    assert not found.failed and steps_of(found) == [[1], [2], [3]]
    kept.clear()
    assert [ref() for ref in refs] == [None] * 9


def test_what_a_step_returns_is_let_go():
    assert steps_of(graph_memory(loss_of, steps=2)) == [[], []]


@pytest.mark.parametrize("every", [False, True])
def test_a_graph_that_is_too_deep_is_looked_at_in_part(every, monkeypatch):
    monkeypatch.setattr(depth, "MOST", 1000)
    states = [W[:1]]

    def step():
        state = states[-1]
        for _ in range(600):
            state = state.sin()
        if every:
            states.append(state)
        else:
            states[0] = state

    found = graph_memory(step, steps=2)
    assert [after.whole for after in found.after] == [True, False] and not found.whole
    assert found.after[0].nodes == 601 and found.after[1].nodes < 1201
    told = show(found)
    assert "There was too much to look at: it may be more." in told.alt
    assert "at least" in told.text and "≥" in told.svg


def graph(made, *, path="losses[0]", nbytes=8, through=0):
    return StepGraph(made, int(not through), 2, nbytes, (GraphHold("name", path, "", through),))


def long_run(n):
    """A leak of n steps."""
    made = [graph(k, path=f"losses[{k - 1}]", nbytes=8 * (k % 2)) for k in range(1, n + 1)]
    return GraphsOverSteps(tuple(AfterStep(k, tuple(made[:k])) for k in range(1, n + 1)))


def boxes(svg):
    """The boxes of a live picture: link, what is read out, row, column, texts."""
    root = ElementTree.fromstring(svg)
    return [
        (one.get("data-link"), one.get("data-say"), one.get("data-r"), one.get("data-c"), one)
        for one in root.iter()
        if one.get("data-link") is not None
    ]


def test_the_same_graph_has_the_same_link_after_every_step():
    found = long_run(4)
    links = [(column, link) for link, _, _, column, _ in boxes(picture_of(found, live=True).svg)]
    assert links == [
        (str(after.step - 1), f"graph {one.made}") for after in found.after for one in after.graphs
    ]


def test_picture_and_text_tell_the_same():
    for name in LOOPS:
        found = loop(name, 3)
        told = boxes(picture_of(found, live=True).svg)
        text = picture_of(found, live=False).text
        said = [re.sub(r"^After step \d+, (.*)\.$", r"\1", say) for _, say, *_ in told]
        expected = [one for after in found.after for one in after.graphs or [None]]
        assert len(told) == len(expected) + bool(found.failed)
        for line, one in zip(said, expected, strict=False):
            if one is not None:
                *_, who = line.partition("; ")
                assert f"{one.nbytes:,} bytes" in line and f"step {one.made}" in line
                assert who.replace("held by ", "").partition("[")[0] in text
        for after in found.after:
            assert f"after step {after.step}: " in text


def test_a_box_without_bytes_is_dashed_and_says_so():
    svg = picture_of(long_run(2), live=True).svg
    kinds = [one.get("class").split()[0] for *_, one in boxes(svg)]
    assert kinds == ["used", "used", "part"]
    assert "A dashed box keeps no bytes" in svg and ">0 B<" in svg
    assert "step 2: 1 graph, 2 nodes, 0 bytes; held by" in show(long_run(2)).text


def test_at_most_twelve_steps_are_shown():
    svg, text = picture_of(long_run(30), live=True).svg, show(long_run(30)).text
    columns = {column for _, _, _, column, _ in boxes(svg)}
    assert len(columns) == MOST_STEPS - 1 and ">after 5<" in svg and ">after 25<" in svg
    assert ">after 6<" not in svg and ">after 24<" not in svg
    assert text.count("after step") == MOST_STEPS - 1 and "… 19 steps more" in text
    last = [one for one in boxes(svg) if one[3] == "11"]
    assert len(last) == MOST_STEPS and "After step 30: the graphs of 19 more steps." in last[5][1]
    assert len(show(long_run(300)).svg) < 150_000
    assert "…" not in show(long_run(MOST_STEPS)).text


def test_the_sentence_tells_how_many_who_and_how_it_grows():
    assert show(long_run(6)).alt == (
        "After step 6 the graphs of 6 steps are alive: 5 more than a step needs; `losses` holds "
        "them. It is one more after each step. They keep 24 bytes for a backward pass."
    )
    assert show(loop("a healthy loop", 3)).alt == (
        "After each step no graph is alive: nothing grows."
    )
    one = GraphsOverSteps((AfterStep(1),))
    assert show(one).alt == "After step 1 no graph is alive."
    assert show(long_run(1)).alt == "After step 1 its graph is alive."
    detached = show(loop("a hidden state, detached", 3)).alt
    assert detached == "After each step the graph of one step at most is alive: nothing grows."
    summed = show(loop("total += loss, no backward", 3)).alt
    assert "`total` holds them, 2 of them through a newer graph." in summed
    freed = show(loop("losses.append(loss) after backward", 3)).alt
    assert "They keep 0 bytes: a backward pass freed what they saved, their nodes stay." in freed
    many = tuple(graph(k, path=f"x{k}") for k in range(1, 6))
    said = show(GraphsOverSteps((AfterStep(5, many),) * 2)).alt
    assert "`x1`, `x2` and 3 more hold them." in said


def test_a_gradient_with_a_graph_says_what_made_it():
    text = show(loop("create_graph=True, .grad cleared", 3)).text
    assert "`model.bias.grad` (made with create_graph=True), which the function `step`" in text


def test_a_loop_leaves_nothing_behind():
    def alive():
        gc.collect()
        return sum(issubclass(type(one), torch.Tensor) for one in gc.get_objects())

    random = torch.get_rng_state()
    before = alive()
    for name in ("create_graph=True, .grad not cleared", "a hidden state carried on, backward"):
        loop_memory(name, steps=2)
    assert alive() == before and gc.get_freeze_count()
    assert torch.equal(torch.get_rng_state(), random)


def test_what_was_set_aside_for_a_loop_comes_back():
    gc.unfreeze()
    try:
        loop_memory("a healthy loop", steps=1)
        assert gc.get_freeze_count() == 0
    finally:
        gc.freeze()


def test_the_source_of_a_loop_is_what_runs():
    for name, loop in LOOPS.items():
        [whole] = ast.parse(inspect.getsource(loop)).body
        body = ast.Module(whole.body[:-1], type_ignores=[])
        assert ast.unparse(ast.parse(source_of(name))) == ast.unparse(body)
        assert isinstance(whole.body[-1], ast.Return)


@pytest.fixture
def sent(monkeypatch):
    """What a widget sends to the page, message by message."""

    def watch(widget):
        messages = []
        monkeypatch.setattr(widget.view, "_send", lambda m, buffers=None: messages.append(m))
        return messages

    return watch


def test_choosing_a_loop_runs_it_and_shows_its_code(sent):
    widget = GraphMemory(steps=3)
    messages = sent(widget)
    widget.loop.set_state({"index": list(LOOPS).index("total += loss, no backward")})
    assert [m["state"]["status"].split(" ")[0] for m in messages] == ["The", "After"]
    assert widget.memory == loop("total += loss, no backward", 3)
    assert "total += model(batch)" in widget.source.value and "data-link" in widget.view.svg
    widget.steps.set_state({"value": 4})
    assert len(widget.memory.after) == 4 and len(messages) == 4
    assert "nonlocal total" in repr(widget) and "after step 4" in repr(widget)


def test_a_step_of_ones_own_runs_when_asked_only():
    calls, losses = counter(), []

    def step():
        losses.append(loss_of())
        next(calls)

    widget = GraphMemory(step, steps=2)
    assert repr(widget) == repr(widget) and "<img" in widget._repr_mimebundle_()["text/html"]
    assert len(losses) == 2 and widget.view.status.startswith("After step 2 the graphs of 2 steps")
    widget.again.click()
    assert len(losses) == 4 and paths_of(widget.memory) == [["losses[2]"], ["losses[3]"]]
    widget.steps.value = 3
    assert len(losses) == 7 and widget.view.rev == 5
    assert [type(c).__name__ for c in widget.children[0].children] == ["IntSlider", "Button"]


def test_a_widget_says_what_went_wrong():
    def step():
        raise ValueError("no data")

    widget = GraphMemory(step)
    assert widget.view.status.startswith("Step 1 raised ValueError: no data")
    widget._asked = None
    widget.again.click()
    assert widget.view.status.startswith("TypeError")
    with pytest.raises(ValueError, match=r"with 13 steps was asked\. Its slider goes from 1 to 12"):
        GraphMemory(steps=13)
    with pytest.raises(ValueError, match=r"Choose a number in between, or ask `graph_memory`\."):
        GraphMemory(steps=0)


def test_the_widget_touches_no_state_of_torch():
    generator = torch.get_rng_state()
    with torch.device("meta"), FakeTensorMode(), torch.inference_mode(), torch.no_grad():
        widget = GraphMemory(steps=2)
        widget.loop.value = "losses.append(loss), no backward"
    assert count(widget.run).total == 0
    assert [g.nbytes for g in widget.memory.after[-1].graphs] == [12928, 12928]
    assert torch.equal(torch.get_rng_state(), generator)
