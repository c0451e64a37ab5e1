"""Observations, the three outcomes of a check, hints and progress."""

from __future__ import annotations

import builtins
import dataclasses
import functools
import importlib
import json
import sys
from types import SimpleNamespace

import pytest
import torch
from IPython.display import display
from ipywidgets import IntProgress
from matplotlib import pyplot

from insidetorch import check, hint, progress
from insidetorch.indexing import contiguous_strides as borrowed
from insidetorch.learn.by_hand import names_used
from insidetorch.learn.course_data import digest
from insidetorch.learn.observation import MIME, observe, plain
from insidetorch.learn.progress import remembered


def double(x):
    return 2 * x


CASES = [(1,), (2,)]


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course with one exercise, 1.1: double a number."""
    monkeypatch.setenv("INSIDETORCH_COURSE", str(tmp_path))
    monkeypatch.setenv("INSIDETORCH_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)

    def seen(values):
        return digest("salt", {"v": 1, "id": "1.1", "seen": values})

    stub = {"error": "NotImplementedError", "in": "answer"}

    entry = {
        "title": "Double",
        "core": True,
        "minutes": 5,
        "points": 2,
        "hints": ["first", "second", "third"],
        "afterword": "Well done.",
        "verdicts": {
            seen([2, 4]): {"is": "right", "tell": ""},
            seen([1, 4]): {"is": "wrong", "tell": "That is the square."},
            seen([None, None]): {"is": "stub", "tell": ""},
            seen([stub, stub]): {"is": "stub", "tell": ""},
        },
    }
    extra = {**entry, "title": "Extra", "core": False, "points": 1}
    chapter = {"v": 1, "chapter": 1, "salt": "salt", "exercises": {"1.2": extra, "1.1": entry}}
    (tmp_path / "01.json").write_text(json.dumps(chapter), encoding="utf-8")
    return tmp_path


def test_a_right_answer_is_told_the_afterword(course):
    outcome = check("1.1", double, CASES)
    assert (outcome.outcome, outcome.tell) == ("right", "Well done.")
    assert remembered("exercises", "1.1") == {"is": "right"}


def test_a_known_mistake_is_named(course):
    outcome = check("1.1", lambda x: x * x, CASES)
    assert (outcome.outcome, outcome.tell) == ("not yet", "That is the square.")


def test_an_unknown_mistake_is_shown_beside_torch(course):
    outcome = check("1.1", lambda x: 2 * x + (x > 1), CASES, torch_says=double)
    assert outcome.tell == "Given 2: you got 5, torch has 4."


def test_what_torch_and_python_call_nothing_is_called_none(course):
    outcome = check("1.1", lambda x: None if x > 1 else 2, CASES, torch_says=double)
    assert outcome.tell == "Given 2: you got None, torch has 4."
    outcome = check("1.1", lambda x: ["a", True] if x > 1 else 2, CASES, torch_says=double)
    assert outcome.tell == "Given 2: you got ['a', True], torch has 4."


def test_what_the_learners_function_was_given_is_told(course):
    def got(x):
        return f"{x} bytes, as double([{x}])"

    outcome = check("1.1", lambda x: 2 * x + (x > 1), CASES, torch_says=double, given=got)
    assert outcome.tell == "Given 2 bytes, as double([2]): you got 5, torch has 4."
    outcome = check("1.1", lambda x: 2 * x // (2 - x), CASES, torch_says=double, given=got)
    assert "by zero. Given 2 bytes, as double([2]).\n" in outcome.tell
    assert check("1.1", double, CASES, given=got).outcome == "right"


def test_the_first_error_is_told_with_its_case_and_its_line(course):
    def failing(x):
        return 2 * x if x < 2 else forgotten(x)  # noqa: F821

    outcome = check("1.1", failing, CASES, torch_says=double)
    assert outcome.tell == (
        "Your code raised NameError: name 'forgotten' is not defined. Given 2.\n"
        "It happened here: return 2 * x if x < 2 else forgotten(x)  # noqa: F821"
    )
    assert outcome.observation["seen"] == [2, {"error": "NameError"}]


def test_of_named_parts_the_first_that_differs_is_told(course):
    def parts(x, wrong=0):
        return {"value": 2 * x, "shape": {"sizes": [x + wrong]}}

    outcome = check("1.1", lambda x: parts(x, x > 1), CASES, torch_says=parts)
    assert outcome.tell == "Given 2: shape: sizes: you got [3], torch has [2]."


def test_a_half_written_answer_is_told_what_is_open(course):
    def rest(x):
        raise NotImplementedError

    outcome = check("1.1", lambda x: 2 if x == 1 else rest(x), CASES)
    assert (outcome.outcome, outcome.tell) == ("not yet", "Still to be written: rest.")
    assert check("1.1", rest, CASES).outcome == "not yet"  # the stub's is named answer


@pytest.mark.parametrize("stub", [lambda x: None, NotImplementedError])
def test_a_stub_is_not_attempted(course, stub):
    def answer(x):
        if isinstance(stub, type):
            raise stub
        return stub(x)

    outcome = check("1.1", answer, CASES)
    assert outcome.outcome == "not attempted" and "Double" in outcome.tell


def test_without_cases_an_error_is_told(course):
    outcome = check("1.1", lambda: 1 // 0)
    assert outcome.outcome == "not yet"
    assert outcome.tell.startswith("Your code raised ZeroDivisionError: integer division")
    assert outcome.observation["seen"] == {"error": "ZeroDivisionError"}


def test_outside_a_course_nothing_is_judged(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = check("1.1", double, CASES)
    assert outcome.outcome == "not judged" and outcome.observation["seen"] == [2, 4]


def test_the_graded_form_holds_what_was_seen_and_no_verdict(course):
    right, wrong = check("1.1", double, CASES), check("1.1", lambda x: x * x, CASES)
    graded = [o._repr_mimebundle_()[MIME] for o in (right, wrong)]
    assert graded == [{"v": 1, "id": "1.1", "seen": [2, 4]}, {"v": 1, "id": "1.1", "seen": [1, 4]}]


def test_under_nbgrader_only_a_right_answer_passes(course, monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert check("1.1", double, CASES).outcome == "right"
    with pytest.raises(AssertionError, match=r"1\.1 not yet\. That is the square"):
        check("1.1", lambda x: x * x, CASES)
    # Whose course it is has not solved it.
    assert not remembered("exercises", "1.1")


def test_a_print_is_shown_and_changes_no_verdict(course, capsys):
    def quiet(x):
        print(x)
        return 2 * x

    def loud(x):
        print("x" * 50_000)
        return 2 * x

    outcome = check("1.1", loud, CASES)
    assert outcome.outcome == "right"
    assert outcome.tell.endswith(f"Your code printed: {'x' * 400} … (20,000 characters in all)")
    assert check("1.1", quiet, CASES).tell.endswith("Your code printed: 1\n2")
    assert capsys.readouterr().out == ""


class Equal(int):
    """Claims to equal everything."""

    def __eq__(self, other):
        return True

    __hash__ = None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Equal(3), {"odd": "Equal"}),
        (0.123456, 0.1235),
        (-0.0, 0.0),
        (float("nan"), "nan"),
        ((1, [True, None]), [1, [True, None]]),
        ({1: torch.float32}, {"1": "float32"}),
        (torch.Size([2]), [2]),
        (
            torch.arange(2).t(),
            {"values": [0, 1], "dtype": "int64", "sizes": [2], "strides": [1]},
        ),
        (object, {"odd": "type"}),
    ],
)
def test_a_value_is_written_down_plainly(value, expected):
    assert plain(value) == expected


def test_an_observation_is_bounded():
    seen, _, _ = observe("1.1", lambda: "x" * 100_000)
    assert seen["seen"] == {"odd": "more than 65,536 bytes"}


def test_one_answer_cannot_spoil_the_next():
    torch.set_grad_enabled(False)
    torch.set_default_dtype(torch.float64)
    seen, _, _ = observe("1.1", lambda: [torch.is_grad_enabled(), torch.ones(1)])
    assert seen["seen"][0] is True and seen["seen"][1]["dtype"] == "float32"


def helper(sizes):
    return torch.empty(sizes)


OPERATORS = {"t": lambda a: torch.t(a)}


class Callable:
    def __call__(self, sizes):
        return helper(sizes)


def imported(sizes):
    import numpy as n

    return n.zeros(sizes)


class Held:
    t = torch

    @staticmethod
    def ask(sizes):
        return torch.empty(sizes)

    @property
    def size(self):
        return torch.empty(1)

    def bound(self, sizes):
        return torch.empty(sizes)


class Inherits(Held):
    pass


class Honest:
    @staticmethod
    def ask(sizes):
        return sizes.count(0)


BAR = IntProgress()
held = SimpleNamespace(fn=torch.empty)
bound = Held().bound
new_empty = torch.zeros(1).new_empty


@functools.wraps(double)
def wrapper(sizes):
    return torch.empty(sizes)


@functools.wraps(double)
def timed(x):
    return double(x)


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        (double, []),
        (functools.cache(double), []),
        (timed, []),
        (Honest, []),
        (lambda x: dataclasses.replace(x), []),
        (lambda x: (display(x), IntProgress(), pyplot.plot(x), BAR), []),
        (lambda sizes: sizes.count(0) + sizes.torch, []),
        (lambda sizes: sys.setrecursionlimit(5000), []),
        (lambda sizes: [torch.empty(size) for size in sizes], ["torch"]),
        (lambda sizes: helper(sizes), ["torch"]),
        (lambda a: OPERATORS["t"](a), ["torch"]),
        (functools.cache(lambda sizes: helper(sizes)), ["torch"]),
        (functools.partial(helper), ["torch"]),
        (Callable(), ["torch"]),
        (Callable, ["torch"]),
        ((double, helper), ["torch"]),
        (lambda sizes, t=torch: t.empty(sizes), ["torch"]),
        (lambda sizes, *, t=torch: t.empty(sizes), ["torch"]),
        (lambda sizes: Held.ask(sizes), ["torch"]),
        (lambda sizes: Inherits().size, ["torch"]),
        (lambda sizes: held.fn(sizes), ["torch"]),
        (lambda sizes: bound(sizes), ["torch"]),
        (lambda sizes: new_empty(sizes), ["torch"]),
        (wrapper, ["torch"]),
        (borrowed, ["insidetorch"]),
        (imported, ["numpy"]),
        (lambda source: eval(source), ["eval"]),
        (lambda sizes: globals()["torch"], ["globals"]),
        (lambda sizes: sys.modules["torch"], ["sys.modules"]),
        (lambda sizes: importlib.import_module("torch"), ["importlib"]),
        (lambda sizes: getattr(builtins, "ev" + "al")("torch"), ["builtins"]),
        (len, []),
        (None, []),
    ],
)
def test_the_libraries_that_a_rule_uses_are_found(answer, names):
    assert names_used(answer) == names


@pytest.mark.parametrize("name", ["count", "report"])
def test_an_attribute_is_no_global_name(name, monkeypatch):
    monkeypatch.setitem(globals(), name, torch.empty)
    assert names_used(lambda sizes: sizes.count(0) + sizes.report) == []


def test_what_is_allowed_may_be_used():
    assert names_used(lambda sizes: borrowed(sizes), allowed=[borrowed]) == []


def test_a_rule_that_uses_torch_is_told_so(course):
    def answer(x):
        return int(torch.tensor(2 * x))

    outcome = check("1.1", answer, CASES, by_hand=answer)
    assert outcome.observation["seen"] == {"results": [2, 4], "uses": ["torch"]}
    assert outcome.tell.startswith("Your answer uses torch. This exercise asks for the rule")


def test_a_judge_makes_right_answers_equal(course, monkeypatch):
    file = course / "01.json"
    chapter = json.loads(file.read_text(encoding="utf-8"))
    chapter["exercises"]["1.1"]["judge"] = "builtins.sorted"
    file.write_text(json.dumps(chapter), encoding="utf-8")
    assert check("1.1", lambda x: 6 - 2 * x, CASES).outcome == "right"  # 4, 2
    assert check("1.1", lambda x: 5, CASES).outcome == "not yet"
    assert check("1.1", lambda: 5).outcome == "not yet"  # sorted(5) raises


def test_words_between_backticks_are_code(course):
    file = course / "01.json"
    text = file.read_text(encoding="utf-8").replace("Well done.", "`x < y` done.")
    file.write_text(text.replace('"first"', '"`a`"'), encoding="utf-8")
    shown = check("1.1", double, CASES)._repr_mimebundle_()["text/html"]
    assert "<p><code>x &lt; y</code> done.</p>" in shown
    assert "<li><code>a</code></li>" in hint("1.1")._repr_html_()


def test_hints_come_one_by_one_and_are_remembered(course):
    assert [hint("1.1").hints for _ in range(4)] == [
        ("first",),
        ("first", "second"),
        ("first", "second", "third"),
        ("first", "second", "third"),
    ]
    assert "That was the last one" in repr(hint("1.1")) and "2 more" in repr(hint("1.2"))


def test_unknown_exercises_are_refused(course):
    with pytest.raises(KeyError, match=r"Exercise 1\.9 was asked for\. Chapter 1 has 1\.2, 1\.1"):
        hint("1.9")
    with pytest.raises(ValueError, match=r"'storage' was asked for.*Write it like"):
        check("storage", double, CASES)
    with pytest.raises(ValueError, match=r"1\.1 was asked for.*Write it like"):
        hint(1.1)


def test_progress_outside_a_course_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "no course around this notebook" in repr(progress())


def test_a_hint_outside_a_course_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(KeyError, match=r"no course around this notebook"):
        hint("1.1")


def test_progress_shows_points_and_the_next_core_exercise(course):
    assert "0 of 3 points" in repr(progress()) and "next: 1.1 Double (5 minutes)" in repr(
        progress()
    )
    check("1.1", double, CASES)
    assert progress().chapters == ((1, 2, 3),) and progress().next_exercise.startswith("1.2 Extra")


def test_a_check_leaves_gradients_on_whatever_the_answer_did(course):
    def answer():
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float64)
        return 1

    check("1.1", answer)
    assert torch.is_grad_enabled() and torch.get_default_dtype() == torch.float32
