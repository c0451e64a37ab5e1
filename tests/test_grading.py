"""The command, its reports, and the parts of the grader that need no kernel."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_grading_course import STORAGE, VIEWS, notebook, solutions, submission, write, write_course

from coursekit.errors import CourseError
from coursekit.grading.chapters import read_chapters
from coursekit.grading.command import find, main, names_of
from coursekit.grading.grade import grade, mistake
from coursekit.grading.helper_cells import Names
from coursekit.grading.helper_cells import names_of as names_in
from coursekit.grading.limits import Limits, lacking
from coursekit.grading.page import page
from coursekit.grading.report import csv_text, page_names, plain, refuse_other, table
from coursekit.grading.run import TRIES, CannotRun, read_events, run_nbval
from coursekit.grading.submissions import Unreadable, chapter_of, find_answers, read_cells
from coursekit.grading.verdicts import (
    NOT_ATTEMPTED,
    NOT_GRADABLE,
    NOT_YET,
    RIGHT,
    Check,
    Graded,
    Run,
    Verdict,
)
from insidetorch.learn.course_data import digest


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    return write_course(tmp_path_factory.mktemp("course"))


def test_all_right_is_exit_status_0_though_some_cannot_be_graded_here(course, tmp_path, capsys):
    path = write(tmp_path / "views.ipynb", notebook(VIEWS, solutions(VIEWS)))
    assert main([str(path), "--out", str(tmp_path / "out")], root=course) == 0
    grades = (tmp_path / "out" / "grades.csv").read_text(encoding="utf-8").splitlines()
    assert grades[1].startswith("views.ipynb,2.1,,2,not gradable here: the course's own solution")
    assert grades[2].startswith("views.ipynb,2.2,,2,not gradable here: the solution notebook holds")
    assert grades[3] == "views.ipynb,2.3,1,1,right"
    assert "views.ipynb: 1 of 1 points" in capsys.readouterr().out


def test_a_notebook_of_stubs_is_exit_status_1(course, tmp_path, capsys):
    path = write(tmp_path / "stubs.ipynb", notebook(VIEWS, {}))
    out = tmp_path / "out"
    assert main([str(path), "--out", str(out)], root=course) == 1
    assert "2.3     0 of 1  not attempted" in capsys.readouterr().out
    (out / "grades.csv").write_text("edited by the teacher", encoding="utf-8")
    assert main([str(path), "--out", str(out)], root=course) == 1
    kept = tmp_path / "out-1" / "grades.csv"
    assert kept.read_text(encoding="utf-8") == "edited by the teacher"


def test_a_folder_that_holds_something_else_is_not_written_to(course, tmp_path, capsys):
    path = write(tmp_path / "work" / "a.ipynb", submission())
    assert main([str(path), "--out", str(path.parent)], root=course) == 1
    assert "Name a new folder with --out" in capsys.readouterr().err
    assert [one.name for one in path.parent.iterdir()] == ["a.ipynb"]
    with pytest.raises(CourseError, match="It holds something else"):
        refuse_other(path)


def test_a_path_that_leads_nowhere_and_an_empty_folder_are_refused(tmp_path):
    with pytest.raises(CourseError, match="There is no such file or folder"):
        find([tmp_path / "missing.ipynb"])
    with pytest.raises(CourseError, match="There is no notebook in it"):
        find([tmp_path])


def test_hidden_folders_and_folders_with_a_notebook_s_name_are_left_out(tmp_path):
    seen = write(tmp_path / "a.ipynb", {})
    write(tmp_path / ".ipynb_checkpoints" / "a-checkpoint.ipynb", {})
    (tmp_path / "folder.ipynb").mkdir()
    assert find([tmp_path]) == [seen]


def test_submissions_are_called_by_their_paths_below_the_common_folder(tmp_path):
    paths = [tmp_path / "ada" / "01.ipynb", tmp_path / "bo" / "01.ipynb"]
    for path in paths:
        write(path, {})
    assert names_of(find([tmp_path, paths[0]])) == ["ada/01.ipynb", "bo/01.ipynb"]
    assert names_of(find([paths[0]])) == ["01.ipynb"]


def test_every_page_has_a_name_of_its_own():
    files = ["a/1.ipynb", "a_1.ipynb", "A_1.ipynb", "../../x.ipynb", ".ipynb", "Übung 1.ipynb"]
    names = ["a_1.html", "a_1-2.html", "A_1-3.html", "_.._x.html", "page.html", "Übung_1.html"]
    assert page_names(files) == names


def test_points_that_cannot_be_had_here_are_blank_and_not_counted():
    verdicts = [
        Verdict("1.1", "Layout", RIGHT, 2),
        Verdict("1.2", "Bytes", NOT_GRADABLE, 3, "no compiler"),
        Verdict("1.3", "Offset", NOT_YET, 4, "you counted bytes"),
    ]
    graded = Graded("a.ipynb", "01_storage", tuple(verdicts))
    assert (graded.points, graded.max, graded.all_right) == (2, 6, False)
    assert "a.ipynb,1.2,,3,not gradable here: no compiler" in csv_text([graded])
    assert "  1.2     – of 3  not gradable here: no compiler" in table([graded])


def test_a_submission_of_which_nothing_can_be_graded_is_not_all_right():
    assert not Graded("a", "1", (Verdict("1.1", "Layout", NOT_GRADABLE, 2, "why"),)).all_right
    assert not Graded("a", problem="it is no notebook").all_right


def test_a_page_needs_nothing_else_and_has_both_colour_schemes():
    html = page(Graded("a.ipynb", "1", (Verdict("1.1", "Layout", NOT_YET, 2, "why", "[1]"),)))
    assert "prefers-color-scheme:dark" in html
    assert "✗ not yet</b>, 0 of 2 points" in html
    assert not any(word in html for word in ("http", "src=", "<script", "<link"))


def test_control_characters_are_not_printed():
    assert plain("a\x1b[31m\nb") == "a [31m b"


def test_a_run_that_was_cut_off_names_the_cell_that_was_running():
    events = [
        {"event": "start", "unit": "1.1"},
        {"event": "ran", "unit": "1.1", "check": False, "right": True, "error": "", "seen": ""},
        {"event": "start", "unit": "1.1"},
        {"event": "ran", "unit": "1.1", "check": True, "right": True, "error": "", "seen": "{}"},
        {"event": "start", "unit": "1.2"},
    ]
    told = "".join(json.dumps(one) + "\n" for one in events) + '{"event": "ran", "un'
    run = read_events(told.encode())
    assert (run.stopped, run.finished) == ("1.2", False)
    assert run.checks == {"1.1": Check(True, "", "{}")}


@pytest.mark.parametrize(
    ("source", "defined", "used"),
    [
        ("import torch.nn as nn\nx = nn.Linear", {"nn", "x"}, {"nn"}),
        ("def f(a):\n    b = a + c\n    return b", {"f"}, {"a", "b", "c"}),
        ("for i in rows:\n    if i:\n        def g(): pass", {"i", "g"}, {"rows", "i"}),
        ("%matplotlib inline\nsize = len(t)", {"size"}, {"t"}),
        ("def broken(:", set(), set()),
    ],
)
def test_the_names_of_a_cell(source, defined, used):
    assert names_in(source) == Names(frozenset(defined), frozenset(used))


def test_a_run_in_which_no_cell_starts_is_tried_again_and_no_fault_of_the_answers(
    course, tmp_path, monkeypatch, capsys
):
    tries = []

    def no_kernel(notebook, limits):
        tries.append(limits)
        started = len(tries) < 2
        return Run(started=started, why="the kernel did not start")

    monkeypatch.setattr("coursekit.grading.run._run_once", no_kernel)
    with pytest.raises(CannotRun, match="the kernel did not start"):
        for _ in range(2):
            run_nbval({}, limits=Limits())
    assert len(tries) == 1 + TRIES
    path = write(tmp_path / "a.ipynb", submission())
    assert main([str(path), "--out", str(tmp_path / "out")], root=course) == 1
    assert "not gradable here: no notebook runs on this machine" in capsys.readouterr().out


def test_a_submission_that_cannot_be_run_is_named_and_not_given_0(course, tmp_path, monkeypatch):
    def no_kernel(notebook, limits):
        return Run(why="the kernel did not start")

    monkeypatch.setattr("coursekit.grading.run._run_once", no_kernel)
    path = write(tmp_path / "a.ipynb", submission())
    chapters = read_chapters(course)
    graded = grade(path, name="a", chapters=chapters, problems_of=lambda _: {}, limits=Limits())
    assert graded.problem == "it cannot be run on this machine: the kernel did not start"


def test_a_known_mistake_is_told_and_a_known_stub_is_not_attempted(tmp_path):
    root = write_course(tmp_path)
    file = root / "exercises" / ".course" / "01.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    content["salt"] = "salt"
    observation = {"v": 1, "id": "1.2", "seen": [3, 1]}
    other = {"v": 1, "id": "1.2", "seen": [0, 0]}
    content["exercises"]["1.2"]["verdicts"] = {
        digest("salt", observation): {"is": "wrong", "tell": "You counted from the left."},
        digest("salt", other): {"is": "stub", "tell": ""},
    }
    write(file, content)
    exercise = read_chapters(root)[0].exercises["1.2"]
    wrong = Check(False, "", json.dumps(observation))
    assert mistake(exercise, wrong) == (NOT_YET, "You counted from the left.")
    assert mistake(exercise, Check(False, "", json.dumps(other))) == (NOT_ATTEMPTED, "")
    assert mistake(exercise, Check(False, "it hung", '{"cut off')) == (NOT_YET, "it hung")


def test_the_chapter_is_known_by_the_answers_and_else_by_the_name(course, tmp_path):
    chapters = read_chapters(course)
    renamed = write(tmp_path / "02_views.ipynb", submission())
    assert chapter_of(renamed, read_cells(renamed), chapters).name == "01_storage"
    empty = write(tmp_path / "ada_02_views.ipynb", {"nbformat": 4, "cells": []})
    assert chapter_of(empty, read_cells(empty), chapters).name == "02_views"
    with pytest.raises(Unreadable, match="no answer cell of this course"):
        chapter_of(tmp_path / "other.ipynb", [], chapters)


def test_metadata_counts_before_id_and_marker(course, tmp_path):
    content = submission()
    content["cells"][1]["source"] = "# answer: 1.2\nmine = 1"
    chapter = read_chapters(course)[0]
    answers = find_answers(read_cells(write(tmp_path / "a.ipynb", content)), chapter)
    assert answers.sources["1.1"] == ["# answer: 1.2\nmine = 1"]
    assert len(answers.sources["1.2"]) == 1


def test_a_file_that_cannot_be_opened_says_so(tmp_path):
    with pytest.raises(Unreadable, match="cannot be read"):
        read_cells(tmp_path / "missing.ipynb")


def test_a_huge_file_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("coursekit.grading.submissions.LARGEST_FILE", 10)
    with pytest.raises(Unreadable, match="clear its outputs"):
        read_cells(write(tmp_path / "a.ipynb", submission()))


@pytest.mark.parametrize(
    ("system", "named"),
    [("win32", ["memory", "file size"])],
)
def test_limits_that_a_system_lacks_are_named(monkeypatch, system, named):
    monkeypatch.setattr("sys.platform", system)
    assert lacking() == named


def test_points_of_the_chapter_stand_in_its_description(course):
    found = read_chapters(course)[0].exercises
    assert {name: one.points for name, one in found.items()} == {
        name: one[4] for name, one in STORAGE.items()
    }
