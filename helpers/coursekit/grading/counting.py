"""Which of a learner's notebooks for a chapter counts: the newest one, or the best one?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from .answers import find_answers
from .chapters import Chapter
from .handed_in.attempts import natural, newest
from .handed_in.collect import Submission
from .submissions import Unreadable, cells_of, chapter_of
from .verdicts import Graded

NEWEST, BEST = "newest", "best"


def newest_of_each(
    submissions: Sequence[Submission], chapters: Sequence[Chapter]
) -> dict[Submission, str]:
    """The newest notebook of each learner for each chapter, and what to tell of it, or "".

    One in which nothing is answered counts only where there is no other.
    """
    groups: dict[tuple[str, str], list[Submission]] = defaultdict(list)
    worked_on: set[Submission] = set()
    for one in submissions:
        chapter, answered = _look(one, chapters)
        groups[one.learner, chapter or one.name].append(one)
        if answered:
            worked_on.add(one)
    found = {}
    for attempts in groups.values():
        chosen, _ = newest([one for one in attempts if one in worked_on] or attempts)
        found[chosen] = _told(NEWEST, [one.name for one in attempts], chosen.name)
    return found


def best_of_each(graded: Sequence[Graded]) -> list[Graded]:
    """The result with the most points of each learner for each chapter; of equals the last one."""
    groups: dict[tuple[str, str], list[Graded]] = defaultdict(list)
    for one in graded:
        groups[one.learner, one.chapter or one.file].append(one)
    found = []
    for attempts in groups.values():
        chosen = max(attempts, key=lambda one: (not one.problem, one.points, natural(one.file)))
        told = _told(BEST, [one.file for one in attempts], chosen.file)
        found.append(replace(chosen, attempts=told))
    return found


def in_order(graded: Sequence[Graded]) -> list[Graded]:
    """By learner, and by chapter."""
    return sorted(
        graded, key=lambda one: (natural(one.learner), one.chapter or "~", natural(one.file))
    )


def chapter_in(one: Submission, chapters: Sequence[Chapter]) -> Chapter:
    """The chapter that a notebook answers. Raises Unreadable where nothing tells."""
    return chapter_of(one.name, cells_of(one.read()), chapters)


def _look(one: Submission, chapters: Sequence[Chapter]) -> tuple[str, bool]:
    """The name of the chapter that a notebook answers, or "", and if anything is answered in it."""
    try:
        cells = cells_of(one.read())
        chapter = chapter_of(one.name, cells, chapters)
    except Unreadable:
        return "", False
    sources = find_answers(cells, chapter).sources
    answered = any(
        not exercise.untouched("\n".join(sources.get(exercise.id, [])))
        for exercise in chapter.exercises.values()
    )
    return chapter.name, answered


def _told(how: str, names: Sequence[str], chosen: str) -> str:
    """What to tell of the one that counts among several; "" of the only one."""
    others = ", ".join(name for name in names if name != chosen)
    return f"the {how} of {len(names)}, {chosen}; not counted: {others}" if others else ""
