"""What is remembered of the learner: one plain JSON file at the root of the course.

    {"v": 1, "last": "01_storage_and_stride",
     "predictions": {"1.1": {"said": "(3, 1)", "right": false}}}

`INSIDETORCH_PROGRESS` names another file. Outside a course folder nothing is read or written.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import Lock

_lock = Lock()


def course_root() -> Path | None:
    """The folder of the course around the current folder; None elsewhere."""
    here = Path.cwd()
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
        found = json.loads(file.read_text(encoding="utf-8")) if file else {}
    except (OSError, ValueError):
        found = {}
    fresh = {"v": 1, "last": None, "predictions": {}}
    return {**fresh, **found} if isinstance(found, dict) else fresh


def said(prediction_id: str) -> str | None:
    """What the learner answered to this prediction; None if nothing yet."""
    predictions = read_progress()["predictions"]
    answer = predictions.get(prediction_id) if isinstance(predictions, dict) else None
    return answer.get("said") if isinstance(answer, dict) else None


def keep_prediction(prediction_id: str, answer: str, *, right: bool) -> None:
    """Remember an answer, and the chapter that it was given in."""
    with _lock:
        now = read_progress()
        if not isinstance(now["predictions"], dict):
            now["predictions"] = {}
        now["predictions"][prediction_id] = {"said": answer, "right": right}
        now["last"] = _notebook_of(prediction_id) or now["last"]
        _write(now)


def _notebook_of(prediction_id: str) -> str | None:
    """The notebook of a chapter: ids start with the chapter's number."""
    root, chapter = course_root(), prediction_id.partition(".")[0]
    if root is None or not chapter.isdigit():
        return None
    return next((p.stem for p in (root / "notebooks").glob(f"{int(chapter):02d}_*.ipynb")), None)


def _write(progress: dict) -> None:
    """Replace the file as a whole; one that could not be read is kept beside it."""
    file = progress_file()
    if file is None:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.exists() and not _readable(file):
        _keep_aside(file)
    new = file.with_name(f"{file.name}.{os.getpid()}.new")
    new.write_text(json.dumps(progress, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    new.replace(file)


def _readable(file: Path) -> bool:
    text = file.read_text(encoding="utf-8", errors="replace")
    try:
        return not text.strip() or isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _keep_aside(file: Path) -> None:
    number = 1
    while (aside := file.with_name(f"{file.name}.broken-{number}")).exists():
        number += 1
    file.rename(aside)
