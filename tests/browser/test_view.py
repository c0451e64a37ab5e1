"""Tier 2: the module of the view in bare Chromium, against a stub of its model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from harness import Browser
from playwright.sync_api import Locator, Page, expect

from insidetorch import StrideExplorer, show
from insidetorch.draw.svg import Canvas
from insidetorch.widgets.show import picture_of
from insidetorch.widgets.view import SvgView

_START = """async ([module, state]) => {
  const url = URL.createObjectURL(new Blob([module], { type: "text/javascript" }));
  const { render } = (await import(url)).default;
  const listeners = {};
  window.model = {
    get: key => state[key],
    on: (name, fn) => (listeners[name] ??= []).push(fn),
    off: (name, fn) => { listeners[name] = listeners[name].filter(each => each !== fn); },
    listening: () => Object.values(listeners).flat().length,
    push(change) {
      Object.assign(state, change);
      for (const key in change) for (const fn of listeners[`change:${key}`] ?? []) fn();
    },
  };
  const box = document.createElement("div");
  box.className = "it-box";
  box.innerHTML = "<button>before</button>";
  const el = document.createElement("div");
  box.append(el);
  document.body.replaceChildren(box);
  window.cleanup = render({ model, el });
  await new Promise(requestAnimationFrame);
}"""
_FOCUSED = "() => [document.activeElement.dataset.r, document.activeElement.dataset.c]"


class Stage:
    """One view on an empty page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.set_content("<!doctype html><html lang=en><title>view</title><body></body></html>")
        page.add_style_tag(content=SvgView._css)

    def start(self, svg: str, status: str) -> None:
        self.page.evaluate(_START, [SvgView._esm, {"svg": svg, "status": status, "rev": 1}])

    def push(self, svg: str, status: str, rev: int) -> None:
        self.page.evaluate("s => model.push(s)", {"svg": svg, "status": status, "rev": rev})

    def cell(self, row: int, column: int) -> Locator:
        return self.page.locator(f"[data-r='{row}'][data-c='{column}']")

    def storage(self, element: int) -> Locator:
        return self.page.locator(f"[data-link='{element}']:not([data-r])")

    @property
    def status(self) -> Locator:
        return self.page.get_by_role("status")

    def focused(self) -> list[str]:
        return self.page.evaluate(_FOCUSED)


@pytest.fixture
def stage(browser: Browser) -> Iterator[Stage]:
    context = browser.browser.new_context(has_touch=True)
    made = Stage(context.new_page())
    view = StrideExplorer().view
    made.start(view.svg, view.status)
    yield made
    browser.close_pages()
    assert made.errors == []


def test_hover_marks_a_value_and_its_storage_element(stage: Stage) -> None:
    stage.cell(1, 2).hover()
    expect(stage.page.locator(".on")).to_have_count(2)
    expect(stage.storage(8)).to_have_class("used m on")
    expect(stage.status).to_have_text("[1, 2] reads element 0 + 1·6 + 2·1 = 8, byte 64: 8")


def test_hover_over_a_storage_element_marks_the_values_that_read_it(stage: Stage) -> None:
    overlapping = picture_of(torch.arange(5).unfold(0, 3, 1), live=True)
    stage.push(overlapping.svg, overlapping.alt, 2)
    stage.storage(2).hover()
    expect(stage.page.locator("[data-r].on")).to_have_count(3)


def test_leaving_restores_the_status(stage: Stage) -> None:
    before = stage.status.text_content()
    stage.cell(1, 2).hover()
    expect(stage.status).not_to_have_text(before)
    stage.page.mouse.move(0, 0)
    expect(stage.page.locator(".on")).to_have_count(0)
    expect(stage.status).to_have_text(before)


def test_leaving_returns_to_the_cell_that_has_the_focus(stage: Stage) -> None:
    stage.cell(0, 0).focus()
    stage.cell(1, 2).hover()
    stage.page.mouse.move(0, 0)
    expect(stage.cell(0, 0)).to_have_class("used m on")


def test_arrow_keys_walk_the_values_and_stop_at_the_edge(stage: Stage) -> None:
    stage.cell(0, 0).focus()
    for key, place in (
        ("ArrowUp", ["0", "0"]),
        ("ArrowRight", ["0", "1"]),
        ("ArrowDown", ["1", "1"]),
        ("ArrowLeft", ["1", "0"]),
        ("ArrowLeft", ["1", "0"]),
    ):
        stage.page.keyboard.press(key)
        assert stage.focused() == place, key
    expect(stage.status).to_contain_text("[1, 0] reads element")


def test_the_picture_is_one_tab_stop(stage: Stage) -> None:
    stage.page.get_by_role("button").focus()
    stage.page.keyboard.press("Tab")
    assert stage.focused() == ["0", "0"]
    stage.page.keyboard.press("ArrowRight")
    expect(stage.page.locator("[tabindex='0']")).to_have_count(1)
    stage.page.keyboard.press("Shift+Tab")
    expect(stage.page.get_by_role("button")).to_be_focused()
    stage.page.keyboard.press("Tab")
    assert stage.focused() == ["0", "1"]


