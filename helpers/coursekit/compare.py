"""Where does a stored notebook differ from what its lesson gives?"""

from __future__ import annotations

from pathlib import Path

from nbformat import NotebookNode

from .cells import cell_of
from .errors import CourseError
from .findings import Finding
from .notebook import noted, read_notebook
from .plan import Plan


def differences(plan: Plan, stored: NotebookNode) -> list[Finding]:
    """What is not the same in the notebook planned from a lesson's text and in the stored one?

    Sources, tags, ids, metadata and the numbers of the cells are compared; outputs are nbval's.
    """
    found = _sources(plan, stored)
    if not found:
        pairs = zip(plan.notebook.cells, stored.cells, strict=True)
        found = [finding for pair in pairs for finding in _one_cell(plan, *pair)]
    found += _numbers(plan, stored)
    for key in sorted(set(plan.notebook) | set(stored)):
        if key not in ("cells", "metadata") and plan.notebook.get(key) != stored.get(key):
            found.append(_differs(plan, "", f"its {key} is not {plan.notebook.get(key)}."))
    # What the building machine has is no part of the text.
    metadata = [{**notebook.metadata, "insidetorch": None} for notebook in (plan.notebook, stored)]
    ours = [{**noted(notebook), "has": []} for notebook in (plan.notebook, stored)]
    if metadata[0] != metadata[1] or ours[0] != ours[1]:
        found.append(_differs(plan, "", "its metadata differ from what the build writes."))
    return found


def _sources(plan: Plan, stored: NotebookNode) -> list[Finding]:
    """Cells that only one side has, or the order where both have the same."""
    ours = [_content(node) for node in plan.notebook.cells]
    theirs = [_content(node) for node in stored.cells]
    found = [
        _differs(plan, cell.first_line, f"it stands in the text only (line {cell.line}).")
        for cell, content in zip(plan.cells, ours, strict=True)
        if content not in theirs
    ]
    found += [
        _differs(plan, cell_of(node).first_line, f"it stands in the notebook only (cell {number}).")
        for number, node in enumerate(stored.cells, 1)
        if _content(node) not in ours
    ]
    if not found and ours != theirs:
        found.append(_differs(plan, "", "its cells stand in another order or number."))
    return found


def _content(node: NotebookNode) -> tuple[str, str]:
    cell = cell_of(node)
    return cell.kind, cell.source


def _one_cell(plan: Plan, ours: NotebookNode, theirs: NotebookNode) -> list[Finding]:
    cell = cell_of(ours).first_line
    found = []
    tags = ours.metadata.get("tags", []), theirs.metadata.get("tags", [])
    if tags[0] != tags[1]:
        found.append(_differs(plan, cell, f"the text gives it the tags {tags[0]}, not {tags[1]}."))
    elif ours.metadata != theirs.metadata:
        keys = sorted({*ours.metadata, *theirs.metadata})
        other = [key for key in keys if ours.metadata.get(key) != theirs.metadata.get(key)]
        found.append(_differs(plan, cell, f"its metadata differ in {', '.join(other)}."))
    if theirs.get("attachments"):
        found.append(_differs(plan, cell, "a picture was pasted into it."))
    if ours.id != theirs.get("id"):
        found.append(_differs(plan, cell, f"its id is not {ours.id}."))
    return found


def _numbers(plan: Plan, stored: NotebookNode) -> list[Finding]:
    """nbval compares nothing for a cell without a number, so each that says something has one."""
    found = []
    number = 0
    for node in stored.cells:
        if node.cell_type == "code" and node.source.strip():
            number += 1
            if node.get("execution_count") != number:
                sentence = f"its number is {node.get('execution_count')}, not {number}."
                found.append(_differs(plan, cell_of(node).first_line, sentence))
    return found


def _differs(plan: Plan, cell: str, sentence: str) -> Finding:
    return Finding(plan.lesson.notebook_name, cell, "differs", sentence)


def without_lesson(root: Path) -> list[str]:
    """Notebooks that were built from a lesson which is gone."""
    found = []
    for path in sorted(root.glob("notebooks/*.ipynb")):
        try:
            source = noted(read_notebook(path, name=path.name)).get("source")
        except CourseError:
            continue
        if isinstance(source, str) and not (root / "source" / source).exists():
            found.append(f"notebooks/{path.name} has no lesson source/{source}. Remove it.")
    return found
