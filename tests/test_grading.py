"""The command, its reports, and the parts of the grader that need no kernel."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from nbformat import v4
from test_grading_course import STORAGE, VIEWS, notebook, solutions, submission, write, write_course

from coursekit.errors import CourseError
from coursekit.grading.answers import Answers, find_answers
from coursekit.grading.chapters import Exercise, read_chapters
from coursekit.grading.command import main, say
from coursekit.grading.engines import Local
from coursekit.grading.grade import grade
from coursekit.grading.grader import Grader
from coursekit.grading.handed_in.collect import Submission
from coursekit.grading.helper_cells import find_helpers
from coursekit.grading.mistakes import mistake
from coursekit.grading.names import names_of as names_in
from coursekit.grading.runs.folders import remove
from coursekit.grading.runs.limits import Limits, lacking
from coursekit.grading.runs.run import TRIES, CannotRun, read_events, run_nbval
from coursekit.grading.runs.starters import Plain
from coursekit.grading.submissions import Cell, Unreadable, cells_of, chapter_of
from coursekit.grading.told.page import learner_page
from coursekit.grading.told.printed import plain, table
from coursekit.grading.told.report import (
    csv_text,
    folder_for,
    page_names,
    refuse_other,
    write_reports,
)
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

pytestmark = pytest.mark.usefixtures("one_starter")


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    return write_course(tmp_path_factory.mktemp("course"))


def test_all_right_is_exit_status_0_though_some_cannot_be_graded_here(course, tmp_path, capsys):
    path = write(tmp_path / "views.ipynb", notebook(VIEWS, solutions(VIEWS)))
    assert main([str(path), "--out", str(tmp_path / "out")], root=course) == 0
    grades = (tmp_path / "out" / "grades.csv").read_text(encoding="utf-8").splitlines()
    start = "views,02_views,2.1,,2,not gradable here,the course's own solution"
    assert grades[1].startswith(start)
    start = "views,02_views,2.2,,2,not gradable here,the solution notebook holds"
    assert grades[2].startswith(start)
    assert grades[3] == "views,02_views,2.3,1,1,right,,views.ipynb"
    assert "views: views.ipynb: 1 of 1 points" in capsys.readouterr().out


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
    graded = Graded("a.ipynb", "01_storage", tuple(verdicts), learner="ada")
    assert (graded.points, graded.max, graded.all_right) == (2, 6, False)
    assert "ada,01_storage,1.2,,3,not gradable here,no compiler,a.ipynb" in csv_text([graded])
    assert "  1.2     – of 3  not gradable here: no compiler" in table([graded])


def test_a_submission_of_which_nothing_can_be_graded_is_not_all_right():
    assert not Graded("a", "1", (Verdict("1.1", "Layout", NOT_GRADABLE, 2, "why"),)).all_right
    assert not Graded("a", problem="it is no notebook").all_right


def test_a_page_needs_nothing_else_and_has_both_colour_schemes():
    verdict = Verdict("1.1", "Layout", NOT_YET, 2, "why", seen="[1]")
    html = learner_page("ada", [Graded("a.ipynb", "1", (verdict,))])
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
        ("%matplotlib inline\nsize = len(t)", {"size"}, {"len", "t"}),
        ("!ls\nfiles = !ls\nf?\n?g\nx = y", {"files", "x"}, {"y"}),
        ("sum = None\ndef pow(a): pass", {"pow"}, set()),
        ("def broken(:", set(), set()),
        ("x = '" + "x" * 200_000 + "'", set(), set()),
    ],
)
def test_the_names_of_a_cell(source, defined, used):
    found = names_in(source)
    assert (found.defined, found.used) == (frozenset(defined), frozenset(used))


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        ("rows.append(1)\nrows[0] = a.b", {"rows"}),
        ("point.x = 1\ncount += 1\ndel table[0]", {"point", "count", "table"}),
        ("init()", {"init"}),
        ("for n in sizes:\n    table[n] = f(n)", {"table"}),
        ("x = rows.copy()\ndef f(): rows.append(1)", set()),
    ],
)
def test_the_names_that_a_cell_changes(source, changed):
    assert names_in(source).changed == frozenset(changed)


def test_a_cell_that_only_sets_something_up_is_recognised():
    assert names_in("import sys\nsys.setrecursionlimit(5000)\nprint(1)").sets
    assert not names_in("import sys\nx = sys.setrecursionlimit(5000)").sets
    assert not names_in("import sys").sets


def test_blank_lines_are_read_quickly():
    # Each of them would be looked at again for each that follows it.
    assert names_in("\n" * 199_000 + "x = 1").defined == {"x"}


def test_a_run_in_which_no_cell_starts_is_tried_again_and_no_fault_of_the_answers(
    course, tmp_path, monkeypatch, capsys
):
    tries = []

    def no_kernel(notebook, limits, starter):
        tries.append(limits)
        started = len(tries) < 2
        return Run(started=started, why="the kernel did not start")

    monkeypatch.setattr("coursekit.grading.runs.run._run_once", no_kernel)
    with pytest.raises(CannotRun, match="the kernel did not start"):
        for _ in range(2):
            run_nbval({}, limits=Limits(), starter=Plain())
    assert len(tries) == 1 + TRIES
    path = write(tmp_path / "a.ipynb", submission())
    assert main([str(path), "--out", str(tmp_path / "out")], root=course) == 1
    assert "not gradable here: no notebook runs on this machine" in capsys.readouterr().out


def test_a_submission_that_cannot_be_run_is_named_and_not_given_0(course, tmp_path, monkeypatch):
    def no_kernel(notebook, limits, starter):
        return Run(why="the kernel did not start")

    monkeypatch.setattr("coursekit.grading.runs.run._run_once", no_kernel)
    graded = grade(
        json.dumps(submission()).encode(),
        file="a",
        chapters=read_chapters(course),
        problems_of=lambda _: {},
        run_notebook=lambda notebook: run_nbval(notebook, limits=Limits(), starter=Plain()),
    )
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
    assert mistake(exercise, wrong) == (NOT_YET, "You counted from the left.", True)
    assert mistake(exercise, Check(False, "", json.dumps(other))) == (NOT_ATTEMPTED, "", False)
    assert mistake(exercise, Check(False, "it hung", '{"cut off')) == (NOT_YET, "it hung", False)
    uses = {**observation, "seen": {"results": [3, 1], "uses": ["globals"]}}
    assert mistake(exercise, Check(False, "", json.dumps(uses)))[1].startswith(
        "the answer uses globals; this exercise asks for the rule in plain Python"
    )


def test_a_name_that_the_course_defines_only_later_is_the_learner_s(course):
    chapter = read_chapters(course)[0]
    chapter.notebook.cells.append(v4.new_code_cell("def total(x): return 0"))
    helper = Cell("code", "def total(x): return 1", "", {})
    answers = Answers({"1.1": ["def offset(i, s): return total(i)"]}, [helper], [])
    [found] = find_helpers(answers, chapter)
    assert (found.unit, found.needed_by) == ("helper cell 1 (def total(x): return 1)", {"1.1"})
    chapter.notebook.cells.insert(0, chapter.notebook.cells.pop())
    assert find_helpers(answers, chapter) == []


def test_the_chapter_is_known_by_the_answers_and_else_by_the_name(course, tmp_path):
    chapters = read_chapters(course)
    renamed = write(tmp_path / "02_views.ipynb", submission())
    assert chapter_of(renamed.name, cells_of(renamed.read_bytes()), chapters).name == "01_storage"

    def unmarked(*sources: str) -> list[Cell]:
        return [Cell("code", source, "", {}) for source in sources]

    one = unmarked(solutions(STORAGE)["1.2"])
    both = unmarked(solutions(STORAGE)["1.2"], solutions(STORAGE)["1.3"])
    assert chapter_of("ada_01_storage.ipynb", one, chapters).name == "01_storage"
    assert chapter_of("ada.ipynb", both, chapters).name == "01_storage"
    for name, cells in (("ada.ipynb", one), ("01_storage.ipynb", unmarked("x = 1"))):
        with pytest.raises(Unreadable, match="no answer cell of this course"):
            chapter_of(name, cells, chapters)
    lesson = unmarked('predict(\n  "1.1")', 'predict("1.2")', *(c.source for c in both))
    with pytest.raises(Unreadable, match="it is a lesson of the course"):
        chapter_of("01_storage.ipynb", lesson, chapters)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"  <!DOCTYPE html><p>", "but a web page; download the file itself"),
        (b'\xef\xbb\xbf{"cells": [', "cut off or damaged"),
        (b"hello", "no JSON"),
        (b"", "it is empty"),
    ],
)
def test_what_is_no_notebook_is_told_what_it_is(content, why):
    with pytest.raises(Unreadable, match=re.escape(why)):
        cells_of(content)


def test_metadata_counts_before_id_and_marker(course, tmp_path):
    content = submission()
    content["cells"][1]["source"] = "# answer: 1.2\nmine = 1"
    chapter = read_chapters(course)[0]
    answers = find_answers(cells_of(json.dumps(content).encode()), chapter)
    assert answers.sources["1.1"] == ["# answer: 1.2\nmine = 1"]
    assert len(answers.sources["1.2"]) == 1


def test_what_goes_wrong_with_one_submission_does_not_end_the_others(
    course, tmp_path, monkeypatch, capsys
):
    def fail(notebook, *, file, learner, **_how):
        if file == "b.ipynb":
            raise RecursionError("too deep")
        return Graded(file, "01_storage", learner=learner)

    monkeypatch.setattr("coursekit.grading.grader.grade", fail)
    for name in "abc":
        write(tmp_path / f"{name}.ipynb", {})
    assert main([str(tmp_path), "--out", str(tmp_path / "out")], root=course) == 1
    printed = capsys.readouterr().out
    problem = "b: b.ipynb: not graded, it made the grader fail (RecursionError: too deep)"
    assert problem in printed and "c: c.ipynb: 0 of 0 points" in printed


def submissions_in(folder: Path, *notebooks: dict) -> list[Submission]:
    return [
        Submission(str(i), f"{i}.ipynb", 0, write(folder / f"{i}.ipynb", one))
        for i, one in enumerate(notebooks)
    ]


def test_the_results_are_the_same_however_many_are_graded_at_once(course, tmp_path, starter):
    answers = [{}, {"a1": "def offset(i, s): return 0"}, {"a2": "strides = (3, 1)"}]
    handed_in = submissions_in(tmp_path, *(submission(**one) for one in answers))
    limits = Limits()
    grader = Grader(course, limits=limits, starter=starter)
    one, two = (dict(Local(grader, limits=limits, jobs=n).grade(handed_in)) for n in (1, 2))
    assert [one[each].points for each in handed_in] == [6, 4, 5]
    assert one == two


def test_a_chapter_s_solutions_run_once(course, tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(
        "coursekit.grading.grader.calibrate",
        lambda chapter, *, run_notebook: ran.append(chapter) or {},
    )
    limits = Limits()
    grader = Grader(course, limits=limits, starter=Plain())
    monkeypatch.setattr(
        "coursekit.grading.grader.grade",
        lambda notebook, *, problems_of, **_how: problems_of(grader.chapters[0]),
    )
    list(Local(grader, limits=limits, jobs=4).grade(submissions_in(tmp_path, *[{}] * 8)))
    assert len(ran) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
@pytest.mark.parametrize("wanted", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_every_process_that_grading_has_started(course, tmp_path, wanted):
    waits = f"open({str(tmp_path / 'running')!r}, 'w').close()\nwhile True: pass"
    path = write(tmp_path / "a.ipynb", submission(a1=waits))
    program = (
        "import sys; from pathlib import Path; from coursekit.grading.command import main; "
        "main(sys.argv[2:], root=Path(sys.argv[1]))"
    )
    command = [sys.executable, "-c", program, course, path, "--out", tmp_path / "out"]
    # Elsewhere this test would not see what the answer writes.
    command += ["--isolation", "process"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) as grader:
        while not (tmp_path / "running").exists():
            assert grader.poll() is None
        below = psutil.Process(grader.pid).children(recursive=True)
        grader.send_signal(wanted)
        assert b"KeyboardInterrupt" in grader.communicate()[1]
    assert len(below) >= 2 and not any(one.is_running() for one in below)
    assert list(tmp_path.glob("grade-*")) == []


def test_a_folder_is_removed_however_deep_it_is(tmp_path):
    top = tmp_path / "top"
    (top / "locked").mkdir(parents=True)
    (top / "locked" / "file").write_text("x", encoding="utf-8")
    (top / "locked").chmod(0o500)
    (top / "link").symlink_to(tmp_path)
    deep = top
    for _ in range(200):
        deep = deep / "a folder"
        deep.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        # What it does where folders are nested more deeply than Python calls functions.
        patch.setattr("shutil.rmtree", lambda *_, **__: exec("raise RecursionError"))
        remove(top)
    assert list(tmp_path.iterdir()) == []


def test_a_page_s_name_is_not_longer_than_a_file_system_allows():
    [name] = page_names(["𠀀" * 200 + ".ipynb"])
    assert len(name.encode()) < 130 and name.startswith("𠀀")


def test_a_foreign_results_file_is_not_taken_for_ours(tmp_path):
    (tmp_path / "results.json").write_text('{"mine": 1}', encoding="utf-8")
    with pytest.raises(CourseError, match="It holds something else"):
        folder_for(str(tmp_path))


def test_a_folder_that_cannot_be_written_to_is_refused_before_grading(
    course, tmp_path, monkeypatch, capsys
):
    path = write(tmp_path / "a.ipynb", submission())
    monkeypatch.setattr("coursekit.grading.command.Grader", lambda *_, **__: 1 / 0)
    assert main([str(path), "--out", str(path / "inside")], root=course) == 1
    assert "Nothing can be written there (Not a directory)" in capsys.readouterr().err
    assert main([str(path), "--out", ""], root=course) == 1
    assert "a folder without a name" in capsys.readouterr().err


def test_the_current_folder_can_hold_the_results_twice(tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    for text in ("first", "second"):
        write_reports([Graded(text, problem="it is no notebook")], folder_for("."))
        assert text in (here / "grades.csv").read_text(encoding="utf-8")
    assert "first" in (tmp_path / "here-1" / "grades.csv").read_text(encoding="utf-8")


def test_what_a_terminal_has_no_sign_for_is_printed_as_a_question_mark():
    written = io.BytesIO()
    terminal = io.TextIOWrapper(written, encoding="ascii")
    say("Übung 数: right", to=terminal)
    assert written.getvalue().splitlines() == [b"?bung ?: right"]


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


def test_fewer_than_no_jobs_are_refused(course, tmp_path, capsys):
    assert main([str(course / "exercises"), "--jobs", "-1"], root=course) == 1
    assert "Grading with -1 jobs was asked for" in capsys.readouterr().err


def test_a_repair_that_repairs_nothing_is_not_yet():
    digest_of = digest("salt", {"v": 1, "id": "1.1", "seen": [1]})
    noted = {"salt": "salt", "verdicts": {digest_of: {"is": "stub", "tell": ""}}}
    check = Check(False, "", '{"v": 1, "id": "1.1", "seen": [1]}')
    for kind, outcome in (("repair", "not yet"), ("complete", "not attempted")):
        exercise = Exercise("1.1", "", 1, "", "", "", {**noted, "kind": kind})
        assert mistake(exercise, check)[0] == outcome
