"""Which starter is the best that there is here, and which isolation?"""

from __future__ import annotations

import sys

from ...errors import CourseError
from .isolation import ALL
from .starters import TRIES, Plain, Starter, Warm


def choose(wanted: str = "") -> Starter:
    """A starter with the isolation that is asked for, or else the best that there is here.

    Raises CourseError where it cannot be had.
    """
    if wanted and wanted not in ALL:
        raise CourseError(
            f"Asked for the isolation {wanted!r}. There is no such one. Choose one of "
            f"{', '.join(ALL)}, or leave --isolation out: the best that works here is taken."
        )
    starter, problems = _best()
    if not wanted or wanted == starter.isolation:
        return starter
    if problems[wanted]:
        starter.close()
        raise CourseError(
            f"Asked for the isolation {wanted!r}. It cannot be had here: {problems[wanted]}. Leave "
            f"--isolation out: then it is {starter.isolation!r}."
        )
    starter.isolation = wanted
    return starter


def _best() -> tuple[Starter, dict[str, str]]:
    """The best starter that there is here, and why the other ways of isolation cannot be had."""
    if sys.platform != "linux":
        return Plain(), dict.fromkeys(ALL, "only Linux has it") | {Plain.isolation: ""}
    why = ""
    for _ in range(TRIES):
        try:
            warm = Warm()
            break
        except OSError as problem:
            why = f"the process with all that runs need did not start ({problem})"
    else:
        return Plain(why), dict.fromkeys(ALL, why) | {Plain.isolation: ""}
    warm.isolation = next(name for name in ALL if not warm.allowed[name])
    return warm, warm.allowed
