"""What did the class not understand? One page for the teacher, over all that was handed in."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from insidetorch.learn.prose import inline

from ..verdicts import NOT_ATTEMPTED, NOT_GRADABLE, NOT_YET, RIGHT, Graded, Verdict
from .page import document, printable, text, title_of

# Help is needed where fewer than this part of those who handed it in have solved an exercise.
ENOUGH = 0.7
MOST_MISTAKES = 3


@dataclass
class Standing:
    """How a class stands with one exercise: who has which outcome, and which mistakes there were.

    `mistakes` counts what was told of answers that are not right; `known` holds those that are
    misconceptions the course knows.
    """

    exercise: str
    title: str
    learners: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    mistakes: Counter[str] = field(default_factory=Counter)
    known: set[str] = field(default_factory=set)

    def count(self, outcome: str) -> int:
        return len(self.learners.get(outcome, ()))

    @property
    def all(self) -> int:
        """How many have handed in this chapter, where it could be graded."""
        return self.count(RIGHT) + self.count(NOT_YET) + self.count(NOT_ATTEMPTED)

    @property
    def solved(self) -> float:
        return self.count(RIGHT) / self.all if self.all else 1.0


def standings(graded: Sequence[Graded]) -> dict[str, list[Standing]]:
    """How the class stands with each exercise, by chapter."""
    found: dict[str, dict[str, Standing]] = defaultdict(dict)
    for one in graded:
        for verdict in one.verdicts:
            new = Standing(verdict.exercise, verdict.title)
            _add(found[one.chapter].setdefault(verdict.exercise, new), one.learner, verdict)
    return {chapter: list(exercises.values()) for chapter, exercises in sorted(found.items())}


def class_page(graded: Sequence[Graded], *, pages: Mapping[str, str]) -> str:
    """The page of a class. `pages` gives the address of each learner's page."""
    chapters = standings(graded)
    people = list(dict.fromkeys(one.learner for one in graded))
    parts = [
        f"<p>{len(people)} learners, {len(graded)} notebooks.</p>\n",
        _help_needed(chapters),
        *(_chapter(name, exercises) for name, exercises in chapters.items()),
        _learners(people, graded, pages),
        _problems(graded),
    ]
    return document("The class", "".join(parts))


def _add(standing: Standing, learner: str, verdict: Verdict) -> None:
    standing.learners[verdict.outcome].append(learner)
    if verdict.outcome == NOT_YET:
        standing.mistakes[verdict.why] += 1
        if verdict.known:
            standing.known.add(verdict.why)


def _help_needed(chapters: Mapping[str, Sequence[Standing]]) -> str:
    """The exercises that few have solved, the fewest first."""
    hard = [one for exercises in chapters.values() for one in exercises if one.solved < ENOUGH]
    if not hard:
        said = f"<p>Every exercise was solved by {ENOUGH:.0%} or more.</p>\n"
    else:
        rows = [
            f"<li><b>{text(one.exercise)} {text(one.title)}</b>: {one.count(RIGHT)} of {one.all} "
            f"have solved it.{_most_common(one)}</li>\n"
            for one in sorted(hard, key=lambda one: one.solved)
        ]
        said = f"<ol>\n{''.join(rows)}</ol>\n"
    return f"<section>\n<h2>Where help is needed</h2>\n{said}</section>\n"


def _most_common(standing: Standing) -> str:
    """The misconception, or else the mistake, that most have made."""
    if not standing.mistakes:
        return ""
    words, count = max(
        standing.mistakes.items(), key=lambda item: (item[0] in standing.known, item[1])
    )
    return f" Most often, {count} times: {inline(printable(words))}"


def _chapter(name: str, exercises: Sequence[Standing]) -> str:
    head = ("exercise", "solved", "not yet", "not attempted", "what was told, and how often")
    rows = "".join(map(_row, exercises))
    cells = "".join(
        f'<th scope="col"{_number(1 <= place <= 3)}>{word}</th>' for place, word in enumerate(head)
    )
    return (
        f"<section>\n<h2>Chapter {text(title_of(name))}</h2>\n"
        f'<div class="scroll" tabindex="0"><table>\n<thead><tr>{cells}</tr></thead>\n'
        f"<tbody>\n{rows}</tbody>\n</table></div>\n</section>\n"
    )


def _row(standing: Standing) -> str:
    told = "".join(
        f"<li>{count} ×: {inline(printable(words))}</li>"
        for words, count in standing.mistakes.most_common(MOST_MISTAKES)
    )
    others = len(standing.mistakes) - MOST_MISTAKES
    told += f"<li>and {others} more</li>" if others > 0 else ""
    if missing := standing.count(NOT_GRADABLE):
        told += f"<li>{missing} could not be graded on this machine</li>"
    numbers = (
        f"{standing.count(RIGHT)} ({standing.solved:.0%})" if standing.all else "–",
        standing.count(NOT_YET),
        standing.count(NOT_ATTEMPTED),
    )
    cells = "".join(f'<td class="number">{number}</td>' for number in numbers)
    title = f"{text(standing.exercise)} {text(standing.title)}"
    return f'<tr><th scope="row">{title}</th>{cells}<td><ul>{told}</ul></td></tr>\n'


def _learners(people: Sequence[str], graded: Sequence[Graded], pages: Mapping[str, str]) -> str:
    rows = []
    for learner in people:
        own = [one for one in graded if one.learner == learner]
        points, most = sum(one.points for one in own), sum(one.max for one in own)
        missing = "".join(f"<td>{_exercises(own, kind)}</td>" for kind in (NOT_YET, NOT_ATTEMPTED))
        rows.append(
            f'<tr><th scope="row"><a href="{text(pages[learner])}">{text(learner)}</a></th>'
            f'<td class="number">{points:g} of {most:g}</td>{missing}</tr>\n'
        )
    return (
        '<section>\n<h2>The learners</h2>\n<div class="scroll" tabindex="0"><table>\n'
        '<thead><tr><th scope="col">learner</th><th scope="col" class="number">points</th>'
        '<th scope="col">not yet</th><th scope="col">not attempted</th></tr></thead>\n'
        f"<tbody>\n{''.join(rows)}</tbody>\n"
        "</table></div>\n</section>\n"
    )


def _exercises(graded: Sequence[Graded], outcome: str) -> str:
    """The exercises with an outcome, or a dash."""
    found = [v.exercise for one in graded for v in one.verdicts if v.outcome == outcome]
    return text(", ".join(found)) or "–"


def _problems(graded: Sequence[Graded]) -> str:
    rows = "".join(
        f"<li>{text(one.learner)}, {text(one.file)}: {text(one.problem)}</li>\n"
        for one in graded
        if one.problem
    )
    return f"<section>\n<h2>Not graded</h2>\n<ul>\n{rows}</ul>\n</section>\n" if rows else ""


def _number(is_number: bool) -> str:
    return ' class="number"' if is_number else ""
