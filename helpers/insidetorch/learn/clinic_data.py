"""What the course knows of the clinic's cases: written by the build, beside the exercises.

    {"v": 1, "salt": "…", "kinds": {KIND: sentence}, "cases": {"013": {
        "symptom": …, "files": [names], "look": …, "kinds": [four kinds],
        "lines": {DIGEST: "line" | "accepted"}, "kind": DIGEST, "sealed": …}}}

Lines and kinds stand there as salted digests, and what is told of a solved case is packed, so that
nobody reads an answer by accident. That hides; it does not protect.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from .course_data import course_folder
from .progress import course_root

NAME = "clinic.json"


def cases_folder() -> Path | None:
    """Where the scripts lie, a folder each; None outside a course."""
    root = course_root()
    return root / "notebooks" / "clinic" if root else None


def clinic_data() -> dict:
    """What is known of all cases.

    Raises FileNotFoundError where there is no course or it holds no clinic, ValueError where what
    the build wrote cannot be read.
    """
    folder = course_folder()
    file = folder / NAME if folder else None
    if file is None or not file.is_file():
        where = f"{NAME} is missing" if folder else "there is no course around this notebook"
        raise FileNotFoundError(
            f"The clinic was asked for. Its cases lie in the course, and {where}. "
            f"{'Run `python course.py build`.' if folder else 'Open a notebook of the course.'}"
        )
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return {"salt": found["salt"], "kinds": found["kinds"], "cases": found["cases"]}
    except (ValueError, KeyError, TypeError):
        raise ValueError(
            f"The clinic was asked for. {NAME} does not hold what the build writes. "
            "Run `python course.py build`."
        ) from None


def digest(salt: str, *parts: object) -> str:
    """A salted digest of a line or of a kind."""
    text = json.dumps([salt, *parts])
    return sha256(text.encode()).hexdigest()[:16]
