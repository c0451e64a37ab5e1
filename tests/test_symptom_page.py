"""The page with all symptoms: every row once, as text, and never out of date without a word."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from coursekit.build import main
from coursekit.symptom_page import NAME, build_symptom_page, check_symptom_page, page
from coursekit.tables import Symptom, load_symptoms

COURSE = Path(__file__).parents[1]
ROWS = load_symptoms(COURSE / "source" / "symptoms.toml")
STORED = COURSE / "notebooks" / NAME
TABLE = """
[[row]]
chapter = 2
symptom = "A write <b>has</b> no effect"
question = "A & B?"
tool = "t[t > 0]"
causes = ["a copy", "a mask"]
"""


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course, in a folder with other letters, that has a table and a lesson."""
    root = tmp_path / "курс о тензорах"
    lesson = root / "source" / "02_views"
    lesson.mkdir(parents=True)
    (lesson / "lesson.py").write_text("# %% [markdown]\n# # 2 · Views & more\n", encoding="utf-8")
    (root / "source" / "claims.toml").write_text("", encoding="utf-8")
    (root / "source" / "symptoms.toml").write_text(TABLE, encoding="utf-8")
    return root


def cells(text: str) -> list[tuple[str, ...]]:
    """What a reader sees in each row."""
    found = re.findall(r"<div><dt>(.*?)</dt>(.*?)</div>", text)
    parts = re.compile(r"<dd[^>]*><b>[\w ]+</b> (?:<code>)?(.*?)(?:</code>)?</dd>")
    return [(unescape(first), *map(unescape, parts.findall(rest))) for first, rest in found]


def test_the_stored_page_has_every_row_once_under_its_chapter():
    sections = STORED.read_text(encoding="utf-8").split("<section>")[1:]
    chapters = [re.search(r'<h2><a href="(.*?)">(\d)', section).groups() for section in sections]
    assert [int(number) for _, number in chapters] == sorted({row.chapter for row in ROWS})
    for section, (notebook, number) in zip(sections, chapters, strict=True):
        assert (STORED.parent / notebook).is_file()
        rows = [row for row in ROWS if row.chapter == int(number)]
        wanted = [(r.symptom, r.question, r.tool, "; ".join(r.causes)) for r in rows]
        assert cells(section) == wanted


def test_the_page_needs_no_script_and_no_network():
    text = STORED.read_text(encoding="utf-8")
    assert '<html lang="en">' in text and '<meta charset="utf-8">' in text
    assert "<script" not in text and "url(" not in text and "@import" not in text
    assert re.findall(r'(?:src|href)="(?:\w+:)?//', text) == []


def test_what_stands_in_a_row_is_text_and_no_markup():
    row = Symptom(1, "<i>x</i>", "a & b?", "t[t > 0]", ["</main>"])
    text = page([row], {1: ("Views & <b>", "a.ipynb")})
    assert "<i>x" not in text and text.count("</main>") == 1 and "Views &amp; &lt;b&gt;" in text
    assert cells(text) == [("<i>x</i>", "a & b?", "t[t > 0]", "</main>")]


def test_a_chapter_without_a_lesson_has_a_heading_without_a_link():
    text = page([Symptom(3, "It is slow", "Why?", "show(t)", ["x"])], {})
    assert "<h2>Chapter 3</h2>" in text and "<a " not in text


def test_building_twice_gives_the_same_bytes_and_tells_nothing_new(course):
    assert build_symptom_page(course) == "notebooks/symptom_table.html: built"
    first = (course / "notebooks" / NAME).read_bytes()
    assert b'<a href="02_views.ipynb">2 \xc2\xb7 Views &amp; more</a>' in first
    assert build_symptom_page(course) == "" and check_symptom_page(course) == []
    assert (course / "notebooks" / NAME).read_bytes() == first and b"\r" not in first


def test_a_missing_page_and_one_of_an_older_table_are_told_and_built_anew(course):
    assert check_symptom_page(course) == ["notebooks/symptom_table.html is missing."]
    build_symptom_page(course)
    more = TABLE + TABLE.replace("A write", "Another write")
    (course / "source" / "symptoms.toml").write_text(more, encoding="utf-8")
    stale = "notebooks/symptom_table.html is not what source/symptoms.toml gives."
    assert check_symptom_page(course) == [stale]
    build_symptom_page(course)
    assert check_symptom_page(course) == [] and not (course / ".insidetorch").exists()


@pytest.mark.parametrize("edit", [lambda t: t.replace("a mask", "mine"), lambda t: "", str.lower])
def test_a_page_that_somebody_has_changed_is_told_and_kept(course, edit):
    build_symptom_page(course)
    file = course / "notebooks" / NAME
    mine = edit(file.read_text(encoding="utf-8"))
    file.write_text(mine, encoding="utf-8", newline="\n")
    assert len(check_symptom_page(course)) == 1
    assert "kept as .insidetorch/backup/symptom_table-1.html" in build_symptom_page(course)
    kept = course / ".insidetorch" / "backup" / "symptom_table-1.html"
    assert kept.read_text(encoding="utf-8") == mine and check_symptom_page(course) == []


def test_the_build_writes_the_page_and_its_check_compares_it(course, capsys):
    assert main([], root=course) == 0
    assert "notebooks/symptom_table.html: built" in capsys.readouterr().out
    assert main(["--check"], root=course) == 0
    (course / "notebooks" / NAME).unlink()
    assert main(["--check"], root=course) == 1
    assert "notebooks/symptom_table.html is missing." in capsys.readouterr().out


def test_a_course_without_a_table_has_no_page(tmp_path):
    assert build_symptom_page(tmp_path) == "" and check_symptom_page(tmp_path) == []
