"""The quiz in a real JupyterLab: what is answered, and where its result leads."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from harness import LabServer, Notebook
from playwright.sync_api import expect

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
IMPORTS = "from insidetorch import predict, quiz_result\n"
ASKED = 'predict("7.1", "1 + 1?", {2: "Of course.", 11: "That joins texts."}, reveal=lambda: 1 + 1)'
RESULT = 'quiz_result({"01_storage_and_stride": ["7.1"], "02_views": ["7.2"]})'


def test_the_first_answer_counts_and_the_result_links_the_chapter(
    notebook: Callable[..., Notebook], lab: LabServer
) -> None:
    shutil.copy(NOTEBOOKS / "01_storage_and_stride.ipynb", lab.root)
    opened = notebook(IMPORTS + ASKED, RESULT)
    question, result = opened.cell(0), opened.cell(1)
    expect(result).to_contain_text("No question is answered yet.")
    for option in ("11", "2"):
        question.get_by_role("radio", name=option, exact=True).click()
        question.get_by_role("button", name="That is my answer").click()
        question.get_by_role("button", name="Ask me again").click()
    opened.run_all()
    expect(result).to_contain_text("Go back to chapter 1, storage and stride.")
    expect(result).to_contain_text("0 of 1 right at the first try")
    result.get_by_role("link", name="chapter 1, storage and stride").last.click()
    opened.page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget?.context?.path === "
        "'01_storage_and_stride.ipynb'"
    )