def test_arrow_keys_step_over_the_gaps_of_an_elided_picture(stage: Stage) -> None:
    elided = picture_of(torch.arange(10_000).view(100, 100), live=True)
    stage.push(elided.svg, elided.alt, 2)
    last = stage.page.locator("[aria-label^='[99, 99] ']")
    place = last.evaluate("cell => [cell.dataset.r, cell.dataset.c]")
    stage.cell(0, 0).focus()
    for key, count in (("ArrowRight", int(place[1])), ("ArrowDown", int(place[0]))):
        # The gap itself is one place: that is one step less.
        for _ in range(count - 1):
            stage.page.keyboard.press(key)
    expect(last).to_be_focused()


def test_focus_and_place_survive_a_repaint(stage: Stage) -> None:
    stage.cell(1, 1).focus()
    moved = StrideExplorer("a[1:]").view
    stage.push(moved.svg, moved.status, 9)
    expect(stage.page.locator("[data-rev='9']")).to_have_count(1)
    assert stage.focused() == ["1", "1"]
    expect(stage.page.locator("[tabindex='0']")).to_have_count(1)


def test_focus_stays_in_a_picture_that_lost_its_place(stage: Stage) -> None:
    stage.cell(3, 5).focus()
    small = StrideExplorer("a[2, 3]").view
    stage.push(small.svg, small.status, 2)
    assert stage.focused() == ["0", "0"]


def test_a_repaint_takes_no_focus_from_elsewhere(stage: Stage) -> None:
    stage.cell(1, 1).focus()
    stage.page.get_by_role("button").focus()
    moved = StrideExplorer("a[1:]").view
    stage.push(moved.svg, moved.status, 2)
    expect(stage.page.get_by_role("button")).to_be_focused()
    expect(stage.cell(1, 1)).to_have_attribute("tabindex", "0")


@pytest.mark.parametrize(
    ("key", "passes"),
    [
        ("b", False),
        ("d", False),
        ("ArrowDown", False),
        ("Control+s", True),
        ("Shift+Enter", True),
        ("Escape", True),
    ],
)
def test_the_box_keeps_single_keys_from_the_page(stage: Stage, key: str, passes: bool) -> None:
    _count_keys(stage.page)
    stage.cell(0, 0).focus()
    stage.page.keyboard.press(key)
    assert stage.page.evaluate("() => window.seen") == [key.split("+")[-1]] * passes


def test_cleanup_removes_the_listeners(stage: Stage) -> None:
    assert stage.page.evaluate("() => model.listening()") == 1
    stage.page.evaluate("() => cleanup()")
    assert stage.page.evaluate("() => model.listening()") == 0
    _count_keys(stage.page)
    stage.page.get_by_role("button").focus()
    stage.page.keyboard.press("b")
    assert stage.page.evaluate("() => window.seen") == ["b"]


def _count_keys(page: Page) -> None:
    page.evaluate(
        """() => {
          window.seen = [];
          document.addEventListener("keydown", ({ key }) => {
            if (!["Shift", "Control"].includes(key)) window.seen.push(key);
          });
        }"""
    )


def test_a_tap_marks_a_value_and_then_a_storage_element(stage: Stage) -> None:
    stage.cell(1, 2).tap()
    expect(stage.page.locator(".on")).to_have_count(2)
    expect(stage.status).to_contain_text("[1, 2] reads element")
    stage.storage(3).tap()
    expect(stage.status).to_contain_text("storage element 3,")
    expect(stage.cell(0, 3)).to_have_class("used m on")


@pytest.mark.parametrize("text", ["<b>bold</b>", "a & b &amp; c", 'say "no"', "<img src=x>"])
def test_text_is_shown_as_text(stage: Stage, text: str) -> None:
    canvas = Canvas(live=True)
    canvas.cell(8, 8, 60, text, kind="used", link=text, say=f"cell: {text}", at=(0, 0))
    stage.push(canvas.svg(text), text, 2)
    expect(stage.status).to_have_text(text)
    assert stage.cell(0, 0).locator("text").text_content() == text
    stage.cell(0, 0).hover()
    expect(stage.status).to_have_text(f"cell: {text}")
    expect(stage.page.locator("b, img")).to_have_count(0)


@pytest.mark.parametrize("x", [torch.empty(0, 3), torch.eye(2).to_sparse()])
def test_a_picture_without_values_is_no_error(stage: Stage, x: torch.Tensor) -> None:
    stage.cell(0, 0).focus()
    picture = show(x)
    stage.push(picture.svg, picture.alt, 2)
    stage.page.keyboard.press("ArrowDown")
    expect(stage.status).to_have_text(picture.alt)
    expect(stage.page.locator("[data-r]")).to_have_count(0)
