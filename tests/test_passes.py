"""A run of backward passes is the plain one, and what is said of it is so."""

from __future__ import annotations

import gc
import threading
import warnings
import weakref
from contextlib import suppress
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from test_backward import models, output
from torch import nn
from torch.autograd.function import once_differentiable
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils.checkpoint import checkpoint

from insidetorch import explain_backward, graph_of, record_backward
from insidetorch.draw.passes import passes_text
from insidetorch.observe.backward import gradient_of
from insidetorch.observe.passes import record_passes
from insidetorch.records import OptimizerStep

PLAIN = torch.autograd.backward


@pytest.fixture(autouse=True)
def plain_backward_afterwards():
    yield
    assert torch.autograd.backward is PLAIN


def weights(*values: float) -> torch.Tensor:
    return torch.tensor(values, requires_grad=True)


# A text quotes the line of each pass: here that is the test itself, with the words it looks for.
QUOTED = [line.strip() for line in Path(__file__).read_text(encoding="utf-8").splitlines()]


def text_of(fn, **names) -> str:
    text = explain_backward(fn, names=names).text
    for line in QUOTED:
        text = text.replace(line, "…") if "text_of(" in line else text
    return text


class Scaled(torch.autograd.Function):
    """Its first argument is no tensor, so that no edge belongs to it."""

    @staticmethod
    def forward(ctx, factor, x):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return None, g * ctx.factor * x / x


class Inherited(Scaled):
    pass


class Forgetful(Scaled):
    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        return None, None


class Silent(Scaled):
    @staticmethod
    def backward(ctx, g):
        ctx.saved = g


class Misfit(Scaled):
    @staticmethod
    def backward(ctx, g):
        return None, torch.ones(5)


class Fragile(torch.autograd.Function):
    """Its backward raises the first time."""

    @staticmethod
    def forward(ctx, x):
        ctx.tries = 0
        return x * 3

    @staticmethod
    def backward(ctx, g):
        ctx.tries += 1
        if ctx.tries == 1:
            raise ValueError("not yet")
        return g * 3


