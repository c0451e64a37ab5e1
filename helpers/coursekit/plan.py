"""What will a lesson's notebook be, before any cell of it has run?"""

from __future__ import annotations

from dataclasses import dataclass

from nbformat import NotebookNode

from . import claims, hygiene
from .cells import Cell
from .findings import Finding
from .notebook import new_notebook
from .sources import Lesson, read_lesson
from .tables import FILES, filled, tables_of


@dataclass(frozen=True)
class Plan:
    """A lesson, its cells as the text has them, the notebook they give, its tables, the ledger."""

    lesson: Lesson
    cells: list[Cell]
    notebook: NotebookNode
    tables: dict[str, str]
    ledger: dict[int, claims.Claim]

    @property
    def code_cells(self) -> int:
        return sum(cell.kind == "code" for cell in self.cells)

    @property
    def claims_shown(self) -> int:
        """How many claims the chapter covers when it breaks no rule: all of its own."""
        return sum(claim.chapter == self.lesson.chapter for claim in self.ledger.values())

    def findings(self) -> list[Finding]:
        """The rules that the text breaks already."""
        return self._findings(self.notebook, self.lesson.text_name, ran=False)

    def findings_in(self, ran: NotebookNode, *, bytes_stored: int) -> list[Finding]:
        """The rules that the executed notebook breaks; its file has `bytes_stored` bytes."""
        name = self.lesson.notebook_name
        return self._findings(ran, name, ran=True, bytes_stored=bytes_stored)

    def _findings(
        self, notebook: NotebookNode, file: str, *, ran: bool, bytes_stored: int = 0
    ) -> list[Finding]:
        chapter = self.lesson.chapter
        return [
            *hygiene.findings(notebook, file=file, bytes_stored=bytes_stored),
            *claims.findings(notebook, self.ledger, chapter=chapter, file=file, ran=ran),
        ]


def make_plan(lesson: Lesson) -> Plan:
    """Read a lesson with its course's ledger and symptom table; CourseError for a bad format."""
    ledger = claims.load_claims(lesson.root / FILES["claims"])
    tables = tables_of(lesson, ledger)
    cells = read_lesson(lesson)
    notebook = new_notebook(lesson, cells, filled(cells, tables))
    return Plan(lesson, cells, notebook, tables, ledger)
