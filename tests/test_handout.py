"""A handout opens, checks and resets, and holds no answer."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from coursekit import launcher
from coursekit.environment import ROOT
from coursekit.errors import CourseError
from coursekit.exercises.exercise import BEGIN, END, Exercise
from coursekit.exercises.parse import find_sets, read_set
from coursekit.handout import LEARNERS, main, write_handout

# The rules that exercises ask for are in the package too: the widgets compute with them.
REFERENCE = ("indexing.py", "engine.py", "footprint.py")


@pytest.fixture(scope="module")
def handout(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("класс 深い") / "inside pytorch"
    assert "no answer among them" in write_handout(folder, zipped=True)
    return folder


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """The course's files that a handout looks at."""
    root = tmp_path / "course"
    for name in ("notebooks", "exercises", "source", "helpers/coursekit", "teach"):
        shutil.copytree(ROOT / name, root / name)
    for name in ("README.md", "course.py", "LICENSE"):
        shutil.copyfile(ROOT / name, root / name)
    return root


def run(handout: Path, *command: str) -> subprocess.CompletedProcess:
    """Run a command of the handout's own coursekit."""
    environment = {**os.environ, "PYTHONPATH": str(handout / "helpers")}
    return subprocess.run(
        [sys.executable, "-P", "-m", "coursekit", *command],
        cwd=handout,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


def test_it_holds_what_a_learner_needs_and_nothing_of_an_authors(handout):
    names = {path.name for path in handout.iterdir()}
    assert names == {
        *("README.md", "LICENSE", "LICENSE-text", ".gitignore", "course.py", "pyproject.toml"),
        *("environment.yml", "notebooks", "exercises", "helpers"),
    }
    own = {path.stem for path in (handout / "helpers" / "coursekit").iterdir()}
    assert own == set(LEARNERS)
    for folder in ("notebooks", "exercises", "exercises/.course", "notebooks/clinic"):
        there = {path.name for path in (ROOT / folder).iterdir() if path.suffix != ".pyc"}
        assert {path.name for path in (handout / folder).iterdir()} == there - {
            ".ipynb_checkpoints"
        }


def lines_of(path: Path) -> str:
    """All lines of a file, or of the texts in a JSON file, without their indentation."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in (".ipynb", ".json"):
        found: list[str] = []
        waiting = [json.loads(text)]
        while waiting:
            value = waiting.pop()
            if isinstance(value, str):
                found.append(value)
            elif isinstance(value, list) and all(isinstance(one, str) for one in value):
                found.append("".join(value))
            elif isinstance(value, list | dict):
                waiting += value.values() if isinstance(value, dict) else value
        text = "\n".join(found)
    return "\n".join(line.strip() for line in text.splitlines())


def blocks_of(exercise: Exercise) -> list[str]:
    """What a learner has to write, in blocks of three lines or more."""
    inside = re.findall(f"{BEGIN}\n(.*?){END}", exercise.answer, re.DOTALL)
    inside += [exercise.solved] if exercise.look_alikes else []
    blocks = ["\n".join(map(str.strip, block.strip().splitlines())) for block in inside]
    return [block for block in blocks if block.count("\n") >= 2]


def test_no_answer_stands_in_it(handout):
    texts = {
        path: lines_of(path)
        for path in handout.rglob("*")
        if path.suffix in (".py", ".ipynb", ".json", ".md", ".html")
        and not any(part in path.as_posix() for part in REFERENCE)
    }
    exercises = [one for name in find_sets(ROOT) for one in read_set(ROOT, name).exercises]
    blocks = [(one.id, block) for one in exercises for block in blocks_of(one)]
    assert len(blocks) > 60
    assert [(i, p.name) for i, b in blocks for p, t in texts.items() if b in t] == []


def test_what_learners_get_of_coursekit_needs_nothing_else_of_it():
    for name in LEARNERS:
        tree = ast.parse((ROOT / "helpers" / "coursekit" / f"{name}.py").read_text("utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                modules = [node.module] if node.module else [one.name for one in node.names]
                assert {module.partition(".")[0] for module in modules} <= set(LEARNERS), name


def test_an_exercise_is_answered_checked_hinted_and_reset_in_it(handout):
    file = handout / "exercises" / "01_storage_and_stride.ipynb"
    notebook = nbformat.read(file, as_version=4)
    first = read_set(ROOT, "01_storage_and_stride").exercises[0]
    wanted = ("setup", "answer", "check")
    cells = [c for c in notebook.cells if c.id in {f"{w}-1-1" for w in wanted}]
    answer = next(c for c in cells if c.id == "answer-1-1")
    answer.source = first.solution
    nbformat.write(notebook, file)
    head = next(c for c in notebook.cells if c.cell_type == "code")
    asked = nbformat.v4.new_code_cell('print(hint("1.1"))\nprint(progress())')
    small = nbformat.v4.new_notebook(cells=[head, *cells, asked])
    environment = {**os.environ, "PYTHONPATH": str(handout / "helpers")}
    environment.pop("INSIDETORCH_PROGRESS", None)
    environment.pop("INSIDETORCH_COURSE", None)
    client = NotebookClient(small, resources={"metadata": {"path": str(file.parent)}})
    client.execute(env=environment)
    outputs = [output for cell in small.cells for output in cell.get("outputs", ())]
    said = "\n".join(str(output.get("data", output)) for output in outputs)
    assert "1.1 right" in said and "chapter 1" in said
    assert (handout / ".insidetorch" / "progress.json").is_file()
    done = run(handout, "reset", "1.1", "--yes")
    assert done.returncode == 0 and "is as it was at first" in done.stdout
    stub = nbformat.read(file, as_version=4)
    assert first.stub in [cell.source for cell in stub.cells]


def test_the_zip_file_holds_the_same(handout, tmp_path):
    with zipfile.ZipFile(handout.with_name(f"{handout.name}.zip")) as archive:
        archive.extractall(tmp_path)
    names = {p.relative_to(tmp_path / handout.name) for p in (tmp_path / handout.name).rglob("*")}
    assert Path("exercises/.course/01.json") in names
    assert len([n for n in names if n.suffix == ".ipynb"]) == len(list(handout.glob("*/*.ipynb")))


def test_the_readme_has_the_chapters_and_no_link_that_leads_nowhere(handout):
    text = (handout / "README.md").read_text(encoding="utf-8")
    assert "notebooks/06_debugging.ipynb" in text and "{chapters}" not in text
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (handout / target).exists(), target


@pytest.fixture(scope="module")
def through_three(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("through") / "course"
    write_handout(folder, through=3)
    return folder


def test_a_handout_through_a_chapter_ends_with_it(through_three):
    notebooks = {path.name[:2] for path in through_three.glob("*/*.ipynb")}
    assert notebooks == {"01", "02", "03"}
    assert {path.name for path in (through_three / "exercises" / ".course").iterdir()} == {
        *("01.json", "02.json", "03.json")
    }
    text = (through_three / "README.md").read_text(encoding="utf-8")
    assert "notebooks/03_" in text and "notebooks/04_" not in text and "{" not in text
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (through_three / target).exists(), target


def test_the_pieces_that_learners_build_are_packed_and_still_run(through_three):
    mini = through_three / "helpers" / "insidetorch" / "mini"
    packed = {p.stem for p in mini.glob("*.py") if "Packed" in p.read_text("utf-8")[:20]}
    assert packed == {
        *("storage", "views", "tape", "backward", "dispatch", "versions", "inplace"),
    }
    text = "\n".join(lines_of(path) for path in mini.iterdir())
    pieces = [
        block
        for name in find_sets(ROOT)
        for one in read_set(ROOT, name).exercises
        if one.about["kind"] == "build"
        for block in blocks_of(one)
    ]
    assert len(pieces) > 5 and not any(block in text for block in pieces)
    # The learner's own third piece runs with the packed ones that come after it.
    notebook = nbformat.read(ROOT / "solutions" / "03_dynamic_graph.ipynb", as_version=4)
    ends = next(i for i, cell in enumerate(notebook.cells) if cell.id == "check-3-7")
    cells = [cell for cell in notebook.cells[: ends + 1] if cell.cell_type == "code"]
    wanted = [cells[0], *(cell for cell in cells[1:] if "-3-7" in cell.id)]
    small = nbformat.v4.new_notebook(cells=wanted)
    environment = {**os.environ, "PYTHONPATH": str(through_three / "helpers")}
    place = {"metadata": {"path": str(through_three / "exercises")}}
    NotebookClient(small, resources=place).execute(env=environment)
    assert "3.7 right" in str(small.cells[-1].outputs)


def test_a_chapter_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(CourseError, match=r"There is no such chapter\. Name one from 1 to 7"):
        write_handout(tmp_path / "out", through=9)
    assert not (tmp_path / "out").exists()


def test_a_command_of_the_teachers_says_that_it_is_not_for_this_copy(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(launcher, "ROOT", tmp_path)
    for command in (["grade", "x"], ["test"], ["build"], ["handout", "x"]):
        assert launcher.main(command) == 1
        assert "This copy of the course is one for learners" in capsys.readouterr().err


@pytest.mark.parametrize("taken", ["folder", "folder.zip"])
def test_what_is_there_already_is_left_alone(tmp_path, taken):
    mine = tmp_path / taken
    if taken == "folder":
        mine.mkdir()
        mine = mine / "notes.txt"
    mine.write_text("mine", encoding="utf-8")
    with pytest.raises(CourseError, match="is there already"):
        write_handout(tmp_path / "folder", zipped=True)
    assert mine.read_text(encoding="utf-8") == "mine"


def test_answers_in_the_teachers_copy_are_not_handed_out(course, tmp_path, capsys):
    file = course / "exercises" / "01_storage_and_stride.ipynb"
    notebook = nbformat.read(file, as_version=4)
    next(c for c in notebook.cells if c.id == "answer-1-2").source = "# answer: 1.2\nmine = 1"
    nbformat.write(notebook, file)
    assert main([str(tmp_path / "out")], root=course) == 1
    assert "The answers to 1.2 in exercises/ are not the stubs" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_edited_chapter_is_not_handed_out(course, tmp_path):
    file = course / "notebooks" / "02_views.ipynb"
    notebook = nbformat.read(file, as_version=4)
    notebook.cells[3].source += "\n# my own note"
    nbformat.write(notebook, file)
    with pytest.raises(CourseError, match=r"notebooks/02_views\.ipynb was edited"):
        write_handout(tmp_path / "out", root=course)
