"""The clinic in a real JupyterLab: choose a case, run it, answer wrongly, answer rightly."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from accessibility import contrasts, nameless
from harness import KERNEL, THEMES, LabServer, Notebook
from playwright.sync_api import expect
from test_in_lab import ENOUGH, assert_clean, said, view_of

COURSE = Path(__file__).parents[2]
DESK = "from insidetorch import Clinic\ndesk = Clinic()\ndesk"
RUNS_WITHIN_MS = 60_000  # a process of its own, which imports torch
IN_A_CELL = "desk.case.run()\nprint(desk.case.id, type(desk.case.loss).__name__)"


@pytest.fixture
def clinic(lab: LabServer, open_notebook: Callable[..., Notebook]) -> Callable[..., Notebook]:
    """`clinic(theme=…)` opens a notebook of a course that has the clinic."""
    root = lab.root / "a course"
    (root / "helpers" / "insidetorch").mkdir(parents=True, exist_ok=True)
    (root / "course.py").touch()
    for place in ("notebooks/clinic", "exercises/.course"):
        shutil.copytree(COURSE / place, root / place, dirs_exist_ok=True)
    cells = [nbformat.v4.new_code_cell(source) for source in (DESK, IN_A_CELL)]
    made = nbformat.v4.new_notebook(cells=cells, metadata=KERNEL)
    nbformat.write(made, root / "notebooks" / "clinic.ipynb")

    def opened(*, theme: str = THEMES[0]) -> Notebook:
        found = open_notebook("a course/notebooks/clinic.ipynb", theme=theme)
        found.run_all()
        assert found.output_errors() == []
        return found

    return opened


@pytest.mark.parametrize("theme", THEMES)
def test_a_case_is_run_answered_wrongly_and_solved(
    clinic: Callable[..., Notebook], lab: LabServer, theme: str
) -> None:
    opened = clinic(theme=theme)
    desk, keyboard = opened.cell(0), opened.page.keyboard
    expect(said(desk)).to_contain_text("Which line is it, and why?")
    expect(opened.cell(1)).to_contain_text("013 Tensor")
    desk.get_by_role("combobox", name="case").select_option("○ 056")
    expect(desk).to_contain_text("a second time, in the second step")
    desk.get_by_role("button", name="Run it").click()
    expect(said(desk)).to_have_text("Case 056 has run.", timeout=RUNS_WITHIN_MS)
    expect(desk.locator("pre")).to_contain_text("main.py, line 15: loss.backward()")
    desk.get_by_role("combobox", name="line").select_option("15: loss.backward()")
    desk.get_by_role("radio", name="A tensor that the backward pass needs").check()
    desk.get_by_role("button", name="Answer", exact=True).click()
    expect(said(desk)).to_contain_text("✗ 056 not this line")
    expect(desk.locator(".new")).to_have_attribute("data-link", "main.py 15")
    assert_readable(opened)
    desk.get_by_role("combobox", name="line").select_option("12: loss = misfit()")
    expect(desk.locator(".new")).to_have_attribute("data-link", "main.py 12")
    cause = desk.get_by_role("radio", name="A backward pass goes through a graph")
    cause.focus()
    expect(cause).to_be_focused()
    keyboard.press("Space")
    expect(cause).to_be_checked()
    desk.get_by_role("button", name="Answer", exact=True).focus()
    keyboard.press("Enter")
    expect(said(desk)).to_contain_text("✓ 056 right")
    expect(desk.locator("pre")).to_contain_text("+        loss = misfit()")
    expect(desk.get_by_role("combobox", name="case")).to_have_value("✓ 056")
    assert_readable(opened)
    kept = json.loads(lab.progress.read_text(encoding="utf-8"))["clinic"]
    assert kept == {"056": {"is": "right", "tries": 2}}


def test_the_keyboard_walks_the_code_and_a_second_file_can_be_chosen(
    clinic: Callable[..., Notebook],
) -> None:
    opened = clinic()
    desk, keyboard = opened.cell(0), opened.page.keyboard
    desk.locator("[data-r='0']").focus()
    keyboard.press("ArrowDown")
    expect(said(desk)).to_have_text("main.py, line 2: from torch import nn")
    for key in "bdd":
        keyboard.press(key)
    assert opened.cells() == 2
    desk.get_by_role("combobox", name="file").select_option("mod_013_filters.py")
    line = desk.get_by_role("combobox", name="line")
    expect(line).to_contain_text("9: return torch.from_numpy(out)")
    expect(line).to_have_value("choose a line …")
    line.focus()
    for _ in range(5):
        keyboard.press("ArrowDown")
    expect(line).to_have_value("7: rows = t.detach().cpu().numpy()")
    expect(desk.locator(".new")).to_have_count(1)
    desk.get_by_role("button", name="Draw another").click()
    expect(desk.get_by_role("combobox", name="case")).to_have_value("○ 060")
    assert_clean(opened)


def test_a_look_is_shown_and_the_answer_after_two_tries(clinic: Callable[..., Notebook]) -> None:
    opened = clinic()
    desk = opened.cell(0)
    desk.get_by_role("button", name="Look inside").click()
    expect(desk.locator("pre")).to_contain_text("AddmmBackward0", timeout=RUNS_WITHIN_MS)
    desk.get_by_role("combobox", name="line").select_option("8: loss.backward()")
    desk.get_by_role("radio").first.check()
    shown = desk.get_by_role("button", name="Show the answer")
    for _ in range(2):
        expect(shown).to_be_hidden()
        desk.get_by_role("button", name="Answer", exact=True).click()
        expect(said(desk)).to_contain_text("✗ 013 not this line")
        desk.get_by_role("combobox", name="line").select_option("1: import torch")
    shown.click()
    expect(said(desk)).to_contain_text("→ 013 shown")
    expect(desk.locator("pre")).to_contain_text("Source: GitHub torchlogix")
    assert_clean(opened)


def assert_readable(opened: Notebook) -> None:
    found = contrasts(view_of(opened.cell(0)))
    assert {kind: ratio for kind, ratio in found.items() if ratio < ENOUGH} == {}
    assert nameless(opened.page, ".it-box") == []
    assert_clean(opened)
