"""What does the browser itself say of contrast and of names?"""

from __future__ import annotations

from playwright.sync_api import Locator, Page

_CONTRASTS = """root => {
  const parse = css => {
    const [r, g, b, a = 1] = css.match(/[\\d.]+/g).map(Number);
    return [r, g, b, a];
  };
  const over = ([r, g, b, a], ground) =>
    [r, g, b].map((c, i) => c * a + ground[i] * (1 - a));
  const light = rgb => {
    const [r, g, b] = rgb.map(c => c / 255)
      .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = node => {
    const own = node ? parse(getComputedStyle(node).backgroundColor) : [255, 255, 255, 1];
    return own[3] === 1 ? own.slice(0, 3) : over(own, ground(node.parentElement));
  };
  const found = {};
  for (const text of root.querySelectorAll("svg text")) {
    const cell = text.closest("[data-link]");
    let behind = ground(text.closest("div"));
    if (cell) behind = over(parse(getComputedStyle(cell.querySelector("rect")).fill), behind);
    const front = over(parse(getComputedStyle(text).fill), behind);
    const [a, b] = [light(front), light(behind)].sort((x, y) => y - x);
    const kind = (cell?.getAttribute("class") ?? "page") + (text.closest(".s") ? " small" : "");
    found[kind] = Math.min(found[kind] ?? 99, (a + 0.05) / (b + 0.05));
  }
  return found;
}"""


def contrasts(picture: Locator) -> dict[str, float]:
    """The lowest contrast ratio of text to what is behind it, for each kind of text."""
    return picture.evaluate(_CONTRASTS)


def nameless(page: Page, area: str) -> list[str]:
    """The roles of what can have the focus in an area and has no name for a screen reader."""
    session = page.context.new_cdp_session(page)
    session.send("Accessibility.enable")
    document = session.send("DOM.getDocument")["root"]["nodeId"]
    found = session.send("DOM.querySelectorAll", {"nodeId": document, "selector": area})
    roles = []
    for node in found["nodeIds"]:
        nodes = session.send("Accessibility.queryAXTree", {"nodeId": node})["nodes"]
        roles += [each["role"]["value"] for each in nodes if _focusable(each) and not _name(each)]
    session.detach()
    return roles


def _focusable(node: dict) -> bool:
    return any(p["name"] == "focusable" and p["value"]["value"] for p in node.get("properties", ()))


def _name(node: dict) -> str:
    return node.get("name", {}).get("value", "").strip()
