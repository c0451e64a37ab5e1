"""`watch` follows a run, changes nothing of it, and answers for each tensor."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest
import torch
from torch import nn

import insidetorch
from insidetorch.doctor.causes.shapes import reordered

watch = insidetorch.watch


def cut_step(layer: nn.Linear, x: torch.Tensor) -> torch.Tensor:
    return layer(x).detach().sum() + layer.bias.sum()


def test_a_parameter_is_explained_by_its_name_and_by_itself():
    layer, x = nn.Linear(2, 1), torch.ones(3, 2)
    with watch(model=layer) as run:
        cut_step(layer, x).backward()
    for question in ("weight", layer.weight):
        told = run.explain(question)
        assert told.sentence == "layer.weight got none in the backward pass."
        assert [one.kind for one in told.findings] == ["detach"]
        assert "return layer(x).detach()" in str(told)
    assert run.explain("bias").sentence == "layer.bias got a gradient in the backward pass."


def test_a_name_that_leads_nowhere_is_refused():
    layer = nn.Linear(2, 1)
    with watch(model=layer) as run:
        layer(torch.ones(1, 2)).sum().backward()
    with pytest.raises(NameError, match="encoder"):
        run.explain("encoder.weight")
    with pytest.raises(ValueError, match="no Python expression"):
        run.explain("encoder weight")


def test_the_report_is_text_and_a_page():
    layer, x = nn.Linear(2, 1), torch.ones(3, 2)
    with watch(model=layer) as run:
        cut_step(layer, x).backward()
    report = run.report()
    assert str(report).startswith("Gradient doctor: 1 problem, 0 notes")
    assert "return layer(x).detach()" in report._repr_html_()
    assert "<script" not in report._repr_html_()


def test_an_error_is_explained_and_raised_unchanged():
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as raised:
        with watch() as run:
            y = x.exp()
            y.add_(1)
            y.sum().backward()
    assert run.error is raised.value
    assert [one.kind for one in run.findings] == ["inplace_version"]
    assert run.findings[0].place.statement == "y.add_(1)"


def test_an_error_that_the_program_handles_is_no_finding():
    x = torch.ones(3, requires_grad=True)
    with watch() as run:
        try:
            x.add_(1)
        except RuntimeError:
            x.sum().backward()
    assert run.findings == ()


def test_several_steps_and_optimizers_are_followed():
    first, second = nn.Linear(2, 2), nn.Linear(2, 1)
    optimizers = [torch.optim.SGD(part.parameters(), lr=0.1) for part in (first, second)]
    with watch(model=nn.Sequential(first, second)) as run:
        for _ in range(3):
            for optimizer in optimizers:
                optimizer.zero_grad()
            second(first(torch.randn(4, 2))).square().mean().backward()
            for optimizer in optimizers:
                optimizer.step()
    assert run.findings == ()
    assert run.explain("0.weight").sentence == "first.weight got a gradient in 3 backward passes."


def test_another_thread_is_followed_and_told():
    layer = nn.Linear(2, 1)
    with watch(model=layer) as run:
        worker = threading.Thread(target=lambda: cut_step(layer, torch.ones(3, 2)).backward())
        worker.start()
        worker.join()
    assert [one.kind for one in run.findings] == ["detach"]
    assert run.unseen == ("Another thread was followed too.",)


def test_nothing_is_left_behind():
    names = [
        (torch.autograd, "_engine_run_backward"), (nn.Module, "__init__"), (torch, "from_numpy"),
        (nn.Parameter, "__new__"), (torch.optim.Optimizer, "__init__"), (threading.Thread, "run"),
    ]  # fmt: skip
    before = [vars(owner)[name] for owner, name in names]
    layer = nn.Linear(2, 1)
    with pytest.raises(KeyError), watch(model=layer):
        layer(torch.ones(1, 2)).sum().backward()
        raise KeyError("of the user's")
    assert [vars(owner)[name] for owner, name in names] == before
    y = torch.ones(2, requires_grad=True).exp()
    assert y.grad_fn._saved_result is not None


def test_what_is_recorded_is_kept_weakly():
    layer = nn.Linear(2, 1)
    with watch(model=layer) as run:
        hidden = layer(torch.ones(1, 2))
        loss = hidden.exp().sum()
        results = weakref.ref(loss), weakref.ref(hidden)
        loss.backward()
        del loss, hidden
        gc.collect()
        assert [one() for one in results] == [None, None]
    assert run.findings == ()


def test_the_oldest_calls_are_forgotten_and_that_is_said():
    layer = nn.Linear(2, 1)
    with watch(model=layer, most=20) as run:
        for _ in range(40):
            layer(torch.ones(1, 2)).sum().backward()
    assert len(run.recorder.calls) <= 20
    assert "calls are forgotten" in run.unseen[0]


def test_a_cause_that_fails_costs_no_report(monkeypatch):
    def broken(_patient):
        raise ZeroDivisionError("in a cause")

    monkeypatch.setattr("insidetorch.doctor.examine.ALL", (broken,))
    with watch() as run:
        torch.ones(1, requires_grad=True).sum().backward()
    assert run.findings == ()
    assert "ZeroDivisionError" in str(run.report())


def test_a_recorder_that_fails_fails_no_run(monkeypatch):
    def broken(*_args, **_kwargs):
        raise ZeroDivisionError("in the recorder")

    monkeypatch.setattr("insidetorch.doctor.recorder.Recorder._note", broken)
    x = torch.ones(2, requires_grad=True)
    with watch() as run:
        (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]
    assert "could not be written down" in str(run.report())


@pytest.mark.parametrize("sizes", [(2, 3, 4), (2, 3, 4, 5), (3, 2, 5)])
def test_a_reshape_that_only_merges_or_splits_is_never_suspected(sizes):
    x = torch.arange(torch.Size(sizes).numel()).reshape(sizes)
    for start in range(len(sizes)):
        for end in range(start + 1, len(sizes)):
            merged = x.flatten(start, end)
            assert reordered(sizes, tuple(merged.shape)) is None
            assert reordered(tuple(merged.shape), sizes) is None


def test_a_reshape_in_place_of_a_permutation_is_suspected_with_the_order():
    order = reordered((2, 4, 5, 3), (2, 5, 12))
    x = torch.arange(120).reshape(2, 4, 5, 3)
    assert x.permute(order).reshape(2, 5, 12).shape == (2, 5, 12)
    assert order == (0, 2, 1, 3)


def test_a_state_dict_of_its_own_kind_does_no_harm():
    class Odd(nn.Linear):
        def state_dict(self, *args, **kwargs):
            return [("weight", self.weight)]

    layer = Odd(2, 1)
    with watch(model=layer) as run:
        assert layer.state_dict()[0][1] is layer.weight
        layer(torch.ones(1, 2)).sum().backward()
    assert run.findings == ()


def test_custom_functions_get_their_own_backward_back():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad

    own = vars(Double)["backward"]
    x = torch.ones(2, requires_grad=True)
    with watch() as run:
        (Double.apply(x) * torch.tensor([1.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [2, 6]
    assert vars(Double)["backward"] is own and run.findings == ()


def test_a_backward_that_ignores_its_gradient_is_named():
    class Constant(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, grad):
            return torch.full((2,), 2.0)

    x = torch.ones(2, requires_grad=True)
    with watch() as run:
        (Constant.apply(x) * torch.tensor([1.0, 3.0])).sum().backward()
    assert [one.kind for one in run.findings] == ["custom_function"]
    assert run.findings[0].place.statement == "return torch.full((2,), 2.0)"


def test_vmap_and_grad_run_as_they_do_without():
    layer = nn.Linear(3, 1)
    params = {name: p.detach() for name, p in layer.named_parameters()}

    def loss(params, x):
        return torch.func.functional_call(layer, params, (x,)).square().sum()

    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))
    xs = torch.randn(4, 3)
    plain = each(params, xs)
    with watch() as run:
        watched = each(params, xs)
    assert all(torch.equal(plain[name], watched[name]) for name in plain)
    assert run.findings == ()


def test_names_of_the_block_and_of_the_report_can_be_asked():
    model = nn.Sequential(nn.Linear(2, 1))
    z = torch.zeros(1)
    with watch() as run:
        z = model(torch.ones(1, 2))
        total = z.sum()
        total.backward()
    assert run.explain("model.0.weight").sentence.endswith("got a gradient in the backward pass.")
    assert "retain_grad() before backward()" in run.explain("z").sentence
    assert "is the result of a computation" in run.explain("total").sentence


def test_what_is_no_tensor_is_refused():
    model = nn.Linear(2, 1)
    with watch() as run:
        model(torch.ones(1, 2)).sum().backward()
    with pytest.raises(ValueError, match="'model' is a Linear, no tensor"):
        run.explain("model")


def test_a_report_answers_what_was_asked():
    model = nn.Linear(2, 1)
    with watch(model=model) as run:
        model(torch.ones(1, 2)).sum().backward()
    run.ask("weight")
    assert "You asked about weight" in str(run.report())
    assert "got a gradient in the backward pass" in run.report()._repr_html_()
