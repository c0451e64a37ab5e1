"""Does `course.py test` run every check, and does each failure count?"""

from __future__ import annotations

from pathlib import Path

import pytest

from coursekit import testing
from coursekit.testing import SIDE_BY_SIDE, SLOWEST, Result, Step

TITLES = [
    "ruff check",
    "ruff format",
    "unit tests",
    "build --check",
    "notebooks",
    "browser tests",
]


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course folder with one notebook and one browser test."""
    root = tmp_path / "курс 深い"
    (root / "notebooks").mkdir(parents=True)
    (root / "notebooks" / "01.ipynb").touch()
    (root / "tests" / "browser").mkdir(parents=True)
    (root / "tests" / "browser" / "test_view.py").touch()
    (root / "helpers").mkdir()
    (root / "course.py").touch()
    return root


def plan(root: Path, **changes: object) -> dict[str, Step]:
    options = {
        "slow": False,
        "expression": None,
        "chromium": "/usr/bin/chromium",
        "browser_required": False,
    }
    return {step.title: step for step in testing.plan(root, **{**options, **changes})}


def test_the_steps_come_in_their_order(course):
    steps = plan(course)
    assert list(steps) == TITLES
    assert steps["ruff check"].command == ("ruff", "check", "helpers", "tests", "course.py")
    assert steps["ruff format"].command[:3] == ("ruff", "format", "--check")
    tests = ("pytest", *SIDE_BY_SIDE, *SLOWEST, "tests", "--ignore=tests/browser")
    assert steps["unit tests"].command == tests
    assert steps["build --check"].command == ("coursekit", "build", "--check")
    assert steps["notebooks"].command == ("pytest", *SIDE_BY_SIDE, "--nbval", "notebooks")
    named = ("-v", "--reruns=1", "-rR")
    assert steps["browser tests"].command == ("pytest", *SIDE_BY_SIDE, *named, "tests/browser")


def test_solutions_are_run_when_there_are_any(course):
    (course / "solutions").mkdir()
    assert plan(course)["notebooks"].command[-1] == "notebooks"
    (course / "solutions" / "01.ipynb").touch()
    assert plan(course)["notebooks"].command[-2:] == ("notebooks", "solutions")


def test_slow_and_k_reach_every_pytest(course):
    for title in ("unit tests", "notebooks", "browser tests"):
        command = plan(course, slow=True, expression="stride")[title].command
        assert command[:4] == ("pytest", "-k", "stride", "--slow")


def test_a_course_without_notebooks_fails(course):
    (course / "notebooks" / "01.ipynb").unlink()
    step = plan(course)["notebooks"]
    assert (step.outcome, step.command) == ("failed", ())
    assert "no notebook in" in step.reason


@pytest.mark.parametrize(("required", "outcome"), [(False, "skipped"), (True, "failed")])
def test_browser_tests_without_a_browser_are_skipped_unless_required(course, required, outcome):
    step = plan(course, chromium=None, browser_required=required)["browser tests"]
    assert (step.outcome, step.command) == (outcome, ())
    assert "INSIDETORCH_CHROMIUM" in step.reason


@pytest.mark.parametrize(("required", "outcome"), [(False, "skipped"), (True, "failed")])
def test_required_browser_tests_must_be_there(course, required, outcome):
    (course / "tests" / "browser" / "test_view.py").unlink()
    step = plan(course, browser_required=required)["browser tests"]
    assert step.outcome == outcome
    assert step.reason.startswith("no tests in")


@pytest.mark.parametrize(
    ("code", "selects", "outcome"),
    [
        (0, False, "passed"),
        (1, False, "failed"),
        (5, False, "failed"),
        (5, True, "skipped"),
        (1, True, "failed"),
        (-9, False, "failed"),
    ],
)
def test_an_exit_status_is_understood(code, selects, outcome):
    step = Step("unit tests", ("pytest",), selects=selects)
    assert testing.result_of(step, code, seconds=1.0).outcome == outcome


def test_a_step_runs_in_a_process_of_its_own(tmp_path, capfd):
    (tmp_path / "good.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "bad.py").write_text("import os\n", encoding="utf-8")
    check = ("ruff", "check", "--isolated", "--no-cache")
    assert testing.run(Step("good", (*check, "good.py")), tmp_path).outcome == "passed"
    assert testing.run(Step("bad", (*check, "bad.py")), tmp_path).outcome == "failed"
    said = capfd.readouterr().out
    assert "=== good ===" in said and "=== bad ===" in said and "F401" in said


def test_a_step_without_a_command_keeps_its_outcome(tmp_path, capsys):
    result = testing.run(Step("browser tests", outcome="skipped", reason="none"), tmp_path)
    assert result == Result("browser tests", "skipped", 0.0, "none")
    assert "skipped: none" in capsys.readouterr().out


@pytest.mark.parametrize(("failing", "code"), [(None, 0), *((title, 1) for title in TITLES)])
def test_one_failure_fails_the_run_and_stops_nothing(failing, code, monkeypatch, capsys):
    seen = []

    def run(step: Step, root: Path) -> Result:
        seen.append(step.title)
        return Result(step.title, "failed" if step.title == failing else "passed", 1.0)

    monkeypatch.setattr(testing, "run", run)
    assert testing.main([]) == code
    assert seen == TITLES
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == f"{6 - code} passed, {code} failed, 0 skipped"


def test_ctrl_c_ends_the_run_with_130(monkeypatch, capsys):
    def run(step: Step, root: Path) -> Result:
        raise KeyboardInterrupt

    monkeypatch.setattr(testing, "run", run)
    assert testing.main([]) == 130
    assert "Stopped before all checks had run" in capsys.readouterr().out


def test_the_table_says_what_happened_to_each_step():
    text = testing.table(
        [
            Result("ruff check", "passed", 0.4),
            Result("browser tests", "skipped", 0.0, "no Chromium"),
        ]
    )
    assert text.splitlines() == [
        "",
        "=== result ===",
        "ruff check     passed       0 s",
        "browser tests  skipped      0 s  no Chromium",
        "1 passed, 0 failed, 1 skipped",
    ]


def test_the_environment_decides_whether_a_browser_is_required(monkeypatch):
    required = []

    def remember(root: Path, **options: object) -> list[Step]:
        required.append(options["browser_required"])
        return [Step("browser tests", outcome="skipped", reason="none")]

    monkeypatch.setattr(testing, "plan", remember)
    monkeypatch.setenv("INSIDETORCH_BROWSER", "required")
    testing.main([])
    monkeypatch.delenv("INSIDETORCH_BROWSER")
    testing.main([])
    assert required == [True, False]
