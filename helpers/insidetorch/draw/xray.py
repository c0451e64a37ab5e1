"""A tensor beside its storage, as a picture."""

from __future__ import annotations

from itertools import product

from .. import eliding
from ..records import Cell, StorageCell, XRay
from .svg import Canvas
from .text import count, traits, value_text, warnings, wrapped, xray_sentence
from .theme import CELL_HEIGHT, CHAR_WIDTH, MARGIN, PAGE_WIDTH, SMALL_CHAR_WIDTH

_GAP = 16
_STORAGE_HEIGHT = CELL_HEIGHT + 10


def xray_svg(x: XRay, *, live: bool = False) -> str:
    """The picture of an x-ray: blocks of values, each with its storage element, and the storage.

    `live` adds the data that hover, focus and arrow keys use; without it the picture stands
    alone, with its own colours.
    """
    canvas, layout = Canvas(live=live), x.layout
    canvas.text(
        MARGIN,
        18,
        f"{layout.dtype}  sizes {layout.sizes}  strides {layout.strides}  offset {layout.offset}",
        kind="h",
    )
    canvas.text(MARGIN, 34, traits(layout), kind="s")
    y = 34
    for sentence in warnings(x):
        for line in wrapped(sentence):
            y += 16
            canvas.text(MARGIN, y, line, kind="w" if x.refusal or not layout.fits else "")
    width = _cell_width(x)
    y = _blocks(canvas, x, y + 14, width) if x.cells else _nothing(canvas, y + 20)
    _storage(canvas, x, y + 26, width)
    return canvas.svg(xray_sentence(x))


def say(x: XRay, cell: Cell) -> str:
    """What is read out for a value: index, formula, storage element, byte, value."""
    where = f"[{', '.join(map(str, cell.index))}] reads element {x.layout.formula(cell.index)}"
    if cell.value is None:
        return f"{where}: outside the storage"
    return f"{where}, byte {x.layout.byte(cell.index)}: {value_text(cell.value)}"


def _cell_width(x: XRay) -> float:
    values = [value_text(c.value) for c in (*x.cells, *x.storage)]
    numbers = [c.element for c in (*x.cells, *x.storage)]
    longest = max(map(len, values), default=1) * CHAR_WIDTH
    number = len(str(max(map(abs, numbers), default=0) * x.layout.itemsize)) * SMALL_CHAR_WIDTH
    return 2 * round(max(30, longest + 8, number + 8) / 2)  # even: half of it is a whole number


def _nothing(canvas: Canvas, y: float) -> float:
    canvas.text(MARGIN, y, "no values: a size is 0")
    return y


def _blocks(canvas: Canvas, x: XRay, top: float, width: float) -> float:
    """Draw the values as 2-D blocks, one for each shown outer index; returns the lowest y."""
    missing = 2 - min(len(x.shown), 2)
    *outer, rows, columns = ((0,),) * missing + x.shown
    cells = {(0,) * missing + cell.index: cell for cell in x.cells}
    edge = round(max(22, max(len(_edge(i)) for i in rows) * SMALL_CHAR_WIDTH + 10))
    block_width = edge + len(columns) * (width + 2)
    left, bottom, at = float(MARGIN), top, [0, 0]
    for block in product(*eliding.without_gaps(outer)):
        if left > MARGIN and left + block_width > PAGE_WIDTH:
            left, top, at = float(MARGIN), bottom + 18, [at[0] + len(rows), 0]
        if block:
            canvas.text(left, top + 8, f"[{', '.join(map(str, block))}, :, :]", kind="s")
        grid = [[cells.get((*block, i, j)) for j in columns] for i in rows]
        bottom = _block(canvas, x, grid, (left + edge, top + (12 if block else 0)), at, width)
        left += block_width + _GAP
        at[1] += len(columns)
    return bottom


def _block(
    canvas: Canvas,
    x: XRay,
    grid: list[list[Cell | None]],
    corner: tuple[float, float],
    at: list[int],
    width: float,
) -> float:
    """One block, its indices along the edges, None in `grid` for a gap; returns the lowest y."""
    left, top = corner
    for c, j in enumerate(x.shown[-1] if x.shown else ()):
        middle = left + c * (width + 2) + width / 2
        canvas.text(middle, top + 8, _edge(j), kind="s m")
    top += 12
    for r, row in enumerate(grid):
        y = top + r * (CELL_HEIGHT + 2)
        if len(x.shown) > 1:
            canvas.text(left - 5, y + 20, _edge(x.shown[-2][r]), kind="s r")
        for c, cell in enumerate(row):
            if cell is not None:
                canvas.cell(
                    left + c * (width + 2),
                    y,
                    width,
                    value_text(cell.value),
                    str(cell.element),
                    kind="bad" if cell.value is None else "used",
                    link=str(cell.element),
                    say=say(x, cell),
                    at=(at[0] + r, at[1] + c),
                )
    return top + len(grid) * (CELL_HEIGHT + 2)


def _edge(index: int) -> str:
    return "…" if index < 0 else str(index)


def _storage(canvas: Canvas, x: XRay, top: float, width: float) -> None:
    layout = x.layout
    read = f"{layout.distinct:,} read by this tensor" if layout.fits else "too few for this tensor"
    size = f"{count(layout.storage_elements, 'element')} of {count(layout.itemsize, 'byte')}"
    canvas.text(MARGIN, top, f"storage: {size}, {read}", kind="h")
    if x.storage:
        canvas.text(MARGIN, top + 14, "in each cell: value, element, byte", kind="s")
    left, y, last = float(MARGIN), top + 22, -1
    for cell in x.storage:
        gap = cell.element != last + 1
        if left + width + gap * _GAP > PAGE_WIDTH:
            left, y = float(MARGIN), y + _STORAGE_HEIGHT + 4
        if gap:
            canvas.text(left + _GAP / 2, y + 20, "…", kind="m")
            left += _GAP
        canvas.cell(
            left,
            y,
            width,
            value_text(cell.value),
            str(cell.element),
            str(cell.element * layout.itemsize),
            kind="used" if cell.used else "free",
            height=_STORAGE_HEIGHT,
            link=str(cell.element),
            say=_storage_say(x, cell),
        )
        left, last = left + width + 2, cell.element


def _storage_say(x: XRay, cell: StorageCell) -> str:
    where = f"storage element {cell.element}, byte {cell.element * x.layout.itemsize}"
    readers = [c.index for c in x.cells if c.element == cell.element]
    if not readers:
        who = "read by a value that is not shown" if cell.used else "not read by this tensor"
        return f"{where}: {value_text(cell.value)}, {who}"
    at = ", ".join(f"[{', '.join(map(str, i))}]" for i in readers[:4])
    more = f" and {len(readers) - 4} more" if len(readers) > 4 else ""
    return f"{where}: {value_text(cell.value)}, read at {at}{more}"
