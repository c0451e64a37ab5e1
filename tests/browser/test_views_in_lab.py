"""The explorers of chapter 2 in a real JupyterLab: typed numbers, chosen writes, every theme."""

from __future__ import annotations

import pytest
from accessibility import contrasts, nameless
from harness import THEMES
from playwright.sync_api import expect
from test_in_lab import ENOUGH, MakeNotebook, assert_clean, said, view_of

VIEWS = "from insidetorch import ViewExplorer, WriteThrough, compare\nViewExplorer('a[:, :2]')"
WRITES = "from insidetorch import WriteThrough\nWriteThrough('a')"


@pytest.mark.parametrize("theme", THEMES)
def test_numbers_are_typed_and_the_verdict_can_be_read(notebook: MakeNotebook, theme: str) -> None:
    opened = notebook(VIEWS, WRITES, theme=theme)
    cell, page = opened.cell(0), opened.page
    expect(said(cell)).to_contain_text("no view, only a copy")
    box = cell.get_by_role("textbox", name="wanted")
    box.fill("2, 8")
    expect(said(cell)).to_contain_text("viewed as (2, 8): a view with strides (12, 1)")
    box.fill("2, x")
    expect(said(cell)).to_contain_text("It holds more than whole numbers")
    box.fill("16")
    expect(said(cell)).to_contain_text("Dimension 0 stops it: one step along it moves 12 elements")
    box.press("d")
    box.press("d")
    assert opened.cells() == 2  # two d delete a cell where the notebook takes the keys
    box.fill("16")
    source = cell.get_by_role("combobox", name="view of")
    source.select_option("a.permute(2, 0, 1)")
    expect(cell.get_by_role("textbox", name="strides")).to_have_value("1, 12, 4")
    expect(said(cell)).to_contain_text("asked for 24 values. They hold 16")
    box.fill("4, 6")
    expect(said(cell)).to_contain_text("viewed as (4, 6): a view with strides (1, 4)")
    cell.locator("[data-r='1']").first.hover()
    expect(cell.locator(".on").first).to_be_visible()
    for number in range(opened.cells()):
        found = contrasts(view_of(opened.cell(number)))
        assert {kind: ratio for kind, ratio in found.items() if ratio < ENOUGH} == {}
    assert nameless(page, ".it-box") == []
    assert_clean(opened)


def test_a_write_is_chosen_by_mouse_and_keyboard(notebook: MakeNotebook) -> None:
    opened = notebook(WRITES)
    cell, keyboard = opened.cell(0), opened.page.keyboard
    expect(said(cell)).to_contain_text("a[0, 0] = 100: seen through a, a.t()")
    cell.get_by_role("slider", name="value").focus()
    keyboard.press("ArrowRight")
    expect(said(cell)).to_contain_text("a[0, 1] = 100")
    cell.get_by_role("combobox", name="write to").select_option("a[:1].expand(2, 4)")
    expect(said(cell)).to_contain_text("a[:1].expand(2, 4)[0, 1] = 100")
    cell.get_by_role("button", name="add 100 to every value").click()
    expect(said(cell)).to_contain_text("torch refuses: unsupported operation: more than one")
    cell.get_by_role("combobox", name="write to").select_option("a.data")
    expect(said(cell)).to_contain_text("Values changed and no version moved: a, a[1]")
    byte = cell.locator("[data-link='4']")
    byte.first.hover()
    expect(cell.locator(".on")).to_have_count(byte.count())
    assert_clean(opened)
