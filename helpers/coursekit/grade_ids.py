"""How does nbgrader name the cells of an exercise? Its names hold no point."""

from __future__ import annotations

import re


def grade_id_of(exercise_id: str) -> str:
    """The name of an exercise's answer cell.

    >>> grade_id_of("1.2")
    '1-2'
    """
    return exercise_id.replace(".", "-")


def exercise_of(grade_id: str) -> str:
    """The exercise that a cell's name begins with, what follows it unchanged; both ways of writing.

    >>> exercise_of("1-2"), exercise_of("1-2-check"), exercise_of("1.2-check")
    ('1.2', '1.2-check', '1.2-check')
    """
    return re.sub(r"^(\d+)-(\d+)", r"\1.\2", grade_id)
