"""What is wrong with an answer, as far as the course knows it?"""

from __future__ import annotations

import json
from collections.abc import Sequence

from insidetorch.learn.course_data import verdict
from insidetorch.learn.judges import probe_then_repair, words_of_probe

from .chapters import Exercise, seen_in
from .verdicts import NOT_ATTEMPTED, NOT_YET, Check

OTHER = "the check saw something else than what is asked for"


def mistake(exercise: Exercise, check: Check, *, raised: str = "") -> tuple[str, str, bool]:
    """The outcome of a check that is not right, what is told of it, and if the course knows it.

    `raised` is the error in the first case that differs.
    """
    observation = observation_of(check)
    known = verdict(exercise.noted, observation) if "salt" in exercise.noted else None
    if known and known["is"] == "stub":
        # Here the source is another one, or it would not have run.
        if exercise.noted.get("kind") == "repair":
            return NOT_YET, "it does just what the given code does", True
        return NOT_ATTEMPTED, "", False
    if known and known["tell"]:
        return NOT_YET, known["tell"], True
    seen = seen_in(observation)
    said = f"it raised {raised}" if raised else ""
    named = seen.get("uses") if isinstance(seen, dict) else None
    borrowed = uses(named) if named and isinstance(named, list) else ""
    probe = _of_probe(seen) if exercise.judge.endswith(probe_then_repair.__name__) else ""
    return NOT_YET, check.why or probe or said or borrowed or OTHER, False


def observation_of(check: Check) -> object:
    """What a check has shown; nothing where that was too long to be told."""
    try:
        return json.loads(check.seen)
    except ValueError:
        return {}


def uses(names: Sequence[str]) -> str:
    """What is told of an answer by hand that names these libraries."""
    named = " and ".join(map(str, names))
    return f"the answer uses {named}; this exercise asks for the rule in plain Python"


def _of_probe(seen: object) -> str:
    """What to tell of a probe by what it did on each version; "" of a good one."""
    did = seen[0] if isinstance(seen, list) and seen else None
    if isinstance(did, dict) and did.get("error") == NotImplementedError.__name__:
        return "the probe is still the stub"
    if not isinstance(did, dict) or not all(isinstance(word, str) for word in did.values()):
        return ""
    return words_of_probe(did, {})
