"""Which of a learner's notebooks for one chapter counts, where there are several?

The newest one. Where the times do not tell, as after `git clone`, the number of the copy or attempt
in the name does, and at last the order of the names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from .items import NOTEBOOK

if TYPE_CHECKING:
    from .collect import Submission

# A zip file keeps times to two seconds, and `git clone` writes a learner's files within them.
SAME_TIME = 2
TIMESTAMP = "timestamp.txt"
LONGEST_STAMP = 200
# What browsers, file managers and people add to a name: "-Copy1", " - Copy (2)", "Copy of", "_v2".
MARK = re.compile(
    r"[\s_-]*(?:\(([0-9]{1,9})\)|(?<![^\W_])(?:copy[\s_-]*(?:of|([0-9]{0,9}))"
    r"|(?:attempt|version|v)[\s_-]*([0-9]{1,9})))(?![^\W_])",
    re.IGNORECASE,
)


def newest(candidates: Sequence[Submission]) -> tuple[Submission, list[Submission]]:
    """The submission that counts among several of one learner for one chapter, and the others.

    Times that differ by no more than `SAME_TIME` are the same; one that is 0 does not count, and
    between equal numbers it comes after one that tells something.
    """
    latest = max(one.modified for one in candidates)
    recent = [one for one in candidates if not one.modified or latest - one.modified <= SAME_TIME]
    chosen = max(recent, key=_rank)
    return chosen, [one for one in candidates if one is not chosen]


def natural(text: str) -> tuple[object, ...]:
    """A key by which "attempt 10" comes after "attempt 9", and "Anna" beside "anna".

    >>> sorted(["b10", "B9", "a"], key=natural)
    ['a', 'B9', 'b10']
    """
    pieces = re.split(r"([0-9]+)", text.casefold())
    # By its length and then its digits: a number too long for int() is one, too.
    pieces[1::2] = [(len(digits), digits) for digits in (d.lstrip("0") for d in pieces[1::2])]
    return (tuple(pieces), text)


def submitted_at(stamp: str) -> float:
    """The time that nbgrader's timestamp.txt tells, in seconds since the epoch; 0 if none.

    >>> submitted_at("1970-01-01 00:01:00.000000 UTC")
    60.0
    """
    words = [*stamp.split()[:3], "UTC"]
    with suppress(ValueError, KeyError, OSError, OverflowError):
        found = datetime.fromisoformat(" ".join(words[:2]))
        if found.tzinfo is None:
            # Named here, since not every system knows the time zones.
            found = found.replace(tzinfo=UTC if words[2] == "UTC" else ZoneInfo(words[2]))
        return found.timestamp()
    return 0


def _rank(one: Submission) -> tuple[object, ...]:
    return _number(one.name), one.modified > 0, natural(NOTEBOOK.sub("", one.name))


def _number(name: str) -> int:
    """The number of the copy or attempt that a name tells: 0 of an original, 1 of "copy"."""
    marks = list(MARK.finditer(NOTEBOOK.sub("", PurePosixPath(name).name)))
    return int("".join(filter(None, marks[-1].groups())) or 1) if marks else 0
