"""The few shapes that every picture is made of.

A live picture has an element of its own for each cell; what the view in the page may rely on is
`data-link` (elements with the same value light up together), `data-say` (the sentence read out
for an element, its accessible name), `data-r` and `data-c` (its place for the arrow keys), and
nothing else. A static picture draws all cells of a kind as one path, all texts of a kind as one
group: it is half the size.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from math import hypot

from .theme import (
    CELL_HEIGHT,
    CHAR_WIDTH,
    CSS,
    GRADIENT_CSS,
    GRADIENT_KINDS,
    LIVE_CSS,
    MARGIN,
)


@dataclass
class Canvas:
    """A picture while it is drawn. `live` adds what hover, focus and arrow keys need."""

    live: bool = False
    parts: list[str] = field(default_factory=list)
    paths: dict[str, str] = field(default_factory=lambda: defaultdict(str))
    texts: dict[str, str] = field(default_factory=lambda: defaultdict(str))
    lines: dict[str, str] = field(default_factory=lambda: defaultdict(str))
    width: float = 0
    height: float = 0
    _has_tab_stop: bool = False

    def text(self, x: float, y: float, text: str, *, kind: str = "") -> None:
        """A line of text with its baseline at y; kinds "m" and "r" put x at its middle or end."""
        self.texts[kind] += _text(x, y, text)
        after = {"m": 0.5, "r": 0}.get(kind[-1:], 1)
        self._reach(x + after * len(text) * CHAR_WIDTH, y + 4)

    def cell(
        self,
        x: float,
        y: float,
        width: float,
        *lines: str,
        kind: str,
        height: float = CELL_HEIGHT,
        link: str = "",
        say: str = "",
        at: tuple[int, int] | None = None,
    ) -> None:
        """A box with a value in it and, smaller below, its numbers."""
        middle = x + width / 2
        texts = [_text(middle, y + (18 + 11 * i if i else 16), t) for i, t in enumerate(lines)]
        if self.live:
            value, small = "".join(texts[:1]), "".join(texts[1:])
            self.parts.append(
                f'<g class="{kind} m"{self._hooks(link, say, at)}><rect x="{x:g}" y="{y:g}" '
                f'width="{width:g}" height="{height:g}"/>{value}<g class="s">{small}</g></g>'
            )
        else:
            self.paths[kind] += f"M{x:g} {y:g}h{width:g}v{height:g}h-{width:g}z"
            self.texts["m"] += "".join(texts[:1])
            self.texts["s m"] += "".join(texts[1:])
        self._reach(x + width, y + height)

    def line(self, points: Sequence[tuple[float, float]], *, kind: str = "e") -> None:
        """A line through points, with an arrow head at its end, behind all boxes."""
        (x, y), *rest = points
        path = f"M{x:g} {y:g}" + "".join(f"L{a:g} {b:g}" for a, b in rest)
        x, y = points[-1]
        self.lines[kind] += f"{path}M{x - 3:g} {y - 5:g}L{x:g} {y:g}L{x + 3:g} {y - 5:g}"

    def arrow(self, points: Sequence[tuple[float, float]], *, kind: str = "e") -> None:
        """A line through points whose arrow head looks where its last piece goes."""
        (x, y), *rest = points
        path = f"M{x:g} {y:g}" + "".join(f"L{a:g} {b:g}" for a, b in rest)
        (a, b), (x, y) = points[-2:]
        way = hypot(x - a, y - b) or 1
        u, v = 5 * (x - a) / way, 5 * (y - b) / way
        sides = [(x - u - 0.6 * v, y - v + 0.6 * u), (x - u + 0.6 * v, y - v - 0.6 * u)]
        (c, d), (e, f) = sides
        self.lines[kind] += f"{path}M{c:g} {d:g}L{x:g} {y:g}L{e:g} {f:g}"
        for a, b in points:
            self._reach(a, b)

    def svg(self, label: str) -> str:
        """The finished picture; `label` is its description for a screen reader."""
        w, h = round(self.width + MARGIN), round(self.height + MARGIN)
        # Inside an <img> there are no variables, and the picture's description is the alt text.
        css = CSS + GRADIENT_CSS * any(kind in self.lines for kind in GRADIENT_KINDS)
        plain = re.sub(r"var\([^,]+,([^)]+)\)", r"\1", css)
        ground = f'<style>{plain}</style><path class="g" d="M0 0h{w}v{h}H0z"/>'
        described = f' role="group" aria-label="{_safe(label)}"' if self.live else ""
        shapes = (*self.lines.items(), *self.paths.items())
        paths = [f'<path class="{kind}" d="{d}"/>' for kind, d in shapes]
        texts = [f'<g class="{kind}">{t}</g>' for kind, t in self.texts.items()]
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" '
            f'height="{h}" class="it"{described}>'
            f"{'' if self.live else ground}{''.join(paths + self.parts + texts)}</svg>"
        )

    def _hooks(self, link: str, say: str, at: tuple[int, int] | None) -> str:
        out = f' data-link="{_safe(link)}" data-say="{_safe(say)}"'
        if at is not None:
            stop = -1 if self._has_tab_stop else 0
            self._has_tab_stop = True
            out += f' data-r="{at[0]}" data-c="{at[1]}" tabindex="{stop}" role="img"'
        return out

    def _reach(self, x: float, y: float) -> None:
        self.width, self.height = max(self.width, x), max(self.height, y)


def img(svg: str, alt: str) -> str:
    """An `<img>` around a picture: the static form that survives an untrusted notebook."""
    data = b64encode(svg.encode()).decode()
    return f'<img alt="{escape(alt)}" src="data:image/svg+xml;base64,{data}">'


def scaled(svg: str, factor: float) -> str:
    """The same picture in another size on the page.

    >>> scaled('<svg viewBox="0 0 10 20" width="10" height="20">', 2)
    '<svg viewBox="0 0 10 20" width="20" height="40">'
    """
    sides = re.compile(r' (width|height)="(\d+)"')
    return sides.sub(lambda found: f' {found[1]}="{round(int(found[2]) * factor)}"', svg, count=2)


def live_css() -> str:
    """The style of live pictures: the common one, and the marks of hover and focus."""
    return CSS + GRADIENT_CSS + LIVE_CSS


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:g}" y="{y:g}">{_safe(text)}</text>'


def _safe(text: str) -> str:
    """Text for XML, which has no control characters."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else "\ufffd" for c in text)
    return escape(text)
