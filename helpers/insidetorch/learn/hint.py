"""Help in three steps."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from .course_data import exercise
from .progress import keep, remembered
from .prose import inline


@dataclass(frozen=True)
class Hint:
    """The hints of an exercise that were asked for so far."""

    exercise_id: str
    hints: tuple[str, ...]
    left: int

    def __repr__(self) -> str:
        lines = [f"{number}. {hint}" for number, hint in enumerate(self.hints, 1)]
        return "\n".join([f"Hints for {self.exercise_id}", *lines, self._more()])

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{inline(hint)}</li>" for hint in self.hints)
        title = f"<p><b>Hints for {escape(self.exercise_id)}</b></p>"
        return f"{title}<ol>{items}</ol><p>{self._more()}</p>"

    def _more(self) -> str:
        return f"{self.left} more: run the cell again." if self.left else "That was the last one."


def hint(exercise_id: str) -> Hint:
    """Show the next hint of an exercise, below those seen before.

    Raises KeyError for an exercise that the course does not have, ValueError for what is no id.

    >>> hint("storage")
    Traceback (most recent call last):
    ValueError: Exercise 'storage' was asked for. An exercise is named by chapter and number. \
Write it like "1.3".
    """
    known = exercise(exercise_id)
    if not known:
        raise KeyError(
            f"A hint for exercise {exercise_id} was asked. There is no course around this "
            "notebook. Open it inside the course's folder."
        )
    seen = remembered("hints", exercise_id)
    count = min((seen if isinstance(seen, int) else 0) + 1, len(known["hints"]))
    keep("hints", exercise_id, count)
    return Hint(exercise_id, tuple(known["hints"][:count]), len(known["hints"]) - count)
