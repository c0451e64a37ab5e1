"""A class: what counts, what is told of all of them, and what happens when grading is cut off."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from test_grading_course import submission, write, write_course

from coursekit.grading.cases import cases_told, telling_notebook
from coursekit.grading.chapters import OBSERVATION, Exercise, read_chapters
from coursekit.grading.command import main
from coursekit.grading.counting import best_of_each, in_order, newest_of_each
from coursekit.grading.difference import Difference, first_difference
from coursekit.grading.earlier import Earlier
from coursekit.grading.grade import grade
from coursekit.grading.grader import Grader, fingerprint
from coursekit.grading.graft import NOTE
from coursekit.grading.handed_in.collect import Submission, collect
from coursekit.grading.on_save import watch
from coursekit.grading.runs.limits import TOO_LONG, Limits
from coursekit.grading.runs.starters import Plain
from coursekit.grading.told.class_page import class_page, standings
from coursekit.grading.told.journal import FILE, Journal
from coursekit.grading.told.page import learner_page
from coursekit.grading.verdicts import NOT_ATTEMPTED, NOT_YET, RIGHT, Check, Graded, Run, Verdict

pytestmark = pytest.mark.usefixtures("one_starter")

WRONG = "def offset(index, strides):\n    return 0"


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    return write_course(tmp_path_factory.mktemp("course"))


@pytest.fixture
def count_grading(monkeypatch) -> Counter:
    """How often each file is really graded."""
    count: Counter = Counter()
    real = Grader.grade_notebook

    def counted(self, notebook, *, file, **how):
        count[file] += 1
        return real(self, notebook, file=file, **how)

    monkeypatch.setattr(Grader, "grade_notebook", counted)
    return count


def handed_in(folder: Path, **notebooks: dict) -> Path:
    for name, one in notebooks.items():
        write(folder / name / "01_storage.ipynb", one)
    return folder


def rows_of(out: Path, name: str = "grades.csv") -> list[list[str]]:
    return list(csv.reader((out / name).read_text(encoding="utf-8-sig").splitlines()))


def test_a_class_gets_tables_and_a_page_for_each_learner(course, tmp_path, capsys):
    folder = handed_in(tmp_path / "in", ada=submission(), bo=submission(a1=WRONG), cy=submission())
    write(folder / "broken.ipynb", "no notebook")
    out = tmp_path / "out"
    assert main([str(folder), "--out", str(out)], root=course) == 1
    assert rows_of(out, "totals.csv") == [
        ["learner", "01_storage", "total"],
        ["(of)", "6", "6"],
        *(["ada", "6", "6"], ["bo", "4", "4"], ["broken", "", ""], ["cy", "6", "6"]),
    ]
    assert ["bo", "01_storage", "1.1", "0", "2", "not yet"] in [row[:6] for row in rows_of(out)]
    printed = capsys.readouterr().out
    assert "[4/4]" in printed and "Isolation: " in printed
    assert {path.name for path in (out / "learners").iterdir()} == {
        *("ada.html", "bo.html", "broken.html", "cy.html")
    }
    page = (out / "class.html").read_text(encoding="utf-8")
    assert '<a href="learners/bo.html">bo</a>' in page
    assert "broken, broken.ipynb: it is not a notebook" in page


def test_what_was_graded_before_is_not_graded_again(course, tmp_path, capsys, count_grading):
    folder, out = handed_in(tmp_path / "in", ada=submission(), bo=submission()), tmp_path / "out"
    command = [str(folder), "--out", str(out)]
    assert main(command, root=course) == 0
    handed_in(folder, bo=submission(a1=WRONG), cy=submission())
    assert main(command, root=course) == 1
    assert count_grading == {
        f"{n}/01_storage.ipynb": k for n, k in (("ada", 1), ("bo", 2), ("cy", 1))
    }
    assert "1 of 3 were graded before" in capsys.readouterr().out
    assert [row[1] for row in rows_of(out, "totals.csv")[2:]] == ["6", "4", "6"]
    assert rows_of(tmp_path / "out-1", "totals.csv")[3] == ["bo", "6", "6"]
    assert main([*command, "--again"], root=course) == 1
    assert count_grading["ada/01_storage.ipynb"] == 2


def test_another_course_or_other_limits_let_nothing_count_that_was_graded_before(tmp_path):
    one = Submission("ada", "a.ipynb", 0, write(tmp_path / "a.ipynb", submission()))
    graded = Graded("a.ipynb", "01_storage", (Verdict("1.1", "t", RIGHT, 2, hints=("h",)),), ("n",))
    Journal(tmp_path, "how").add(one, graded)
    renamed = Submission("Ada", "a.ipynb", 0, one.path)
    assert Journal(tmp_path, "how").find(renamed) == Graded(**{**graded.__dict__, "learner": "Ada"})
    assert Journal(tmp_path, "other").find(one) is None


def test_what_may_go_another_way_next_time_is_not_written_down(tmp_path):
    one = Submission("ada", "a.ipynb", 0, write(tmp_path / "a.ipynb", submission()))
    Journal(tmp_path, "how").add(one, Graded("a.ipynb", problem="no kernel", passing=True))
    assert Journal(tmp_path, "how").find(one) is None


def test_a_line_that_was_cut_off_costs_that_line_only(tmp_path):
    one = Submission("ada", "a.ipynb", 0, write(tmp_path / "a.ipynb", submission()))
    journal = Journal(tmp_path, "how")
    journal.add(one, Graded("a.ipynb", "01_storage"))
    text = (tmp_path / FILE).read_text(encoding="utf-8")
    (tmp_path / FILE).write_text(f"{text}{text[:40]}\n[]\n7\n", encoding="utf-8")
    assert len(Journal(tmp_path, "how").found) == 1


def test_a_course_s_fingerprint_changes_with_its_solutions(course, tmp_path):
    one, two = write_course(tmp_path / "one"), write_course(tmp_path / "two")
    assert fingerprint(one) == fingerprint(two)
    solution = two / "solutions" / "01_storage.ipynb"
    solution.write_text(solution.read_text(encoding="utf-8") + " ", encoding="utf-8")
    assert fingerprint(one) != fingerprint(two)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_an_interrupted_class_goes_on_where_it_stopped(course, tmp_path):
    folder, out = tmp_path / "in", tmp_path / "out"
    handed_in(folder, ada=submission(), zoe=submission(a1="while True:\n    pass"))
    program = (
        "import sys; from pathlib import Path; from coursekit.grading.command import main; "
        "main(sys.argv[2:], root=Path(sys.argv[1]))"
    )
    command = [sys.executable, "-c", program, course, folder, "--out", out, "--jobs", "1"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as grader:
        said = []
        for line in grader.stdout:
            said.append(line)
            if line.startswith("[1/2]"):
                grader.send_signal(signal.SIGINT)
    assert any(line.startswith("Stopped after 1 of 2. Repeat") for line in said)
    assert not (out / "grades.csv").exists()
    limits = Limits(cell=2)
    assert main([str(folder), "--out", str(out)], root=course, limits=limits) == 1
    assert [row[1] for row in rows_of(out, "totals.csv")[2:]] == ["6", "4"]


def test_a_full_disk_is_told_and_what_was_graded_is_kept(course, tmp_path, monkeypatch, capsys):
    folder, out = handed_in(tmp_path / "in", ada=submission()), tmp_path / "out"

    def full(path, text):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("coursekit.grading.told.report._write", full)
        assert main([str(folder), "--out", str(out)], root=course) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert main([str(folder), "--out", str(out)], root=course) == 0
    assert "1 of 1 were graded before" in capsys.readouterr().out


def attempts(tmp_path: Path) -> list[Submission]:
    for number, (name, one) in enumerate(
        {"01_storage": submission(), "01_storage-Copy1": submission(a1=WRONG), "x": {}}.items()
    ):
        path = write(tmp_path / "in" / "ada" / f"{name}.ipynb", one)
        os.utime(path, (1e9 + 1000 * number,) * 2)
    return collect([tmp_path / "in"], chapters=["01_storage"])


def test_the_newest_notebook_for_a_chapter_counts(course, tmp_path):
    found = newest_of_each(attempts(tmp_path), read_chapters(course))
    notes = {one.name: note for one, note in found.items()}
    assert notes == {
        "01_storage-Copy1.ipynb": (
            "the newest of 2, 01_storage-Copy1.ipynb; not counted: 01_storage.ipynb"
        ),
        "x.ipynb": "",
    }


def test_the_best_notebook_for_a_chapter_counts_where_that_is_asked_for(course, tmp_path):
    attempts(tmp_path)
    for how, points in (("newest", "4"), ("best", "6")):
        out = tmp_path / how
        command = [str(tmp_path / "in"), "--out", str(out), "--attempts", how]
        assert main(command, root=course) == 1
        assert rows_of(out, "totals.csv")[2] == ["ada", points, points]
        assert f"the {how} of 2, " in (out / "learners" / "ada.html").read_text("utf-8")


def test_an_attempt_that_cannot_be_graded_is_not_the_best():
    broken = Graded("b.ipynb", "01", problem="it ended", learner="ada")
    nothing = Graded("a.ipynb", "01", (Verdict("1.1", "t", NOT_YET, 1),), learner="ada")
    assert [one.file for one in best_of_each([broken, nothing])] == ["a.ipynb"]
    assert [one.file for one in best_of_each([nothing, broken])] == ["a.ipynb"]


def test_results_stand_in_the_order_of_learners_and_chapters():
    names = [("bo", "01"), ("ada 10", "02"), ("ada 9", "01"), ("ada 10", "01")]
    found = in_order([Graded("x", chapter, learner=learner) for learner, chapter in names])
    assert [(one.learner, one.chapter) for one in found] == [
        *(("ada 9", "01"), ("ada 10", "01"), ("ada 10", "02"), ("bo", "01"))
    ]


def verdict(outcome: str, why: str = "", **more: object) -> Verdict:
    return Verdict("1.1", "Layout", outcome, 2, why, **more)


def class_of(*verdicts: Verdict) -> list[Graded]:
    return [Graded(f"{i}.ipynb", "01_s", (v,), learner=f"l{i}") for i, v in enumerate(verdicts)]


def test_the_page_of_a_class_says_where_help_is_needed_why_and_who_needs_it():
    known = verdict(NOT_YET, "You counted `bytes`.", known=True)
    graded = class_of(known, known, verdict(RIGHT), *[verdict(NOT_YET, "it <hung>")] * 2)
    [standing] = standings(graded)["01_s"]
    assert [standing.count(one) for one in (RIGHT, NOT_YET, NOT_ATTEMPTED)] == [1, 4, 0]
    html = class_page(graded, pages={one.learner: "p" for one in graded})
    assert "<b>1.1 Layout</b>: 1 of 5 have solved it, 4 not yet" in html
    # Of equals a misconception that the course knows is told.
    assert "Most often, 2 times: You counted <code>bytes</code>." in html
    assert "<li>2 ×: The answer &lt;hung&gt; <i>l3, l4</i></li>" in html
    assert not any(word in html for word in ("http", "src=", "<script", "<link"))


def test_a_class_that_has_solved_nearly_everything_needs_no_help():
    graded = class_of(verdict(RIGHT), verdict(RIGHT), verdict(NOT_YET, "it hung"))
    html = class_page(graded, pages={one.learner: "p" for one in graded})
    assert "No exercise has kept back more than 30%, and more than one." in html


def test_an_untouched_notebook_and_an_extra_exercise_are_no_need_of_help():
    graded = class_of(*[verdict(NOT_ATTEMPTED)] * 9, verdict(RIGHT))
    assert standings(graded)["01_s"][0].all == 1
    html = class_page(graded, pages={one.learner: "p" for one in graded})
    assert "10 notebooks, 9 of them untouched" in html and "No exercise has kept back" in html
    extra = Verdict("1.2", "More", NOT_ATTEMPTED, 1, core=False)
    both = [Graded("x", "01_s", (verdict(RIGHT), extra), learner=name) for name in "abc"]
    assert [one.in_need for one in standings(both)["01_s"]] == [0, 0]


def test_a_copy_in_which_nothing_is_answered_does_not_count(course, tmp_path):
    for number, (name, a1) in enumerate({"01_storage": WRONG, "01_storage-Copy1": ""}.items()):
        answers = {"a1": a1, "a2": "", "a3": ""}
        path = write(tmp_path / "in" / f"{name}.ipynb", submission(**answers))
        os.utime(path, (1e9 + 1000 * number,) * 2)
    found = newest_of_each(
        collect([tmp_path / "in"], chapters=["01_storage"]), read_chapters(course)
    )
    assert [one.name for one in found] == ["01_storage.ipynb"]


CHECK = 'check("1.1", look, [(1, 2), (3,)], torch_says=right)'


@pytest.mark.parametrize(
    ("check", "seen", "wanted", "said"),
    [
        (CHECK, [1, 5], [1, 4], Difference("b", "5", "4")),
        (CHECK, [2, 4], [1, 4], Difference("a", "2", "1")),
        (CHECK, {"results": [2, 4], "uses": []}, {"results": [1, 4], "uses": []},
         Difference("a", "2", "1")),
        (CHECK, [1, 4], [1, 4], Difference()),
        (CHECK, [{"a": 1, "b": 2}, 4], [{"a": 1, "b": 3}, 4],
         Difference("a", '{"b": 2}', '{"b": 3}')),
        (CHECK, [1, 2, 9], [1, 2, 3], Difference("case 3 of 3", "9", "3")),
        (CHECK.replace(", torch_says=right", ""), [1, 5], [1, 4], Difference("b", "5", "")),
        ('check("1.1", answer)', 5, 4, Difference("", "5", "")),
        (CHECK, [1, {"error": "KeyError"}], [1, 4],
         Difference("b", "raised KeyError", "4", "KeyError")),
        (CHECK, [2, {"error": "KeyError"}], [1, 4], Difference("a", "2", "1")),
        ("see('1.1')", [1], [2], Difference("", "[1]", "")),
    ],
)  # fmt: skip
def test_the_first_case_that_differs_is_told_and_what_torch_says_of_it(check, seen, wanted, said):
    exercise = Exercise("1.1", "", 1, "", "", "", {}, check=check, wanted=wanted)
    assert first_difference(exercise, seen, ["a", "b"]) == said


@pytest.mark.parametrize(
    ("more", "said"),
    [("", ["1, 2", "3"]), (", given=lambda *of: f'the {of}'", ["the (1, 2)", "the (3,)"])],
)
def test_the_cases_of_a_check_are_told_in_words(course, more, said):
    check = f"made = [(1, 2), (3,)]\ncheck('1.1', look, made, torch_says=1 / 0{more})"
    [chapter, _] = read_chapters(course)
    cells = {cell.id: cell for cell in chapter.notebook.cells}
    cells["check-1-1"].source = check
    told = next(c for c in telling_notebook(chapter).cells if c.metadata[NOTE]["unit"] == "1.1")
    shown: list[dict] = []
    exec(told.source, {"display": lambda data, raw: shown.append(data)})
    assert cases_told(json.dumps(shown[0][OBSERVATION])) == said


def test_many_cases_are_told_as_far_as_they_fit(course):
    [chapter, _] = read_chapters(course)
    cells = {cell.id: cell for cell in chapter.notebook.cells}
    cells["check-1-1"].source = "check('1.1', look, [('x' * 400,)] * 2000)"
    told = next(c for c in telling_notebook(chapter).cells if c.metadata[NOTE]["unit"] == "1.1")
    shown: list[dict] = []
    exec(told.source, {"display": lambda data, raw: shown.append(data)})
    text = json.dumps(shown[0][OBSERVATION])
    assert 30_000 < len(text) < 70_000 and len(cases_told(text)[0]) == 160
    assert cases_told(text[:50]) == []


def test_a_page_tells_what_was_given_seen_and_expected_and_hints_one_by_one():
    one = verdict(
        NOT_YET, "it is `odd`", given="(2, 3)", got="[1]", expected="[3, 1]", hints=("A", "B")
    )
    html = learner_page("ada", [Graded("a.ipynb", "01_s", (one,))])
    for said in ("given", "(2, 3)", "your code", "[1]", "expected", "[3, 1]"):
        assert f">{said}<" in html
    assert html.index("Hint 1 of 2") < html.index("Hint 2 of 2")
    assert "<p>The answer is <code>odd</code></p>" in html


def test_only_what_has_changed_is_run_again(course, tmp_path, starter, monkeypatch):
    ran = []
    grader = Grader(course, limits=Limits(), starter=starter)
    real = grader.run_notebook
    grader.run_notebook = lambda notebook: ran.append(1) or real(notebook)
    earlier = Earlier()
    path = tmp_path / "a.ipynb"

    def save(**answers: str) -> Graded:
        ran.clear()
        return grader.grade(
            Submission("me", "a.ipynb", 0, write(path, submission(**answers))), earlier=earlier
        )

    first = save(a1=WRONG)
    assert [one.outcome for one in first.verdicts] == [NOT_YET, RIGHT, RIGHT]
    again = save(a1=WRONG)
    assert (again.verdicts, ran) == (first.verdicts, [])
    mended = save()
    assert [one.outcome for one in mended.verdicts] == [RIGHT] * 3 and len(ran) == 1


def test_a_helper_cell_that_changes_is_a_change_of_the_answers_that_need_it(course, starter):
    grader = Grader(course, limits=Limits(), starter=starter)
    earlier = Earlier()
    for value, outcome in ((1, NOT_YET), (3, RIGHT)):
        one = submission(a2="strides = (1, LIMIT)")
        one["cells"].insert(0, {"cell_type": "code", "source": f"LIMIT = {value}", "metadata": {}})
        found = grader.grade_notebook(
            json.dumps(one).encode(), file="a", learner="", earlier=earlier
        )
        assert found.verdicts[1].outcome == outcome


def test_a_saved_notebook_is_graded_and_only_the_news_are_told(
    course, tmp_path, starter, monkeypatch
):
    path = write(tmp_path / "ada" / "01_storage.ipynb", submission(a1=WRONG))
    said: list[str] = []
    saves = iter([submission(), "{half a notebook", submission()])

    def tick(_seconds: float) -> None:
        """Saves the notebook, and in the end stops as Ctrl+C does."""
        content = next(saves, None)
        if content is None:
            if tick.left == 0:
                raise KeyboardInterrupt
            tick.left -= 1
        else:
            write(path, content)
            os.utime(path, (1e9 + len(said) + tick.left, 1e9))

    tick.left = 3
    monkeypatch.setattr("coursekit.grading.on_save.time.sleep", tick)
    grader = Grader(course, limits=Limits(), starter=starter)
    find = lambda: collect([path], chapters=["01_storage"])  # noqa: E731
    assert watch(find, grader, say=said.append) == 0
    assert "1.1     0 of 2  not yet" in said[1] and "1.2     1 of 1  right" in said[1]
    assert "1.1     2 of 2  right" in said[2] and "1.2" not in said[2]
    assert said[-1] == "Stopped."


def test_a_notebook_that_cannot_be_read_twice_is_told_once(course, tmp_path, starter, monkeypatch):
    path = tmp_path / "01_storage.ipynb"
    path.write_text("{half", encoding="utf-8")
    said: list[str] = []
    ticks = iter(range(4))

    def tick(_seconds: float) -> None:
        if next(ticks, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr("coursekit.grading.on_save.time.sleep", tick)
    grader = Grader(course, limits=Limits(), starter=starter)
    watch(lambda: collect([path], chapters=["01_storage"]), grader, say=said.append)
    assert len([one for one in said if "it is not a notebook" in one]) == 1


def test_an_engine_that_is_not_there_is_refused(course, tmp_path, capsys):
    path = write(tmp_path / "a.ipynb", submission())
    command = [str(path), "--out", str(tmp_path / "out"), "--engine", "slurm"]
    assert main(command, root=course) == 1
    assert "There is no such one. Name a scheduler" in capsys.readouterr().err


def test_who_is_who_is_told_without_grading(course, tmp_path, capsys, count_grading):
    folder = handed_in(tmp_path / "in", ada=submission(), bo=submission())
    out = tmp_path / "out"
    assert main([str(folder), "--list", "--out", str(out)], root=course) == 0
    printed = capsys.readouterr().out
    assert "ada  ←  ada/01_storage.ipynb" in printed and "Whose notebook is it?" in printed
    assert not count_grading and not out.exists()


def test_why_answers_are_not_kept_apart_better_is_told(course, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("coursekit.grading.command.choose", lambda _: Plain("no memory is left"))
    main([str(handed_in(tmp_path / "in", ada={})), "--out", str(tmp_path / "out")], root=course)
    assert "It is no better one, and slower: no memory is left." in capsys.readouterr().out


@pytest.mark.parametrize(("first", "runs"), [(True, 2), (False, 3)])
def test_who_takes_too_long_after_right_answers_is_not_run_alone_as_well(course, first, runs):
    ran = []

    def run_notebook(notebook):
        units = {cell.metadata[NOTE]["unit"] for cell in notebook.cells}
        ran.append(units)
        checks = {"1.1": Check(first), "1.3": Check(True)}
        if "1.2" in units:
            return Run(checks, started=True, stopped="1.2", why=f"{TOO_LONG} 20 s")
        return Run(checks, started=True, finished=True)

    graded = grade(
        json.dumps(submission()).encode(),
        file="a",
        chapters=read_chapters(course),
        problems_of=lambda _: {},
        run_notebook=run_notebook,
    )
    assert [one.outcome == RIGHT for one in graded.verdicts] == [first, False, True]
    assert len(ran) == runs


def test_without_a_path_it_is_the_course_s_own_exercises(course, tmp_path, monkeypatch, capsys):
    write(course / "exercises" / "01_storage.ipynb", submission())
    monkeypatch.chdir(tmp_path)
    assert main(["--out", str(tmp_path / "out")], root=course) == 0
    assert "01_storage.ipynb: 6 of 6 points" in capsys.readouterr().out
