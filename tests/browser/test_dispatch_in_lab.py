"""The explorers of dispatch in a real JupyterLab."""

from __future__ import annotations

import pytest
from harness import THEMES
from playwright.sync_api import expect
from test_graph_in_lab import assert_readable
from test_in_lab import MakeNotebook, said, view_of

EXPLORER = "from insidetorch import DispatchExplorer\nDispatchExplorer()"
TRACE = """\
import torch
from insidetorch import OperatorTrace
runs = []
a, b, c = torch.ones(3, 8, 8)
def step():
    runs.append(1)
    return (a * b).t() + c if len(runs) == 1 else (a * b).exp()
OperatorTrace(step)"""
SURPRISE = """\
from insidetorch import explain_dispatch
counts = torch.zeros(4)
bins = torch.tensor([0, 2, 2, 2, 3, 3])
OperatorTrace(lambda: counts.__setitem__(bins, counts[bins] + 1))"""
FAILURE = "explain_dispatch(lambda: torch.nonzero(torch.eye(3).to_sparse()))"


@pytest.mark.parametrize("theme", THEMES)
def test_a_call_is_chosen_and_its_keys_are_walked(notebook: MakeNotebook, theme: str) -> None:
    opened = notebook(EXPLORER, theme=theme)
    cell = opened.cell(0)
    rows = view_of(cell).locator("[data-link]")
    expect(view_of(cell)).to_contain_text("aten.add.Tensor runs at AutogradCPU and CPU")
    expect(said(cell)).to_contain_text("keys at which something runs: 2.")
    cell.get_by_role("combobox", name="x is").select_option("conj bit")
    expect(view_of(cell)).to_contain_text("runs at AutogradCPU, Conjugate and CPU")
    expect(said(cell)).to_contain_text("keys at which something runs: 3.")
    cell.get_by_role("combobox", name="under").select_option("inference_mode")
    expect(view_of(cell).locator("[data-link='AutogradCPU']")).to_have_count(0)
    cell.get_by_role("combobox", name="run").select_option("x.view(4)")
    expect(view_of(cell)).to_contain_text("aten.view.default runs at")
    rows.first.focus()
    first = rows.first.get_attribute("data-say")
    expect(rows.first).to_be_focused()
    opened.page.keyboard.press("ArrowDown")
    expect(rows.nth(1)).to_be_focused()
    assert first and first != rows.nth(1).get_attribute("data-say")
    cell.get_by_role("combobox", name="under").focus()
    opened.page.keyboard.press("ArrowUp")
    expect(view_of(cell).locator("[data-link='AutogradCPU']")).to_have_count(1)
    assert_readable(opened, cell)


@pytest.mark.parametrize("theme", THEMES)
def test_operators_are_run_again_and_views_left_out(notebook: MakeNotebook, theme: str) -> None:
    opened = notebook(TRACE, theme=theme)
    cell = opened.cell(0)
    rows = view_of(cell).locator("[data-c='0']")
    expect(said(cell)).to_contain_text("3 operators read 1,024 bytes")
    expect(rows).to_have_count(3)
    cell.get_by_role("checkbox", name="views").uncheck()
    expect(rows).to_have_count(2)
    cell.get_by_role("checkbox", name="views").check()
    expect(rows).to_have_count(3)
    view_of(cell).locator("[data-link='storage 1']").first.hover()
    expect(view_of(cell).locator("[data-link='storage 1'].on")).not_to_have_count(0)
    opened.page.mouse.move(0, 0)  # what the pointer is on is read out
    cell.get_by_role("button", name="Run again").focus()
    opened.page.keyboard.press("Enter")
    expect(said(cell)).to_contain_text("2 operators read 768 bytes")
    expect(view_of(cell).locator("text", has_text="aten.exp")).to_have_count(1)
    rows.first.focus()
    opened.page.keyboard.press("ArrowRight")
    expect(view_of(cell).locator("[data-r='0'][data-c='1']")).to_be_focused()
    assert_readable(opened, cell)


def test_a_surprise_and_a_failure_are_readable(notebook: MakeNotebook) -> None:
    opened = notebook("import torch\nfrom insidetorch import OperatorTrace", SURPRISE, FAILURE)
    expect(view_of(opened.cell(1))).to_contain_text("6 indices name 3 places")
    failed = opened.cell(2).locator(".jp-OutputArea-output")
    expect(failed).to_contain_text("The call stops at SparseCPU")
    expect(failed.locator("img")).to_have_count(1)
    assert_readable(opened, opened.cell(1))
