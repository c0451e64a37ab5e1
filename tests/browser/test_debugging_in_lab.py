"""The widgets of the chapter on debugging in a real JupyterLab."""

from __future__ import annotations

import pytest
from harness import THEMES
from playwright.sync_api import expect
from test_graph_in_lab import assert_readable
from test_in_lab import MakeNotebook, said

MEMORY = "from insidetorch import GraphMemory\nGraphMemory(steps=3)"
PANEL = """\
import torch
from insidetorch import DoctorPanel
encoder, head = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
def step():
    features = encoder(torch.ones(3, 2))
    loss = head(features.detach()).sum()
    loss.backward()
DoctorPanel(step, model=torch.nn.ModuleList([encoder, head]))"""


@pytest.mark.parametrize("theme", THEMES)
def test_a_loop_is_chosen_and_the_line_of_a_cut_is_told(notebook: MakeNotebook, theme: str) -> None:
    opened = notebook(MEMORY, PANEL, theme=theme)
    memory, panel = opened.cell(0), opened.cell(1)
    expect(said(memory)).to_contain_text("nothing grows")
    memory.get_by_role("combobox", name="loop").select_option("losses.append(loss), no backward")
    expect(said(memory)).to_contain_text("After step 3 the graphs of 3 steps are alive")
    expect(memory.locator("[data-link]").first).to_be_visible()
    memory.get_by_role("slider", name="steps").focus()
    opened.page.keyboard.press("ArrowRight")
    expect(said(memory)).to_contain_text("After step 4 the graphs of 4 steps are alive")
    expect(said(panel)).to_contain_text("The gradient's way ends on 1 line")
    panel.get_by_role("combobox", name="finding").select_option(index=1)
    expect(panel).to_contain_text("Remove .detach() here")
    assert_readable(opened, memory, panel)
