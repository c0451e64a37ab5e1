"""How long does it take to grade one submission, and to check one answer in the notebook?

Submissions to grade alternate with plain `pytest --nbval` of the same cells. Each answer that is
not right runs a second time alone, so a submission with mistakes takes longer. The course's own
solutions run first, once for all submissions: that is a row of its own. A check is timed inside a
kernel, alternating with the bare calls of the answer that it looks at.
"""

from __future__ import annotations

import ast
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from machine import load, machine

from coursekit.execute import execute
from coursekit.exercises.derive import notebook_of
from coursekit.exercises.parse import ExerciseSet, read_set
from coursekit.grading.grader import Grader
from coursekit.grading.handed_in.collect import Submission
from coursekit.grading.runs.choosing import choose
from coursekit.grading.runs.limits import Limits
from coursekit.grading.runs.starters import Plain
from coursekit.notebook import text_of_file

ROOT = Path(__file__).resolve().parents[1]
NAME = "01_storage_and_stride"
ROUNDS = 5
CALLS = 50
# Stands in place of a check's last statement, and runs that again and again.
TIMED = """
import json as _json
from time import perf_counter as _now

def _bare(_exercise, answer, cases=None, **_how):
    return answer() if cases is None else [answer(*case) for case in cases]

_call, _times = compile({call!r}, "check", "eval"), {{"check": [], "bare": []}}
for _ in range({calls} + 1):
    for _name, _fn in (("check", check), ("bare", _bare)):
        _names = {{**globals(), "check": _fn}}
        _start = _now()
        eval(_call, _names)
        _times[_name].append((_now() - _start) * 1e3)
print(_json.dumps(_times))
"""


def submission(found: ExerciseSet, folder: Path, *, wrong: int) -> Path:
    """A learner's notebook: all answers but the last `wrong` are right."""
    last = found.exercises[len(found.exercises) - wrong :]
    notebook = notebook_of(
        found, lambda e: f"{e.solution}\n\n\n{e.wrongs[0].source}" if e in last else e.solution
    )
    path = folder / f"{wrong}_wrong.ipynb"
    path.write_text(text_of_file(notebook), encoding="utf-8", newline="\n")
    return path


def command(*arguments: str) -> None:
    """Run a module of Python's in the course's folder."""
    subprocess.run(
        [sys.executable, "-P", "-m", *arguments], cwd=ROOT, capture_output=True, check=True
    )


def seconds(fn: Callable[[], object]) -> float:
    start = time.perf_counter()
    fn()
    return time.perf_counter() - start


def grading(found: ExerciseSet) -> None:
    """Print the seconds of grading, and of plain nbval beside it."""
    limits, starter = Limits(), choose()
    grader = Grader(ROOT, limits=limits, starter=starter)
    [chapter] = [one for one in grader.chapters if one.name == found.name]
    once = seconds(lambda: grader.problems_of(chapter))
    print(f"once for all submissions: the course's own solutions {once:5.2f} s")
    plain = Grader(ROOT, limits=limits, starter=Plain())
    plain.problems_of(chapter)

    def graded(path: Path, by: Grader = grader) -> None:
        by.grade(Submission("", path.name, 0, path))

    with tempfile.TemporaryDirectory() as temporary:
        folder, count = Path(temporary), len(found.exercises)
        right, one, every = (submission(found, folder, wrong=wrong) for wrong in (0, 1, count))
        options = ("--out", str(folder / "grades"))
        cases = {
            "every answer right": partial(graded, right),
            "the same in a new process": partial(graded, right, plain),
            "plain pytest --nbval": partial(
                command, "pytest", "--nbval", f"solutions/{NAME}.ipynb"
            ),
            "one answer wrong": partial(graded, one),
            "every answer wrong": partial(graded, every),
            "course.py grade, one submission": partial(
                command, "coursekit", "grade", str(right), "--again", *options
            ),
        }
        times: dict[str, list[float]] = {name: [] for name in cases}
        for _ in range(ROUNDS):
            for name, fn in cases.items():
                times[name].append(seconds(fn))
    starter.close()
    base = statistics.median(times["plain pytest --nbval"])
    for name, found_s in times.items():
        median = statistics.median(found_s)
        print(
            f"{name:32} median {median:6.2f} s, shortest {min(found_s):6.2f} s, longest "
            f"{max(found_s):6.2f} s, {median / base:5.2f} × plain nbval, n={ROUNDS}"
        )


def checks(found: ExerciseSet) -> None:
    """Print the milliseconds of each exercise's check, its answer right, in a kernel."""
    notebook = notebook_of(found, lambda exercise: exercise.solution)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade"):
            last = ast.parse(cell.source).body[-1]
            before = "\n".join(cell.source.splitlines()[: last.lineno - 1])
            cell.source = before + TIMED.format(call=ast.unparse(last), calls=CALLS)
    ran = execute(notebook, folder=ROOT / "solutions")
    printed = [o.text for c in ran.cells for o in c.get("outputs", ()) if o.get("name") == "stdout"]
    for exercise, text in zip(found.exercises, printed, strict=True):
        (first, *times), (_, *bare) = json.loads(text).values()
        median, p95 = statistics.median(times), statistics.quantiles(times, n=20)[-1]
        print(
            f"check {exercise.id}  median {median:6.2f} ms, p95 {p95:6.2f} ms, n={CALLS}, the very "
            f"first {first:7.2f} ms, bare calls {statistics.median(bare):6.2f} ms "
            f"({median / statistics.median(bare):4.1f} ×)"
        )


def main() -> None:
    print(machine())
    print(load())
    found = read_set(ROOT, NAME)
    checks(found)
    print(load())
    grading(found)
    print(load())


if __name__ == "__main__":
    main()
