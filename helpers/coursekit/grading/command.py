"""Grade these notebooks: what does `course.py grade` take, print and write?"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import current_thread, main_thread
from typing import TextIO

from ..arguments import parser
from ..environment import ROOT
from ..errors import CourseError
from .chapters import read_chapters
from .cluster import SCHEME, Cluster
from .counting import BEST, best_of_each, chapter_in, in_order, newest_of_each
from .engines import Engine, Local
from .grader import Grader, fingerprint
from .handed_in.collect import Submission, collect
from .handed_in.learners import RULES
from .on_save import watch
from .runs.choosing import choose
from .runs.isolation import ALL
from .runs.limits import Limits, lacking
from .runs.starters import Plain
from .submissions import Unreadable
from .told.journal import Journal
from .told.page import title_of
from .told.printed import line, plain, table
from .told.report import folder_for, write_reports
from .verdicts import Graded

# Of so many submissions each exercise is told; of more, a line for each.
MOST_IN_FULL = 3


def main(argv: Sequence[str], *, root: Path = ROOT, limits: Limits | None = None) -> int:
    """Grade, print and write. Returns 0 where every exercise that can be graded is right."""
    args = parser().parse_args(["grade", *argv])
    try:
        if args.jobs < 0:
            raise CourseError(
                f"Grading with {args.jobs} jobs was asked for. Fewer than none cannot run. Give 1 "
                "or more, or leave --jobs out."
            )
        with interruptible():
            return _carry_out(args, root=root, limits=limits or Limits())
    except CourseError as problem:
        say(str(problem), to=sys.stderr)
    except OSError as problem:
        say(
            f"Grading was asked for. The system refused something ({problem}). What was graded is "
            "kept: mend that and repeat the same command, which goes on from there.",
            to=sys.stderr,
        )
    return 1


def say(text: str, *, to: TextIO | None = None) -> None:
    """Print a text in a terminal, with a question mark for what it has no sign for."""
    stream = to or sys.stdout
    encoding = stream.encoding or "utf-8"
    print(text.encode(encoding, errors="replace").decode(encoding), file=stream, flush=True)


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


def _carry_out(args: argparse.Namespace, *, root: Path, limits: Limits) -> int:
    """Grade what the arguments name, with a starter that is closed however this ends."""
    paths = [Path(path).absolute() for path in args.paths] or [root / "exercises"]
    out = None if args.watch or args.list else folder_for(args.out)
    if args.list:
        return _list(paths, root)
    clustered = args.engine.startswith(SCHEME)
    if not clustered and args.engine != "local":
        raise CourseError(
            f"Asked to grade with the engine {args.engine!r}. There is no such one. Name a "
            f"scheduler, such as {SCHEME}localhost:8786, or leave --engine out."
        )
    # A cluster's workers have starters of their own.
    starter = Plain() if clustered else choose(args.isolation)
    inside = ("solutions", "source", "exercises", "teach", ".git")
    starter.hidden = [*(root / name for name in inside), *paths, *([out] if out else [])]
    try:
        grader = Grader(root, limits=limits, starter=starter)
        find = partial(collect, paths, chapters=[one.name for one in grader.chapters])
        if out is None:
            return watch(find, grader, say=say)
        submissions = find()
        how = fingerprint(root)
        if clustered:
            engine = Cluster(
                args.engine, root=root, limits=limits, isolation=args.isolation, how=how
            )
        else:
            engine = Local(grader, limits=limits, jobs=args.jobs)
            say(f"Isolation: {starter.isolation}. {ALL[starter.isolation].holds}")
            if starter.why:
                say(f"It is no better one, and slower: {starter.why}.")
            if lacking():
                say(f"This system cannot limit: {', '.join(lacking())}.")
        journal = Journal(out, f"{how} {limits.cell} {limits.notebook}")
        if args.again:
            journal.forget()
        if args.attempts == BEST:
            graded = best_of_each(list(_all(submissions, engine, journal).values()))
        else:
            notes = newest_of_each(submissions, grader.chapters)
            graded = [
                replace(found, attempts=notes[one])
                for one, found in _all(list(notes), engine, journal).items()
            ]
    finally:
        starter.close()
    return _report(in_order(graded), out)


def _list(paths: Sequence[Path], root: Path) -> int:
    """Print who has handed in what, which of it counts, and by which rules that was told."""
    chapters = read_chapters(root)
    submissions = collect(paths, chapters=[chapter.name for chapter in chapters])
    counts = newest_of_each(submissions, chapters)
    for one in submissions:
        try:
            said = f"chapter {title_of(chapter_in(one, chapters).name)}"
        except Unreadable as problem:
            said = str(problem)
        older = "" if one in counts else "; does not count, as there is a newer one"
        say(plain(f"{one.learner}  ←  {one.name}: {said}{older}", most=300))
    people = len({one.learner for one in submissions})
    say(f"\n{people} learners, {len(submissions)} files.\n\n{RULES}")
    return 0


def _all(
    submissions: Sequence[Submission], engine: Engine, journal: Journal
) -> dict[Submission, Graded]:
    """Every submission with its result: what the journal has of it, and the others graded now."""
    done = {one: found for one in submissions if (found := journal.find(one))}
    if done:
        say(
            f"{len(done)} of {len(submissions)} were graded before, and nothing has changed in "
            "them; --again grades them anew."
        )
    left = [one for one in submissions if one not in done]
    try:
        for one, graded in engine.grade(left):
            done[one] = graded
            journal.add(one, graded)
            say(f"[{len(done)}/{len(submissions)}] {line(graded)}")
    except KeyboardInterrupt:
        say(
            f"Stopped after {len(done)} of {len(submissions)}. Repeat the same command: it goes on "
            "where it stopped."
        )
        raise
    return done


def _report(graded: Sequence[Graded], out: Path) -> int:
    """Write the reports, and print what somebody wants to know at once."""
    if len(graded) <= MOST_IN_FULL:
        say(table(graded))
    write_reports(graded, out)
    say(f"Results: {out / 'class.html'}, with a page for each learner, and {out / 'grades.csv'}.")
    return int(not all(one.all_right for one in graded))
