"""How does the text of a lesson become cells, and cells text again?"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import zip_longest

import jupytext
from nbformat import NotebookNode, v4

from .errors import CourseError

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
MARKER = re.compile(r"^\s*#\s*%%+(\s|$)")
# Tags that are no list of texts in quotes; jupytext fails on some of them.
ODD_TAGS = re.compile(r"""\btags\s*=\s*(?!\[\s*(("[^"]*"|'[^']*')[\s,]*)*\])""")
# Python's readers of text end a line at these, or cannot write them at all.
NOT_IN_TEXT = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True)
class Cell:
    """A cell without its outputs; `line` is where its source begins in the text (0: unknown)."""

    kind: str
    source: str
    tags: tuple[str, ...] = ()
    line: int = 0

    @property
    def content(self) -> tuple[str, str, tuple[str, ...]]:
        """What makes it the same cell in the text and in the notebook."""
        return self.kind, self.source, self.tags

    @property
    def first_line(self) -> str:
        """The first line that says something, which is how a message names a cell."""
        lines = (line.strip() for line in self.source.splitlines())
        return next(filter(None, lines), "(empty)")


def parse(text: str, *, where: str) -> list[Cell]:
    """Read a text in the percent format.

    `where` is the name of the text in messages. Raises CourseError for a cell without a marker of
    its own, for a marker that holds more than a kind and tags, and for a character that would end
    a line without being a line's end.
    """
    for number, line in enumerate(text.split("\n"), 1):
        _refuse_characters(line, where=f"{where}, line {number},")
    lines = text.splitlines()
    markers = [number for number, line in enumerate(lines, 1) if MARKER.match(line)]
    for number in markers:
        if ODD_TAGS.search(lines[number - 1]):
            raise CourseError(
                f"{where}, line {number}, is the marker {lines[number - 1]!r}. Tags are a list of "
                'texts in quotes. Write them as in tags=["claim:13"].'
            )
    begins = not lines or markers[:1] == [1]
    nodes = jupytext.reads(text, fmt="py:percent").cells if lines and begins else []
    if not begins or len(markers) != len(nodes):
        raise CourseError(
            f"{where} has {len(markers)} cell markers, and its cells cannot be told from them. "
            "Each cell needs its own, from the first line on, and no string may hold a line like "
            "one. Begin with `# %% [markdown]` and look for a stray `# %%`."
        )
    cells = []
    for node, marker in zip(nodes, markers, strict=True):
        other = sorted(set(node.metadata) - {"tags", "lines_to_next_cell"})
        if other or node.cell_type not in ("markdown", "code"):
            raise CourseError(
                f"{where}, line {marker}, is the marker {lines[marker - 1]!r}. A marker holds a "
                "kind (none or [markdown]) and tags, nothing else. Take "
                f"{', '.join(other) or node.cell_type} out of it."
            )
        cells.append(cell_of(node, line=marker + 1))
    return without_blank_end(cells)


def cell_of(node: NotebookNode, *, line: int = 0) -> Cell:
    """A notebook's cell without its id, its outputs and what a program noted beside it.

    Line ends are made one kind, and white space after the last line is dropped: neither says
    anything. Raises TypeError for tags that are no list of texts.
    """
    tags = node.metadata.get("tags", [])
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise TypeError
    source = node.source.replace("\r\n", "\n").replace("\r", "\n").rstrip()
    return Cell(node.cell_type, source, tuple(sorted(set(tags))), line)


def without_blank_end(cells: Sequence[Cell]) -> list[Cell]:
    """Drop the empty cells that JupyterLab adds when the last one is run: nobody wrote them."""
    kept = list(cells)
    while kept and not kept[-1].source.strip():
        kept.pop()
    return kept


def cell_ids(cells: Sequence[Cell]) -> list[str]:
    """An id for each cell from what it says, so that a new cell does not rename the others."""
    seen: Counter[str] = Counter()
    ids = []
    for cell in cells:
        name = sha256(f"{cell.kind}\n{cell.source}".encode()).hexdigest()[:12]
        seen[name] += 1
        ids.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return ids


def new_node(cell: Cell, source: str, **fields: str) -> NotebookNode:
    """A notebook's cell that has not run, with the cell's tags.

    The code of a prediction is folded away: it holds what is to be said of each answer.
    """
    new = {"markdown": v4.new_markdown_cell, "code": v4.new_code_cell}[cell.kind]
    metadata = {"tags": list(cell.tags)} if cell.tags else {}
    if cell.kind == "code" and cell.first_line.startswith("predict("):
        metadata["jupyter"] = {"source_hidden": True}
    return new(source, metadata=metadata, **fields)


def text_of(cells: Sequence[Cell]) -> str:
    """The text of a lesson with these cells; CourseError where no text would read back as them."""
    for cell in cells:
        _refuse_characters(cell.source, where=f"The cell {cell.first_line!r}")
        _refuse_markers(cell)
    filters = {"notebook_metadata_filter": "-all", "cell_metadata_filter": "tags,-all"}
    nodes = [new_node(cell, cell.source) for cell in cells]
    for node, cell, following in zip(nodes, cells, cells[1:], strict=False):
        node.metadata["lines_to_next_cell"] = _blank_lines(cell, following)
    notebook = v4.new_notebook(cells=nodes, metadata={"jupytext": filters})
    text = jupytext.writes(notebook, fmt="py:percent")
    again = parse(text, where="The text made from the notebook")
    for cell, other in zip_longest(cells, again):
        if cell is None or other is None or cell.content != other.content:
            raise CourseError(
                f"Asked to write the cell {(cell or other).first_line!r} into a lesson. Read back, "
                "the text gives another cell, so something would be lost. Look in it for a magic "
                "behind `#`, and reword it."
            )
    return text


def _refuse_characters(text: str, *, where: str) -> None:
    if found := NOT_IN_TEXT.search(text):
        raise CourseError(
            f"{where} holds the character U+{ord(found[0]):04X}. A lesson's text cannot hold it: "
            "it ends a line for one reader and not for another. Delete it, or write it as an "
            "escape in a string."
        )


def _refuse_markers(cell: Cell) -> None:
    for line in cell.source.split("\n"):
        if MARKER.match(line if cell.kind == "code" else f"# {line}"):
            raise CourseError(
                f"Asked to write the cell {cell.first_line!r} into a lesson. Its line {line!r} "
                "would begin a cell there. Split the cell at it, or reword the line."
            )


def _blank_lines(cell: Cell, following: Cell) -> int:
    """How many blank lines the formatter wants between two cells: two around a definition."""
    ends, begins = _statements(cell)[-1:], _statements(following)[:1]
    return 2 if any(isinstance(one, DEFINITIONS) for one in (*ends, *begins)) else 1


def _statements(cell: Cell) -> list[ast.stmt]:
    try:
        return ast.parse(cell.source).body if cell.kind == "code" else []
    except SyntaxError:
        # A magic: no definition for the formatter either.
        return []
