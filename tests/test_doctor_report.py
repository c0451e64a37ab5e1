"""The report says what was seen, names what it speaks of, and gives a repair that fits."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from torch import nn

import insidetorch
from insidetorch.doctor import lasting

watch = insidetorch.watch


class Hidden(nn.Module):
    """A model that keeps layers where `.parameters()` does not find them."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.blocks = [nn.Linear(2, 2), nn.Linear(2, 2)]
        self.scale = torch.ones(2, requires_grad=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x) * self.scale
        for block in self.blocks:
            x = block(x)
        return x


def test_a_report_without_findings_says_how_much_was_seen():
    layer = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    with watch(layer, optimizer=optimizer) as run:
        for _ in range(2):
            optimizer.zero_grad()
            layer(torch.ones(1, 2)).sum().backward()
            optimizer.step()
    said = "Gradient doctor: nothing found in 2 backward passes and 2 optimizer steps."
    assert str(run.report()) == said


def test_a_run_without_a_backward_pass_is_told_as_such():
    with watch() as run:
        torch.ones(2) + 1
    said = "Gradient doctor: nothing found in this run, which has no backward pass."
    assert str(run.report()) == said


def test_layers_in_a_plain_list_are_named_by_their_place():
    model = Hidden()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with watch(model, optimizer=optimizer) as run:
        model(torch.randn(3, 2)).sum().backward()
        optimizer.step()
    named = {name for one in run.findings for name in one.subject}
    assert {"model.blocks[0].weight", "model.blocks[1].bias", "model.scale"} <= named
    assert {one.kind for one in run.findings} == {"unregistered"}


def test_a_finding_names_all_that_it_concerns():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 1))
    with watch(model) as run:
        loss = model[2](model[1](model[0](torch.ones(3, 2))).detach()).sum()
        loss.backward()
    (finding,) = run.findings
    names = ("model.0.weight", "model.0.bias", "model.1.weight", "model.1.bias")
    assert finding.subject == names
    assert "model.0.weight, model.0.bias, model.1.weight and 1 more" in finding.message
    assert finding.as_dict()["subject"] == list(names)
    assert run.explain("model.1.bias").findings == (finding,)


def test_parameters_that_nobody_asked_for_are_listed_where_nothing_says_who_is_trained():
    encoder, head = nn.Linear(2, 2), nn.Linear(2, 1)
    with watch() as run:
        encoder(torch.ones(1, 2)).mean()
        head(torch.ones(1, 2)).sum().backward()
    assert run.findings == ()
    (said,) = run.report().unseen
    assert said.startswith("Not judged: encoder.weight, encoder.bias got no gradient")
    assert "--ask encoder.weight.grad" in said


def test_parameters_that_no_stepping_optimizer_holds_are_listed_where_it_was_made_before():
    body, head = nn.Linear(2, 2), nn.Linear(2, 1)
    optimizer = torch.optim.SGD(body.parameters(), lr=0.1)
    with watch() as run:
        head(body(torch.ones(1, 2))).sum().backward()
        optimizer.step()
    assert run.findings == ()
    (said,) = run.report().unseen
    assert said.startswith("Not judged: head.weight, head.bias got gradients")
    with watch(optimizer=optimizer) as told:
        head(body(torch.ones(1, 2))).sum().backward()
        optimizer.step()
    assert [one.kind for one in told.findings] == ["unregistered"]
    assert told.report().unseen == ()


def test_values_that_leave_torch_in_a_model_of_their_own_are_found_without_a_question():
    encoder, head = nn.Linear(2, 2), nn.Linear(2, 1)
    with watch() as run:
        rows = encoder(torch.ones(1, 2)).detach().numpy()
        head(torch.from_numpy(rows * 2)).sum().backward()
    (finding,) = run.findings
    assert finding.kind == "item_roundtrip"
    assert finding.place.statement == "rows = encoder(torch.ones(1, 2)).detach().numpy()"


def test_a_model_in_evaluation_mode_may_leave_torch():
    teacher, head = nn.Linear(2, 2).eval(), nn.Linear(2, 1)
    with watch() as run:
        rows = teacher(torch.ones(1, 2)).detach().numpy()
        head(torch.from_numpy(rows * 2)).sum().backward()
    assert run.findings == ()


