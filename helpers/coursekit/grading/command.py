"""Grade these notebooks: what does `course.py grade` take, print and write?"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

from ..environment import ROOT
from ..errors import CourseError
from ..launcher import parser
from .chapters import read_chapters
from .grade import calibrate, grade
from .limits import Limits, lacking
from .report import refuse_other, table, write_reports
from .verdicts import Graded


def main(argv: Sequence[str], *, root: Path = ROOT, limits: Limits | None = None) -> int:
    """Grade, print and write. Returns 0 where every exercise that can be graded is right."""
    args = parser().parse_args(["grade", *argv])
    out = Path(args.out)
    try:
        refuse_other(out)
        paths = find([Path(path) for path in args.paths])
        graded = grade_all(paths, root=root, limits=limits or Limits())
        write_reports(graded, out)
    except CourseError as problem:
        print(problem, file=sys.stderr)
        return 1
    print(table(graded))
    if lacking():
        print(f"This system cannot limit: {', '.join(lacking())}.")
    print(f"Results: {out / 'grades.csv'}")
    return int(not all(one.all_right for one in graded))


def grade_all(paths: Sequence[Path], *, root: Path, limits: Limits) -> list[Graded]:
    """Grade submissions one after the other; each chapter's own solutions run first, once."""
    chapters = read_chapters(root)
    problems_of = cache(partial(calibrate, limits=limits))
    return [
        grade(path, name=name, chapters=chapters, problems_of=problems_of, limits=limits)
        for path, name in zip(paths, names_of(paths), strict=True)
    ]


def find(paths: Sequence[Path]) -> list[Path]:
    """The notebooks among `paths` and in the folders among them, hidden folders aside.

    Raises CourseError where a path leads nowhere, or there is no notebook.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = sorted(path.rglob("*.ipynb"))
            hidden = [
                any(part.startswith(".") for part in p.relative_to(path).parts) for p in inside
            ]
            new = [p for p, hides in zip(inside, hidden, strict=True) if p.is_file() and not hides]
        elif path.is_file():
            new = [path]
        else:
            raise CourseError(
                f"Asked to grade {path}. There is no such file or folder. Check the name: a path "
                "counts from the folder you are in."
            )
        found.update(dict.fromkeys(one.absolute() for one in new))
    if not found:
        raise CourseError(
            f"Asked to grade {', '.join(map(str, paths))}. There is no notebook in it. Name a file "
            "that ends with .ipynb, or a folder that holds some."
        )
    return list(found)


def names_of(paths: Sequence[Path]) -> list[str]:
    """How reports call the submissions: by their paths below the folder that holds them all."""
    try:
        common = os.path.commonpath([path.parent for path in paths])
    except ValueError:  # on two drives
        return [path.as_posix() for path in paths]
    return [path.relative_to(common).as_posix() for path in paths]
