"""Whose notebook is it? What `course.py grade PATH…` takes from the names of files and folders:

A PATH that is a folder: each folder in it is a learner's, with all that lies below.
  submissions/anna/01_views.ipynb, submissions/anna/ps1/x.ipynb     anna
  A zip file in it counts as a folder: submissions/anna.zip         anna
A PATH that is a zip file: the same, but one folder that holds everything is passed over. Where it
  names one person at most, it is one learner's, called like the file: anna.zip/mine/final.ipynb.
  So is the course's own folder exercises, called like the folder that it lies in.
Notebooks that lie loose in a PATH, or are named themselves, are told apart by their names, without
  the chapter's name and the marks of copies and attempts.
  anna_01_views.ipynb, 01_views_anna (2).ipynb, anna-Copy1.ipynb    anna
  Where nothing is left, they belong to whom the PATH is called after: anna/01_views.ipynb.
The folders exercises, submissions, submitted and submitted files are nobody's: what lies in them
  counts as if it lay beside them. Beside exercises, the course's own notebooks and solutions do
  not count.
What Moodle and Canvas write is known: "Anna Li_123_assignsubmission_file_" is Anna Li's, and
  li_123_4567_01_views.ipynb is li's. The number 123 is told where two people have the name; 4567 is
  another one for each file.
Learners of the same name in two PATHs are two people: group1/anna and group2/anna.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile
from pathlib import Path

from .items import Item, is_zip, shown, without_archive
from .learner_names import (
    EXERCISES,
    MOODLE,
    NAMELESS,
    chapter_pattern,
    name_of_folder,
    name_of_notebook,
)

RULES = __doc__ or ""
NOBODYS = (EXERCISES, "submissions", "submitted", "submitted files")
THE_COURSES_OWN = ("notebooks", "solutions")
NO_NOTEBOOK = "it holds no notebook"


@dataclass(frozen=True)
class Learner:
    """Somebody, by a name and, where a learning platform gave one, a number.

    `home` is the place below which the name tells who it is, folder by folder.
    """

    home: tuple[str, ...]
    name: str
    number: str = ""


# An item, whose it is, and the folders that lead to it, but for those that are nobody's.
Owned = tuple[Learner, Item, tuple[str, ...]]


def handed_in(
    root: Path, items: Sequence[Item], *, chapters: Iterable[str]
) -> list[tuple[Learner, Item]]:
    """Every notebook and every problem with its learner, and the folders of those who have none.

    `root` is the path that was named, or the folder of a file that was; `items` lie below it.
    """
    items = _without_the_courses_own(items)
    rests = _below_nobodys(items, in_zip=is_zip(root.name))
    owned = _owned(root, items, rests, chapter=chapter_pattern(chapters))
    found = [(owner, one) for owner, one, _ in owned if _counts(one)]
    return found + _without_notebooks(owned, found)


def labels(learners: Iterable[Learner]) -> dict[Learner, str]:
    """How reports call each learner: by the name, and as much else as tells them apart."""
    people = set(learners)
    alike = Counter((one.home, one.name) for one in people)
    names, homes = {}, defaultdict(list)
    for one in people:
        numbered = one.number and alike[one.home, one.name] > 1
        names[one] = f"{one.name}_{one.number}" if numbered else one.name
        homes[names[one]].append(one.home)
    return {one: "/".join((*_end(one.home, homes[name]), name)) for one, name in names.items()}


def _end(home: tuple[str, ...], homes: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The shortest end of a place that no other of these places ends with."""
    for depth in range(len(home)):
        end = home[len(home) - depth :]
        if sum(other[len(other) - depth :] == end for other in homes) == 1:
            return end
    return home


