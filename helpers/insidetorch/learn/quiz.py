"""How did the quiz go, chapter by chapter, and where should I go back to?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from .overview import bar
from .progress import progress_file, remembered

# A chapter is worth going back to where fewer of its answers than this were right at once.
ENOUGH = 0.75


@dataclass(frozen=True)
class Part:
    """The questions about one chapter: how many, how many answered, and right at the first try."""

    notebook: str
    questions: int
    answered: int
    right: int

    @property
    def name(self) -> str:
        """The chapter, as in "chapter 2, views"."""
        number, _, title = self.notebook.partition("_")
        return f"chapter {number.lstrip('0')}, {title.replace('_', ' ')}"

    @property
    def told(self) -> str:
        open_ones = self.questions - self.answered
        more = f", {open_ones} open" if open_ones else ""
        return f"{self.right} of {self.questions} right at the first try{more}"


@dataclass(frozen=True)
class QuizResult:
    """What is remembered of a quiz; in a notebook its chapters are links."""

    parts: tuple[Part, ...]
    note: str = ""

    @property
    def back_to(self) -> tuple[Part, ...]:
        """The chapters that too many first answers were wrong about, the weakest first."""
        asked = [part for part in self.parts if part.answered]
        weak = [part for part in asked if part.right / part.answered < ENOUGH]
        return tuple(sorted(weak, key=lambda part: part.right / part.answered))

    @property
    def advice(self) -> str:
        if self.note or not any(part.answered for part in self.parts):
            return self.note or "No question is answered yet."
        if self.back_to:
            return "Go back to " + ", then ".join(part.name for part in self.back_to) + "."
        answered = sum(part.answered for part in self.parts)
        whole = answered == sum(part.questions for part in self.parts)
        return f"There is no chapter to go back to{'' if whole else ' so far'}."

    def __repr__(self) -> str:
        width = max((len(part.name) for part in self.parts), default=0)
        rows = [
            f"{part.name:{width}}  {bar(part.right, part.questions)}  {part.told}"
            for part in self.parts
        ]
        return "\n".join([*rows, self.advice])

    def _repr_html_(self) -> str:
        rows = "".join(f"<li>{_link(part)}: {part.told}</li>" for part in self.parts)
        advice = escape(self.advice)
        for part in self.back_to:
            advice = advice.replace(escape(part.name), _link(part))
        return f"<ul>{rows}</ul><p>{advice}</p>"


def quiz_result(parts: Mapping[str, Sequence[str]]) -> QuizResult:
    """How many questions about each chapter were right at the first try?

    Args: `parts`, for each chapter's notebook (its name without the ending) the ids of the
    predictions that ask about it.
    Returns what is remembered; printed, it says which chapter to go back to. Raises ValueError for
    a question that stands under two chapters.

    >>> quiz_result({"02_views": ["0.1", "0.2"]}).parts[0].questions
    2
    """
    times = Counter(question for ids in parts.values() for question in ids)
    if twice := [question for question, n in times.items() if n > 1]:
        raise ValueError(
            f"The result was asked for with {', '.join(twice)} in more than one place. An answer "
            "counts for one chapter. Leave the question where it belongs."
        )
    note = "" if progress_file() else "Answers are kept in the folder of the course only."
    return QuizResult(tuple(_part(name, ids) for name, ids in parts.items()), note)


def _part(notebook: str, ids: Sequence[str]) -> Part:
    answers = [remembered("predictions", question) for question in ids]
    answered = [answer for answer in answers if isinstance(answer, dict) and "right" in answer]
    right = sum(answer.get("first", answer["right"]) is True for answer in answered)
    return Part(notebook, len(ids), len(answered), right)


def _link(part: Part) -> str:
    return f'<a href="{escape(part.notebook)}.ipynb">{escape(part.name)}</a>'
