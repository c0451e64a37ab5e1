"""The clinic's build: exact copies, hidden answers, nothing of the learner lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from clinic_course import TOML, make_course, write

from coursekit.build import main as build_main
from coursekit.clinic import build_clinic, check_clinic, main
from coursekit.errors import CourseError


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course, in a folder with other letters, whose clinic is built."""
    root = make_course(tmp_path / "курс о тензорах")
    build_clinic(root)
    return root


def test_the_scripts_are_copied_byte_for_byte_and_no_repair_with_them(course):
    clinic = course / "notebooks" / "clinic"
    copies = {path.relative_to(clinic).as_posix() for path in clinic.rglob("*.py")}
    assert copies == {"901/main.py", "901/mod_901_cut.py", "902/main.py", "904/main.py"}
    for name in copies:
        assert (clinic / name).read_bytes() == (course / "tests" / "cases" / name).read_bytes()


def test_no_answer_can_be_read_in_what_the_build_writes(course):
    text = (course / "exercises" / ".course" / "clinic.json").read_text(encoding="utf-8")
    assert "It cuts the graph" not in text and "example issue" not in text
    known = json.loads(text)["cases"]["901"]
    assert sorted(known["lines"].values()) == ["accepted", "line"]
    assert sorted(known["kinds"]) == ["broadcast", "detach", "frozen", "graph_leak"]
    assert known["kind"] not in known["kinds"]


def test_building_twice_gives_the_same_bytes_and_no_backup(course):
    files = [*(course / "notebooks").rglob("*.py"), *(course / "exercises").rglob("*.json")]
    before = [path.read_bytes() for path in files]
    assert build_clinic(course) == "notebooks/clinic: built; 3 cases"
    assert [path.read_bytes() for path in files] == before and not (
        course / ".insidetorch"
    ).exists()
    assert check_clinic(course) == []


def test_a_stale_a_missing_and_a_foreign_copy_are_findings(course):
    clinic = course / "notebooks" / "clinic"
    write(clinic / "901" / "main.py", "import torch\n")
    (clinic / "902" / "main.py").unlink()
    write(clinic / "999" / "main.py", "")
    write(course / "exercises" / ".course" / "clinic.json", "{}")
    assert check_clinic(course) == [
        "notebooks/clinic/901/main.py is not what source/06_debugging/clinic.toml and tests/cases/ "
        "give.",
        "notebooks/clinic/902/main.py is missing.",
        "exercises/.course/clinic.json is not what source/06_debugging/clinic.toml and "
        "tests/cases/ give.",
        "notebooks/clinic/999/main.py belongs to no case. Remove it.",
    ]


def test_a_copy_in_which_somebody_has_worked_is_backed_up(course):
    mine = course / "notebooks" / "clinic" / "901" / "main.py"
    write(mine, "# my repair\n")
    told = build_clinic(course)
    assert "901/main.py had changed: kept as .insidetorch/backup/clinic-901-main-1.py" in told
    kept = course / ".insidetorch" / "backup" / "clinic-901-main-1.py"
    assert kept.read_text(encoding="utf-8") == "# my repair\n" and check_clinic(course) == []


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('id = "902"', 'id = "903"', r"case 903 .* tests/cases has no bug of that number"),
        ('id = "902"', 'id = "999"', r"case 999 .* tests/cases has no bug of that number"),
        ('"detach", "frozen"', '"frozen", "frozen"', r"case 902 .* are not four with a sentence"),
        ('"detach", "frozen"', '"graph_leak", "frozen"', r"case 902 .* are not four"),
        ('"detach", "frozen"', '"detach", "nan_where"', r"case 902 .* are not four"),
        ('id = "902"', 'id = "901"', r"case 901 .* the case before it is of the same kind, detach"),
        ("symptom", "sympton", r"Row 1 of .* has the fields"),
    ],
)
def test_a_case_that_cannot_be_asked_is_refused_and_nothing_written(tmp_path, old, new, why):
    changed = TOML.replace(old, new)
    if new == 'id = "901"':
        changed = changed.replace('["detach", "frozen"', '["graph_leak", "frozen"')
    root = make_course(tmp_path, toml=changed)
    with pytest.raises(CourseError, match=why):
        build_clinic(root)
    assert not (root / "notebooks").exists()


def test_a_case_that_stands_there_twice_is_refused(tmp_path):
    second = TOML[TOML.index('[[case]]\nid = "902"') : TOML.index('[[case]]\nid = "904"')]
    root = make_course(tmp_path, toml=TOML + "\n" + second)
    with pytest.raises(CourseError, match=r"case 902 .* it stands there twice"):
        build_clinic(root)


def test_the_course_builds_and_checks_the_clinic_before_there_is_a_lesson(tmp_path, capsys):
    root = make_course(tmp_path)
    assert build_main(["--check"], root=root) == 1
    assert "notebooks/clinic/901/main.py is missing." in capsys.readouterr().out
    assert build_main([], root=root) == 0
    assert build_main(["--check"], root=root) == 0
    assert "notebooks/clinic: built; 3 cases" in capsys.readouterr().out


def test_the_build_tells_a_broken_source_instead_of_a_traceback(tmp_path, capsys):
    root = make_course(tmp_path, toml="[[case")
    for build in (build_main, main):
        assert build([], root=root) == 1 and build(["--check"], root=root) == 1
        told = capsys.readouterr()
        assert (told.err + told.out).count("is not valid TOML") == 2


def test_the_clinic_has_a_command_of_its_own(tmp_path, capsys):
    root = make_course(tmp_path)
    assert main(["--check"], root=root) == 1 and main([], root=root) == 0
    assert main(["--check"], root=root) == 0
    assert "The clinic is as its source gives it." in capsys.readouterr().out


def test_a_course_without_a_clinic_is_built_as_before(tmp_path, capsys):
    root = make_course(tmp_path)
    (root / "source" / "06_debugging" / "clinic.toml").unlink()
    assert build_main([], root=root) == 0 and build_main(["--check"], root=root) == 0
    assert not (root / "notebooks").exists()
