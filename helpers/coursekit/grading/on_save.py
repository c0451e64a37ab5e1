"""What of my answers is right, each time that I save? `course.py grade --watch`."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from .earlier import Earlier
from .grader import Grader
from .handed_in.collect import Submission
from .told.printed import table
from .verdicts import Graded

LOOK_EVERY = 0.5

Stamp = tuple[float, int]


class Watched:
    """The notebooks below some paths: which of them have changed, and what was found of them."""

    def __init__(self, find: Callable[[], list[Submission]], grader: Grader) -> None:
        self.find = find
        self.grader = grader
        self.stamps: dict[Path, Stamp] = {}
        self.earlier: dict[Path, Earlier] = {}

    def changed(self) -> list[Submission]:
        """The notebooks that were saved since the last look."""
        found = []
        for one in self.find():
            stamp = _stamp(one.path)
            if stamp and stamp != self.stamps.get(one.path):
                self.stamps[one.path] = stamp
                found.append(one)
        return found

    def look_again(self, one: Submission) -> None:
        """Let a notebook count as changed, even if it is not saved once more."""
        self.stamps.pop(one.path, None)

    def grade(self, one: Submission) -> tuple[Graded, set[str]]:
        """Grade what has changed in a notebook; and the exercises of which there is news."""
        earlier = self.earlier.setdefault(one.path, Earlier())
        before = dict(earlier.verdicts)
        graded = self.grader.grade(one, earlier=earlier)
        return graded, {v.exercise for v in graded.verdicts if v != before.get(v.exercise)}


def watch(
    find: Callable[[], list[Submission]], grader: Grader, *, say: Callable[[str], None]
) -> int:
    """Grade notebooks whenever they are saved, until Ctrl+C; then it returns 0."""
    watched = Watched(find, grader)
    doubtful: set[Path] = set()
    say("Grading what you save; Ctrl+C ends it.")
    try:
        while True:
            for one in watched.changed():
                graded, news = watched.grade(one)
                if graded.problem and one.path not in doubtful:
                    # It may have been read while it was written.
                    doubtful.add(one.path)
                    watched.look_again(one)
                    continue
                doubtful.discard(one.path)
                say(table([graded], only=news))
            time.sleep(LOOK_EVERY)
    except KeyboardInterrupt:
        say("Stopped.")
        return 0


def _stamp(path: Path) -> Stamp | None:
    """What a file has when it is saved: a time and a size; None where it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime, found.st_size
