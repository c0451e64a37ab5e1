"""What do we say about a cell that breaks a rule?"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """A rule that a file breaks: the file, the cell's first line ("" for the whole file), why."""

    file: str
    cell: str
    rule: str
    sentence: str

    def __str__(self) -> str:
        cell = f", cell {self.cell!r}" if self.cell else ""
        return f"{self.file}{cell}: {self.sentence}"
