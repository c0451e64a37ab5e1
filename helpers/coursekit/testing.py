"""Is the course in order? `course.py test` runs every check and says which one failed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .arguments import parser
from .environment import ROOT
from .machine import find_chromium

NOTHING_SELECTED = 5  # pytest's exit status where no test was left to run
# Each file runs in one process: its tests share what they set up, a notebook's cells a kernel.
SIDE_BY_SIDE = ("-n", "auto", "--maxprocesses=4", "--dist=loadfile")
SLOWEST = ("--durations=20", "--durations-min=5")
CHECKED_BY_RUFF = ("helpers", "tests", "benchmarks", "source", "course.py", "conftest.py")


@dataclass(frozen=True)
class Step:
    """One check: a command for the course's Python, or the reason why there is none."""

    title: str
    command: tuple[str, ...] = ()
    outcome: str = ""
    reason: str = ""
    selects: bool = False


@dataclass(frozen=True)
class Result:
    """How a step ended: "passed", "failed" or "skipped"."""

    title: str
    outcome: str
    seconds: float
    reason: str = ""


def main(argv: Sequence[str]) -> int:
    """Runs all steps, whatever fails, and returns 1 if one has failed, else 0."""
    args = parser().parse_args(["test", *argv])
    steps = plan(
        ROOT,
        slow=args.slow,
        expression=args.expression,
        chromium=find_chromium(),
        browser_required=os.environ.get("INSIDETORCH_BROWSER") == "required",
    )
    try:
        results = [run(step, ROOT) for step in steps]
    except KeyboardInterrupt:
        print("\nStopped before all checks had run. Nothing is known about the rest.")
        return 130
    print(table(results))
    return int(any(result.outcome == "failed" for result in results))


def plan(
    root: Path,
    *,
    slow: bool,
    expression: str | None,
    chromium: str | None,
    browser_required: bool,
) -> list[Step]:
    """Which checks are there, in which order?"""
    sources = [name for name in CHECKED_BY_RUFF if (root / name).exists()]
    selected = ["-k", expression] if expression is not None else []
    pytest = ["pytest", *selected, *(["--slow"] if slow else [])]
    tests = Step(
        "unit tests",
        (*pytest, *SIDE_BY_SIDE, *SLOWEST, "tests", "--ignore=tests/browser"),
        selects=expression is not None,
    )
    return [
        Step("ruff check", ("ruff", "check", *sources)),
        Step("ruff format", ("ruff", "format", "--check", *sources)),
        tests,
        Step("build --check", ("coursekit", "build", "--check")),
        notebooks_step(root, pytest, selects=expression is not None),
        browser_step(
            root,
            pytest,
            selects=expression is not None,
            chromium=chromium,
            required=browser_required,
        ),
    ]


def notebooks_step(root: Path, pytest: list[str], *, selects: bool) -> Step:
    """Runs every stored notebook again; that there is none is a failure, not a success."""
    title = "notebooks"
    folders = [name for name in ("notebooks", "solutions") if any((root / name).rglob("*.ipynb"))]
    if "notebooks" not in folders:
        return Step(title, outcome="failed", reason=f"no notebook in {root / 'notebooks'}")
    return Step(title, (*pytest, *SIDE_BY_SIDE, "--nbval", *folders), selects=selects)


def browser_step(
    root: Path, pytest: list[str], *, selects: bool, chromium: str | None, required: bool
) -> Step:
    """Drives the widgets in a real JupyterLab, where a Chromium is found or required."""
    title = "browser tests"
    lacking = None
    if not any((root / "tests" / "browser").rglob("test_*.py")):
        lacking = f"no tests in {root / 'tests' / 'browser'}"
    elif chromium is None:
        lacking = "no Chromium found; install one, or name it in INSIDETORCH_CHROMIUM"
    if lacking:
        return Step(title, outcome="failed" if required else "skipped", reason=lacking)
    # A test that passes only the second time is shown as rerun, not hidden.
    # Each takes seconds, so each is named.
    named = ("-v", "--reruns=1", "-rR")
    return Step(title, (*pytest, *SIDE_BY_SIDE, *named, "tests/browser"), selects=selects)


def run(step: Step, root: Path) -> Result:
    """Runs one step in a process of its own, under a heading."""
    print(f"\n=== {step.title} ===", flush=True)
    if not step.command:
        print(f"{step.outcome}: {step.reason}", flush=True)
        return Result(step.title, step.outcome, 0.0, step.reason)
    started = time.perf_counter()
    code = subprocess.call([sys.executable, "-P", "-m", *step.command], cwd=root)
    return result_of(step, code, seconds=time.perf_counter() - started)


def result_of(step: Step, code: int, *, seconds: float) -> Result:
    """What does the exit status of a step mean?

    No test at all is a failure, except where `-k` has selected tests of other steps.
    """
    if code == 0:
        return Result(step.title, "passed", seconds)
    if code == NOTHING_SELECTED and step.selects:
        return Result(step.title, "skipped", seconds, "-k selects nothing here")
    return Result(step.title, "failed", seconds, f"exit status {code}")


def table(results: Sequence[Result]) -> str:
    """All results, one a line, and how many passed, failed and were skipped."""
    width = max(len(result.title) for result in results)
    lines = [
        f"{result.title:<{width}}  {result.outcome:<7}  {result.seconds:5.0f} s  {result.reason}"
        for result in results
    ]
    counts = [
        f"{sum(result.outcome == outcome for result in results)} {outcome}"
        for outcome in ("passed", "failed", "skipped")
    ]
    return "\n".join(["", "=== result ===", *(line.rstrip() for line in lines), ", ".join(counts)])
