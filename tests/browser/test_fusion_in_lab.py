"""The fusion lab in a real JupyterLab."""

from __future__ import annotations

import pytest
from harness import THEMES
from playwright.sync_api import expect
from test_graph_in_lab import assert_readable
from test_in_lab import MakeNotebook, said, view_of

LAB = "from insidetorch import FusionLab\nFusionLab(rows=256)"


@pytest.mark.parametrize("theme", THEMES)
def test_an_expression_is_written_and_measured(notebook: MakeNotebook, theme: str) -> None:
    opened = notebook(LAB, theme=theme)
    cell = opened.cell(0)
    expect(said(cell)).to_contain_text("a * b + c: 2 operators, 24 bytes for each element")
    cell.get_by_role("combobox", name="examples").select_option("layer norm")
    expect(said(cell)).to_contain_text("6 operators, 24.5 bytes")
    expect(view_of(cell).locator("[data-r='0']")).to_have_count(6)
    written = cell.get_by_role("textbox", name="as written")
    written.fill("a - b * c")
    written.press("Enter")
    expect(said(cell)).to_contain_text("a - b * c: 2 operators")
    expect(said(cell)).to_contain_text("other values")
    written.fill("a -")
    written.press("Enter")
    expect(said(cell)).to_contain_text("Python cannot read it")
    written.fill("a - b")
    written.press("Enter")
    cell.get_by_role("button", name="Measure").focus()
    opened.page.keyboard.press("Enter")
    expect(said(cell)).to_contain_text("of the time of the expression as written")
    first = view_of(cell).locator("[data-r='0']").first
    first.focus()
    opened.page.keyboard.press("ArrowDown")
    expect(view_of(cell).locator("[data-r='1']").first).to_be_focused()
    assert_readable(opened, cell)


def test_the_compiler_is_asked_or_said_to_be_missing(notebook: MakeNotebook) -> None:
    opened = notebook(LAB)
    cell = opened.cell(0)
    cell.get_by_role("button", name="Compile").click()
    expect(said(cell)).to_contain_text("Compiled: ", timeout=180_000)
    expect(view_of(cell)).to_contain_text("compiled: as written, by torch.compile")
    assert_readable(opened, cell)
