"""Where do the results stand: a table to read, some for a spreadsheet, one for a program, pages?"""

from __future__ import annotations

import csv
import io
import json
import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from ...errors import CourseError
from ..verdicts import Graded
from .class_page import class_page
from .journal import FILE as JOURNAL
from .page import learner_page
from .printed import plain

RESULTS = "results.json"
LEARNERS = "learners"
WRITTEN = {JOURNAL, LEARNERS, RESULTS, "class.html", "grades.csv", "totals.csv"}
SUFFIX = re.compile(r"\.ipynb$", re.IGNORECASE)
LONGEST_NAME = 120
HEADER = ("learner", "chapter", "exercise", "points", "max", "outcome", "note", "file")


def write_reports(graded: Sequence[Graded], out: Path) -> None:
    """Write the tables, results.json, class.html and a page for each learner into `out`.

    What an earlier run wrote is kept in a folder beside it. Raises CourseError where the folder
    holds something else.
    """
    refuse_other(out)
    keep_earlier(out)
    (out / LEARNERS).mkdir(parents=True, exist_ok=True)
    people = list(dict.fromkeys(one.learner for one in graded))
    pages = dict(zip(people, page_names(people), strict=True))
    addresses = {learner: f"{LEARNERS}/{name}" for learner, name in pages.items()}
    for learner, address in addresses.items():
        own = [one for one in graded if one.learner == learner]
        _write(out / address, learner_page(learner, own))
    _write(out / "class.html", class_page(graded, pages=addresses))
    _write(out / "grades.csv", csv_text(graded))
    _write(out / "totals.csv", totals_text(graded))
    _write(out / RESULTS, json_text(graded, addresses))


def folder_for(name: str) -> Path:
    """The folder that results can be written into, made where there is none.

    Raises CourseError where there cannot be one.
    """
    if not name:
        raise CourseError(
            "Asked to write the grades into a folder without a name. There is no such folder. Name "
            "one with --out, or leave --out away."
        )
    out = Path(name).absolute()
    try:
        refuse_other(out)
        out.mkdir(parents=True, exist_ok=True)
        for folder in (out, out.parent):
            tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise CourseError(
            f"Asked to write the grades into {out}. Nothing can be written there "
            f"({error.strerror}). Name another folder with --out."
        ) from None
    return out


def refuse_other(out: Path) -> None:
    """Raise CourseError where `out` is something else than a folder of results, or empty."""
    if not out.exists() or (out.is_dir() and _is_ours(out)):
        return
    raise CourseError(
        f"Asked to write the grades into {out}. It holds something else, which would be mixed "
        "with them. Name a new folder with --out."
    )


def keep_earlier(out: Path) -> None:
    """Move the reports of an earlier run out of the way, into the next free number beside it.

    The folder itself stays, since somebody may work in it, and so does the journal, which goes on.
    """
    found = [one for one in out.iterdir() if one.name != JOURNAL] if out.is_dir() else []
    if not found:
        return
    number = 1
    while (aside := out.with_name(f"{out.name}-{number}")).exists():
        number += 1
    aside.mkdir()
    for one in found:
        one.rename(aside / one.name)


def csv_text(graded: Sequence[Graded]) -> str:
    """A line for each exercise. What cannot be graded has no points, which is not 0."""
    rows: list[Sequence[str]] = [HEADER]
    for one in graded:
        who, file = _inert(one.learner), _inert(one.file)
        if one.problem:
            rows.append([who, one.chapter, "", "", "", "not graded", _inert(one.problem), file])
        for verdict in one.verdicts:
            points = "" if verdict.points is None else f"{verdict.points:g}"
            note = _inert(verdict.why)
            where = [who, one.chapter, verdict.exercise, points, f"{verdict.max:g}"]
            rows.append([*where, verdict.outcome, note, file])
    return _csv(rows)


def totals_text(graded: Sequence[Graded]) -> str:
    """A line for each learner: the points of each chapter, blank where nothing was graded.

    The first line has the points that can be had.
    """
    chapters = sorted({one.chapter for one in graded if one.verdicts})
    most = {name: max(one.max for one in graded if one.chapter == name) for name in chapters}
    points: dict[str, dict[str, float]] = {one.learner: {} for one in graded}
    for one in graded:
        if one.verdicts:
            own = points[one.learner]
            own[one.chapter] = own.get(one.chapter, 0) + one.points
    rows: list[Sequence[str]] = [("learner", *chapters, "total")]
    for learner, own in {"(of)": most, **points}.items():
        each = [f"{own[name]:g}" if name in own else "" for name in chapters]
        rows.append([_inert(learner), *each, f"{sum(own.values()):g}" if own else ""])
    return _csv(rows)


def json_text(graded: Sequence[Graded], pages: dict[str, str]) -> str:
    """Everything that is known, for a program."""
    submissions = [
        {
            **asdict(one),
            "points": one.points,
            "max": one.max,
            "page": pages[one.learner],
            "verdicts": [{**asdict(each), "points": each.points} for each in one.verdicts],
        }
        for one in graded
    ]
    return json.dumps({"v": 2, "submissions": submissions}, indent=1, ensure_ascii=False) + "\n"


def page_names(files: Sequence[str]) -> list[str]:
    """A file name for the page of each submission, no two the same."""
    names: list[str] = []
    for file in files:
        base = re.sub(r"[^\w.-]+", "_", SUFFIX.sub("", file)).lstrip(".")
        # What file systems count is bytes.
        end = base.encode(errors="replace")[-LONGEST_NAME:]
        base = end.decode(errors="ignore").lstrip(".") or "page"
        name, number = f"{base}.html", 2
        while name.casefold() in {each.casefold() for each in names}:
            name, number = f"{base}-{number}.html", number + 1
        names.append(name)
    return names


def _is_ours(out: Path) -> bool:
    """Does a folder hold what a run has written, or nothing?"""
    names = {one.name for one in out.iterdir()}
    # What it began to write is not all that it would have written.
    if not names or (JOURNAL in names and names <= WRITTEN):
        return True
    try:
        found = json.loads((out / RESULTS).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "v" in found and "submissions" in found


def _csv(rows: Iterable[Sequence[str]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()


def _inert(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    line = plain(text, most=500)
    return f"'{line}" if line.startswith(("=", "+", "-", "@")) else line


def _write(path: Path, text: str) -> None:
    # A spreadsheet takes a table for UTF-8 only where it says so.
    encoding = "utf-8-sig" if path.suffix == ".csv" else "utf-8"
    # Learners can put half a surrogate pair into a name or an error.
    path.write_text(text, encoding=encoding, errors="replace", newline="\n")
