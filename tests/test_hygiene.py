"""What a stored notebook may hold: each rule is seen to refuse, and healthy outputs pass."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from nbformat import NotebookNode, v4

from coursekit.hygiene import findings

HEAD = v4.new_markdown_cell("# Storage and stride\n\n```\n# a comment\n```")


def rules_of(*cells: NotebookNode, **metadata: object) -> list[str]:
    notebook = v4.new_notebook(cells=[*cells], metadata=metadata)
    return [finding.rule for finding in findings(notebook, file="notebooks/01.ipynb")]


def rules_of_output(output: NotebookNode) -> list[str]:
    return rules_of(HEAD, v4.new_code_cell("show(t)", outputs=[output]))


def printed(text: str) -> list[str]:
    return rules_of_output(v4.new_output("stream", text=text))


def displayed(**data: object) -> list[str]:
    names = {"html": "text/html", "svg": "image/svg+xml", "png": "image/png", "plain": "text/plain"}
    bundle = {names.get(kind, kind): value for kind, value in data.items()}
    return rules_of_output(v4.new_output("display_data", data=bundle))


def picture(svg: str) -> str:
    data = base64.b64encode(svg.encode()).decode()
    return f'<img alt="strides" src="data:image/svg+xml;base64,{data}">'


def test_a_healthy_notebook_breaks_no_rule():
    assert rules_of(HEAD, v4.new_code_cell("t")) == []
    assert printed("sizes (3, 4), strides (4, 1), 0x1F bytes, and/or, x: 3, Index[2]\n") == []
    assert printed("https://pytorch.org/home/tmp/docs\n") == []
    assert displayed(plain="a picture", html=picture("<svg><text>[1, 2]</text></svg>")) == []
    # Base64 may spell an address by chance: only what it decodes to is read.
    assert displayed(html='<img src="data:image/png;base64,0xabcdef12">') == []


def test_an_address_is_refused_wherever_it_stands():
    assert printed("<PowBackward0 object at 0x7f55a8147880>") == ["address"]
    assert displayed(plain="0x7f55a8") == ["address"]
    assert displayed(svg="<svg><text>0x7f55a8</text></svg>") == ["address"]
    assert displayed(html=picture("<svg><text>0x7f55a8</text></svg>")) == ["address"]
    assert displayed(**{"application/x+json": {"seen": [{"at": "0x7f55a8"}]}}) == ["address"]


@pytest.mark.parametrize(
    "text",
    [
        "saved to /home/ada/run.pt",
        "'/Users/ada/run.pt'",
        "/root/run.pt",
        "file:///tmp/run.pt",
        "/var/folders/a1/run.pt",
        r"C:\Users\ada\run.pt",
        "ipykernel_4711/12.py",
        "lib/python3.11/site-packages/torch",
        f"{Path(__file__).resolve().parents[1]}/notebooks",
    ],
)
def test_a_path_of_one_machine_is_refused(text):
    assert printed(text) == ["path"]


@pytest.mark.parametrize("text", ["Cell In[2], line 1", "Out[3]", "In [4]"])
def test_a_prompt_number_is_refused(text):
    assert printed(text) == ["prompt"]


def test_stderr_an_error_and_an_unknown_output_are_refused():
    stderr = v4.new_output("stream", name="stderr", text="UserWarning: storage()")
    assert rules_of_output(stderr) == ["stderr"]
    error = v4.new_output("error", ename="ValueError", evalue="no", traceback=["In[1]"])
    assert rules_of_output(error) == ["error"]
    notebook = v4.new_notebook(cells=[HEAD, v4.new_code_cell("show(t)")])
    # Not valid in a file, so built past the library's own check.
    notebook.cells[1].outputs = [NotebookNode(output_type="update_display_data", data={})]
    (found,) = findings(notebook, file="notebooks/01.ipynb")
    assert found.rule == "output type"


def test_widget_state_and_a_widget_view_are_refused():
    assert rules_of(HEAD, widgets={"state": {}}) == ["widget state"]
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "a1"}}
    assert displayed(plain="rows 3", **view) == ["widget view"]


def test_what_is_too_large_is_refused():
    assert displayed(html="<b>1</b>" * 24_000) == []
    assert displayed(html="<b>1</b>" * 26_000) == ["size"]
    assert displayed(html=picture("<svg>" + "1" * 140_000 + "</svg>")) == []
    assert displayed(html=picture("<svg>" + "1" * 151_000 + "</svg>")) == ["size", "size"]
    assert displayed(svg="<svg>" + "1" * 151_000) == ["size"]
    assert displayed(png="A" * 201_000) == ["size"]
    notebook = v4.new_notebook(cells=[HEAD])
    assert findings(notebook, file="a.ipynb", bytes_stored=2_000_000) == []
    found = findings(notebook, file="a.ipynb", bytes_stored=2_000_001)
    assert [str(finding) for finding in found] == [
        "a.ipynb: it has 2,000,001 bytes. A notebook has at most 2,000,000: show smaller pictures."
    ]


def test_a_code_cell_has_at_most_12_lines_that_say_something():
    lines = "\n\n".join(f"row_{number} = {number}" for number in range(12))
    assert rules_of(HEAD, v4.new_code_cell(lines)) == []
    assert rules_of(HEAD, v4.new_code_cell(f"{lines}\nrow_12 = 12")) == ["long cell"]


@pytest.mark.parametrize(
    "cells",
    [
        [],
        [v4.new_code_cell("# Storage")],
        [v4.new_markdown_cell("## Storage")],
        [v4.new_markdown_cell("Text"), HEAD],
        [HEAD, v4.new_markdown_cell("# Strides")],
    ],
)
def test_a_notebook_has_one_first_level_heading_in_its_first_cell(cells):
    assert rules_of(*cells) == ["heading"]


def test_a_finding_names_file_and_cell():
    shown = v4.new_output("stream", text="In[2]")
    cell = v4.new_code_cell("\nshow(t)\n", outputs=[shown])
    (found,) = findings(v4.new_notebook(cells=[HEAD, cell]), file="notebooks/01.ipynb")
    assert str(found).startswith("notebooks/01.ipynb, cell 'show(t)': it shows In[2].")
