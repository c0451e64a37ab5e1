"""Which of a learner's notebooks for a chapter counts: the newest one, or the best one?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from .chapters import Chapter
from .handed_in.attempts import natural, newest
from .handed_in.collect import Submission
from .submissions import Unreadable, cells_of, chapter_of
from .verdicts import Graded

NEWEST, BEST = "newest", "best"


def newest_of_each(
    submissions: Sequence[Submission], chapters: Sequence[Chapter]
) -> dict[Submission, str]:
    """The newest notebook of each learner for each chapter, and what to note of it, or ""."""
    groups: dict[tuple[str, str], list[Submission]] = defaultdict(list)
    for one in submissions:
        groups[one.learner, _chapter(one, chapters) or one.name].append(one)
    found = {}
    for attempts in groups.values():
        chosen, others = newest(attempts)
        names = ", ".join(one.name for one in others)
        found[chosen] = f"the newest of {len(attempts)}; not counted: {names}" if others else ""
    return found


def best_of_each(graded: Sequence[Graded]) -> list[Graded]:
    """The result with the most points of each learner for each chapter; of equals the last one."""
    groups: dict[tuple[str, str], list[Graded]] = defaultdict(list)
    for one in graded:
        groups[one.learner, one.chapter or one.file].append(one)
    found = []
    for attempts in groups.values():
        chosen = max(attempts, key=lambda one: (not one.problem, one.points, natural(one.file)))
        names = ", ".join(one.file for one in attempts if one is not chosen)
        if names:
            note = f"the best of {len(attempts)}; not counted: {names}"
            chosen = replace(chosen, notes=(note, *chosen.notes))
        found.append(chosen)
    return found


def in_order(graded: Sequence[Graded]) -> list[Graded]:
    """By learner, and by chapter."""
    return sorted(
        graded, key=lambda one: (natural(one.learner), one.chapter or "~", natural(one.file))
    )


def _chapter(one: Submission, chapters: Sequence[Chapter]) -> str:
    """The chapter that a notebook answers; "" where nothing tells."""
    try:
        return chapter_of(one.name, cells_of(one.read()), chapters).name
    except Unreadable:
        return ""
