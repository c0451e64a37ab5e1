"""What does a built notebook hold, and how is it read and written without loss?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode, v4
from nbformat.v4.rwbase import rejoin_lines
from nbformat.validator import iter_validate

from .cells import Cell, cell_ids, cell_of, new_node, without_blank_end
from .errors import CourseError
from .sources import Lesson

KERNEL = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
LANGUAGE = {
    "name": "python",
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "codemirror_mode": {"name": "ipython", "version": 3},
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
}


def new_notebook(lesson: Lesson, cells: Sequence[Cell], sources: Sequence[str]) -> NotebookNode:
    """The notebook of a lesson before it runs.

    `sources` are the cells' sources as built, with the tables filled; the ids come from the text.
    """
    nodes = [
        new_node(cell, source, id=name)
        for cell, source, name in zip(cells, sources, cell_ids(cells), strict=True)
    ]
    notebook = v4.new_notebook(cells=nodes, metadata=metadata(lesson))
    notebook.metadata.insidetorch.digest = digest(notebook)
    return notebook


def metadata(lesson: Lesson) -> NotebookNode:
    """The metadata of every built notebook, without the digest of its cells."""
    ours = {"source": f"{lesson.name}/lesson.py", "has": []}
    return nbformat.from_dict(
        {"kernelspec": KERNEL, "language_info": LANGUAGE, "insidetorch": ours}
    )


def cells_in(notebook: NotebookNode) -> list[Cell]:
    """The cells of a notebook, tables as built."""
    return without_blank_end([cell_of(node) for node in notebook.cells])


def digest(notebook: NotebookNode) -> str:
    """A digest of what people write: sources, kinds and tags of the cells, and pasted pictures."""
    contents: list[object] = [cell.content for cell in cells_in(notebook)]
    contents += [node.attachments for node in notebook.cells if node.get("attachments")]
    return sha256(json.dumps(contents).encode()).hexdigest()


def noted(notebook: NotebookNode) -> dict[str, Any]:
    """What the build noted in a notebook's metadata; nothing where that is not of its form."""
    ours = notebook.metadata.get("insidetorch")
    return ours if isinstance(ours, dict) else {}


def edited_by_hand(notebook: NotebookNode) -> bool:
    """Do the cells differ from those that the build put there?"""
    return noted(notebook).get("digest") != digest(notebook)


def same_cells(one: NotebookNode, other: NotebookNode) -> bool:
    """Do two notebooks hold the same cells, outputs aside?"""
    return digest(one) == digest(other)


def read_notebook(path: Path, *, name: str) -> NotebookNode:
    """Read a notebook; `name` is how messages call it. Raises CourseError if it is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["nbformat"] != 4:
            raise ValueError
        notebook = rejoin_lines(nbformat.from_dict(content))
        wrong = next(iter_validate(notebook, relax_add_props=True), None)
    except OSError as error:
        raise CourseError(
            f"Asked to read {name}. That cannot be done ({error.strerror}). Check the name: a "
            "path counts from the folder you are in."
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CourseError(
            f"Asked to read {name}. It does not hold a notebook of the current format "
            "(nbformat 4). Open it in an editor, or move it away and build it again."
        ) from None
    if wrong:
        place = "/".join(map(str, wrong.relative_path))
        raise CourseError(
            f"Asked to read {name}. At {place} it is not as a notebook must be (nbformat 4). "
            "Correct it in an editor, or move it away and build it again."
        )
    return notebook


def text_of_file(notebook: NotebookNode) -> str:
    """The notebook as its file holds it: valid, keys sorted, one space a level, newline at end."""
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"
