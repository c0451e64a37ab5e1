"""Grade these notebooks: what does `course.py grade` take, print and write?"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from threading import Lock, current_thread, main_thread
from typing import TextIO

from ..environment import ROOT
from ..errors import CourseError
from ..launcher import parser
from .chapters import Chapter, read_chapters
from .grade import calibrate, grade
from .limits import Limits, lacking
from .report import folder_for, table, write_reports
from .verdicts import Graded


def main(argv: Sequence[str], *, root: Path = ROOT, limits: Limits | None = None) -> int:
    """Grade, print and write. Returns 0 where every exercise that can be graded is right."""
    args = parser().parse_args(["grade", *argv])
    graded = []
    try:
        if args.jobs < 0:
            raise CourseError(
                f"Grading with {args.jobs} jobs was asked for. Fewer than none cannot run. Give 1 "
                "or more, or leave --jobs out."
            )
        out = folder_for(args.out)
        paths = find([Path(path) for path in args.paths])
        for one in grade_all(paths, root=root, limits=limits or Limits(), jobs=args.jobs):
            say(table([one]))
            graded.append(one)
        write_reports(graded, out)
    except CourseError as problem:
        say(str(problem), to=sys.stderr)
        return 1
    if lacking():
        say(f"This system cannot limit: {', '.join(lacking())}.")
    say(f"Results: {out / 'grades.csv'}")
    return int(not all(one.all_right for one in graded))


def say(text: str, *, to: TextIO | None = None) -> None:
    """Print a text in a terminal, with a question mark for what it has no sign for."""
    stream = to or sys.stdout
    encoding = stream.encoding or "utf-8"
    print(text.encode(encoding, errors="replace").decode(encoding), file=stream, flush=True)


def grade_all(
    paths: Sequence[Path], *, root: Path, limits: Limits, jobs: int = 0
) -> Iterator[Graded]:
    """Grade submissions, several at once, and give the results in the order of the paths.

    Each chapter's own solutions run first, once. What goes wrong with one submission is said of it,
    and the others go on. Whatever ends this ends every process that was started.
    """
    chapters = read_chapters(root)
    problems_of = _once_each(partial(calibrate, limits=limits), chapters)

    def grade_one(path: Path, name: str) -> Graded:
        try:
            return grade(path, name=name, chapters=chapters, problems_of=problems_of, limits=limits)
        except Exception as error:
            return Graded(
                name, problem=f"it made the grader fail ({type(error).__name__}: {error})"
            )

    with interruptible(), ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        try:
            yield from pool.map(grade_one, paths, names_of(paths))
        except BaseException:
            limits.stop.set()
            pool.shutdown(cancel_futures=True)
            raise


@contextmanager
def interruptible() -> Iterator[None]:
    """Meanwhile the system's request to end has the effect of Ctrl+C, so that all is cleared up."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def find(paths: Sequence[Path]) -> list[Path]:
    """The notebooks among `paths` and in the folders among them, hidden folders aside, once each.

    Raises CourseError where a path leads nowhere, or there is no notebook.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        if path.is_dir():
            inside = sorted(one for one in path.rglob("*") if one.suffix.lower() == ".ipynb")
            hidden = [
                any(part.startswith(".") for part in p.relative_to(path).parts) for p in inside
            ]
            new = [p for p, hides in zip(inside, hidden, strict=True) if not hides | p.is_dir()]
        elif path.exists():
            new = [path]
        else:
            raise CourseError(
                f"Asked to grade {path}. There is no such file or folder. Check the name: a path "
                "counts from the folder you are in."
            )
        for one in new:
            found.setdefault(_place(one), one.absolute())
    if not found:
        raise CourseError(
            f"Asked to grade {', '.join(map(str, paths))}. There is no notebook in it. Name a file "
            "that ends with .ipynb, or a folder that holds some."
        )
    return list(found.values())


def names_of(paths: Sequence[Path]) -> list[str]:
    """How reports call the submissions: by their paths below the folder that holds them all."""
    try:
        common = os.path.commonpath([path.parent for path in paths])
    except ValueError:  # on two drives
        return [path.as_posix() for path in paths]
    return [path.relative_to(common).as_posix() for path in paths]


def _once_each(
    find_problems: Callable[[Chapter], dict[str, str]], chapters: Sequence[Chapter]
) -> Callable[[Chapter], dict[str, str]]:
    """The same function, carried out once for each chapter, by whoever asks first."""
    locks = {chapter.name: Lock() for chapter in chapters}
    found = cache(find_problems)

    def problems_of(chapter: Chapter) -> dict[str, str]:
        with locks[chapter.name]:
            return found(chapter)

    return problems_of


def _place(path: Path) -> Path:
    """Where a file is, whatever path leads to it."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a link that leads to itself
        return path.absolute()
