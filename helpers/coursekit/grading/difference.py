"""Where does what an answer did first differ from what was asked for?

Told as the notebook tells it: the expected value only where torch computes it there, too.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from dataclasses import dataclass

from .chapters import Exercise
from .names import parse

MOST_SHOWN = 400


@dataclass(frozen=True)
class Difference:
    """The first case that differs: what was given, what was seen, what was expected.

    Each is "" where it cannot be told. `raised` is the error that the answer raised there.
    """

    given: str = ""
    seen: str = ""
    expected: str = ""
    raised: str = ""


def first_difference(exercise: Exercise, seen: object, cases: Sequence[str] = ()) -> Difference:
    """The first case in which `seen` is not what the course's own answer shows.

    `cases` tells in words what the check gives in each case, as far as that is known.
    """
    seen, wanted = _results(seen), _results(exercise.wanted)
    call = check_call(exercise.check)
    if call is None or exercise.judge:
        return Difference(seen=_text(seen), raised=first_error(seen))
    given = ""
    if len(call.args) > 2 and isinstance(seen, list) and isinstance(wanted, list):
        places = [i for i, (one, two) in enumerate(zip(seen, wanted, strict=False)) if one != two]
        if not places:
            return Difference()
        [place, *_] = places
        given = cases[place] if place < len(cases) else f"case {place + 1} of {len(wanted)}"
        seen, wanted = seen[place], wanted[place]
    if isinstance(seen, dict) and isinstance(wanted, dict) and seen.keys() == wanted.keys():
        part = next((name for name in wanted if seen[name] != wanted[name]), None)
        if part is not None:
            seen, wanted = {part: seen[part]}, {part: wanted[part]}
    told = any(keyword.arg == "torch_says" for keyword in call.keywords)
    return Difference(given, _text(seen), _text(wanted) if told else "", first_error(seen))


def first_error(seen: object) -> str:
    """The name of the first exception among what was seen; "" where there is none."""
    if isinstance(seen, dict):
        return str(seen.get("error") or "")
    results = [one for one in seen if isinstance(one, dict)] if isinstance(seen, list) else []
    return next(filter(None, map(first_error, results)), "")


def _results(seen: object) -> object:
    """What the answer did, aside from the libraries that it named."""
    return seen["results"] if isinstance(seen, dict) and "results" in seen else seen


def check_call(source: str) -> ast.Call | None:
    """The call of `check` in a check cell."""
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "check":
            return node
    return None


def _text(seen: object) -> str:
    if isinstance(seen, dict) and seen.get("error"):
        return f"raised {seen['error']}"
    return _cut(json.dumps(seen, ensure_ascii=False, sort_keys=True))


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + " …"
