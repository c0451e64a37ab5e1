"""Tier 3: the widgets in a real JupyterLab with a real kernel."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
import torch
from accessibility import contrasts, nameless
from harness import KERNEL, THEMES, Browser, LabServer, Notebook
from playwright.sync_api import Locator, Page, expect

from insidetorch import StrideExplorer, predict, show

MakeNotebook = Callable[..., Notebook]

IMPORTS = "import torch\nfrom insidetorch import AliasMap, StrideExplorer, TensorXRay, predict\n"
EXPLORER = IMPORTS + "w = StrideExplorer()\nw"
ASKED = (
    'predict("1.1", "What are the strides?", {(3, 1): "Row by row.", (1, 3): "By column."}, '
    "reveal=lambda: torch.zeros(2, 3).stride())"
)
ENOUGH = 4.5  # WCAG AA for text of normal size


def view_of(cell: Locator) -> Locator:
    return cell.locator(".it-view")


def said(cell: Locator) -> Locator:
    return cell.get_by_role("status")


def revision(cell: Locator) -> int:
    return int(view_of(cell).get_attribute("data-rev"))


def expect_revision(cell: Locator, number: int) -> None:
    expect(view_of(cell)).to_have_attribute("data-rev", str(number))


def assert_clean(opened: Notebook) -> None:
    assert opened.output_errors() == []
    assert opened.widget_errors() == []


@pytest.mark.parametrize("theme", THEMES)
def test_a_slider_changes_a_picture_that_can_be_read(notebook: MakeNotebook, theme: str) -> None:
    refused = "bad = StrideExplorer()\nbad.strides[0].value = 24\nbad"
    aliases = "x = torch.arange(6)\ny = x[2:]\nAliasMap({'x': x, 'y': y})"
    opened = notebook(EXPLORER, refused, aliases, theme=theme)
    cell = opened.cell(0)
    cell.get_by_role("slider", name="offset").focus()
    opened.page.keyboard.press("ArrowRight")
    expect_revision(cell, 2)
    expect(view_of(cell).locator("svg")).to_have_attribute("aria-label", _says("at offset 1"))
    cell.locator("[data-r='0'][data-c='1']").hover()
    expect(cell.locator(".on").first).to_be_visible()
    for number in range(opened.cells()):
        found = contrasts(view_of(opened.cell(number)))
        assert {kind: ratio for kind, ratio in found.items() if ratio < ENOUGH} == {}
    assert_clean(opened)


def _says(text: str) -> re.Pattern[str]:
    return re.compile(re.escape(text))


def test_the_keyboard_reaches_the_controls_and_not_the_notebook(notebook: MakeNotebook) -> None:
    opened = notebook(EXPLORER, "1 + 1")
    cell, keyboard = opened.cell(0), opened.page.keyboard
    cell.get_by_role("combobox", name="read as").focus()
    keyboard.press("ArrowDown")
    expect_revision(cell, 2)
    expect(said(cell)).to_contain_text("A 6 × 4 int64 tensor with strides (1, 6)")
    value = cell.locator("[data-r='0'][data-c='0']")
    for control in (
        cell.get_by_role("combobox", name="read as"),
        cell.get_by_role("slider", name="offset"),
        value,
    ):
        control.focus()
        for key in "bdd":
            keyboard.press(key)
    assert opened.cells() == 2
    value.focus()
    keyboard.press("ArrowDown")
    expect(cell.locator("[data-r='1'][data-c='0']")).to_be_focused()
    assert_clean(opened)


def test_the_mouse_chooses_and_slides(notebook: MakeNotebook) -> None:
    opened = notebook(EXPLORER)
    cell, mouse = opened.cell(0), opened.page.mouse
    preset = cell.get_by_role("combobox", name="read as")
    preset.click()
    opened.page.keyboard.press("ArrowDown")
    opened.page.keyboard.press("Enter")
    expect(said(cell)).to_contain_text("A 6 × 4 int64 tensor")
    preset.select_option("a[1:]")
    expect(said(cell)).to_contain_text("A 3 × 6 int64 tensor with strides (6, 1) at offset 6")
    handle = cell.get_by_role("slider", name="offset")
    start = handle.bounding_box()
    x, y = start["x"] + start["width"] / 2, start["y"] + start["height"] / 2
    mouse.move(x, y)
    mouse.down()
    mouse.move(x - 20, y)
    mouse.up()
    expect(handle).not_to_have_attribute("aria-valuenow", "6.0")
    expect(said(cell)).not_to_contain_text("at offset 6")
    offset = opened.page.get_by_role("slider", name="offset")
    track = cell.locator(".widget-slider", has=offset).locator(".noUi-base").bounding_box()
    # Of the steps from -1 to 24 the one to 12: half of the track would lie between two steps.
    mouse.click(track["x"] + track["width"] * 13 / 25, track["y"] + track["height"] / 2)
    expect(said(cell)).to_contain_text("offset 12")
    expect(handle).to_have_attribute("aria-valuenow", "12.0")
    assert_clean(opened)


def test_a_refusal_is_told_in_the_words_of_torch(notebook: MakeNotebook) -> None:
    opened = notebook(EXPLORER)
    cell = opened.cell(0)
    with pytest.raises(RuntimeError) as error:
        torch.as_strided(torch.arange(24), (4, 6), (-1, 1), 0)
    words = str(error.value).partition("\n")[0]
    cell.get_by_role("slider", name="stride[0]").focus()
    opened.page.keyboard.press("Home")
    expect(said(cell)).to_contain_text(words)
    # The picture breaks the sentence into lines.
    drawn = view_of(cell).locator(".w text").all_text_contents()
    assert " ".join(drawn).startswith(f"torch refuses: {words}")
    assert_clean(opened)


def test_read_again_shows_what_a_later_cell_has_changed(notebook: MakeNotebook) -> None:
    made = IMPORTS + "t = torch.zeros(2, 3, dtype=torch.int64)\nTensorXRay(t)"
    opened = notebook(made, "AliasMap()", "t[1, 2] = 77\nrow = t[1]")
    xray, aliases = opened.cell(0), opened.cell(1)
    last = xray.locator("[data-r='1'][data-c='2'] text").first
    expect(last).to_have_text("0")
    xray.get_by_role("button", name="Read again").click()
    expect(last).to_have_text("77")
    expect(said(aliases)).to_have_text("No two tensors found here share memory.")
    aliases.get_by_role("button", name="Read again").focus()
    opened.page.keyboard.press("Enter")
    expect(said(aliases)).to_have_text("2 tensors share one block of memory.")
    expect(view_of(aliases).locator("svg")).to_contain_text("row")
    assert_clean(opened)


def test_two_views_follow_one_widget_after_a_restart(notebook: MakeNotebook) -> None:
    opened = notebook(EXPLORER, "w")
    opened.restart_run_all()
    first, second = opened.cell(0), opened.cell(1)
    second.get_by_role("slider", name="offset").focus()
    opened.page.keyboard.press("ArrowRight")
    for cell in (first, second):
        expect(said(cell)).to_contain_text("at offset 1")
    first.locator("[data-r='0'][data-c='0']").hover()
    expect(first.locator(".on")).to_have_count(2)
    expect(second.locator(".on")).to_have_count(0)
    assert_clean(opened)


def test_a_prediction_is_answered_kept_and_remembered(
    notebook: MakeNotebook, lab: LabServer
) -> None:
    second = ASKED.replace("1.1", "1.2")
    opened = notebook(IMPORTS + ASKED, second)
    mouse, keys = opened.cell(0), opened.cell(1)
    commit = mouse.get_by_role("button", name="That is my answer")
    expect(commit).to_be_disabled()
    mouse.get_by_role("radio", name="(3, 1)").click()
    commit.click()
    expect(said(mouse)).to_have_text("✓ You said (3, 1), and so does torch. Row by row.")
    keys.get_by_role("radio", name="(1, 3)").focus()
    opened.page.keyboard.press("Space")
    button = keys.get_by_role("button", name="That is my answer")
    expect(button).to_be_enabled()
    opened.page.keyboard.press("Tab")
    expect(button).to_be_focused()
    opened.page.keyboard.press("Enter")
    expect(said(keys)).to_have_text(
        "✗ You said (1, 3). By column. → torch says (3, 1). Row by row."
    )
    expect(button).to_be_disabled()
    kept = json.loads(lab.progress.read_text(encoding="utf-8"))["predictions"]
    assert kept == {
        "1.1": {"said": "(3, 1)", "right": True, "first": True},
        "1.2": {"said": "(1, 3)", "right": False, "first": False},
    }
    opened.run_all()
    expect(said(mouse)).to_contain_text("Earlier you said (3, 1)")
    assert_clean(opened)


def test_an_error_in_a_callback_is_told(notebook: MakeNotebook) -> None:
    opened = notebook(EXPLORER, "w.picture = lambda live: 1 / 0")
    cell = opened.cell(0)
    cell.get_by_role("slider", name="offset").focus()
    opened.page.keyboard.press("ArrowRight")
    expect(said(cell)).to_have_text("ZeroDivisionError: division by zero")
    assert_clean(opened)


def test_whatever_takes_the_focus_has_a_name(notebook: MakeNotebook) -> None:
    walked = "TensorXRay(torch.zeros(2, 2, 2, 2))"
    opened = notebook(EXPLORER, walked, "AliasMap()", ASKED)
    for number in range(opened.cells()):
        expect(view_of(opened.cell(number))).to_be_attached()
    assert nameless(opened.page, ".jp-OutputArea-output") == []
    assert_clean(opened)


def stored_notebook() -> nbformat.NotebookNode:
    """A notebook as a clone has it: outputs are there, and no kernel of this machine made them."""
    asked = predict("0.1", "1 + 1?", {2: "Yes.", 11: "No."}, reveal=lambda: 1 + 1)
    t = torch.arange(6).view(2, 3)
    shown = show(t)
    bundles = [
        {"text/plain": repr(shown), "text/html": shown._repr_html_()},
        StrideExplorer()._repr_mimebundle_(),
        asked._repr_mimebundle_(),
    ]
    outputs = [nbformat.v4.new_output("display_data", data=bundle) for bundle in bundles]
    return nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell("1", outputs=[output], execution_count=number)
            for number, output in enumerate(outputs, 1)
        ],
        metadata=KERNEL,
    )


def expect_static_twins(page: Page) -> None:
    pictures = page.locator("img[src^='data:image/svg+xml']")
    expect(pictures).to_have_count(2)
    for number, alt in enumerate(("A 2 × 3 int64 tensor with", "A 4 × 6 int64 tensor with")):
        picture = pictures.nth(number)
        expect(picture).to_be_visible()
        assert picture.get_attribute("alt").startswith(alt)
        assert picture.evaluate("img => img.decode().then(() => img.naturalWidth)") > 0
    expect(page.locator("details")).to_contain_text("What torch does")


def test_an_untrusted_notebook_shows_its_static_twins(
    open_notebook: MakeNotebook, lab: LabServer
) -> None:
    nbformat.write(stored_notebook(), lab.root / "untrusted.ipynb")
    opened = open_notebook("untrusted.ipynb")
    trusted = opened.page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.content.widgets.some(c => c.model.trusted)"
    )
    assert not trusted
    expect_static_twins(opened.page)
    assert_clean(opened)


def test_a_page_made_by_nbconvert_shows_its_static_twins_offline(
    browser: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "stored.ipynb"
    nbformat.write(stored_notebook(), file)
    subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "html", str(file)],
        check=True,
        capture_output=True,
    )
    context = browser.browser.new_context(offline=True)
    page = context.new_page()
    page.goto(file.with_suffix(".html").as_uri())
    expect_static_twins(page)
    context.close()