class Enlarging(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 1

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def vjp(ctx, g):
        if g.sum() < 0:
            return g
        return torch.ones(3, 2) * g


# ── the run is the plain one ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("number", range(4))
def test_gradients_of_a_recorded_pass_are_those_of_a_plain_one(number):
    model, x = list(models())[number]
    output(model, x).backward()
    expected = [p.grad for p in model.parameters()]
    model, x = list(models())[number]
    found = record_passes(lambda: output(model, x).backward(), module=model)
    assert (len(found.passes), found.error, found.unseen) == (1, "", 0)
    for a, p in zip(expected, model.parameters(), strict=True):
        assert torch.equal(a, p.grad) and a.stride() == p.grad.stride()


class Training:
    """Two epochs with much that could differ, and what they leave."""

    def __init__(self, optimizer, **how) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(
            nn.Linear(4, 8), nn.Dropout(), nn.BatchNorm1d(8), nn.Linear(8, 1)
        )
        self.optimizer = optimizer(self.model.parameters(), lr=0.1, **how)

    def run(self) -> None:
        for k, x in enumerate(torch.randn(6, 5, 4)):
            h = checkpoint(self.model, x, use_reentrant=False) if k % 2 else self.model(x)
            h.pow(2).mean().backward()
            if k % 2:
                self.optimizer.step()
                self.optimizer.zero_grad()

    def left(self) -> list[torch.Tensor]:
        state = [v for one in self.optimizer.state.values() for v in one.values()]
        return [*self.model.state_dict().values(), *state, torch.get_rng_state()]


@pytest.mark.parametrize(
    ("optimizer", "how"), [(torch.optim.SGD, {"momentum": 0.9}), (torch.optim.Adam, {})]
)
def test_an_epoch_ends_with_the_same_weights_state_and_generator(optimizer, how):
    plain = Training(optimizer, **how)
    plain.run()
    expected = plain.left()
    recorded = Training(optimizer, **how)
    found = record_passes(recorded.run)
    assert all(map(torch.equal, expected, recorded.left())) and found.error == ""
    assert [type(event).__name__ for event in found.events] == 3 * ["Pass", "Pass", "OptimizerStep"]
    assert found.events[2].optimizer == optimizer.__name__


def test_no_hook_stays_behind():
    w = weights(1.0)
    loss = (w * 2).sum()
    handles = [
        register_optimizer_step_post_hook(lambda *_: None),
        loss.grad_fn.register_prehook(lambda *_: None),
        loss.grad_fn.register_hook(lambda *_: None),
    ]
    hooks = [handle.hooks_dict_ref() for handle in handles]
    before = [dict(one) for one in hooks]
    record_passes(lambda: loss.backward(retain_graph=True))
    assert [dict(one) for one in hooks] == before
    handles[0].remove()


def test_an_error_is_recorded_and_leaves_what_a_plain_one_leaves():
    def failing(w, v):
        h = w * 2
        h.register_hook(lambda g: 1 / 0)
        (v * 3).sum().backward()
        (h.exp() + v).sum().backward()

    plain = weights(1.0), weights(2.0)
    with pytest.raises(ZeroDivisionError):
        failing(*plain)
    w, v = weights(1.0), weights(2.0)
    found = record_passes(lambda: failing(w, v), names={"v": v})
    assert found.error == "ZeroDivisionError: division by zero"
    assert "1 / 0" in found.error_place.statement
    assert [one.backward.error for one in found.passes] == ["", "division by zero"]
    for a, b in zip(plain, (w, v), strict=True):
        assert (a.grad is None) == (b.grad is None)
        assert a.grad is None or torch.equal(a.grad, b.grad)


def test_a_caught_error_does_not_end_the_record():
    w = weights(1.0)

    def run():
        loss = w.exp().sum()
        loss.backward()
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()
        (w * 1).sum().backward()

    found = record_passes(run)
    assert found.error == "" and len(found.passes) == 3
    assert "it raised: Trying to backward" in passes_text(found)


def test_an_interrupt_passes_through_and_everything_is_put_back():
    w = weights(1.0)
    h = Scaled.apply(3.0, w)
    formula = vars(Scaled)["backward"]

    def interrupted(_):
        raise KeyboardInterrupt

    h.register_hook(interrupted)
    with pytest.raises(KeyboardInterrupt):
        record_passes(lambda: h.sum().backward())
    assert vars(Scaled)["backward"] is formula


def test_a_tensor_without_history_is_no_pass():
    found = record_passes(lambda: torch.ones(()).backward())
    assert (found.events, found.unseen) == ((), 0) and "does not require grad" in found.error


def test_a_recorded_run_inside_of_another_is_seen_by_both():
    w, inner = weights(1.0), []
    outer = record_passes(lambda: inner.append(record_passes(lambda: (w * 2).sum().backward())))
    assert len(outer.passes) == len(inner[0].passes) == 1 and w.grad.tolist() == [2.0]


def test_no_graph_and_no_tensor_is_kept_alive():
    alive, w = weakref.WeakSet(), weights(1.0, 2.0)

    def steps():
        for _ in range(5):
            h = w.exp()
            alive.add(h)
            h.pow(2).sum().backward(retain_graph=True)
            del h
            gc.collect()
            assert len(alive) == 0

    found = record_passes(steps)
    assert found.error == "" and len(found.passes) == 5
    assert all(not one.again for one in found.passes)


# ── which passes there are ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", [list, tuple, iter], ids=lambda kind: kind.__name__)
def test_a_pass_from_several_tensors_is_one(kind):
    w = weights(1.0, 2.0)
    found = record_passes(lambda: torch.autograd.backward(kind([w.sum(), (w * 3).sum()])))
    assert len(found.passes) == 1 and w.grad.tolist() == [4.0, 4.0]
    assert [root.values for root in found.passes[0].backward.roots] == [(3.0,), (9.0,)]


def test_arguments_of_backward_reach_torch():
    w, v = weights(1.0, 2.0), weights(3.0)

    def run():
        torch.autograd.backward(tensors=w * v, grad_tensors=torch.tensor([1.0, 10.0]))
        (w * v).backward(torch.ones(2), inputs=[v])

    assert record_passes(run).error == ""
    assert (w.grad.tolist(), v.grad.tolist()) == ([3.0, 30.0], [24.0])


def test_a_pass_in_another_thread_or_from_an_edge_is_counted_and_not_told():
    w, v = weights(1.0), weights(1.0)

    def run():
        thread = threading.Thread(target=lambda: (w * 2).sum().backward())
        thread.start()
        thread.join()
        edge = torch.autograd.graph.get_gradient_edge((v * 5).sum())
        torch.autograd.backward(edge, torch.tensor(1.0))

    found = record_passes(run)
    assert (found.events, found.unseen, found.error) == ((), 2, "")
    assert (w.grad.tolist(), v.grad.tolist()) == ([2.0], [5.0])
    assert "0 backward passes, 0 optimizer steps. 2 more," in passes_text(found)


def test_a_pass_in_another_thread_that_has_a_leaf_in_common_is_not_mixed_in():
    w = weights(1.0)
    h = w * 2

    def also(_):
        thread = threading.Thread(target=lambda: (w * 5).sum().backward())
        thread.start()
        thread.join()

    h.register_hook(also)
    found = record_passes(lambda: h.sum().backward())
    (one,) = found.passes
    assert [s.after.values for s in one.backward.steps if s.after] == [(7.0,)]
    assert one.backward.as_modelled and found.unseen == 1


def test_nodes_that_another_thread_made_are_not_taken_for_those_of_this_one():
    """Each thread counts its nodes from 0, so that the same numbers come twice."""
    w, losses = weights(1.0), []

    def forward():
        losses.append(w.exp().sum())

    def run():
        for _ in range(2):
            thread = threading.Thread(target=forward)
            thread.start()
            thread.join()
        for loss in losses:
            loss.backward()

    found = record_passes(run)
    assert [one.again for one in found.passes] == [{}, {}]


def test_a_pass_inside_of_a_pass_has_its_number_and_place():
    w = weights(1.0, 2.0)

    def run(recorded: bool):
        w.grad = None
        x = w * 2

        def step():
            (checkpoint(torch.exp, x, use_reentrant=True).sum() + w.sum()).backward()

        found = record_passes(step) if recorded else step()
        return found, w.grad.clone()

    found, gradient = run(recorded=True)
    assert torch.equal(gradient, run(recorded=False)[1])
    assert [one.inside for one in found.passes] == [0, 1]
    text = passes_text(found)
    assert ", called inside of pass 1: from" in text and "cleared" not in text


def test_a_leaf_that_both_passes_reach_was_not_cleared():
    """The inner pass comes to it first, and finds nothing there."""
    w, v = weights(1.0), weights(2.0)

    def run():
        first = v.sum()
        (first + checkpoint(lambda t: (t * v).exp(), w * 2, use_reentrant=True).sum()).backward()

    found = record_passes(run)
    ends = [[s.before is None for s in one.backward.steps if s.after] for one in found.passes]
    assert ends == [[True, False], [True, True]]
    assert "was cleared" not in passes_text(found)


def test_a_pass_through_a_subclass_or_under_a_mode_is_one():
    class Named(torch.Tensor):
        pass

    w = weights(1.0)
    loss = (w * 2).sum().as_subclass(Named)
    with torch.device("cpu"):
        found = record_passes(lambda: torch.autograd.backward(loss))
    assert len(found.passes) == 1 and w.grad.tolist() == [2.0]


def test_a_step_in_the_midst_of_a_pass_is_recorded():
    w = weights(1.0)
    optimizer = torch.optim.SGD([w], lr=0.5)

    def update(_):
        optimizer.step()
        optimizer.zero_grad()

    w.register_post_accumulate_grad_hook(update)
    found = record_passes(lambda: [(w * 2).sum().backward() for _ in range(2)], names={"w": w})
    assert isinstance(found.events[1], OptimizerStep) and w.tolist() == [-1.0]
    text = passes_text(found)
    assert "w receives [2]; .grad held nothing, now nothing" in text
    assert "cleared" not in text and "no step" not in text


def test_a_leaf_has_the_same_number_in_every_pass_and_others_have_others():
    a, b = weights(1.0), weights(1.0)
    found = record_passes(lambda: [(t * 2).sum().backward() for t in (a, b, a)])
    assert [[leaf.number for leaf in one.leaves] for one in found.passes] == [[1], [2], [1]]
    assert "leaf 2 without a name receives [2]; .grad held nothing, now [2]" in passes_text(found)


# ── what is said, each beside a control where it is not ─────────────────────────────────────────


def test_a_second_pass_says_whether_what_was_kept_is_freed():
    w = weights(1.0, 2.0)

    def twice(keep):
        loss = w.exp().sin().sum()
        loss.backward(retain_graph=keep)
        loss.backward()

    freed = text_of(lambda: twice(False), w=w)
    assert "3 nodes of this graph ran before, in pass 1; the youngest was made by" in freed
    assert "2 tensors that they had kept are freed since then" in freed
    kept = text_of(lambda: twice(True), w=w)
    assert "What they keep is still there, as after retain_graph=True." in kept
    assert "freed" not in kept and "raised" not in kept


def test_a_node_is_told_with_the_pass_that_ran_it_first():
    """A state that is carried on, as in a recurrent network."""
    w = weights(1.0)

    def run():
        h = torch.ones(())
        for _ in range(10):
            h = h * w.sum()
            h.backward(retain_graph=True)

    found = record_passes(run, names={"w": w})
    assert [sorted(one.again.values()) for one in found.passes[:3]] == [[], [1, 1], [1, 1, 2, 2]]
    text = passes_text(found)
    assert "8 nodes of this graph ran before, in passes 1, 2, 3 and 4; the youngest was" in text
    assert "18 nodes of this graph ran before, in passes 1, 2, 3, 4, 5, 6 and 3 more;" in text


def test_nodes_that_keep_nothing_may_run_again():
    w = weights(1.0, 2.0)
    h = w + 1
    text = text_of(lambda: [(h + 1).sum().backward() for _ in range(2)], w=w)
    assert "1 node of this graph ran before, in pass 1." in text and w.grad.tolist() == [2.0, 2.0]
    assert "freed" not in text and "What they keep" not in text


def test_a_node_counts_as_run_where_its_formula_came_to_its_end():
    """With inputs= only a part of the graph runs."""
    w, v = weights(1.0), weights(2.0)
    h, g = w * 1, v * 1
    loss = (h + g).sum()

    def run():
        loss.backward(inputs=[w], retain_graph=True)
        (g * 2).sum().backward()

    assert [one.again for one in record_passes(run).passes] == [{}, {}]


def test_a_node_whose_formula_raised_has_not_run():
    w = weights(1.0)

    def run():
        y = Fragile.apply(w)
        for _ in range(2):
            with suppress(ValueError):
                y.backward()

    first, second = record_passes(run).passes
    assert (first.backward.error, second.backward.error) == ("not yet", "")
    assert second.again == {} and w.grad.tolist() == [3.0]


def test_a_formula_of_the_users_that_was_freed_is_told():
    w = weights(1.0)

    def run():
        loss = Scaled.apply(2.0, w).sum()
        loss.backward()
        loss.backward()

    found = record_passes(run)
    assert "second time" in found.error
    assert "1 tensor that they had kept is freed since then" in passes_text(found)
    loss = Scaled.apply(2.0, w).sum()
    loss.backward()
    assert graph_of(loss).nodes[1].saved[0].freed


@pytest.mark.parametrize("to_none", [True, False])
def test_gradients_that_are_cleared_before_a_step_are_told(to_none):
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)  # as at the start of a warm-up

    def run(step):
        for x in torch.ones(3, 4, 2):
            model(x).mean().backward()
            if step:
                optimizer.step()
            optimizer.zero_grad(set_to_none=to_none)

    words = "Before passes 2 and 3 .grad was cleared, and no optimizer step had used"
    assert words in explain_backward(lambda: run(step=False), module=model).text
    assert "cleared" not in explain_backward(lambda: run(step=True), module=model).text


