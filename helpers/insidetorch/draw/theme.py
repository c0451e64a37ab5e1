"""One set of colours, sizes and words for every picture.

Colours are JupyterLab's variables with light fall-backs, so a theme change needs no redraw; a
picture inside an `<img>` sees no variables and uses the fall-backs on its own white ground.
Nothing is told by colour alone: a used cell has a solid border, an unused one a dotted border, a
span with holes a dashed border, a cell without memory a dashed border and a cross, a value that
has changed a thick border and what it was.
"""

from __future__ import annotations

CELL_HEIGHT = 36
CHAR_WIDTH = 7.3
SMALL_CHAR_WIDTH = 6.1
MARGIN = 8
PAGE_WIDTH = 840

CSS = """
.it{font:12px var(--jp-code-font-family,monospace)}
.it text{fill:var(--jp-content-font-color1,#212121);stroke:none}
.it .h{font-weight:bold}
.it .s{font-size:10px}
.it .s text{fill:var(--jp-content-font-color1,#555)}
.it .m{text-anchor:middle}
.it .r{text-anchor:end}
.it .w{font-weight:bold}
.it .w text{fill:var(--jp-error-color1,#b71c1c)}
.it .g{fill:#fff}
.it .e{fill:none;stroke:#8a8a8a}
.it .free,.it .free rect{fill:var(--jp-layout-color1,#fff);stroke:#8a8a8a;stroke-dasharray:2 3}
.it .used,.it .used rect{fill:#56b4e94d;stroke:#2f8fc4}
.it .part,.it .part rect{fill:#56b4e91a;stroke:#2f8fc4;stroke-dasharray:5 2}
.it .new,.it .new rect{fill:#e69f0059;stroke:#9a6a00;stroke-width:2}
.it .bad,.it .bad rect{fill:#d55e0033;stroke:#d55e00;stroke-dasharray:5 2}
""".replace("\n", "")

# The way of a gradient: there, zero everywhere, not finite.
GRADIENT_KINDS = ("gf", "gz", "gn")
GRADIENT_CSS = """
.it .gf{fill:none;stroke:#2f8fc4;stroke-width:1.6}
.it .gz{fill:none;stroke:#2f8fc4;stroke-width:1.6;stroke-dasharray:1 3}
.it .gn{fill:none;stroke:#d55e00;stroke-width:1.6;stroke-dasharray:5 2}
""".replace("\n", "")

LIVE_CSS = """
.it text{pointer-events:none}
.it rect{rx:3px}
.it .on rect{fill:#ffb74d;stroke:#e65100;stroke-width:2;stroke-dasharray:none}
.it .on text{fill:#000}
.it [tabindex]:focus{outline:none}
.it [tabindex]:focus-visible rect{stroke:var(--jp-content-font-color0,#000);stroke-width:3}
"""
