"""Does nbgrader release, run and mark the exercise notebooks as they are?

nbgrader goes into an environment of its own that sees this one's packages; where it cannot be
installed, only the test that needs none of it runs.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from coursekit.environment import ROOT
from coursekit.exercises.parse import find_sets, read_set
from coursekit.machine import kernel_environment
from insidetorch.learn.file_cells import MAGIC

NBGRADER = "nbgrader==0.9.6"
ASSIGNMENT = "week 1"
STORAGE, DEBUGGING = "01_storage_and_stride", "06_debugging"
ANSWERS = {
    "all_right": lambda exercise: exercise.solution,
    "all_stubs": lambda exercise: exercise.stub,
    "all_wrong": lambda exercise: f"{exercise.solution}\n\n\n{exercise.wrongs[0].source}",
}

# All that a teacher has to set: where the checks find what they know, and that nbgrader writes no
# stubs of its own over ours.
CONFIG = """\
import os

os.environ["INSIDETORCH_COURSE"] = {known!r}
c = get_config()
c.CourseDirectory.course_id = "course"
c.ClearSolutions.enabled = False
"""
GRADES = """\
import json
from nbgrader.api import Gradebook

with Gradebook("sqlite:///gradebook.db") as book:
    found = {}
    for submission in book.assignment_submissions("week 1"):
        for notebook in submission.notebooks:
            grades = {grade.name: [grade.auto_score, grade.max_score] for grade in notebook.grades}
            found.setdefault(submission.student.id, {})[notebook.name] = grades
