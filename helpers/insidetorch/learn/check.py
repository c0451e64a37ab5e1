"""Is my answer right? Three outcomes: not attempted, not yet, right."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from .course_data import exercise, verdict
from .observation import MIME, observe, plain
from .progress import keep

_MARKS = {"right": "✓", "not yet": "✗", "not attempted": "○", "not judged": "·"}


@dataclass(frozen=True)
class Outcome:
    """What a check shows: the observation, which nbval grades, and words for the learner."""

    exercise_id: str
    outcome: str
    tell: str
    observation: dict

    def __repr__(self) -> str:
        return f"{_MARKS[self.outcome]} {self.exercise_id} {self.outcome}\n{self.tell}".rstrip()

    def _repr_mimebundle_(self, **_kwargs: object) -> dict[str, object]:
        lines = "".join(f"<p>{escape(line)}</p>" for line in self.tell.splitlines() if line)
        title = f"{_MARKS[self.outcome]} {escape(self.exercise_id)} {self.outcome}"
        return {
            "text/plain": repr(self),
            "text/html": f"<p><b>{title}</b></p>{lines}",
            MIME: self.observation,
        }


def check(
    exercise_id: str,
    answer: Callable[..., object],
    cases: Sequence[tuple] | None = None,
    *,
    torch_says: Callable[..., object] | None = None,
) -> Outcome:
    """Look at what an answer does, and tell how far it is.

    Args: `answer`, what to observe: called once for each of `cases` with its arguments, or once
    without arguments; `torch_says`, called with the same arguments, gives what torch computes,
    shown beside the first case that differs.
    Returns an `Outcome`; its observation holds raw data of what the answer did and no verdict.
    Under nbgrader an outcome that is not right raises AssertionError.

    >>> check("9.9", lambda a, b: a + b, [(1, 2), (3, 4)]).observation["seen"]
    [3, 7]
    """
    observation, error, printed = observe(exercise_id, _seen(answer, cases))
    known = exercise(exercise_id)
    found = verdict(known, observation) if known else None
    outcome, tell = _outcome(known, found, error)
    if outcome == "not yet" and not tell:
        tell = _difference(observation["seen"], cases, torch_says) or _error_text(error)
    if printed:
        tell += f"\n(Your code printed {len(printed):,} characters.)"
    if outcome != "not judged":
        keep("exercises", exercise_id, {"is": outcome})
    if "NBGRADER_EXECUTION" in os.environ and outcome != "right":
        raise AssertionError(f"{exercise_id} {outcome}. {tell}")
    return Outcome(exercise_id, outcome, tell, observation)


def _seen(answer: Callable[..., object], cases: Sequence[tuple] | None) -> Callable[[], object]:
    if cases is None:
        return answer

    def each() -> list[object]:
        return [_one(answer, case) for case in cases]

    return each


def _one(answer: Callable[..., object], case: tuple) -> object:
    try:
        return plain(answer(*case))
    except NotImplementedError:
        raise
    except Exception as error:
        return {"error": type(error).__name__}


def _outcome(known: dict, found: dict | None, error: BaseException | None) -> tuple[str, str]:
    if not known:
        return "not judged", "There is no course around this notebook, so nothing is compared."
    if isinstance(error, NotImplementedError) or (found and found["is"] == "stub"):
        return "not attempted", f"{known['title']}. Write your answer in the cell above."
    if found and found["is"] == "right":
        return "right", known["afterword"]
    return "not yet", found["tell"] if found else ""


def _difference(
    seen: object, cases: Sequence[tuple] | None, torch_says: Callable[..., object] | None
) -> str:
    """The first case in which the answer and torch differ."""
    if cases is None or torch_says is None or not isinstance(seen, list):
        return ""
    for case, got in zip(cases, seen, strict=True):
        expected = plain(torch_says(*case))
        if got != expected:
            given = ", ".join(map(repr, case))
            return f"Given {given}: you got {_short(got)}, torch has {_short(expected)}."
    return "Every value is right, but something else is not: a type, a dtype, strides."


def _error_text(error: BaseException | None) -> str:
    if error is None:
        return "Not what was asked for. hint() with the exercise's id helps step by step."
    return f"It raised {type(error).__name__}: {error}"


def _short(value: object, most: int = 200) -> str:
    text = json.dumps(value)
    return text if len(text) <= most else text[:most] + " …"
