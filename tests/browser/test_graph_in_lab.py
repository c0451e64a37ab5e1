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
from insidetorch import BackwardStepper, ForwardRecorder, GraphExplorer
model = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.ReLU()) for _ in range(24)])
with ForwardRecorder(model) as forward:
    loss = model(torch.ones(2, 4)).sum()
GraphExplorer(loss, module=model, forward=forward)"""
STEPPER = "BackwardStepper(loss, module=model)"
BRANCHES = """\
from insidetorch import BranchExplorer
def f(x):
    if x > 0:
        return x * 2
    return x.exp()
BranchExplorer(f, [1.0, -1.0])"""
TABLE = "from insidetorch import RequiresGradTable\nRequiresGradTable()"
LAB = "from insidetorch import AccumulationLab\nAccumulationLab(4)"
ORDERS = "from insidetorch import SecondOrderExplorer\nSecondOrderExplorer(lambda x: x**3, 2.0)"


def assert_readable(opened, *cells) -> None:
    for cell in cells:
        found = contrasts(view_of(cell))
        assert {kind: ratio for kind, ratio in found.items() if ratio < ENOUGH} == {}
    assert nameless(opened.page, ".it-box") == []
    assert_clean(opened)


@pytest.mark.parametrize("theme", THEMES)
def test_a_graph_is_searched_unfolded_and_stepped(notebook: MakeNotebook, theme: str) -> None:
    opened = notebook(GRAPH, STEPPER, theme=theme)
    graph, stepper = opened.cell(0), opened.cell(1)
    expect(said(graph)).to_contain_text("nodes")
    boxes = graph.locator("[data-link^='item']")
    folded = boxes.count()
    assert folded <= 60
    graph.get_by_role("textbox", name="mark").fill("23.0.bias")
    expect(graph.locator(".new")).to_have_count(1)
    graph.get_by_role("combobox", name="unfold").select_option(index=1)
    expect(boxes).not_to_have_count(folded)
    graph.get_by_role("combobox", name="unfold").select_option("fold all again")
    expect(boxes).to_have_count(folded)
    graph.get_by_role("checkbox", name="fold").uncheck()
    expect(boxes).not_to_have_count(folded)
    stepper.get_by_role("slider", name="step").focus()
    expect(said(stepper)).to_contain_text("Step 1 of")
    opened.page.keyboard.press("ArrowRight")
    expect(said(stepper)).to_contain_text("Step 2 of")
    expect(stepper.locator(".new")).to_have_count(1)
    graph.get_by_role("button", name="Read again").click()
    expect(said(graph)).to_contain_text("freed by a backward pass")
    assert_readable(opened, graph, stepper)


def test_a_picture_is_zoomed(notebook: MakeNotebook) -> None:
    opened = notebook(GRAPH)
    graph = opened.cell(0)
    picture = view_of(graph).locator("svg")
    wide = picture.evaluate("svg => svg.getBoundingClientRect().width")
    graph.get_by_role("slider", name="zoom").focus()
    for _ in range(5):
        opened.page.keyboard.press("ArrowLeft")
    opened.page.wait_for_function(
        "([svg, wide]) => document.contains(svg) === false || "
        "svg.getBoundingClientRect().width < 0.6 * wide",
        arg=[picture.element_handle(), wide],
    )
    assert picture.evaluate("svg => svg.getBoundingClientRect().width") < 0.95 * wide


@pytest.mark.parametrize("theme", THEMES)
def test_inputs_cells_parts_and_orders_are_chosen(notebook: MakeNotebook, theme: str) -> None:
    opened = notebook(BRANCHES, TABLE, LAB, ORDERS, theme=theme)
    branches, table, lab, orders = (opened.cell(k) for k in range(4))
    keyboard = opened.page.keyboard
    expect(said(branches)).to_contain_text("x = 1.0 gives 2.0")
    branches.get_by_role("slider", name="x").focus()
    keyboard.press("ArrowRight")
    expect(said(branches)).to_contain_text("x = -1.0")
    expect(said(table)).to_contain_text("what do you expect?")
    table.get_by_role("combobox", name="run").select_option("x > 0")
    table.get_by_role("button", name="it will", exact=True).click()
    expect(said(table)).to_contain_text("Not as you said. x > 0, no mode")
    table.get_by_role("button", name="Reveal all").click()
    expect(table.locator("text", has_text="?")).to_have_count(0 + 1)  # that of the title
    expect(said(lab)).to_contain_text("not that of the whole batch")
    lab.get_by_role("combobox", name="weigh the loss").select_option("by what counts")
    expect(said(lab)).to_contain_text("the gradient of the whole batch")
    lab.get_by_role("checkbox", name="BatchNorm first").check()
    expect(said(lab)).to_contain_text("not that of the whole batch")
    orders.get_by_role("slider", name="order").focus()
    keyboard.press("ArrowRight")
    expect(said(orders)).to_contain_text("The second derivative is 12")
    orders.get_by_role("checkbox", name="create_graph in the last pass").uncheck()
    expect(said(orders)).to_contain_text("There is no graph behind it")
    assert_readable(opened, branches, table, lab)
