"""Does a stored notebook hold only what is the same on every machine, and stay easy to read?"""

from __future__ import annotations

import base64
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from .cells import cell_of
from .execute import WIDGET_VIEW
from .findings import Finding

NOTEBOOK_BYTES = 2_000_000
HTML_BYTES = 200_000
PICTURE_BYTES = 150_000
CODE_LINES = 12
COURSE = Path(__file__).resolve().parents[2]

ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
PATH = re.compile(
    r"((?<![\w.])/(?:home|Users|root|tmp|var/folders)/|ipykernel_\d+|site-packages|\b[A-Z]:\\\w\w)"
    r"[^\s'\"]*"
)
PROMPT = re.compile(r"\b(In|Out)\s?\[\d+\]")
PICTURE = re.compile(r"data:(image/[\w.+-]+);base64,([A-Za-z0-9+/=\s]*)")
HEADING = re.compile(r"^# \S", re.MULTILINE)
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def findings(notebook: NotebookNode, *, file: str, bytes_stored: int = 0) -> list[Finding]:
    """Which rules does a notebook break?

    `file` is its name in the findings, `bytes_stored` the size of its file. A notebook that has
    not run is judged by its cells alone.
    """
    found = list(_of_notebook(notebook, file, bytes_stored))
    for node in notebook.cells:
        cell = cell_of(node).first_line
        lines = sum(bool(line.strip()) for line in node.source.splitlines())
        if node.cell_type == "code" and lines > CODE_LINES:
            sentence = f"it has {lines} lines. A code cell has at most {CODE_LINES}: split it."
            found.append(Finding(file, cell, "long cell", sentence))
        for output in node.get("outputs", []):
            found += [Finding(file, cell, *broken) for broken in _of_output(output)]
    return found


def _of_notebook(notebook: NotebookNode, file: str, bytes_stored: int) -> Iterator[Finding]:
    headings = [
        len(HEADING.findall(FENCE.sub("", cell.source))) if cell.cell_type == "markdown" else 0
        for cell in notebook.cells
    ]
    if headings[:1] != [1] or sum(headings) != 1:
        yield Finding(
            file,
            "",
            "heading",
            f"it has {sum(headings)} first-level headings, {sum(headings[:1])} of them in the "
            "first cell. A notebook has one, in its first cell: correct the text.",
        )
    if "widgets" in notebook.metadata:
        sentence = "it stores the state of widgets. A page without a network stays blank then: "
        yield Finding(file, "", "widget state", sentence + "save it without.")
    if bytes_stored > NOTEBOOK_BYTES:
        sentence = f"it has {bytes_stored:,} bytes. A notebook has at most {NOTEBOOK_BYTES:,}: "
        yield Finding(file, "", "size", sentence + "show smaller pictures.")


def _of_output(output: NotebookNode) -> Iterator[tuple[str, str]]:
    if output.output_type == "error":
        yield "error", f"it stores the error {output.ename}. Show it with expect_error instead."
        return
    if output.output_type not in ("stream", "display_data", "execute_result"):
        yield "output type", f"it stores an output of type {output.output_type}. Use display()."
        return
    if output.get("name") == "stderr":
        yield "stderr", f"it wrote {output.text.strip()[:80]!r} to stderr. Avoid the warning."
    data = output.get("data", {})
    if WIDGET_VIEW in data:
        yield "widget view", "it names a widget of one kernel. Build the notebook again."
    if len(data.get("text/html", "").encode()) > HTML_BYTES:
        yield "size", f"its text/html has more than {HTML_BYTES:,} bytes. Show less at once."
    if any(size > PICTURE_BYTES for size in _picture_sizes(data)):
        yield "size", f"a picture has more than {PICTURE_BYTES:,} bytes. Draw less, or elide."
    for text in _texts(output):
        yield from _of_text(text)


def _of_text(text: str) -> Iterator[tuple[str, str]]:
    if hit := ADDRESS.search(text):
        yield "address", f"it shows the address {hit[0]}. Show a name, a rank or an identity."
    if hit := PATH.search(text) or _own_folder().search(text):
        yield "path", f"it shows the path {hit[0]!r}. Show the file's name alone, or nothing."
    if hit := PROMPT.search(text):
        yield "prompt", f"it shows {hit[0]}. The number differs in nbval: name the statement."


def _own_folder() -> re.Pattern[str]:
    """The folders of this machine that no notebook may show, whatever they are called here."""
    folders = {Path.home(), Path(tempfile.gettempdir()), Path(sys.prefix), COURSE}
    long = [re.escape(str(folder)) for folder in folders if len(folder.parts) > 2]
    return re.compile(rf"(?:{'|'.join(sorted(long))})[^\s'\"]*" if long else r"(?!)")


def _picture_sizes(data: dict[str, Any]) -> Iterator[int]:
    for kind, value in data.items():
        if kind.startswith("image/"):
            yield len(value) if kind == "image/svg+xml" else len(value) * 3 // 4
        if kind == "text/html":
            yield from (len(found[2]) * 3 // 4 for found in PICTURE.finditer(value))


def _texts(output: NotebookNode) -> Iterator[str]:
    """Every text that a reader or nbval sees; of a picture only what an SVG says."""
    if output.output_type == "stream":
        yield output.text
    for kind, value in output.get("data", {}).items():
        if isinstance(value, str) and (kind.startswith("text/") or kind == "image/svg+xml"):
            yield PICTURE.sub("", value)
            for picture in PICTURE.finditer(value):
                if picture[1] == "image/svg+xml":
                    yield base64.b64decode(picture[2]).decode("utf-8", errors="replace")
        elif not kind.startswith("image/"):
            yield from _strings(value)


def _strings(value: Any) -> Iterator[str]:
    """The strings in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
