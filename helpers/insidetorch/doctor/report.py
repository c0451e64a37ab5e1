"""A run's findings as text for a terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from .finding import PROBLEM

if TYPE_CHECKING:
    from .watching import Run

_WIDTH = 100


def text_of(run: Run) -> str:
    """The report: the heaviest finding first, each with its line, what happened, and what to do."""
    findings = run.findings
    problems = sum(one.severity == PROBLEM for one in findings)
    if not findings:
        head = "Gradient doctor: nothing found."
    else:
        head = f"Gradient doctor: {_count(problems, 'problem')}, " + _count(
            len(findings) - problems, "note"
        )
    parts = [head]
    for number, one in enumerate(findings, 1):
        where = str(one.place) if one.place else "no line of your code"
        body = textwrap.fill(one.message, _WIDTH, initial_indent="   ", subsequent_indent="   ")
        fix = textwrap.fill(
            f"To do: {one.fix}", _WIDTH, initial_indent="   ", subsequent_indent="   "
        )
        parts.append(f"{number}. {one.severity} ({one.kind}), {where}\n{body}\n{fix}")
    parts += run.unseen
    return "\n\n".join(parts)


def _count(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"
