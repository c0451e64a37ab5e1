"""What was graded already, should this run be cut off, or come again with more submissions?"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, replace
from pathlib import Path

from ..handed_in.collect import Submission
from ..submissions import Unreadable
from ..verdicts import Graded

FILE = "journal.jsonl"


class Journal:
    """The results in a folder, one line for each, written as they come.

    A result counts for the same notebook, graded with the same course and in the same way: `how`
    stands for these two.
    """

    def __init__(self, folder: Path, how: str) -> None:
        self.path = folder / FILE
        self.how = how
        self.found: dict[str, Graded] = dict(_lines(self.path))

    def find(self, submission: Submission) -> Graded | None:
        """The result of the same notebook, called as the submission is called now."""
        key = self._key(submission)
        found = self.found.get(key) if key else None
        return found and replace(found, file=submission.name, learner=submission.learner)

    def add(self, submission: Submission, graded: Graded) -> None:
        """Write a result down, but for one that may be another one next time."""
        key = self._key(submission)
        if not key or graded.passing:
            return
        line = json.dumps({"key": key, "graded": asdict(graded)}, ensure_ascii=True)
        with self.path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.found[key] = graded

    def forget(self) -> None:
        """Let nothing count that was graded before; the lines stay."""
        self.found.clear()

    def _key(self, submission: Submission) -> str:
        """A digest of the notebook and of how it is graded; "" where it cannot be read."""
        try:
            content = submission.read()
        except Unreadable:
            return ""
        # Its name can decide on the chapter.
        parts = (self.how.encode(), submission.name.encode(errors="replace"), content)
        return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _lines(path: Path) -> list[tuple[str, Graded]]:
    """What stands in a journal, without what does not read as a result, such as a cut line."""
    found = []
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    for line in lines:
        try:
            entry = json.loads(line)
            found.append((entry["key"], Graded.of(entry["graded"])))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return found
