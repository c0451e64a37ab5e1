"""Where do the results stand: a table to read, one for a spreadsheet, and one for a program?"""

from __future__ import annotations

import csv
import io
import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from ..errors import CourseError
from .page import page
from .verdicts import Graded, Verdict

RESULTS = "results.json"
SUFFIX = re.compile(r"\.ipynb$", re.IGNORECASE)
LONGEST_NAME = 120
HEADER = ("file", "exercise", "points", "max", "note")


def write_reports(graded: Sequence[Graded], out: Path) -> None:
    """Write grades.csv, results.json and a page per submission into the folder `out`.

    What an earlier run wrote is kept in a folder beside it. Raises CourseError where the folder
    holds something else.
    """
    refuse_other(out)
    keep_earlier(out)
    out.mkdir(parents=True, exist_ok=True)
    names = page_names([one.file for one in graded])
    for one, name in zip(graded, names, strict=True):
        _write(out / name, page(one))
    _write(out / "grades.csv", csv_text(graded))
    _write(out / RESULTS, json_text(graded, names))


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
    if not out.exists() or (out.is_dir() and (_is_ours(out / RESULTS) or not any(out.iterdir()))):
        return
    raise CourseError(
        f"Asked to write the grades into {out}. It holds something else, which would be mixed "
        "with them. Name a new folder with --out."
    )


def keep_earlier(out: Path) -> None:
    """Move the results of an earlier run out of the way, into the next free number beside it.

    The folder itself stays: somebody may work in it.
    """
    if not (out / RESULTS).is_file():
        return
    number = 1
    while (aside := out.with_name(f"{out.name}-{number}")).exists():
        number += 1
    aside.mkdir()
    for one in list(out.iterdir()):
        one.rename(aside / one.name)


def table(graded: Sequence[Graded]) -> str:
    """What is printed: each submission with its exercises, and why points are missing."""
    lines = []
    for one in graded:
        if one.problem:
            lines += [f"{plain(one.file)}: not graded, {plain(one.problem)}", ""]
            continue
        lines.append(f"{plain(one.file)}: {one.points:g} of {one.max:g} points")
        for verdict in one.verdicts:
            points = "  –" if verdict.points is None else f"{verdict.points:3g}"
            why = f": {plain(verdict.why)}" if verdict.why else ""
            lines.append(
                f"  {verdict.exercise:<6}{points} of {verdict.max:g}  {verdict.outcome}{why}"
            )
        lines += [f"  note: {plain(note)}" for note in one.notes]
        lines.append("")
    return "\n".join(lines)


def plain(text: str, most: int = 160) -> str:
    """One line without control characters: file names and errors come from the learner."""
    line = "".join(c if c.isprintable() else " " for c in text)
    return line if len(line) <= most else line[:most] + " …"


def csv_text(graded: Sequence[Graded]) -> str:
    """One line per exercise. What cannot be graded has no points, which is not 0."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(HEADER)
    for one in graded:
        if one.problem:
            writer.writerow([_inert(one.file), "", "", "", _inert(f"not graded: {one.problem}")])
        for verdict in one.verdicts:
            points = "" if verdict.points is None else f"{verdict.points:g}"
            row = [_inert(one.file), verdict.exercise, points, f"{verdict.max:g}"]
            writer.writerow([*row, _inert(_note(verdict))])
    return stream.getvalue()


def json_text(graded: Sequence[Graded], pages: Sequence[str]) -> str:
    """Everything that is known, for a program."""
    submissions = [
        {
            **asdict(one),
            "points": one.points,
            "max": one.max,
            "page": name,
            "verdicts": [{**asdict(each), "points": each.points} for each in one.verdicts],
        }
        for one, name in zip(graded, pages, strict=True)
    ]
    return json.dumps({"v": 1, "submissions": submissions}, indent=1, ensure_ascii=False) + "\n"


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


def _is_ours(results: Path) -> bool:
    try:
        found = json.loads(results.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "v" in found and "submissions" in found


def _note(verdict: Verdict) -> str:
    return f"{verdict.outcome}: {verdict.why}" if verdict.why else verdict.outcome


def _inert(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    line = plain(text, most=500)
    return f"'{line}" if line.startswith(("=", "+", "-", "@")) else line


def _write(path: Path, text: str) -> None:
    # Learners can put half a surrogate pair into a name or an error.
    path.write_text(text, encoding="utf-8", errors="replace", newline="\n")