def test_a_weight_that_is_updated_by_hand_has_used_its_gradient():
    w = weights(1.0, 2.0)

    def run(update):
        for _ in range(2):
            w.pow(2).sum().backward()
            update(w)
            w.grad = None

    assert "cleared" in text_of(lambda: run(lambda w: None))
    assert "cleared" not in text_of(lambda: run(lambda w: w.data.sub_(0.1 * w.grad)))


def test_another_leaf_of_the_same_sizes_was_not_cleared():
    a, b = weights(1.0), weights(2.0)
    text = text_of(lambda: [(t * 2).sum().backward() for t in (a, b)])
    assert "was cleared" not in text


def test_gradients_that_are_left_after_the_last_step_are_told():
    w = weights(1.0)
    optimizer = torch.optim.SGD([w], lr=0.1)

    def run(batches, every):
        for k in range(batches):
            (w * 2).sum().backward()
            if (k + 1) % every == 0:
                optimizer.step()
                optimizer.zero_grad()

    words = "After the last optimizer step came 1 more pass: no step has used its gradients."
    assert words in text_of(lambda: run(5, 2), w=w)
    assert "no step has used" not in text_of(lambda: run(4, 2))
    assert "no step has used" not in text_of(lambda: run(4, 5))  # no step at all


ADDED = "were added up"