print(json.dumps(found))
"""


class Course:
    """A course of nbgrader's: its folder, and how its commands run there."""

    def __init__(self, folder: Path, python: Path, home: Path) -> None:
        self.folder, self.python = folder, python
        folders = {name: str(home / name) for name in ("config", "data", "runtime")}
        self.env = {
            **os.environ,
            **kernel_environment(home),
            **{f"JUPYTER_{name.upper()}_DIR": path for name, path in folders.items()},
            # nbgrader runs the command `alembic`.
            "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        }

    def run(self, *arguments: str) -> str:
        """What one Python of nbgrader's environment prints; it must succeed."""
        command = [self.python, "-P", "-W", "ignore", *arguments]
        ran = subprocess.run(
            command, cwd=self.folder, env=self.env, capture_output=True, encoding="utf-8"
        )
        assert ran.returncode == 0, ran.stderr[-3000:]
        return ran.stdout

    def nbgrader(self, *arguments: str) -> None:
        self.run("-m", "nbgrader", *arguments, ASSIGNMENT)


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> Path:
    """The Python of an environment that has nbgrader, and this one's packages besides."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, symlinks=os.name != "nt")
    paths = sysconfig.get_paths("venv", vars={"base": str(home), "platbase": str(home)})
    python = Path(paths["scripts"], "python.exe" if os.name == "nt" else "python")
    shared = [str(ROOT / "helpers"), *(p for p in sys.path if Path(p).name.endswith("-packages"))]
    Path(paths["purelib"], "course.pth").write_text("\n".join(shared), encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--quiet"]
    install = ["install", "--retries", "1", "--timeout", "15", NBGRADER]
    ran = subprocess.run([*pip, *install], capture_output=True, encoding="utf-8", errors="replace")
    if ran.returncode:
        pytest.skip(f"{NBGRADER} cannot be installed: {ran.stderr.strip()[-200:]}")
    return python


@pytest.fixture(scope="module")
def sets():
    """All of chapter 1; of chapter 6 the first exercise whose answer is several files."""
    storage, debugging = read_set(ROOT, STORAGE), read_set(ROOT, DEBUGGING)
    first = next(e for e in debugging.exercises if e.stub.startswith(f"%%{MAGIC}"))
    return {STORAGE: storage.exercises, DEBUGGING: [first]}


@pytest.fixture(scope="module")
def course(tmp_path_factory, python, sets) -> Course:
    """A course whose assignment is released, handed in by three learners, and marked."""
    folder = tmp_path_factory.mktemp("курс with a space")
    found = Course(folder, python, tmp_path_factory.mktemp("home"))
    known = str(ROOT / "exercises" / ".course")
    write(folder / "nbgrader_config.py", CONFIG.format(known=known))
    for name, exercises in sets.items():
        write(folder / "source" / ASSIGNMENT / f"{name}.ipynb", json.dumps(only(name, exercises)))
    found.nbgrader("generate_assignment")
    for learner, answer_of in ANSWERS.items():
        for name, exercises in sets.items():
            notebook = released(found, name)
            answers = {cell_id(e.id, "answer"): answer_of(e) for e in exercises}
            for cell in notebook["cells"]:
                cell["source"] = answers.get(cell["id"], cell["source"])
            path = folder / "submitted" / learner / ASSIGNMENT / f"{name}.ipynb"
            write(path, json.dumps(notebook))
    found.nbgrader("autograde")
    return found


@pytest.fixture(scope="module")
def grades(course) -> dict:
    """The points of each check and the most that it gives: by learner, notebook, check."""
    return json.loads(course.run("-c", GRADES))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def only(name: str, exercises) -> dict:
    """A notebook of exercises as the build wrote it, less the cells of all other exercises."""
    notebook = json.loads((ROOT / "exercises" / f"{name}.ipynb").read_text(encoding="utf-8"))
    kept = tuple(e.id.replace(".", "-") for e in exercises)
    notebook["cells"] = [
        cell
        for cell in notebook["cells"]
        if not (part := re.search(r"-(\d+-\d+)$", cell["id"])) or part[1] in kept
    ]
    return notebook


def released(course: Course, name: str) -> dict:
    path = course.folder / "release" / ASSIGNMENT / f"{name}.ipynb"
    return json.loads(path.read_text(encoding="utf-8"))


def cell_id(exercise_id: str, what: str) -> str:
    return f"{what}-{exercise_id.replace('.', '-')}"


def expected(sets, *, share: int) -> dict:
    """What a learner's grades are where each check gives this share of its points."""
    return {
        name: {
            f"{e.id.replace('.', '-')}-check": [share * e.about["points"], e.about["points"]]
            for e in exercises
        }
        for name, exercises in sets.items()
    }


@pytest.mark.parametrize("folder", ["exercises", "solutions"])
@pytest.mark.parametrize("name", find_sets(ROOT))
def test_the_names_of_the_cells_are_such_as_nbgrader_takes(folder, name):
    notebook = json.loads((ROOT / folder / f"{name}.ipynb").read_text(encoding="utf-8"))
    marked = [c["metadata"]["nbgrader"] for c in notebook["cells"] if "nbgrader" in c["metadata"]]
    names = [one["grade_id"] for one in marked]
    assert names and len(set(names)) == len(names)
    # From its nbgraderformat/v3.json.
    assert [one for one in names if not re.fullmatch(r"[a-zA-Z0-9_\-]+", one)] == []


def test_what_is_released_holds_our_cells_as_they_are(course, sets):
    for name, exercises in sets.items():
        was, now = only(name, exercises)["cells"], released(course, name)["cells"]
        assert [(c["id"], c["source"]) for c in now] == [(c["id"], c["source"]) for c in was]


def test_right_answers_get_every_point(grades, sets):
    assert grades["all_right"] == expected(sets, share=1)


def test_stubs_get_no_point(grades, sets):
    assert grades["all_stubs"] == expected(sets, share=0)


def test_a_known_wrong_answer_gets_no_point(grades, sets):
    assert grades["all_wrong"] == expected(sets, share=0)


def test_what_a_learner_is_told_of_a_mistake_stands_in_the_marked_notebook(course, sets):
    path = course.folder / "autograded" / "all_wrong" / ASSIGNMENT / f"{STORAGE}.ipynb"
    cells = {c["id"]: c for c in json.loads(path.read_text(encoding="utf-8"))["cells"]}
    for exercise in sets[STORAGE]:
        outputs = cells[cell_id(exercise.id, "check")]["outputs"]
        told = [one["evalue"] for one in outputs if one["output_type"] == "error"]
        assert told == [f"{exercise.id} not yet. {exercise.wrongs[0].tell}"]
