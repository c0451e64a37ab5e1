"""The clinic's widget without a browser: controls are set as the page would set them."""

from __future__ import annotations

import threading

import pytest
from clinic_course import make_course

from coursekit.clinic import build_clinic
from insidetorch import Clinic
from insidetorch.learn import clinic_desk
from insidetorch.learn.clinic import QUESTION
from insidetorch.learn.progress import remembered


@pytest.fixture(autouse=True)
def course(tmp_path, monkeypatch):
    """A small course with three cases, and an empty memory."""
    root = make_course(tmp_path / "a course")
    build_clinic(root)
    monkeypatch.chdir(root / "notebooks")
    monkeypatch.delenv("INSIDETORCH_PROGRESS", raising=False)
    monkeypatch.delenv("INSIDETORCH_COURSE", raising=False)
    return root


@pytest.fixture
def ran(monkeypatch):
    """What is run apart, instead of a process."""
    asked = []

    def shown(what, case_id):
        asked.append((what, case_id))
        return f"{what} of {case_id}"

    monkeypatch.setattr(clinic_desk, "shown_apart", shown)
    return asked


def answer(desk: Clinic, line: int, cause: str, file: str = "main.py") -> str:
    desk.file.value, desk.line.value, desk.cause.value = file, line, cause
    desk.answer.click()
    return desk.view.status


def test_a_case_is_read_answered_and_solved():
    desk = Clinic()
    assert desk.choose.options == (("○ 901", "901"), ("○ 902", "902"), ("○ 904", "904"))
    assert "w.grad is None." in desk.symptom.value and "mod_901_cut.py" in desk.view.svg
    assert desk.view.status == QUESTION
    assert answer(desk, 1, "frozen").startswith("✗ 901 not this line\n")
    assert desk.choose.options[0] == ("✗ 901", "901") and desk.details.value == ""
    assert answer(desk, 4, "detach").startswith("✗ 901 useful line")
    told = answer(desk, 2, "detach", "mod_901_cut.py")
    assert told == "✓ 901 right\nmod_901_cut.py, line 2. It is detached."
    assert "It cuts the graph." in desk.details.value and "-    return t.detach()" in (
        desk.details.value
    )
    assert desk.choose.options[0] == ("✓ 901", "901") and desk.solved.value == "1 of 3 solved"
    assert remembered("clinic", "901") == {"is": "right", "tries": 3}


def test_an_answer_takes_a_line_and_a_cause():
    desk = Clinic()
    desk.answer.click()
    assert desk.view.status == "Choose a line and a cause first."
    desk.line.value = 1
    desk.answer.click()
    assert desk.view.status == "Choose a line and a cause first." and desk.case.tries == 0


def test_the_marks_do_not_move_the_desk_to_another_case():
    desk = Clinic()
    desk.choose.value = "902"
    answer(desk, 1, "detach")
    assert desk.case.id == desk.choose.value == "902" and desk.line.value == 1
    assert desk.choose.options[1] == ("✗ 902", "902")


def test_the_answer_is_shown_after_two_tries_and_not_before():
    desk = Clinic()
    answer(desk, 1, "frozen")
    assert desk.show.layout.display == "none"
    answer(desk, 1, "frozen")
    assert desk.show.layout.display == ""
    desk.show.click()
    assert desk.view.status.startswith("→ 901 shown\nmod_901_cut.py, line 2.")
    assert desk.choose.options[0] == ("✗ 901", "901") and desk.solved.value == "0 of 3 solved"
    desk.choose.value = "902"
    assert desk.show.layout.display == "none" and desk.details.value == ""


def test_the_chosen_line_is_marked_in_the_picture():
    desk = Clinic()
    assert 'class="new m"' not in desk.view.svg and "→" not in desk.view.svg
    desk.file.value = "mod_901_cut.py"
    desk.line.value = 2
    assert desk.view.svg.count('class="new m"') == 1 and "→" in desk.view.svg
    assert 'data-say="mod_901_cut.py, line 2: return t.detach()"' in desk.view.svg
    desk.file.value = "main.py"
    assert desk.line.value == 0 and 'class="new m"' not in desk.view.svg