def losses(scale=lambda n, total: 1.0, reduction="mean", sizes=(2, 6), **how):
    """Backward of a loss over parts of these sizes, added up in `.grad`."""
    w = torch.ones(3, 1, requires_grad=True)
    total = sum(sizes)

    def run():
        for n in sizes:
            x = torch.arange(3.0 * n).reshape(n, 3)
            loss = F.mse_loss(x @ w, torch.zeros(n, 1), reduction=reduction)
            (loss * scale(n, total)).backward()

    return run


def test_unequal_means_that_are_added_up_are_told():
    text = text_of(losses())
    assert "Passes 1 and 2 were added up. Each takes a mean (MseLossBackward0, test_passes" in text
    assert "over 2 and over 6 values, of which one counts 0.5 and 0.1667: the sum is not" in text


@pytest.mark.parametrize(
    "control",
    [
        losses(sizes=(4, 4)),
        losses(scale=lambda n, total: n / total),
        losses(reduction="sum", scale=lambda n, total: 1 / total),
    ],
    ids=["equal", "weighted", "sums"],
)
def test_means_that_add_up_to_the_whole_mean_are_not(control):
    text = text_of(control)
    assert ADDED not in text and text.startswith("2 backward passes")


def test_means_of_other_things_are_not():
    w = weights(1.0, 2.0, 3.0)
    optimizer = torch.optim.SGD([w], lr=0.1)

    def two_losses():
        (w * 2).mean().backward()
        w[:2].exp().mean().backward()

    def zeroed():
        for n in (3, 2):
            w[:n].mean().backward()
            w.grad.zero_()

    def stepped():
        for n in (3, 2):
            w[:n].mean().backward()
            optimizer.step()

    def inside_of_the_model():
        for n in (3, 2):
            (w[:n] - w[:n].mean()).pow(2).sum().backward()

    for control in (two_losses, zeroed, stepped, inside_of_the_model):
        assert ADDED not in text_of(control), control.__name__


