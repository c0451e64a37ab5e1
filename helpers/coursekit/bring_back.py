"""How does an edit made in JupyterLab get back into the lesson's text?"""

from __future__ import annotations

from pathlib import Path

from nbformat import NotebookNode

from .cells import text_of
from .errors import CourseError
from .notebook import back_up, cells_in, read_notebook, write_atomically
from .sources import Lesson, find_lessons, read_lesson
from .tables import with_placeholders
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
    cells = with_placeholders(cells_in(notebook))
    check_tags(cells, where=str(path))
    text = text_of(cells)
    if [cell.content for cell in cells] == [cell.content for cell in _current(lesson)]:
        return f"{lesson.text_name} holds these cells already: nothing to bring back."
    backup = back_up(root, lesson.text, name=f"{lesson.name}-lesson")
    write_atomically(lesson.text, text)
    kept = backup.relative_to(root).as_posix()
    return f"{lesson.text_name}: {len(cells)} cells brought back; the old text is {kept}."


def _lesson_of(notebook: NotebookNode, path: Path, *, root: Path) -> Lesson:
    source = str(notebook.metadata.get("insidetorch", {}).get("source", ""))
    for lesson in find_lessons(root):
        if source == f"{lesson.name}/lesson.py":
            return lesson
    raise CourseError(
        f"Asked to bring {path} back. It does not say which lesson of this course it was built "
        "from. Give a notebook that `python course.py build` made."
    )


def _current(lesson: Lesson) -> list:
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
                f"Asked to bring {path} back. A picture was pasted into one of its cells, and a "
                "lesson's text cannot hold it. Draw the picture in a code cell instead."
            )
