"""How long does it take to grade a class, beside nbgrader and otter-grader?

    python benchmarks/class_grading.py --peers FOLDER [class] [many] [hang]

All grade the same notebooks of chapter 1 on the same machine, one after the other.

class  The twenty-nine submissions that end, then the one that never does, alone, by each grader as
       it comes: `course.py grade FOLDER`, `nbgrader autograde` (one after the other; its feedback
       is a command of its own), `otter run` for each file, two side by side, and one after the
       other for the first of them; then all thirty by ours. What each paid, beside what each answer
       is worth. Without --peers, ours alone.
many   Ours alone: the thirty ten times over, and the memory while the first, the middle and the
       last tenth of them are graded.
hang   Ours alone: nine submissions, and the same nine behind one that never ends.

`class_submissions.py` says what the submissions are, `class_nbgrader.py` and `class_otter.py` how
the peers get the same checks. The first run with --peers installs them into FOLDER.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from class_nbgrader import Nbgrader
from class_otter import LONGEST, Otter
from class_peers import PINNED, Failed, peer
from class_submissions import ENDLESS, Submission, class_of_thirty
from class_tables import Points, Table, short_load, tell_points
from machine import load, machine
from process_tree import Cost, cost_of, run

from coursekit.exercises.exercise import ExerciseSet
from coursekit.exercises.parse import read_set

ROOT = Path(__file__).resolve().parents[1]
NAME = "01_storage_and_stride"
PARTS = ("class", "many", "hang")
TOLD = re.compile(r"(\S+)\.ipynb: (?:[\d.]+ of [\d.]+ points|not graded)")
TENTHS = (0, 4, 9)
# otter takes as long for each of them.
FIRST = 6


@dataclass
class Ours:
    """One call of `course.py grade`: its cost, the points, and when each submission was told."""

    cost: Cost
    points: Points
    told: dict[str, float] = field(default_factory=dict)


def ours(found: ExerciseSet, submissions: Sequence[Submission], folder: Path) -> Ours:
    """Write submissions into a new folder and grade them."""
    for one in submissions:
        one.write(found, folder / "in")
    out, told = folder / "out", {}
    arguments = ["grade", str(folder / "in"), "--out", str(out)]
    start = time.perf_counter()

    def heard(line: str) -> None:
        if about := TOLD.search(line):
            told[about[1]] = time.perf_counter() - start

    def grade() -> None:
        command = [sys.executable, "-P", str(ROOT / "course.py"), *arguments]
        status, said = run(command, folder=folder, env=os.environ, heard=heard)
        if not (out / "results.json").exists():
            raise Failed(f"course.py grade ended with {status}:\n{said[-800:]}")

    cost = cost_of(grade)
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    points = {
        Path(one["file"]).stem: {v["exercise"]: v["points"] for v in one["verdicts"]}
        for one in results["submissions"]
    }
    return Ours(cost, points, told)


def compare(found: ExerciseSet, submissions: list[Submission], folder: Path, peers: Path) -> None:
    """Part `class`."""
    *ending, endless = submissions
    paid: dict[str, Points] = {}
    table = Table()

    def measured(what: str, count: int, work: Callable[[], object]) -> None:
        before = short_load()
        try:
            table.row(what, count, cost_of(work), before)
        except Failed as problem:
            print(f"{what} failed: {problem}")

    before = short_load()
    graded = ours(found, ending, folder / "ours")
    table.row("ours", len(ending), graded.cost, before)
    paid["ours"] = graded.points
    if not peers:
        tell_points(ending, paid)
        return
    nbgrader = Nbgrader(peer("nbgrader", root=ROOT, peers=peers, folder=folder / "nbgrader"), found)
    nbgrader.hand_in(ending)
    measured("nbgrader autograde", len(ending), nbgrader.autograde)
    measured("nbgrader generate_feedback", len(ending), nbgrader.feedback)
    otter = Otter(peer("otter", root=ROOT, peers=peers, folder=folder / "otter"), found)
    measured("otter run, two at once", len(ending), lambda: otter.run(ending, at_once=2, out="two"))
    first = ending[:FIRST]
    measured("otter run, one by one", len(first), lambda: otter.run(first, at_once=1, out="one"))

    print(f"\nThe one that never ends, alone; otter is ended after {LONGEST:g} s:\n")
    table = Table()
    before = short_load()
    graded = ours(found, [endless], folder / "ours alone")
    table.row("ours", 1, graded.cost, before)
    paid["ours"] |= graded.points
    nbgrader.hand_in([endless])
    measured("nbgrader autograde", 1, nbgrader.autograde)
    measured("otter run", 1, lambda: otter.run([endless], at_once=1, out="two"))
    thirty = ours(found, submissions, folder / "thirty").cost
    print(f"\nAll thirty by ours: {thirty.wall:.1f} s, {thirty.cpu:.1f} s of CPU")
    paid["nbgrader"], paid["otter"] = nbgrader.points(), otter.points("two")
    tell_points(submissions, paid)


def many(found: ExerciseSet, submissions: list[Submission], folder: Path, times: int) -> None:
    """Part `many`."""
    copies = [one.named(f"{copy:02d}_{one.name}") for copy in range(times) for one in submissions]
    before = short_load()
    graded = ours(found, copies, folder / "many")
    print()
    Table().row("ours", len(copies), graded.cost, before)
    told = sorted(graded.told.values())
    for tenth in TENTHS:
        first, last = (len(told) * part // 10 for part in (tenth, tenth + 1))
        seen = graded.cost.between(told[first], told[last - 1]) or [graded.cost.peak]
        print(
            f"memory while {first + 1} to {last} of {len(told)} were graded: "
            f"median {statistics.median(seen):.0f} MB, most {max(seen):.0f} MB"
        )
    worth = {one.name: one.points for one in copies}
    odd = [name for name, points in worth.items() if graded.points.get(name) != points]
    print("Paid otherwise than they are worth:", ", ".join(odd) or "none")


def hang(found: ExerciseSet, submissions: list[Submission], folder: Path) -> None:
    """Part `hang`."""
    *ending, endless = submissions
    nine = ending[:9]
    without = ours(found, nine, folder / "without")
    first = endless.named(f"00_{ENDLESS}")
    behind = ours(found, [first, *nine], folder / "behind")
    later = [behind.told[one.name] - without.told[one.name] for one in nine]
    last = max(behind.told[one.name] for one in nine)
    print(
        f"\nnine submissions: {without.cost.wall:.1f} s; behind one that never ends: "
        f"{behind.cost.wall:.1f} s\nthat one was told after {behind.told[first.name]:.1f} s; the "
        f"others {statistics.median(later):.1f} s later than without it (median), at most "
        f"{max(later):.1f} s; the last of them after {last:.1f} s instead of "
        f"{max(without.told.values()):.1f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "parts", nargs="*", metavar="part", help="class, many, hang; all by default"
    )
    parser.add_argument("--peers", type=Path, help="folder of the peers' environments")
    parser.add_argument("--times", type=int, default=10, help="copies of the thirty in `many`")
    args = parser.parse_args()
    if unknown := set(args.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    parts = args.parts or PARTS
    found = read_set(ROOT, NAME)
    submissions = class_of_thirty(found)
    print(f"{machine()}; beside {', '.join(PINNED.values())}" if args.peers else machine())
    print(load(), flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if "class" in parts:
            compare(found, submissions, folder, args.peers and args.peers.absolute())
        if "many" in parts:
            many(found, submissions, folder, args.times)
        if "hang" in parts:
            hang(found, submissions, folder)
    print(load())


if __name__ == "__main__":
    main()
