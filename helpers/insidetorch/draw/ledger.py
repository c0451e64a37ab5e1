"""What a step keeps for its backward pass, as bars: the lines of the code with the most bytes."""

from __future__ import annotations

from pathlib import PurePath

from ..records import Ledger, LedgerLine
from .charts import bars
from .shorter import cut

MOST_BARS = 12
_LONGEST = 44


def ledger_svg(ledger: Ledger) -> str:
    """Bars of bytes, one for each line, the largest first; what is left over as one more."""
    shown, rest = ledger.lines[:MOST_BARS], ledger.lines[MOST_BARS:]
    values: dict[str, int] = {}
    for line in shown:
        label = line_label(line)
        values[label] = values.get(label, 0) + line.nbytes
    if rest:
        values[f"{len(rest):,} more"] = sum(line.nbytes for line in rest)
    return bars(values, title="kept for the backward pass", unit="bytes that this step made")


def line_label(line: LedgerLine) -> str:
    """A line in a few words: its place, then the part of the model or what stands there.

    Letters that the font of a chart may lack become question marks; the text has them all.

    >>> line_label(LedgerLine(None, "encoder.0", 8, ("Relu",)))
    'made before: encoder.0'
    """
    place = line.place
    if place is None:
        where = "made before"
    else:
        where = f"{PurePath(place.file).name} {place.line}" if place.file else f"line {place.line}"
    what = line.module or (place.statement if place else line.operators_text)
    label = f"{where}: {what}".encode("latin-1", "replace").decode("latin-1")
    return cut(label, _LONGEST)
