"""Predictions, intended errors and the learner's memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from insidetorch import expect_error, predict
from insidetorch.learn import progress

OPTIONS = {(3, 1): "That is the contiguous order.", (1, 4): "clone keeps the order."}


def ask(prediction_id: str = "1.6"):
    return predict(
        prediction_id,
        "Which strides?",
        OPTIONS,
        reveal=lambda: torch.arange(12).view(3, 4).t().clone().stride(),
    )


@pytest.fixture
def memory(tmp_path, monkeypatch):
    """A course folder with an empty memory."""
    monkeypatch.delenv("INSIDETORCH_PROGRESS", raising=False)
    (tmp_path / "helpers" / "insidetorch").mkdir(parents=True)
    (tmp_path / "course.py").touch()
    notebooks = tmp_path / "notebooks"
    notebooks.mkdir()
    (notebooks / "01_storage_and_stride.ipynb").touch()
    monkeypatch.chdir(notebooks)
    return tmp_path / ".insidetorch" / "progress.json"


def said(prediction_id: str) -> str | None:
    answer = progress.remembered("predictions", prediction_id)
    return answer["said"] if answer else None


def answer(question, choice: str):
    question.choice.value = choice
    question.commit.click()
    return question.view.status


def test_nothing_is_revealed_before_the_answer(memory):
    question = ask()
    assert question.view.status == "" and question.commit.disabled
    question.choice.value = "(3, 1)"
    assert question.view.status == "" and not question.commit.disabled
    assert not memory.exists()


def test_a_wrong_answer_meets_its_misconception(memory):
    told = answer(ask(), "(3, 1)")
    assert told == (
        "✗ You said (3, 1). That is the contiguous order.\n"
        "→ torch says (1, 4). clone keeps the order."
    )
    kept = json.loads(memory.read_text(encoding="utf-8"))
    assert kept["predictions"] == {"1.6": {"said": "(3, 1)", "right": False, "first": False}}
    assert kept["last"] == "01_storage_and_stride"


def test_a_right_answer_is_told_why(memory):
    told = answer(ask(), "(1, 4)")
    assert told == "✓ You said (1, 4), and so does torch. clone keeps the order."


def test_an_answer_is_final_and_remembered(memory):
    question = ask()
    answer(question, "(3, 1)")
    assert question.choice.disabled and question.commit.disabled
    again = ask()
    assert again.view.status.startswith("✗ Earlier you said (3, 1).") and again.commit.disabled
    assert ask("1.7").view.status == ""


def test_a_learner_can_be_asked_again(memory):
    question = ask()
    answer(question, "(3, 1)")
    assert question.again.layout.display == ""
    question.again.click()
    assert question.view.status == "" and question.commit.disabled and not question.choice.disabled
    assert answer(question, "(1, 4)").startswith("✓") and said("1.6") == "(1, 4)"


def test_the_first_answer_stays_known_however_often_a_learner_is_asked(memory):
    question = ask()
    for choice in ("(3, 1)", "(1, 4)", "(1, 4)"):
        answer(question, choice)
        question.again.click()
    assert progress.remembered("predictions", "1.6") == {
        "said": "(1, 4)",
        "right": True,
        "first": False,
    }


def test_a_memory_that_knows_only_the_last_answer_counts_it_as_the_first(memory):
    progress.keep("predictions", "1.6", {"said": "(3, 1)", "right": False})
    question = ask()
    question.again.click()
    answer(question, "(1, 4)")
    assert progress.remembered("predictions", "1.6")["first"] is False


def test_code_in_a_question_and_large_numbers_are_set_as_such():
    html = predict("1.9", "What is `a < b`?", {12000: "", 2: ""}, reveal=lambda: 12000)._html()
    assert "<code>a &lt; b</code>" in html and "<code>12,000</code>" in html


def test_what_is_stored_is_the_same_with_and_without_a_learner(memory):
    before = ask()._repr_mimebundle_()
    answer(ask(), "(3, 1)")
    after = ask()._repr_mimebundle_()
    assert before["text/plain"] == after["text/plain"] and "→ (1, 4)" in before["text/plain"]
    assert before["text/html"] == after["text/html"] and "<details>" in before["text/html"]


def test_the_right_answer_comes_from_torch():
    with pytest.raises(ValueError, match=r"Prediction 1\.9 .* gives \(9,\), which is none of them"):
        predict("1.9", "?", OPTIONS, reveal=lambda: (9,))
    assert (
        predict("1.9", "?", {(2,): "", (3,): ""}, reveal=lambda: torch.Size([2])).answer == "(2,)"
    )


def test_markup_in_a_question_is_text():
    html = predict("1.9", "a < b?", {"<b>": "<i>", 2: ""}, reveal=lambda: 2)._repr_mimebundle_()
    assert "<b>" not in html["text/html"].replace("<b>Predict", "")
    assert "<i>" not in html["text/html"]


def test_outside_a_course_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.delenv("INSIDETORCH_PROGRESS", raising=False)
    monkeypatch.chdir(tmp_path)
    assert "You said" in answer(ask(), "(3, 1)")
    assert list(tmp_path.iterdir()) == [] and said("1.6") is None


def test_another_place_can_be_named(tmp_path, monkeypatch):
    file = tmp_path / "глубина 深" / "mine.json"
    monkeypatch.setenv("INSIDETORCH_PROGRESS", str(file))
    answer(ask(), "(3, 1)")
    assert said("1.6") == "(3, 1)" and file.exists()
    assert {path.name for path in file.parent.iterdir()} == {"mine.json", "mine.json.lock"}


@pytest.mark.parametrize("broken", ["{", "[1]", "nonsense", '{"predictions": 3}', ""])
def test_a_broken_memory_is_kept_aside_and_never_stops_the_learner(memory, broken):
    memory.parent.mkdir()
    memory.write_text(broken, encoding="utf-8")
    assert "You said" in answer(ask(), "(3, 1)")
    assert said("1.6") == "(3, 1)"
    aside = [p.read_text(encoding="utf-8") for p in memory.parent.glob("*.broken-*")]
    assert aside == ([broken] if broken else [])


def test_what_others_wrote_into_the_memory_stays(memory):
    memory.parent.mkdir()
    memory.write_text('{"v": 1, "exercises": {"1.1": "right"}}', encoding="utf-8")
    answer(ask(), "(3, 1)")
    assert json.loads(memory.read_text(encoding="utf-8"))["exercises"] == {"1.1": "right"}


def test_an_answer_that_cannot_be_saved_is_revealed_and_told(memory, monkeypatch):
    def full(*_where, **_how):
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    told = answer(ask(), "(3, 1)")
    assert told.startswith("✗ You said") and told.endswith("(Not saved: No space left on device)")


def test_a_memory_that_cannot_be_read_now_is_not_overwritten(memory, monkeypatch):
    answer(ask("1.1"), "(1, 4)")
    before = memory.read_text(encoding="utf-8")

    def locked(*_where, **_how):
        raise PermissionError("in use")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_text", locked)
        assert answer(ask("1.2"), "(3, 1)").endswith("(Not saved: in use)")
    assert memory.read_text(encoding="utf-8") == before


@pytest.mark.parametrize("odd", ['{"1.6": {"said": [3]}}', '{"1.6": 4}', '{"1.6": {}}'])
def test_an_odd_answer_in_the_memory_is_no_answer(memory, odd):
    memory.parent.mkdir()
    memory.write_text(f'{{"predictions": {odd}}}', encoding="utf-8")
    assert ask().view.status == ""


KEEP = """
import sys
from insidetorch.learn.progress import keep
for number in range(40):
    keep("predictions", f"1.{sys.argv[1]}{number}", {"said": "x", "right": True})
