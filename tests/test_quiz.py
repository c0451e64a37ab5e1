"""The quiz over all chapters: what it tells, and that it asks what it should."""

from __future__ import annotations

import re
from itertools import chain, pairwise
from pathlib import Path

import pytest

from coursekit.cells import Cell
from coursekit.sources import Lesson, find_lessons, read_lesson
from insidetorch import quiz_result
from insidetorch.learn import progress

COURSE = Path(__file__).parents[1]
*CHAPTERS, FINISH = find_lessons(COURSE)
PARTS = {"01_storage_and_stride": ["7.1", "7.3"], "02_views": ["7.2", "7.4"]}


@pytest.fixture
def memory(tmp_path, monkeypatch):
    monkeypatch.setenv("INSIDETORCH_PROGRESS", str(tmp_path / "progress.json"))


def answer(**firsts: bool) -> None:
    """Remember these questions of chapter 7, `q1=True` for one that was right at once."""
    for name, first in firsts.items():
        known = {"said": "x", "right": True, "first": first}
        progress.keep("predictions", f"7.{name.removeprefix('q')}", known)


def test_without_a_learner_the_result_is_the_same_each_time(memory):
    result = quiz_result(PARTS)
    assert repr(result).splitlines() == [
        "chapter 1, storage and stride  ░░░░░░░░░░░░░░░░░░░░  "
        "0 of 2 right at the first try, 2 open",
        "chapter 2, views               ░░░░░░░░░░░░░░░░░░░░  "
        "0 of 2 right at the first try, 2 open",
        "No question is answered yet.",
    ]
    assert repr(quiz_result(PARTS)) == repr(result) and result.back_to == ()


def test_the_weakest_chapter_comes_first(memory):
    answer(q1=False, q3=True, q2=False, q4=False)
    result = quiz_result(PARTS)
    assert [part.right for part in result.parts] == [1, 0]
    assert result.advice == "Go back to chapter 2, views, then chapter 1, storage and stride."
    assert "██████████░░░░░░░░░░  1 of 2 right at the first try\n" in repr(result)


def test_three_of_four_are_enough_and_two_are_not(memory):
    answer(q1=True, q2=True, q3=True, q4=False)
    four = {"02_views": ["7.1", "7.2", "7.3", "7.4"]}
    assert quiz_result(four).advice == "There is no chapter to go back to."
    answer(q3=False)
    assert quiz_result(four).advice == "Go back to chapter 2, views."


def test_open_questions_count_for_nothing(memory):
    answer(q1=True)
    result = quiz_result(PARTS)
    assert [part.told for part in result.parts] == [
        "1 of 2 right at the first try, 1 open",
        "0 of 2 right at the first try, 2 open",
    ]
    assert result.advice == "There is no chapter to go back to so far."


def test_a_memory_of_the_last_answer_alone_counts_as_the_first(memory):
    progress.keep("predictions", "7.1", {"said": "x", "right": True})
    progress.keep("predictions", "7.3", {"said": "x"})
    progress.keep("predictions", "7.2", ["odd"])
    assert [(part.answered, part.right) for part in quiz_result(PARTS).parts] == [(1, 1), (0, 0)]


def test_in_a_notebook_every_chapter_is_a_link(memory):
    answer(q2=False)
    page = quiz_result(PARTS)._repr_html_()
    link = '<a href="02_views.ipynb">chapter 2, views</a>'
    assert f"<li>{link}: 0 of 2 right at the first try, 1 open</li>" in page
    assert page.endswith(f"<p>Go back to {link}.</p>")


def test_outside_a_course_the_result_says_that_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.delenv("INSIDETORCH_PROGRESS", raising=False)
    monkeypatch.chdir(tmp_path)
    assert repr(quiz_result(PARTS)).endswith("kept in the folder of the course only.")


def test_a_question_under_two_chapters_is_refused():
    with pytest.raises(ValueError, match=r"with 7\.1 in more than one place\. An answer counts"):
        quiz_result({"02_views": ["7.1"], "03_dynamic_graph": ["7.1"]})


def source_of(lesson: Lesson, start: str) -> list[str]:
    """The code cells of a lesson that begin so."""
    found: list[Cell] = [cell for cell in read_lesson(lesson) if cell.kind == "code"]
    return [cell.source for cell in found if cell.source.startswith(start)]


def questions_of(lesson: Lesson) -> dict[str, str]:
    """The questions of a lesson by id, their lines joined."""
    found = re.compile(r'predict\(\s*"([\d.]+)",\s*((?:"[^"\n]*"\s*)+),')
    matches = [found.match(source) for source in source_of(lesson, "predict(")]
    return {match[1]: re.sub(r'"\s*"', "", match[2]).strip() for match in matches}


def parts_of_the_course() -> dict[str, list[str]]:
    (cell,) = source_of(FINISH, "quiz_result(")
    return eval(cell, {"quiz_result": dict})


def test_every_question_of_the_quiz_counts_for_one_chapter_that_is_there():
    parts, asked = parts_of_the_course(), questions_of(FINISH)
    assert list(parts) == [lesson.name for lesson in CHAPTERS]
    assert sorted(chain(*parts.values())) == sorted(asked)
    assert list(asked) == [f"7.{number}" for number in range(1, len(asked) + 1)]
    assert len(asked) >= 24 and min(map(len, parts.values())) >= 4


def test_no_two_neighbours_of_the_quiz_are_from_one_chapter():
    chapter = {one: name for name, ids in parts_of_the_course().items() for one in ids}
    order = [chapter[question] for question in questions_of(FINISH)]
    assert all(one != following for one, following in pairwise(order))


def test_the_quiz_repeats_no_question_of_a_chapter():
    before = {text for lesson in CHAPTERS for text in questions_of(lesson).values()}
    assert len(before) >= 50 and not before & set(questions_of(FINISH).values())
