"""A reset puts back a stub byte for byte, asks before, and keeps the old notebook."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from coursekit import reset as resetting
from coursekit.errors import CourseError
from coursekit.reset import reset

ROOT = Path(__file__).parents[1]
NAME = "exercises/01_storage_and_stride.ipynb"


@pytest.fixture
def course(tmp_path):
    """A course in which somebody has answered 1.1 and 1.2."""
    shutil.copytree(ROOT / "exercises", tmp_path / "exercises")
    file = tmp_path / NAME
    notebook = json.loads(file.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if "".join(cell["source"]).startswith(("# answer: 1.1", "# answer: 1.2")):
            cell["source"] = ["# answer\n", "mine = 1"]
            cell["outputs"], cell["execution_count"] = [], 7
    file.write_text(json.dumps(notebook, indent=1, ensure_ascii=False), encoding="utf-8")
    return tmp_path


def sources(course: Path) -> list[str]:
    notebook = json.loads((course / NAME).read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"]]


def test_one_exercise_gets_its_stub_back_and_nothing_else_changes(course):
    before, solved = (course / NAME).read_bytes(), sources(course)
    told = reset("1.1", root=course, ask=lambda question: "y")
    pristine = sources(ROOT)
    changed = [i for i, source in enumerate(sources(course)) if source != solved[i]]
    assert len(changed) == 1 and sources(course)[changed[0]] == pristine[changed[0]]
    backups = list((course / ".insidetorch" / "backup").iterdir())
    assert [b.read_bytes() for b in backups] == [before]
    assert backups[0].name in told and "Reload Notebook from Disk" in told


def test_a_whole_notebook_is_as_it_was_at_first(course):
    reset(NAME, root=course, ask=None)
    assert (course / NAME).read_bytes() == (ROOT / NAME).read_bytes()


def test_who_does_not_say_yes_keeps_everything(course):
    before = (course / NAME).read_bytes()
    asked = []

    def no(question: str) -> str:
        asked.append(question)
        return ""

    assert reset("1.2", root=course, ask=no) == "Nothing was changed."
    assert "Put back the stub of 1.2" in asked[0]
    assert (course / NAME).read_bytes() == before and not (course / ".insidetorch").exists()


def test_where_nobody_answers_nothing_is_changed(course):
    before = (course / NAME).read_bytes()

    def nobody(question):
        raise EOFError

    assert reset("1.2", root=course, ask=nobody) == "Nothing was changed."
    assert (course / NAME).read_bytes() == before


def test_an_untouched_exercise_is_told_so(course):
    assert "holds the stub of 1.3 already" in reset("1.3", root=course, ask=None)


def test_an_unknown_name_is_answered_with_those_there_are(course):
    with pytest.raises(CourseError, match=r"'9\.9'.*Name one of: 01_storage_and_stride, 1\.1"):
        reset("9.9", root=course, ask=None)


def test_a_broken_notebook_is_left_alone(course):
    (course / NAME).write_text("{", encoding="utf-8")
    with pytest.raises(CourseError, match=r"is no notebook any more"):
        reset("1.1", root=course, ask=None)
    assert (course / NAME).read_text(encoding="utf-8") == "{"


def test_a_lost_answer_cell_is_told(course):
    notebook = json.loads((course / NAME).read_text(encoding="utf-8"))
    notebook["cells"] = notebook["cells"][:2]
    (course / NAME).write_text(json.dumps(notebook), encoding="utf-8")
    with pytest.raises(CourseError, match=r"Its answer cell is not there"):
        reset("1.1", root=course, ask=None)


def test_the_command_prints_what_it_did(course, capsys):
    assert resetting.main(["1.1", "--yes"], root=course) == 0
    assert "1.1 is as it was at first" in capsys.readouterr().out
    assert resetting.main(["nothing"], root=course) == 1
    assert "Name one of" in capsys.readouterr().err
