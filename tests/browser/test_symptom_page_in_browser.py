"""The page with all symptoms in Chromium: one sheet of A4, legible, in light and dark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness import Browser
from playwright.sync_api import Page

from coursekit.symptom_page import NAME

STORED = Path(__file__).parents[2] / "notebooks" / NAME
POINT = 96 / 72
_SMALLEST = """() => Math.min(...[...document.querySelectorAll("body *")]
  .filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()))
  .filter(e => e.getClientRects().length)
  .map(e => parseFloat(getComputedStyle(e).fontSize)))"""
_COLOURS = """() => ["body", "dt", "code"].map(name => {
  const style = getComputedStyle(document.querySelector(name));
  return name === "body" ? style.backgroundColor : style.color;
})"""


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Callable[[str], Page]]:
    """`opened(text)` is that page in a tab of its own."""

    def show(text: str) -> Page:
        file = tmp_path / NAME
        file.write_text(text, encoding="utf-8")
        page = browser.browser.new_context().new_page()
        page.goto(file.as_uri())
        return page

    yield show
    browser.close_pages()


def sheets(page: Page) -> int:
    """On how many sheets is it printed?"""
    return len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True)))


def test_the_page_is_printed_on_one_sheet_and_its_type_is_6_points_at_least(opened):
    page = opened(STORED.read_text(encoding="utf-8"))
    assert sheets(page) == 1
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(_SMALLEST) >= 6 * POINT
    assert page.evaluate(_COLOURS) == ["rgb(255, 255, 255)", "rgb(0, 0, 0)", "rgb(0, 0, 0)"]


def test_a_page_with_twice_the_rows_would_take_more_sheets(opened):
    text = STORED.read_text(encoding="utf-8")
    rows = text[text.index("<section>") : text.index("</main>")]
    assert sheets(opened(text.replace(rows, rows * 2))) > 1


@pytest.mark.parametrize("width", [1250, 600])
def test_nothing_on_the_screen_is_wider_than_the_window(opened, width):
    page = opened(STORED.read_text(encoding="utf-8"))
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    assert page.locator("dt:visible").count() == page.locator("dt").count() > 40


def test_the_page_follows_the_colour_scheme_of_the_screen(opened):
    page = opened(STORED.read_text(encoding="utf-8"))
    seen = {}
    for scheme in ("light", "dark"):
        page.emulate_media(media="screen", color_scheme=scheme)
        seen[scheme] = page.evaluate(_COLOURS)
    assert seen["light"][0] == "rgb(255, 255, 255)" and seen["dark"][0] == "rgb(27, 27, 27)"
    assert not set(seen["light"]) & set(seen["dark"])
