"""What does an exercise's check give to an answer, in words, case by case?

The cases of a check are made by its own code. A run of the course's solutions writes them down,
for the pages of learners; no answer runs there.
"""

from __future__ import annotations

import ast
import json

from nbformat import NotebookNode, v4

from .chapters import OBSERVATION, Chapter, grade_id
from .difference import check_call
from .graft import NOTE
from .names import parse

LONGEST = 160
# As much as the plugin hands on whole.
ALL_IN_ALL = 60_000
WORDS = "lambda *case: ', '.join(map(repr, case))"
SHOW = """\
_course_words = {words}
_course_said = [
    " ".join(_course_words(*case).split())[:{longest}] for case in {cases}
]
while len(str(_course_said)) > {all_in_all}:
    del _course_said[len(_course_said) // 2 :]
display({{{mime!r}: {{"v": 1, "id": {name!r}, "seen": _course_said}}}}, raw=True)"""


def telling_notebook(chapter: Chapter) -> NotebookNode:
    """The solution notebook with checks that only tell what they would give."""
    cells = []
    for cell in chapter.notebook.cells:
        if cell.cell_type != "code":
            continue
        name = grade_id(cell, kind="grade").removesuffix("-check")
        source = _telling(cell.source, name) if name in chapter.exercises else cell.source
        note = {"unit": name, "check": name in chapter.exercises}
        cells.append(v4.new_code_cell(source, metadata={NOTE: note}))
    return v4.new_notebook(cells=cells)


def cases_told(seen: str) -> list[str]:
    """The cases in what such a check has shown; none where it has shown nothing."""
    try:
        return [str(one) for one in json.loads(seen)["seen"]]
    except (ValueError, KeyError, TypeError):
        return []


def _telling(source: str, name: str) -> str:
    """A check's source that shows its cases; what it does without cases is left out."""
    tree = parse(source)
    call = check_call(source)
    if call is None or len(call.args) < 3:
        return ""
    given = {one.arg: ast.unparse(one.value) for one in call.keywords}
    shown = SHOW.format(
        words=given.get("given", WORDS),
        cases=ast.unparse(call.args[2]),
        longest=LONGEST,
        all_in_all=ALL_IN_ALL,
        mime=OBSERVATION,
        name=name,
    )
    # The call is the last statement; those before it make the cases.
    return "\n".join([*map(ast.unparse, tree.body[:-1]), shown])