def test_a_mean_over_what_is_not_ignored_counts_those():
    logits = torch.zeros(4, 3, requires_grad=True)

    def run(ignored):
        for labels in (torch.tensor([0, 1, 2, 0]), torch.tensor(ignored)):
            F.cross_entropy(logits, labels).backward()

    assert "over 4 and over 1 values" in text_of(lambda: run([0, -100, -100, -100]))
    logits.grad = None
    assert ADDED not in text_of(lambda: run([0, 1, 1, 1]))


def test_a_mean_of_no_values_is_told():
    logits = torch.zeros(2, 3, requires_grad=True)
    words = "takes the mean of no values, which is NaN."
    ignored = text_of(lambda: F.cross_entropy(logits, torch.tensor([-100, -100])).backward())
    assert words in ignored and "is not finite itself" in ignored
    text = text_of(lambda: F.cross_entropy(logits, torch.tensor([-100, 1])).backward())
    assert words not in text and "not finite" not in text
    assert words in text_of(lambda: logits[logits > 1].mean().backward())
    empty = torch.zeros(3, 0, requires_grad=True)
    assert words not in text_of(lambda: empty.mean(0).sum().backward())  # a mean of no columns


def test_where_nan_begins_and_which_leaves_it_reaches_is_told():
    w, v = weights(0.0, 4.0), weights(1.0, 1.0)
    text = text_of(lambda: (v + (w * 0).sqrt() * w).sum().backward(), w=w, v=v)
    assert "Here NaN or infinity begins: SqrtBackward0" in text and "They reach w." in text
    text = text_of(lambda: (v + (w + 1).sqrt()).sum().backward(), w=w, v=v)
    assert "NaN" not in text


