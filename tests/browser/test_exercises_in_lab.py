"""Tier 3: a learner's session with the exercises, from "not attempted" to points."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness import LabServer, Notebook
from playwright.sync_api import Locator, expect

from coursekit.exercises.derive import notebook_of
from coursekit.exercises.parse import read_set
from coursekit.notebook import text_of_file

ROOT = Path(__file__).parents[2]
SET = read_set(ROOT, "01_storage_and_stride")
EXERCISES = {exercise.id: exercise for exercise in SET.exercises}
POINTS = {exercise.id: exercise.about["points"] for exercise in SET.exercises}
NOTEBOOK = f"exercises/{SET.name}.ipynb"


class Learner:
    """Somebody with mouse and keyboard at a notebook of exercises."""

    def __init__(self, opened: Notebook) -> None:
        self.opened, self.keyboard = opened, opened.page.keyboard
        self.run(1)  # the imports

    def place(self, exercise: str) -> int:
        """The number of the cell for an answer; its check is in the next one."""
        return self.opened.place(answer_cell(exercise))

    def run(self, number: int) -> Locator:
        """Run a cell; returns what it shows."""
        prompt = self.opened.cell(number).locator(".jp-InputPrompt")
        prompt.click()
        before = prompt.inner_text()
        self.keyboard.press("Shift+Enter")
        expect(prompt).not_to_have_text(before)
        expect(prompt).to_have_text(re.compile(r"^\[\d+\]:$"), timeout=60_000)
        return self.opened.cell(number).locator(".jp-OutputArea-output")

    def check(self, exercise: str) -> Locator:
        """Run an answer as it stands, then its check; returns the lines that the check shows."""
        self.run(self.place(exercise))
        return self.run(self.place(exercise) + 1).locator("p")

    def answer(self, exercise: str, source: str) -> Locator:
        """Type a whole answer over what stands there, and check it."""
        self.opened.cell(self.place(exercise)).locator(".cm-content").click()
        self.keyboard.press("ControlOrMeta+a")
        self.type(source)
        return self.check(exercise)

    def new_cell(self, exercise: str, source: str) -> int:
        """Type a cell below an exercise, which is not run yet; returns its number."""
        check = self.place(exercise) + 1
        self.opened.cell(check).locator(".jp-InputPrompt").click()
        self.keyboard.press("b")
        self.keyboard.press("Enter")
        self.type(source)
        return check + 1

    def type(self, source: str) -> None:
        for number, line in enumerate(source.splitlines()):
            if number:
                self.keyboard.press("Enter")
                self.keyboard.press("Shift+Home")  # typed over: the indent that the editor made
            self.keyboard.type(line)

    def save(self) -> None:
        self.keyboard.press("ControlOrMeta+s")
        self.opened.page.wait_for_function(
            "() => !window.jupyterapp.shell.currentWidget.context.model.dirty"
        )


def answer_cell(exercise: str) -> str:
    return f"answer-{exercise.replace('.', '-')}"


@pytest.fixture
def course(lab: LabServer) -> Iterator[Path]:
    """A copy of the course with untouched exercises; somebody may have worked in its own."""
    copy = lab.root / "mein Körs"
    for folder in ("helpers", "exercises", "solutions"):
        ignored = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignored)
    shutil.copy(ROOT / "course.py", copy)
    stubs = text_of_file(notebook_of(SET, lambda exercise: exercise.stub))
    (copy / NOTEBOOK).write_text(stubs, encoding="utf-8", newline="\n")
    yield copy
    shutil.rmtree(copy)


@pytest.fixture
def learner(course: Path, open_notebook: Callable[..., Notebook]) -> Learner:
    return Learner(open_notebook(f"{course.name}/{NOTEBOOK}"))


def command(course: Path, *arguments: str, typed: str = "") -> str:
    """What a command of this copy's course.py prints."""
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "coursekit", *arguments],
        cwd=course,
        env={**os.environ, "PYTHONPATH": str(course / "helpers"), "PYTHONUTF8": "1"},
        input=typed,
        capture_output=True,
        encoding="utf-8",
    )
    assert ran.stderr == ""
    return ran.stdout


def cells_of(notebook: Path) -> dict[str, dict]:
    return {c["id"]: c for c in json.loads(notebook.read_text(encoding="utf-8"))["cells"]}


def words(text: str) -> str:
    """A text of the course as a page shows it: without the backticks around code."""
    return text.replace("`", "")


def test_a_learner_gets_from_not_attempted_to_right(learner: Learner, lab: LabServer) -> None:
    exercise, wrong = EXERCISES["1.2"], EXERCISES["1.2"].wrongs[0]
    expect(learner.check("1.2").first).to_have_text("○ 1.2 not attempted")
    says = learner.answer("1.2", exercise.marked(wrong.source))
    expect(says).to_have_text(["✗ 1.2 not yet", words(wrong.tell)])
    cell = learner.new_cell("1.2", 'hint("1.2")')
    for count in (1, 2, 3):
        steps = [words(hint) for hint in exercise.hints[:count]]
        expect(learner.run(cell).locator("li")).to_have_text(steps)
    says = learner.answer("1.2", exercise.solution)
    expect(says).to_have_text(["✓ 1.2 right", words(exercise.afterword)])
    bar = learner.run(learner.new_cell("1.2", "progress()"))
    following = next(e for e in SET.exercises if e.about["core"] and e.id != "1.2")
    expect(bar).to_contain_text(f"{POINTS['1.2']} of {sum(POINTS.values())} points")
    expect(bar).to_contain_text(f"next: {following.id} {following.about['title']}")
    kept = json.loads(lab.progress.read_text(encoding="utf-8"))
    assert kept["exercises"] == {"1.2": {"is": "right"}} and kept["hints"] == {"1.2": 3}
    assert learner.opened.output_errors() == []


def test_what_is_saved_can_be_reset_and_graded(learner: Learner, course: Path) -> None:
    notebook = course / NOTEBOOK
    pristine = cells_of(notebook)
    answers = {name: EXERCISES[name].solution for name in ("1.2", "1.4")}
    answers["1.1"] = EXERCISES["1.1"].marked(EXERCISES["1.1"].wrongs[-1].source)
    for name, source in answers.items():
        learner.answer(name, source)
    learner.save()
    saved, before = notebook.read_bytes(), cells_of(notebook)
    assert {name: "".join(before[answer_cell(name)]["source"]) for name in answers} == answers
    told = command(course, "reset", "1.2", typed="y\n")
    assert f"Put back the stub of 1.2 in {NOTEBOOK}?" in told
    [backup] = (course / ".insidetorch" / "backup").iterdir()
    assert backup.read_bytes() == saved
    after = cells_of(notebook)
    assert [name for name in before if after[name] != before[name]] == ["answer-1-2"]
    assert after["answer-1-2"] == pristine["answer-1-2"]
    shown = {name: learner.opened.cell(learner.place(name)).locator(".cm-line") for name in answers}
    for name in ("File", "Reload Notebook from Disk"):
        learner.opened.page.get_by_role("menuitem", name=name).click()
    expect(shown.pop("1.2")).to_have_text(EXERCISES["1.2"].stub.splitlines())
    for name, still in shown.items():
        expect(still).to_have_text(answers[name].splitlines())
    command(course, "grade", NOTEBOOK)
    table = (course / "grades" / "grades.csv").read_text(encoding="utf-8").splitlines()
    points = {row["exercise"]: row["points"] for row in csv.DictReader(table)}
    assert points == {**dict.fromkeys(EXERCISES, "0"), "1.4": str(POINTS["1.4"])}
