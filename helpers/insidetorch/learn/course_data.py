"""What the course knows of an exercise: written by the build, beside the exercise notebooks.

    {"v": 1, "chapter": 1, "salt": "…", "exercises": {"1.1": {
        "title": …, "kind": …, "core": true, "difficulty": 1, "minutes": 8, "points": 2,
        "verdicts": {DIGEST: {"is": "right" | "wrong" | "stub", "tell": …}},
        "judge": null | "module.function", "hints": [three texts], "afterword": …, "stub": …}}}

Right and wrong observations stand there as salted digests, so that nothing is given away.
`INSIDETORCH_COURSE` names another folder.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256
from importlib import import_module
from pathlib import Path

from .progress import course_root


def exercise(exercise_id: str) -> dict:
    """What is known of this exercise; an empty dict where there is no course around.

    Raises KeyError for an id that the chapter does not have.
    """
    folder = course_folder()
    file = folder / f"{int(chapter_of(exercise_id)):02d}.json" if folder else None
    if file is None or not file.is_file():
        return {}
    chapter = json.loads(file.read_text(encoding="utf-8"))
    if exercise_id not in chapter["exercises"]:
        raise KeyError(
            f"Exercise {exercise_id} was asked for. Chapter {chapter['chapter']} has "
            f"{', '.join(chapter['exercises'])}. Use one of these ids."
        )
    return {**chapter["exercises"][exercise_id], "salt": chapter["salt"]}


def chapters() -> list[dict]:
    """All chapters with exercises, in their order."""
    folder = course_folder()
    files = sorted(folder.glob("[0-9][0-9].json")) if folder else []
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def verdict(known: dict, observation: dict) -> dict | None:
    """What is known of an observation: right, a known mistake, the stub, or None."""
    observation = judged(known.get("judge"), observation)
    return known.get("verdicts", {}).get(digest(known["salt"], observation))


def judged(judge: str | None, observation: dict) -> dict:
    """The observation as it is compared: after the exercise's judge, if it names one.

    A judge is a pure function of what was seen, for an exercise with many right answers: it turns
    each of them into the same. What it cannot judge is no right answer.
    """
    if not judge:
        return observation
    module, _, name = judge.rpartition(".")
    try:
        seen = getattr(import_module(module), name)(observation["seen"])
    except Exception as error:
        seen = {"not judged": type(error).__name__}
    return {**observation, "seen": seen}


def digest(salt: str, observation: dict) -> str:
    """A salted digest of an observation."""
    text = json.dumps(observation, sort_keys=True, ensure_ascii=True)
    return sha256(f"{salt}\n{text}".encode()).hexdigest()[:32]


def chapter_of(exercise_id: str) -> str:
    """The chapter's number: what stands before the point.

    Raises ValueError for what is no id of an exercise.

    >>> chapter_of("1.3")
    '1'
    """
    chapter, _, number = str(exercise_id).partition(".")
    if not (isinstance(exercise_id, str) and chapter.isdecimal() and number.isdecimal()):
        raise ValueError(
            f"Exercise {exercise_id!r} was asked for. An exercise is named by chapter and number. "
            'Write it like "1.3".'
        )
    return chapter


def course_folder() -> Path | None:
    """Where the build has written what it knows; None outside a course."""
    named = os.environ.get("INSIDETORCH_COURSE")
    if named:
        return Path(named)
    root = course_root()
    return root / "exercises" / ".course" if root else None
