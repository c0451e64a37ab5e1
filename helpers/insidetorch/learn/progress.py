"""What is remembered of the learner: one plain JSON file at the root of the course.

    {"v": 1, "last": "01_storage_and_stride",
     "predictions": {"1.1": {"said": "(3, 1)", "right": false, "first": false}}}

`INSIDETORCH_PROGRESS` names another file. Outside a course folder nothing is read or written.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import Lock

from ..locking import only_one

_between_threads = Lock()


def course_root() -> Path | None:
    """The folder of the course around the current folder; None elsewhere."""
    try:
        here = Path.cwd()
    except OSError:  # the folder was deleted
        return None
    for folder in (here, *here.parents):
        if (folder / "course.py").is_file() and (folder / "helpers" / "insidetorch").is_dir():
            return folder
    return None


def progress_file() -> Path | None:
    """Where progress is kept; None outside a course."""
    named = os.environ.get("INSIDETORCH_PROGRESS")
    if named:
        return Path(named)
    root = course_root()
    return root / ".insidetorch" / "progress.json" if root else None


def read_progress() -> dict:
    """What is remembered; an empty memory where there is no file or none that can be read."""
    file = progress_file()
    try:
        return (_load(file) if file else None) or _fresh()
    except OSError:
        return _fresh()


def remembered(kind: str, name: str) -> object:
    """What is remembered under a kind ("predictions", "exercises", "hints", "clinic")."""
    found = read_progress().get(kind)
    return found.get(name) if isinstance(found, dict) else None


def keep(kind: str, name: str, value: object) -> None:
    """Remember something, and the chapter if `name` starts with its number and a point.

    Other notebooks may do the same at the same time. A file that holds something else is kept
    beside the new one. Raises OSError where the file cannot be read or written.
    """
    file = progress_file()
    if file is None:
        return
    with _between_threads, only_one(file.with_name(f"{file.name}.lock")):
        now = _load(file)
        if now is None:
            _keep_aside(file)
            now = _fresh()
        now.setdefault(kind, {})[name] = value
        now["last"] = _notebook_of(name) or now["last"]
        new = file.with_name(f"{file.name}.new")
        new.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8", newline="\n")
        new.replace(file)


def _fresh() -> dict:
    return {"v": 1, "last": None, "predictions": {}}


def _load(file: Path) -> dict | None:
    """The memory in a file, a fresh one where there is no file, None where it is something else."""
    try:
        found = json.loads(file.read_text(encoding="utf-8") or "{}")
    except FileNotFoundError:
        return _fresh()
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    kinds = (found.get(kind, {}) for kind in ("predictions", "exercises", "hints", "clinic"))
    return {**_fresh(), **found} if all(isinstance(kind, dict) for kind in kinds) else None


def _notebook_of(name: str) -> str | None:
    """The notebook of a chapter: ids start with the chapter's number and a point."""
    root, (chapter, point, _) = course_root(), name.partition(".")
    if root is None or not point or not chapter.isdecimal():
        return None
    return next((p.stem for p in (root / "notebooks").glob(f"{int(chapter):02d}_*.ipynb")), None)


def _keep_aside(file: Path) -> None:
    number = 1
    while (aside := file.with_name(f"{file.name}.broken-{number}")).exists():
        number += 1
    file.rename(aside)