def test_nan_that_no_leaf_receives_is_told_apart_from_another_that_one_does():
    w, v = weights(0.0, 4.0), weights(1.0, 2.0)

    def stopped(t):
        return t.masked_fill(torch.tensor([True, True]), 0.0).sqrt()

    alone = text_of(lambda: stopped(v).sum().backward(), v=v)
    assert "sends NaN or infinity, and no leaf receives any of it." in alone
    assert "begins" not in alone
    both = text_of(lambda: ((w * 0).rsqrt() + stopped(w)).sum().backward(), w=w)
    assert "begins: RsqrtBackward0" in both and "They reach w." in both
    assert "SqrtBackward0" not in both.replace("RsqrtBackward0", "")


def test_a_hook_that_replaces_nan_ends_its_way():
    w = weights(0.0)

    def run(hook):
        h = w * 0
        h.register_hook(hook)
        h.sqrt().sum().backward()

    assert "They reach w." in text_of(lambda: run(lambda g: g * 1), w=w)
    assert "no leaf receives" in text_of(lambda: run(lambda g: g.nan_to_num(0, 0)), w=w)
    w.register_hook(lambda g: g.nan_to_num(0, 0))
    assert "no leaf receives" in text_of(lambda: w.sqrt().sum().backward(), w=w)


def test_the_start_that_is_not_finite_is_told():
    w = weights(1.0)
    text = text_of(lambda: (w * 2).backward(torch.tensor([float("nan")])), w=w)
    assert "The gradient that the pass starts with is not finite." in text
    assert "begins" not in text


def test_large_values_are_finite():
    """The square of 1e25 is more than a float32 can hold."""
    assert gradient_of(torch.full((2,), 1e25)).norm == pytest.approx(2**0.5 * 1e25)
    assert gradient_of(torch.tensor([1e25, float("inf")])).norm == float("inf")
    w = weights(1.0)
    text = text_of(lambda: (w * 1e25).sum().backward())
    assert "finite" not in text


