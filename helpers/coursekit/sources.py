"""Which lessons are there, and where do their files lie?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .cells import Cell, parse
from .errors import CourseError
from .tags import check_tags
from .texts import read_text


@dataclass(frozen=True)
class Lesson:
    """A chapter: the text that is edited, and the notebook that is built from it."""

    root: Path
    name: str

    @property
    def text(self) -> Path:
        return self.root / "source" / self.name / "lesson.py"

    @property
    def notebook(self) -> Path:
        return self.root / "notebooks" / f"{self.name}.ipynb"

    @property
    def chapter(self) -> int:
        return int(self.name[:2])

    @property
    def text_name(self) -> str:
        """The text as messages name it."""
        return f"source/{self.name}/lesson.py"

    @property
    def notebook_name(self) -> str:
        """The notebook as messages name it."""
        return f"notebooks/{self.name}.ipynb"


def find_lessons(root: Path, names: Sequence[str] = ()) -> list[Lesson]:
    """Which lessons do these names mean?

    `names` are folder names of source/, or a part that only one of them has; none means all.
    Returns them in the order of the chapters. Raises CourseError for a name that fits none or
    several.
    """
    there = sorted(path.parent.name for path in root.glob("source/[0-9][0-9]_*/lesson.py"))
    chosen = set() if names else set(there)
    for name in names:
        fits = [name] if name in there else [folder for folder in there if name in folder]
        if len(fits) != 1:
            raise CourseError(
                f"Asked for the lesson {name!r}. That fits {', '.join(fits) or 'none'} of the "
                f"lessons in source/. Name one of: {', '.join(there) or '(there is none yet)'}."
            )
        chosen.update(fits)
    return [Lesson(root, name) for name in there if name in chosen]


def read_lesson(lesson: Lesson) -> list[Cell]:
    """The cells of lesson.py, the tables not filled; CourseError where they cannot be read."""
    cells = parse(read_text(lesson.text, name=lesson.text_name), where=lesson.text_name)
    check_tags(cells, where=lesson.text_name)
    return cells
