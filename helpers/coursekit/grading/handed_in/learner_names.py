"""Whom is a notebook, an archive or a folder called after?"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .attempts import MARK
from .items import NOTEBOOK, without_archive

# A name, and the number that a learning platform gave; None where the name tells nobody.
Told = tuple[str, str] | None

EXERCISES = "exercises"
MOODLE = re.compile(r"(?P<name>.+)_(?P<number>[0-9]+)_assignsubmission_[a-z]+_?", re.DOTALL)
# Its numbers are long; those of chapters and attempts are not.
CANVAS = re.compile(r"(?P<name>[^_]+)_(?:LATE_)?(?P<number>[0-9]{3,})_[0-9]{3,}_")
NO_NAME = re.compile(r"untitled[0-9]*", re.IGNORECASE)
NAMELESS = "unnamed"
SEPARATORS = " _-.,"


def name_of_notebook(name: str, *, chapter: re.Pattern[str]) -> Told:
    """What is left of a name without the chapter, and without marks of copies and attempts.

    >>> name_of_notebook("anna_02_views-Copy1.ipynb", chapter=chapter_pattern(["02_views"]))
    ('anna', '')
    """
    stem = NOTEBOOK.sub("", name)
    if found := MOODLE.match(stem) or CANVAS.match(stem):
        return found["name"].strip() or NAMELESS, found["number"]
    left = MARK.sub("", chapter.sub(" ", stem)).strip(SEPARATORS)
    return None if not left or NO_NAME.fullmatch(left) else (left, "")


def name_of_folder(name: str, *, chapter: re.Pattern[str]) -> Told:
    """The name of a folder as it is; that of an archive like a notebook's if it has the chapter.

    "submission (1).zip" and "submission (2).zip" are two people's.

    >>> name_of_folder("Anna Li_123_assignsubmission_file_", chapter=chapter_pattern([]))
    ('Anna Li', '123')
    """
    stem = without_archive(name)
    if stem != name and (CANVAS.match(stem) or chapter.search(stem)):
        return name_of_notebook(stem, chapter=chapter)
    if found := MOODLE.match(stem):
        return found["name"].strip() or NAMELESS, found["number"]
    return None if stem.lower() == EXERCISES else (stem.strip() or NAMELESS, "")


def chapter_pattern(chapters: Iterable[str]) -> re.Pattern[str]:
    """What finds the name of a chapter, also where its last words are left out.

    Its number alone is none: student_01 and student_02 are two people.
    """
    patterns = [r"(?!)"]
    for name in chapters:
        number, first, *others = map(re.escape, name.split("_"))
        rest = "".join(rf"(?:[\s_-]+{word}" for word in others) + ")?" * len(others)
        patterns.append(rf"{number}[\s_-]+{first}{rest}")
    # Canvas adds a number to the second file of a name: 02_views-1.
    return re.compile(
        rf"[\s_.-]*(?<![^\W_])(?:{'|'.join(patterns)})(?:-[0-9]{{1,2}})?(?![^\W_])[\s_.-]*",
        re.IGNORECASE,
    )