"""


def test_two_kernels_lose_nothing_of_each_other(memory):
    both = [subprocess.Popen([sys.executable, "-c", KEEP, name]) for name in ("1", "2")]
    assert [process.wait() for process in both] == [0, 0]
    assert len(progress.read_progress()["predictions"]) == 80


def test_options_that_look_the_same_are_refused():
    with pytest.raises(ValueError, match=r"Prediction 1\.9 .* Two of them look the same"):
        predict("1.9", "?", {1: "one", "1": "text"}, reveal=lambda: 1)


def test_an_intended_error_is_printed_without_its_changing_parts(capsys):
    with expect_error(RuntimeError, match="view size is not compatible"):
        torch.arange(6).view(2, 3).t().view(6)
    assert capsys.readouterr().out == "RuntimeError: view size is not compatible …\n"


def test_an_intended_error_that_does_not_come_fails():
    with pytest.raises(AssertionError, match="Nothing was raised"):
        with expect_error(RuntimeError, match="x"):
            pass


def test_an_intended_error_with_another_message_fails():
    with pytest.raises(AssertionError, match=r"says 'strides' was expected\. It says: sizes"):
        with expect_error(ValueError, match="strides"):
            raise ValueError("sizes")


def test_an_error_of_another_type_passes_through():
    with pytest.raises(KeyError):
        with expect_error(ValueError, match="x"):
            raise KeyError("x")
