"""Which notebooks did a class hand in, and whose is each of them?

Folders, zip files and loose notebooks are taken together; `learners.RULES` tells who is who. A
notebook is read when it is graded. What cannot be read is told of the one file that it concerns.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import CourseError
from ..submissions import Unreadable
from .archives import read_member
from .attempts import natural
from .items import Item, is_zip, shown
from .learners import NO_NOTEBOOK, Learner, handed_in, labels
from .walk import items_in_folder, items_of_file, place_of, read_file


@dataclass(frozen=True)
class Submission:
    """One notebook that somebody handed in.

    `learner` and `name` are how reports call the person and the notebook, whose name is a posix
    path such as "anna.zip/01_views.ipynb". `modified` is when it was last changed, in seconds since
    the epoch, or 0 where nothing tells. `path` is the file, or the zip file that holds it as
    `member`; `inside` is the zip file within that one, if there are two. `problem` says why it
    cannot be read: "it is a link, which is not followed".
    """

    learner: str
    name: str
    modified: float
    path: Path
    member: str = ""
    problem: str = ""
    inside: str = ""

    def read(self) -> bytes:
        """What the notebook holds, read anew each time. Raises Unreadable with the reason."""
        if self.problem:
            raise Unreadable(self.problem)
        if self.member:
            return read_member(self.path, self.member, inside=self.inside)
        return read_file(self.path)


def collect(paths: Sequence[Path], *, chapters: Iterable[str]) -> list[Submission]:
    """The notebooks among `paths` and in the folders and zip files among them, once each.

    `chapters` are the names of the chapters, such as "01_storage_and_stride": no learner is called
    so. They come in the order of the learners' names, and each learner's by their own. One that
    cannot be read has a `problem`, and so has the folder of a learner that holds none.

    Raises CourseError where a path leads nowhere, or there is no notebook.
    """
    chapters = list(chapters)
    found: dict[tuple[object, ...], tuple[Learner, Item, Path]] = {}
    for path in paths:
        root, items = _items(path)
        for learner, item in handed_in(root, items, chapters=chapters):
            key = (place_of(item.path), item.inside, item.member, item.problem)
            found.setdefault(key, (learner, item, root))
    if all(item.problem == NO_NOTEBOOK for _, item, _ in found.values()):
        raise CourseError(
            f"Asked to grade {', '.join(map(str, paths))}. There is no notebook in it. Name a file "
            "that ends with .ipynb, or a folder or zip file that holds some."
        )
    called = labels(learner for learner, _, _ in found.values())
    common = _common_folder([item.path for _, item, _ in found.values()])
    submissions = [
        Submission(
            learner=called[learner],
            name=_name(item, root, common),
            modified=item.modified,
            path=item.path,
            member=item.member,
            problem=item.problem,
            inside=item.inside,
        )
        for learner, item, root in found.values()
    ]
    return sorted(submissions, key=lambda one: (natural(one.learner), natural(one.name)))


def _items(path: Path) -> tuple[Path, list[Item]]:
    """What matters in a path that was named, and the path below which it lies."""
    try:
        is_there, is_folder = path.exists(), path.is_dir()
    except OSError:
        is_there = is_folder = False
    if not is_there:
        raise CourseError(
            f"Asked to grade {path}. There is no such file or folder. Check the name: a path "
            "counts from the folder you are in."
        )
    path = path.resolve() if ".." in path.parts else path.absolute()
    if is_folder:
        return path, items_in_folder(path)
    if is_zip(path.name):
        return path, items_of_file(path, ())
    return path.parent, items_of_file(path, (shown(path.name),))


def _common_folder(paths: Sequence[Path]) -> Path | None:
    """The folder that holds them all; None where they lie on two drives."""
    try:
        return Path(os.path.commonpath([path.parent for path in paths]))
    except ValueError:
        return None


def _name(item: Item, root: Path, common: Path | None) -> str:
    """How reports call an item: by its path below the common folder."""
    within = item.parts[len(item.path.relative_to(root).parts) :]
    path = item.path.relative_to(common) if common else item.path
    return "/".join((shown(path.as_posix()), *within))
