"""The explorers of the graph in a real JupyterLab."""

from __future__ import annotations

import pytest
from accessibility import contrasts, nameless
from harness import THEMES
from playwright.sync_api import expect
from test_in_lab import ENOUGH, MakeNotebook, assert_clean, said, view_of

GRAPH = """\
import torch
from torch import nn
from insidetorch import BackwardStepper, GraphExplorer
model = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(6)])
loss = model(torch.ones(2, 4)).sum()
GraphExplorer(loss, module=model)"""
STEPPER = "BackwardStepper(loss, module=model)"


@pytest.mark.parametrize("theme", THEMES)
def test_a_graph_is_searched_unfolded_and_stepped(notebook: MakeNotebook, theme: str) -> None:
    opened = notebook(GRAPH, STEPPER, theme=theme)
    graph, stepper = opened.cell(0), opened.cell(1)
    expect(said(graph)).to_contain_text("nodes")
    boxes = graph.locator("[data-link^='item']")
    folded = boxes.count()
    graph.get_by_role("textbox", name="mark").fill("0.0.bias")
    expect(graph.locator(".new")).to_have_count(1)
    graph.get_by_role("checkbox", name="fold repeats").uncheck()
    expect(boxes).not_to_have_count(folded)
    stepper.get_by_role("slider", name="step").focus()
    expect(said(stepper)).to_contain_text("Step 1 of")
    opened.page.keyboard.press("ArrowRight")
    expect(said(stepper)).to_contain_text("Step 2 of")
    expect(stepper.locator(".new")).to_have_count(1)
    graph.get_by_role("button", name="Read again").click()
    expect(said(graph)).to_contain_text("freed by a backward pass")
    for cell in (graph, stepper):
        found = contrasts(view_of(cell))
        assert {kind: ratio for kind, ratio in found.items() if ratio < ENOUGH} == {}
    assert nameless(opened.page, ".it-box") == []
    assert_clean(opened)
