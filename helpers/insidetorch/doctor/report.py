"""A run's findings, as text for a terminal and as a page for a notebook."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from html import escape

from ..draw.diagnosis import diagnosis_svg
from ..draw.diagnosis_text import diagnosis_text
from ..draw.svg import img
from ..records import Diagnosis
from .finding import PROBLEM, Finding

_WIDTH = 100


class Report:
    """Findings to read: `print` it, or show it as the last line of a cell.

    `unseen` says what the doctor could not see, `answers` what was asked about, `seen` how much
    ran under its eyes. `ways` is the backward pass that a page shows beside the findings.
    """

    def __init__(
        self,
        findings: Sequence[Finding],
        unseen: Sequence[str] = (),
        answers: Sequence[str] = (),
        *,
        seen: str = "",
        ways: Diagnosis | None = None,
    ) -> None:
        self.findings = tuple(findings)
        self.unseen = tuple(unseen)
        self.answers = tuple(answers)
        self.seen = seen
        self.ways = ways

    @property
    def headline(self) -> str:
        """How many problems and notes there are."""
        problems = sum(one.severity == PROBLEM for one in self.findings)
        if not self.findings:
            return f"Gradient doctor: nothing found{self.seen and f' in {self.seen}'}."
        notes = len(self.findings) - problems
        return f"Gradient doctor: {_count(problems, 'problem')}, {_count(notes, 'note')}"

    def __str__(self) -> str:
        parts = [self.headline, *self.answers]
        for number, one in enumerate(self.findings, 1):
            lines = (_where(number, one), _wrapped(one.message), _wrapped(f"To do: {one.fix}"))
            parts.append("\n".join(lines))
        return "\n\n".join([*parts, *self.unseen])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        items = []
        for one in self.findings:
            where = escape(str(one.place)) if one.place else "no line of your code"
            items.append(
                f"<li><b>{one.severity}</b> ({escape(one.kind)}), <code>{where}</code><br>"
                f"{escape(one.message)}<br><i>To do:</i> {escape(one.fix)}</li>"
            )
        answers = "".join(f"<p>{escape(text)}</p>" for text in self.answers)
        unseen = "".join(f"<p>{escape(text)}</p>" for text in self.unseen)
        listed = f"<ol>{''.join(items)}</ol>" if items else ""
        parts = (f"<p><b>{escape(self.headline)}</b></p>", answers, listed, self._picture(), unseen)
        return f"<div>{''.join(parts)}</div>"

    def _picture(self) -> str:
        """The way of the values and of the gradient, where something was found."""
        if self.ways is None or not self.ways.lines:
            return ""
        return img(diagnosis_svg(self.ways), diagnosis_text(self.ways))

    def page(self) -> str:
        """The report as a file of its own for a browser."""
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f"<title>{escape(self.headline)}</title></head>\n<body>{self._repr_html_()}</body></html>\n"
        )


def _where(number: int, one: Finding) -> str:
    where = str(one.place) if one.place else "no line of your code"
    return f"{number}. {one.severity} ({one.kind}), {where}"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent="   ", subsequent_indent="   ")


def _count(n: int, word: str) -> str:
    """A number of things, in words.

    >>> _count(1, "pass"), _count(0, "step")
    ('1 pass', '0 steps')
    """
    plural = f"{word}es" if word.endswith("s") else f"{word}s"
    return f"{n:,} {word if n == 1 else plural}"


def amount(passes: int, steps: int) -> str:
    """How much of a run was watched."""
    if not passes:
        return "this run, which has no backward pass"
    return f"{_count(passes, 'backward pass')} and {_count(steps, 'optimizer step')}"


def text_of(run) -> str:
    """The report of a run, as text."""
    return str(run.report())
