"""What does an answer do in each case, and what is there to tell of the first that goes wrong?"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..observe.places import is_users, place_of
from .observation import Seen, observe, plain
from .project import NoFiles

_MOST_SHOWN = 200


@dataclass
class Trial:
    """An answer that was tried: the observation, what it printed, the first error with its case,
    and the first thing that the check itself has to tell."""

    observation: dict
    printed: str
    error: Exception | None = None
    given: tuple | None = None
    tell: str = ""

    @property
    def results(self) -> object:
        """What was seen, case by case."""
        seen = self.observation["seen"]
        return seen["results"] if isinstance(seen, dict) and "results" in seen else seen


def tried(
    exercise_id: str,
    answer: Callable[..., object],
    cases: Sequence[tuple] | None,
    uses: list[str] | None,
) -> Trial:
    """Run an answer once for each case, or once without arguments.

    An exception is one result among the others. `uses`, if given, stands beside the results: the
    libraries that the answer names.
    """
    trial = Trial({}, "")

    def one(case: tuple) -> object:
        try:
            seen = answer(*case)
            if isinstance(seen, Seen):
                trial.tell = trial.tell or seen.tell
            return plain(seen)
        except Exception as error:
            if trial.error is None:
                trial.error, trial.given = error, case
            found = {"error": type(error).__name__}
            if isinstance(error, NotImplementedError):
                found["in"] = _raised_in(error)
            return found

    def seen() -> object:
        results = one(()) if cases is None else [one(case) for case in cases]
        return results if uses is None else {"results": results, "uses": uses}

    trial.observation, _, trial.printed = observe(exercise_id, seen)
    return trial


def words(
    trial: Trial,
    cases: Sequence[tuple] | None,
    torch_says: Callable[..., object] | None,
    given: Callable[..., str] | None = None,
) -> str:
    """What is there to tell of an answer whose mistake is not known?"""
    given = given or _arguments
    seen = trial.observation["seen"]
    if isinstance(seen, dict) and seen.get("uses"):
        return (
            f"Your answer uses {' and '.join(seen['uses'])}. This exercise asks for the rule in "
            "plain Python: compute it from what is given."
        )
    if isinstance(trial.error, NotImplementedError):
        return f"Still to be written: {_raised_in(trial.error)}."
    if trial.tell:
        return trial.tell
    if isinstance(trial.error, NoFiles):
        return str(trial.error)
    if trial.error is not None:
        return _error_words(trial, given)
    return _difference(trial.results, cases, torch_says, given) or (
        "Not what was asked for. hint() with the exercise's id helps step by step."
    )


def _error_words(trial: Trial, given: Callable[..., str]) -> str:
    told = f" Given {given(*trial.given)}." if trial.given else ""
    frames = traceback.extract_tb(trial.error.__traceback__)
    last = next((f for f in reversed(frames) if is_users(f.filename)), frames[-1])
    where = place_of(last.filename, last.lineno)
    line = f"\nIt happened here: {where.statement}" if where.statement else ""
    said = str(trial.error).rstrip(".")
    return f"Your code raised {type(trial.error).__name__}: {said}.{told}{line}"


def _difference(
    results: object,
    cases: Sequence[tuple] | None,
    torch_says: Callable[..., object] | None,
    given: Callable[..., str],
) -> str:
    """The first case in which the answer and torch differ."""
    if torch_says is None or not isinstance(results, list) or cases is None:
        return ""
    for case, got in zip(cases, results, strict=True):
        expected = plain(torch_says(*case))
        if got != expected:
            return f"Given {given(*case)}: {_parts(got, expected)}"
    return "Every value is right, but something else is not: a type, a dtype, strides."


def _parts(got: object, expected: object) -> str:
    """What differs: of named parts the first one that does."""
    if isinstance(got, dict) and isinstance(expected, dict):
        for name in expected:
            if got.get(name) != expected[name]:
                return f"{name}: {_parts(got.get(name), expected[name])}"
    return f"you got {_short(got)}, torch has {_short(expected)}."


def _raised_in(error: Exception) -> str:
    return traceback.extract_tb(error.__traceback__)[-1].name


def _arguments(*case: object) -> str:
    return ", ".join(map(repr, case))


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + " …"
