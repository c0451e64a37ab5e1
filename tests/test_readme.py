"""The README's examples run, its links lead somewhere, and it says the same as the project."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_examples_hold():
    text = README.replace("```", "")
    found = doctest.DocTestParser().get_doctest(text, {}, "README.md", "README.md", 0)
    runner = doctest.DocTestRunner()
    runner.run(found)
    assert len(found.examples) >= 4 and runner.failures == 0


def test_links_lead_to_files():
    links = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    assert len(links) >= 6
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_two_commands_stand_in_the_first_15_lines():
    top = "\n".join(README.splitlines()[:15])
    assert "python course.py lab" in top and "python course.py test" in top and "![" in top


def test_a_chapter_is_coming_until_it_is_built():
    rows = re.findall(r"^\| (\d) \| (.*?) \|", README, re.MULTILINE)
    built = {int(path.name[:2]) for path in (ROOT / "notebooks").glob("0[1-7]_*.ipynb")}
    assert len(rows) == 7
    for number, title in rows:
        assert ("coming" in title) == (int(number) not in built)