def test_a_module_that_writes_in_place_is_named_and_so_is_its_victim():
    net = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid(), nn.Dropout(0.5, inplace=True))
    with pytest.raises(RuntimeError, match="inplace"), watch() as run:
        net(torch.ones(3, 2)).sum().backward()
    (finding,) = run.findings
    assert "SigmoidBackward0 of net.1 (Sigmoid)" in finding.message
    assert finding.fix == "Set inplace=False in net.2 (Dropout)."


@pytest.mark.parametrize(
    ("write", "repair"),
    [
        (lambda y: y.mul_(2), "a = a * b for a *= b"),
        (lambda y: y.__setitem__(0, 0.0), "torch.where or torch.cat"),
        (lambda y: y.clamp_(max=1), "clamp for clamp_"),
    ],
)
def test_the_repair_of_a_write_is_that_of_its_operator(write, repair):
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="inplace"), watch() as run:
        y = x.exp()
        write(y)
        y.sum().backward()
    assert repair in run.findings[0].fix


@pytest.mark.parametrize(
    ("cut", "repair"),
    [
        (lambda x: x.argmax().float(), "gumbel_softmax"),
        (lambda x: (x > 0).float(), "sigmoid((x - threshold) / width)"),
        (lambda x: x.long().float(), "interpolate"),
    ],
)
def test_the_repair_of_a_function_without_a_derivative_fits_the_function(cut, repair):
    layer, head = nn.Linear(2, 2), nn.Linear(1, 1)
    with watch(layer) as run:
        head(cut(layer(torch.ones(1, 2))).sum().reshape(1, 1)).sum().backward()
    (finding,) = run.findings
    assert finding.kind == "non_diff_op"
    assert repair in finding.fix


def trained_in_a_function():
    encoder, head = nn.Linear(2, 2), nn.Linear(2, 1)
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    for x in torch.randn(3, 4, 2):
        optimizer.zero_grad()
        head(encoder(x).detach()).sum().backward()
        optimizer.step()


def test_a_model_that_is_gone_when_its_function_ends_is_told_all_the_same():
    with watch() as run:
        trained_in_a_function()
    (finding,) = run.findings
    assert finding.kind == "detach" and finding.subject == ("Linear.weight", "Linear.bias")
    assert run.explain("Linear.bias").sentence


def test_a_report_keeps_nothing_of_the_run_alive():
    def reported():
        layer = nn.Linear(2, 1)
        with watch() as run:
            loss = (layer(torch.ones(1, 2)).detach() + layer.bias).sum()
            loss.backward()
        return run.report(), weakref.ref(loss), weakref.ref(layer)

    report, *gone = reported()
    gc.collect()
    assert report.findings and report.ways is not None
    assert [ref() for ref in gone] == [None, None]


def test_what_is_kept_for_the_report_is_bounded(monkeypatch):
    monkeypatch.setattr(lasting, "MOST_BYTES", 100)
    kept, modules = lasting.Lasting(), [nn.Linear(2, 2) for _ in range(8)]
    gone = [weakref.ref(module) for module in modules]
    for module in modules:
        kept.keep(module)
    del module, modules
    gc.collect()
    assert [ref() is None for ref in gone] == [True] * 4 + [False] * 4


def test_a_question_may_name_the_end_of_a_name_and_is_told_what_it_could_name():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    with watch() as run:
        model(torch.ones(1, 2)).sum().backward()
    assert run.explain("model.1.bias").name == "model.1.bias"
    with pytest.raises(NameError, match=r"These can be asked about: .*model\.0\.weight"):
        run.explain("encoder.weight")
    with pytest.raises(ValueError, match="A NoneType was asked about"):
        run.explain(None)


def test_a_pass_that_raised_is_told_in_an_answer():
    layer = nn.Linear(2, 1)
    with pytest.raises(RuntimeError, match="inplace"), watch(layer) as run:
        y = layer(torch.ones(1, 2)).exp()
        y.add_(1)
        y.sum().backward()
    said = "layer.weight got no gradient: the last backward pass ended with an error."
    assert run.explain("weight").sentence == said


def test_nothing_is_called_unused_where_calls_are_forgotten():
    encoder, head = nn.Linear(2, 2), nn.Linear(2, 1)
    parameters = [*encoder.parameters(), *head.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    with watch(most=8, optimizer=optimizer) as run:
        features = encoder(torch.ones(1, 2)).detach()
        for _ in range(8):
            optimizer.zero_grad()
            head(features).sum().backward()
            optimizer.step()
    assert run.recorder.forgotten
    assert run.findings == ()
