"""Is my answer right? Three outcomes: not attempted, not yet, right."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from .by_hand import names_used
from .course_data import exercise, verdict
from .observation import MIME
from .progress import keep
from .prose import html
from .trial import Trial, tried, words

# The mark and the word tell the outcome as well as the colour does.
_MARKS = {
    "right": ("✓", "var(--jp-success-color1,#00674a)"),
    "not yet": ("✗", "var(--jp-warn-color1,#a33f00)"),
    "not attempted": ("○", "var(--jp-border-color1,#8a8a8a)"),
    "not judged": ("·", "var(--jp-border-color1,#8a8a8a)"),
}
_MOST_PRINTED = 400


@dataclass(frozen=True)
class Outcome:
    """What a check shows: the observation, which nbval grades, and words for the learner."""

    exercise_id: str
    outcome: str
    tell: str
    observation: dict

    def __repr__(self) -> str:
        mark, _ = _MARKS[self.outcome]
        return f"{mark} {self.exercise_id} {self.outcome}\n{self.tell}".rstrip()

    def _repr_mimebundle_(self, **_kwargs: object) -> dict[str, object]:
        mark, colour = _MARKS[self.outcome]
        title = f"{mark} {escape(self.exercise_id)} {self.outcome}"
        box = f'<div style="border-left:4px solid {colour};padding-left:10px">'
        return {
            "text/plain": repr(self),
            "text/html": f"{box}<p><b>{title}</b></p>{html(self.tell)}</div>",
            MIME: self.observation,
        }


def check(
    exercise_id: str,
    answer: Callable[..., object],
    cases: Sequence[tuple] | None = None,
    *,
    torch_says: Callable[..., object] | None = None,
    given: Callable[..., str] | None = None,
    by_hand: object = None,
    allowed: Sequence[object] = (),
) -> Outcome:
    """Look at what an answer does, and tell how far it is.

    Args: `answer`, what to observe: called once for each of `cases` with its arguments, or once
    without arguments; `torch_says`, called with the same arguments, gives what torch computes,
    shown beside the first case that differs (of a dict of parts, the first part that does);
    `given`, called so too, says in words what the learner's own function gets in a case, where that
    is more than the case;
    `by_hand`, a function or class of the learner's, or several, that must do without torch: which
    libraries they name is observed as well, but for the objects in `allowed`.
    Returns an `Outcome`; its observation holds raw data of what the answer did and no verdict.
    Under nbgrader an outcome that is not right raises AssertionError.

    >>> check("9.9", lambda a, b: a + b, [(1, 2), (3, 4)]).observation["seen"]
    [3, 7]
    """
    uses = None if by_hand is None else names_used(by_hand, allowed=allowed)
    trial = tried(exercise_id, answer, cases, uses)
    known = exercise(exercise_id)
    outcome, tell = _outcome(known, trial)
    if outcome == "not yet" and not tell:
        tell = words(trial, cases, torch_says, given)
    if trial.printed:
        tell += _printed(trial.printed)
    if "NBGRADER_EXECUTION" in os.environ:
        # What is graded there is somebody else's, and no progress of whose course this is.
        if outcome != "right":
            raise AssertionError(f"{exercise_id} {outcome}. {tell}")
    elif outcome != "not judged":
        keep("exercises", exercise_id, {"is": outcome})
    return Outcome(exercise_id, outcome, tell, trial.observation)


def _outcome(known: dict, trial: Trial) -> tuple[str, str]:
    if not known:
        return "not judged", (
            "There is no course around this notebook, so nothing is compared. Put it back into the "
            "course's folder, or let INSIDETORCH_COURSE name that folder's exercises/.course."
        )
    found = verdict(known, trial.observation)
    if found and found["is"] == "stub":
        if known.get("kind") == "repair":
            return "not attempted", f"{known['title']}: it does just what the given code does."
        return "not attempted", f"{known['title']}: write your answer in the cell above."
    if found and found["is"] == "right":
        return "right", known["afterword"]
    return "not yet", found["tell"] if found else ""


def _printed(text: str) -> str:
    shown = text[:_MOST_PRINTED].rstrip()
    cut = f" … ({len(text):,} characters in all)" if len(text) > _MOST_PRINTED else ""
    return f"\nYour code printed: {shown}{cut}"