def test_the_file_is_asked_only_where_there_are_two():
    desk = Clinic()
    assert desk.file.options == ("main.py", "mod_901_cut.py") and desk.file.layout.display == ""
    desk.choose.value = "902"
    assert desk.file.options == ("main.py",) and desk.file.layout.display == "none"
    assert [value for _, value in desk.line.options] == [0, 1, 2]


def test_drawing_takes_an_open_case_of_another_kind():
    desk = Clinic()
    drawn = []
    for _ in range(3):
        desk.draw.click()
        drawn.append(desk.case.id)
    assert drawn == ["902", "904", "901"]
    desk.choose.value = "904"
    answer(desk, 3, "detach")
    desk.draw.click()
    assert desk.case.id == "902"  # 901 comes first, and is of the kind that was solved last
    answer(desk, 2, "graph_leak")
    desk.draw.click()
    assert desk.case.id == "901"
    answer(desk, 2, "detach", "mod_901_cut.py")
    desk.draw.click()
    assert desk.view.status == "All other cases are solved." and desk.case.id == "901"


def test_a_run_and_a_look_are_shown(ran):
    desk = Clinic()
    desk.run.click()
    assert desk.view.status == "Case 901 has run." and "run of 901" in desk.details.value
    desk.look.click()
    assert "show(graph_of(case.loss))\n\nlook of 901" in desk.details.value
    assert ran == [("run", "901"), ("look", "901")]


def test_a_second_run_is_refused_while_one_runs(monkeypatch):
    desk, inside, go_on = Clinic(), threading.Event(), threading.Event()

    def slow(_what, _case_id):
        inside.set()
        assert go_on.wait(60)
        return "done"

    monkeypatch.setattr(clinic_desk, "shown_apart", slow)
    thread = threading.Thread(target=desk.run.click)
    thread.start()
    assert inside.wait(60)
    assert desk.view.status == "Case 901 runs …"
    desk.look.click()
    assert desk.view.status == "A script runs already. Wait until it has ended."
    go_on.set()
    thread.join()
    assert desk.view.status == "Case 901 has run." and "done" in desk.details.value


def test_what_a_run_showed_does_not_come_to_another_case(monkeypatch):
    desk = Clinic()

    def slow(_what, _case_id):
        desk.choose.value = "902"
        return "of 901"

    monkeypatch.setattr(clinic_desk, "shown_apart", slow)
    desk.run.click()
    assert desk.details.value == "" and desk.view.status == QUESTION


def test_an_error_in_a_callback_is_told(monkeypatch):
    desk = Clinic()

    def fail(*_args):
        raise RuntimeError("no process")

    monkeypatch.setattr(clinic_desk, "shown_apart", fail)
    desk.run.click()
    assert "RuntimeError: no process" in desk.details.value
    monkeypatch.setattr(desk.case, "answer", fail)
    assert answer(desk, 1, "frozen") == "RuntimeError: no process"


def test_what_is_stored_is_the_same_with_and_without_a_learner():
    before = Clinic()._repr_mimebundle_()
    answer(Clinic(), 2, "detach", "mod_901_cut.py")
    after = Clinic()._repr_mimebundle_()
    for face in ("text/plain", "text/html"):
        assert before[face] == after[face]
    assert before["text/plain"].startswith("Clinic\nCase 901. w.grad is None.")
    assert "<img" in before["text/html"] and "It cuts the graph" not in before["text/html"]


def test_markup_in_a_script_is_text(course):
    file = course / "notebooks" / "clinic" / "902" / "main.py"
    file.write_text("x = '<b>'\n", encoding="utf-8")
    desk = Clinic()
    desk.choose.value = "902"
    assert "&lt;b&gt;" in desk.view.svg and "<b>" not in desk.view.svg