def test_a_pass_from_many_values_says_what_it_needs():
    w = weights(1.0, 2.0)
    words = "The pass starts from 2 values, of MulBackward0"
    text = text_of(lambda: (w * 2).backward())
    assert words in text and ", 0 nodes ran" in text and "at test_passes.py" in text
    assert words not in text_of(lambda: (w * 2).backward(torch.ones(2)))
    assert words not in text_of(lambda: (w * 2).backward(torch.ones(3)))  # another error


@pytest.mark.parametrize("kind", [Scaled, Inherited], ids=lambda kind: kind.__name__)
def test_a_right_formula_has_no_remark(kind):
    w = weights(1.0, 2.0)
    found = record_passes(lambda: kind.apply(2.0, w).sum().backward(), names={"w": w})
    step = found.passes[0].backward.steps[1]
    assert [one.values for one in step.returned] == [(2.0, 2.0)]
    assert step.formula.statement == "return None, g * ctx.factor * x / x"
    assert "its backward" not in passes_text(found)


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (
            lambda w: Forgetful.apply(2.0, w),
            ("return None, None) returns no gradient for w.",),
        ),
        (
            lambda w: Silent.apply(2.0, w),
            ("ctx.saved = g) returns None, as a function without a return statement does.",),
        ),
        (
            lambda w: Enlarging.apply(w),
            (
                "def vjp(ctx, g):) returns sizes (3, 2) for w, which has sizes (2,).",
                "The engine sums it to that size, without an error.",
            ),
        ),
    ],
    ids=["Forgetful", "Silent", "Enlarging"],
)
def test_what_a_formula_returned_is_told_with_its_line(run, words):
    w = weights(1.0, 2.0)
    text = text_of(lambda: run(w).sum().backward(), w=w)
    assert [one for one in words if one not in text] == []


def test_a_size_that_the_engine_refuses_is_not_said_to_be_summed():
    w = weights(1.0, 2.0)
    text = text_of(lambda: Misfit.apply(2.0, w).sum().backward(), w=w)
    assert ") returns sizes (5,) for w, which has sizes (2,)." in text
    assert "sums it" not in text and "it raised: Function MisfitBackward returned an" in text


def returned_of(one) -> dict[int, tuple]:
    """What each node's formula returned for its first edge."""
    return {s.node: s.returned[0].values for s in one.backward.steps if s.returned}


@pytest.mark.parametrize("fails", [False, True])
def test_the_classes_of_functions_are_put_back(fails):
    formula, w = vars(Scaled)["backward"], weights(1.0)

    def run():
        h = Scaled.apply(2.0, Inherited.apply(3.0, w))
        if fails:
            w.register_hook(lambda g: 1 / 0)
        h.sum().backward()

    found = record_passes(run)
    assert (found.error != "") == fails
    assert vars(Scaled)["backward"] is formula and "backward" not in vars(Inherited)
    assert returned_of(found.passes[0]) == {1: (2.0,), 2: (6.0,)}
    assert all(step.formula for step in found.passes[0].backward.steps if step.returned)


def test_a_pass_inside_of_a_formula_does_not_tell_for_the_one_outside():
    w, v = weights(1.0), weights(5.0)
    h = w * 2

    @torch.enable_grad()
    def also(_):
        Scaled.apply(7.0, v).sum().backward()

    h.grad_fn.register_prehook(also)  # while the multiplication runs, which has no such formula
    outer, inner = record_passes(lambda: Scaled.apply(3.0, h).sum().backward()).passes
    assert [returned_of(one) for one in (outer, inner)] == [{1: (3.0,)}, {1: (7.0,)}]


def test_a_pass_inside_of_a_formula_over_the_same_nodes_is_another_one():
    w = weights(1.0)
    y = Scaled.apply(3.0, w)

    @torch.enable_grad()
    def again(_):
        hook.remove()
        y.backward(torch.tensor([10.0]), retain_graph=True)

    hook = y.grad_fn.register_prehook(again)
    outer, inner = record_passes(lambda: y.sum().backward()).passes
    assert [returned_of(one) for one in (outer, inner)] == [{1: (3.0,)}, {0: (30.0,)}]


