"""The panel shows one's own step as the doctor saw it, and each finding leads to its line."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import insidetorch
from insidetorch import DoctorPanel


def two_cuts():
    """A step with two backward passes, each with a cut of its own."""
    first, second, head = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 1)
    x = torch.ones(3, 2)

    def step():
        h = first(x).detach()
        head(h).sum().backward()
        g = second(x).detach()
        head(g).sum().backward()

    return step, nn.ModuleList([first, second, head])


def test_the_panel_shows_the_pass_of_the_first_finding():
    step, model = two_cuts()
    panel = DoctorPanel(step, model=model)
    statement = panel.run.findings[0].place.statement
    assert statement in panel.view.svg
    assert panel.view.svg.count(">CUT: detach<") == 1
    assert "The gradient's way ends on 1 line" in panel.view.status


def test_each_finding_leads_to_its_pass_and_its_words():
    step, model = two_cuts()
    panel = DoctorPanel(step, model=model)
    assert len(panel.run.findings) == 2 == panel.number.max
    for k, found in enumerate(panel.run.findings):
        panel.finding.value = k
        assert found.place.statement in panel.view.svg
        assert f"To do: {found.fix.split(',')[0][:30]}" in panel.view.svg
    passes = set()
    for k in range(2):
        panel.finding.value = k
        passes.add(panel.number.value)
    assert passes == {1, 2}


def test_a_pass_is_chosen_by_its_number():
    step, model = two_cuts()
    panel = DoctorPanel(step, model=model)
    for number, statement in ((1, "h = first(x).detach()"), (2, "g = second(x).detach()")):
        panel.number.value = number
        assert f"Backward pass {number} of 2" in panel.view.status
        assert statement in panel.view.svg
    assert "Backward pass 2 of 2" in repr(panel)


def test_parameters_are_named_by_the_variables_of_the_function():
    layer = nn.Linear(2, 1)

    def step():
        layer(torch.ones(1, 2)).sum().backward()

    assert "layer.weight, layer.bias: a gradient comes back" in repr(DoctorPanel(step))
    named = DoctorPanel(step, names={"net": layer})
    assert "layer.weight" in repr(named) or "net.weight" in repr(named)


def test_the_step_runs_once_and_again_when_asked():
    layer, runs = nn.Linear(2, 1), []

    def step():
        runs.append(1)
        loss = layer(torch.ones(1, 2)).sum()
        (loss if len(runs) > 1 else loss.detach() + layer.bias.sum()).backward()

    panel = DoctorPanel(step, model=layer)
    assert len(runs) == 1 and [one.kind for one in panel.run.findings] == ["detach"]
    panel.again.click()
    assert len(runs) == 2 and panel.run.findings == ()
    assert panel.finding.options == (("nothing found", -1),)


def test_what_the_step_raises_is_told_and_not_raised():
    x = torch.ones(3, requires_grad=True)

    def step():
        y = x.exp()
        y.add_(1)
        y.sum().backward()

    panel = DoctorPanel(step)
    assert "It raised RuntimeError: one of the variables needed" in panel.view.status
    panel.finding.value = 0
    assert "y.add_(1)" in panel.view.svg and panel.run.findings[0].kind == "inplace_version"


def test_a_run_that_was_watched_is_shown_without_another():
    layer = nn.Linear(2, 1)
    with insidetorch.watch(layer) as run:
        layer(torch.ones(1, 2)).sum().backward()
    panel = DoctorPanel(run)
    assert panel.again.disabled and "2 of 2 trained tensors got a gradient" in panel.view.status


def test_a_step_without_a_backward_pass_is_told_in_a_sentence():
    panel = DoctorPanel(lambda: torch.ones(2) + 1)
    assert panel.view.svg == ""
    assert panel.view.status == (
        "Gradient doctor: nothing found in this run, which has no backward pass."
    )


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="Give the step as a function"):
        DoctorPanel(torch.ones(1))