def _owned(
    root: Path,
    items: Sequence[Item],
    rests: Sequence[tuple[str, ...]],
    *,
    chapter: re.Pattern[str],
) -> list[Owned]:
    """Whose each item is: by the folders that are left of its place, or else by its own name."""
    place = tuple(shown(part) for part in root.parts[1:])
    own = _called_after(place, chapter)
    home = (*place[:-1], *map(without_archive, place[-1:]))
    owned = []
    for item, rest in zip(items, rests, strict=True):
        if rest:
            told = name_of_folder(next(filter(MOODLE.match, rest), rest[0]), chapter=chapter)
        else:
            told = None if item.is_folder else name_of_notebook(item.parts[-1], chapter=chapter)
        owned.append((Learner(home, *told) if told else own, item, rest))
    may_be_one = is_zip(root.name) or root.name.lower() == EXERCISES
    if own.number or (may_be_one and _is_one_learners(own, owned)):
        return [(own, item, rest) for _, item, rest in owned]
    return owned


def _is_one_learners(own: Learner, owned: Sequence[Owned]) -> bool:
    """Is one person named at most, and nobody for certain?"""
    named = {(owner, rest) for owner, item, rest in owned if _counts(item) and owner != own}
    sure = any(owner.number or (rest and is_zip(rest[0])) for owner, rest in named)
    return len({owner for owner, _ in named}) < 2 and not sure


def _counts(item: Item) -> bool:
    """Is this something to grade, or to tell of, and not just a folder?"""
    return bool(item.problem) or not item.is_folder


def _called_after(place: tuple[str, ...], chapter: re.Pattern[str]) -> Learner:
    """Whom a place is called after: by its last folder whose name tells somebody."""
    for depth in range(len(place) - 1, -1, -1):
        if told := name_of_folder(place[depth], chapter=chapter):
            return Learner(place[:depth], *told)
    return Learner((), place[-1] if place else NAMELESS)


def _without_notebooks(
    owned: Sequence[Owned], found: Sequence[tuple[Learner, Item]]
) -> list[tuple[Learner, Item]]:
    """The folders of learners who have nothing else, and the whole path where it holds nothing.

    Where all notebooks lie loose, folders are no learners'.
    """
    busy = {owner for owner, _ in found}
    full = {item.parts[:depth] for _, item in found for depth in range(len(item.parts) + 1)}
    in_folders = any(rest and _counts(item) for _, item, rest in owned)
    return [
        (owner, replace(item, problem=NO_NOTEBOOK))
        for owner, item, rest in owned
        if item.parts not in full
        and owner not in busy
        and (not item.parts or (in_folders and _is_learners(rest)))
    ]


def _is_learners(folders: tuple[str, ...]) -> bool:
    return len(folders) == 1 or bool(folders and MOODLE.match(folders[-1]))


def _without_the_courses_own(items: Sequence[Item]) -> list[Item]:
    """The items but for what lies in a copy of the course beside its folder exercises."""
    folders = {item.parts for item in items if item.is_folder}
    return [
        item
        for item in items
        if not any(
            part in THE_COURSES_OWN and (*item.parts[:depth], EXERCISES) in folders
            for depth, part in enumerate(item.parts)
        )
    ]


def _below_nobodys(items: Sequence[Item], *, in_zip: bool) -> list[tuple[str, ...]]:
    """The folders that lead to each item, without those at the top that are nobody's."""
    rests = [_without_nobodys(item.folders) for item in items]
    while in_zip:
        tops = {rest[:1] for item, rest in zip(items, rests, strict=True) if not item.is_folder}
        top = tops.pop() if len(tops) == 1 else ()
        if not top or is_zip(top[0]) or MOODLE.match(top[0]):
            break
        rests = [_without_nobodys(rest[1:]) if rest[:1] == top else rest for rest in rests]
    return rests


def _without_nobodys(folders: tuple[str, ...]) -> tuple[str, ...]:
    # Some names in zip files lead out of their folder, with "..".
    return tuple(dropwhile(lambda one: one.lower() in (*NOBODYS, "..", "."), folders))