def test_the_stepper_tells_the_same_remarks():
    w = weights(1.0, 2.0)
    step = record_backward(Forgetful.apply(2.0, w).sum(), names={"w": w}).steps[1]
    assert step.returned == (None,) and step.formula.statement == "return None, None"


# ── much of everything ──────────────────────────────────────────────────────────────────────────


def test_of_many_passes_the_first_are_told_and_those_with_a_remark():
    w, zero = weights(1.0), weights(0.0)
    optimizer = torch.optim.SGD([w], lr=0.0)

    def run():
        for k in range(60):
            (zero if k == 40 else w).sqrt().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        raise ValueError("at the end")

    lines = text_of(run, w=w).splitlines()
    told = [line.split(",")[0] for line in lines if line.startswith("pass ")]
    assert told == [*(f"pass {k}" for k in range(1, 13)), "pass 41"]
    assert [line for line in lines if line.startswith("and ")] == [
        "and 28 more passes",
        "and 19 more passes",
    ]
    assert "Here NaN or infinity begins: SqrtBackward0" in "\n".join(lines)
    assert lines[0].startswith("60 backward passes, 60 optimizer steps. Then it raised ValueError")


def test_of_many_leaves_the_first_are_told():
    many = [weights(float(k)) for k in range(20)]
    text = text_of(lambda: sum(many).sum().backward())
    assert text.count("receives") == 12 and "  and 8 more leaves" in text


def test_a_graph_that_is_larger_than_what_is_watched_says_so():
    w = weights(1.0)

    def run(length):
        h = w
        for _ in range(length):
            h = h + 1
        h.sum().backward()

    words = "The graph is larger than the 10,000 nodes that are watched."
    assert words in text_of(lambda: run(11_000)) and w.grad.tolist() == [1.0]
    assert words not in text_of(lambda: run(100))


def test_code_without_a_source_has_no_place():
    w = weights(1.0)
    text = str(explain_backward(eval("lambda: (w * 2).sum().backward()", {"w": w})))
    assert text.splitlines()[1].startswith("pass 1: from 2, 3 nodes ran")
    assert "without source" not in text


def test_two_runs_recorded_at_once_leave_torch_as_it_was():
    plain, inside, done = torch.autograd.backward, threading.Event(), threading.Event()
    w, found = weights(1.0), []

    def other():
        found.append(record_passes(lambda: (inside.set(), done.wait(), (w * 2).sum().backward())))

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait()
    mine = record_passes(lambda: ((w * 3).sum().backward(), done.set(), thread.join()))
    assert torch.autograd.backward is plain
    assert (len(mine.passes), mine.unseen, len(found[0].passes), found[0].unseen) == (1, 1, 1, 1)


def test_what_the_user_puts_in_the_place_of_backward_stays():
    plain = torch.autograd.backward
    try:
        record_passes(lambda: setattr(torch.autograd, "backward", print))
        assert torch.autograd.backward is print
    finally:
        torch.autograd.backward = plain


def test_an_error_without_words_and_a_call_without_roots_are_told_as_they_are():
    assert record_passes(lambda: next(iter([]))).error == "StopIteration"
    assert record_passes(lambda: torch.autograd.backward([])).unseen == 0


def test_a_nested_tensor_on_the_way_does_not_end_the_run():
    w = weights(1.0, 2.0)

    def run():
        nested = torch.nested.as_nested_tensor([w.view(2, 1)]) * 2
        torch.nested.to_padded_tensor(nested, 0.0).sum().backward()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = record_passes(run)
    assert (found.error, w.grad.tolist()) == ("", [2.0, 2.0])
    assert len(found.passes) == 1 and len(found.passes[0].backward.steps) == 6
