"""How does an edit made in JupyterLab get back into the lesson's text?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nbformat import NotebookNode

from .cells import Cell, cell_of, text_of
from .claims import load_claims
from .errors import CourseError
from .files import back_up, write_atomically
from .notebook import cells_in, edited_by_hand, noted, read_notebook
from .sources import Lesson, find_lessons, read_lesson
from .tables import FILES, edited_table, tables_of, with_placeholders
from .tags import check_tags


def bring_back(path: Path, *, root: Path) -> str:
    """Rewrite the lesson that a notebook was built from with the notebook's cells.

    Outputs, ids and what programs noted beside the cells are dropped; the old text is kept in a
    backup. Returns what to tell. Raises CourseError, and changes nothing, for a file that is no
    built notebook and for cells that a text cannot hold.
    """
    notebook = read_notebook(path, name=str(path))
    lesson = _lesson_of(notebook, path, root=root)
    _refuse_what_text_cannot_hold(notebook, path)
    edited_table = _edited_table(notebook, lesson)
    cells = with_placeholders(cells_in(notebook))
    check_tags(cells, where=str(path))
    text = text_of(cells)
    if _same(cells, _current(lesson)):
        if edited_table:
            raise CourseError(f"Asked to bring {path} back. {edited_table}")
        return f"{lesson.text_name} holds these cells already: nothing to bring back."
    backup = back_up(root, lesson.text, name=f"{lesson.name}-lesson")
    write_atomically(lesson.text, text)
    kept = backup.relative_to(root).as_posix()
    told = f"{lesson.text_name}: {len(cells)} cells brought back; the old text is {kept}."
    return f"{told}\n  Not brought back: {edited_table}" if edited_table else told


def why_not_back(notebook: NotebookNode, cells: Sequence[Cell], tables: dict[str, str]) -> str:
    """Why there is nothing that could be brought back from an edited notebook; "" if there is.

    `cells` are those of the lesson's text. Where nothing else differs, a table was edited.
    """
    theirs = cells_in(notebook)
    same = _same(with_placeholders(theirs), cells)
    return edited_table(theirs, tables) if same else ""


def _same(one: Sequence[Cell], other: Sequence[Cell]) -> bool:
    return [cell.content for cell in one] == [cell.content for cell in other]


def _lesson_of(notebook: NotebookNode, path: Path, *, root: Path) -> Lesson:
    for lesson in find_lessons(root):
        if noted(notebook).get("source") == f"{lesson.name}/lesson.py":
            return lesson
    raise CourseError(
        f"Asked to bring {path} back. It does not say which lesson of this course it was built "
        "from. Give a notebook that `python course.py build` made."
    )


def _edited_table(notebook: NotebookNode, lesson: Lesson) -> str:
    """Why an edit in a table cannot be brought back; "" where there is none."""
    if not edited_by_hand(notebook):
        return ""
    ledger = load_claims(lesson.root / FILES["claims"])
    return edited_table(cells_in(notebook), tables_of(lesson, ledger))


def _current(lesson: Lesson) -> list[Cell]:
    # A text that breaks the format is no reason to keep a good edit out: it gets a backup.
    try:
        return read_lesson(lesson)
    except CourseError:
        return []


def _refuse_what_text_cannot_hold(notebook: NotebookNode, path: Path) -> None:
    for node in notebook.cells:
        if node.cell_type not in ("markdown", "code"):
            raise CourseError(
                f"Asked to bring {path} back. A lesson has markdown and code cells only, and this "
                f"notebook has a {node.cell_type} cell. Change its type, then try again."
            )
        if node.get("attachments"):
            raise CourseError(
                f"Asked to bring {path} back. A picture was pasted into its cell "
                f"{cell_of(node).first_line!r}, and a lesson's text cannot hold it. Draw the "
                "picture in a code cell instead."
            )
