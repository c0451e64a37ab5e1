"""What did the class not understand? One page for the teacher, over all that was handed in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from insidetorch.learn.prose import inline

from ..verdicts import NOT_ATTEMPTED, NOT_GRADABLE, NOT_YET, RIGHT, Graded
from .page import document, printable, text, title_of
from .standing import Standing, standings

# Help is needed where more than this part of those who worked on a chapter are not there yet.
MUCH = 0.3
MOST_MISTAKES = 3
MOST_NAMES = 6


def class_page(graded: Sequence[Graded], *, pages: Mapping[str, str]) -> str:
    """The page of a class. `pages` gives the address of each learner's page."""
    chapters = standings(graded)
    people = list(dict.fromkeys(one.learner for one in graded))
    untouched = sum(one.untouched for one in graded)
    counts = f"{len(people)} learners, {len(graded)} notebooks"
    counts += f", {untouched} of them untouched, which are not counted below" if untouched else ""
    parts = [
        f"<p>{counts}.</p>\n",
        _help_needed(chapters),
        _listed("Not graded", {f"{one.learner}, {one.file}": one.problem for one in graded}),
        _listed("Several attempts", {f"{one.learner}, {one.file}": one.attempts for one in graded}),
        *(_chapter(name, exercises, graded) for name, exercises in chapters.items()),
        _learners(people, graded, pages),
    ]
    return document("The class", "".join(parts))


def _help_needed(chapters: Mapping[str, Sequence[Standing]]) -> str:
    """The exercises with which the most are not there yet."""
    hard = [
        one
        for exercises in chapters.values()
        for one in exercises
        if one.in_need > MUCH * one.all and one.in_need > 1
    ]
    if not hard:
        said = f"<p>No exercise has kept back more than {MUCH:.0%}, and more than one.</p>\n"
    else:
        rows = [
            f"<li><b>{_title(one)}</b>: {one.count(RIGHT)} of {one.all} have solved it, "
            f"{one.count(NOT_YET)} not yet, {one.count(NOT_ATTEMPTED)} have not tried."
            f"{_told_most(one)}</li>\n"
            for one in sorted(hard, key=lambda one: -one.in_need)
        ]
        said = f"<ol>\n{''.join(rows)}</ol>\n"
    return f"<section>\n<h2>Where help is needed</h2>\n{said}</section>\n"


def _told_most(standing: Standing) -> str:
    """What was told most often, where that was more than once."""
    found = standing.most_common()
    if not found or len(found[0][1]) < 2:
        return ""
    told, learners = found[0]
    return f" Most often, {len(learners)} times: {inline(printable(told))}"


def _chapter(name: str, exercises: Sequence[Standing], graded: Sequence[Graded]) -> str:
    own = [one.points for one in graded if one.chapter == name and not one.untouched]
    most = max(one.max for one in graded if one.chapter == name)
    head = ("exercise", "solved", "not yet", "not tried", "what was told, how often, and to whom")
    cells = "".join(
        f'<th scope="col"{_number(1 <= place <= 3)}>{word}</th>' for place, word in enumerate(head)
    )
    title = f"Chapter {text(title_of(name))}"
    return (
        f"<section>\n<h2>{title}</h2>\n"
        f"<p>{len(own)} have worked on it. Half of them have {median(own):g} points or more, of "
        f"{most:g}.</p>\n"
        f"{_table(title, cells, ''.join(map(_row, exercises)))}</section>\n"
    )


def _table(title: str, head: str, rows: str) -> str:
    return (
        f'<div class="scroll" role="region" aria-label="{title}" tabindex="0"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )


def _row(standing: Standing) -> str:
    found = standing.most_common()
    told = "".join(_mistake(words, learners) for words, learners in found[:MOST_MISTAKES])
    if rest := found[MOST_MISTAKES:]:
        more = "".join(_mistake(words, learners) for words, learners in rest)
        told += f"<li><details><summary>{len(rest)} more</summary><ul>{more}</ul></details></li>"
    if missing := standing.count(NOT_GRADABLE):
        told += f"<li>{missing} could not be graded on this machine</li>"
    numbers = (
        f"{standing.count(RIGHT)} of {standing.all}" if standing.all else "–",
        standing.count(NOT_YET),
        standing.count(NOT_ATTEMPTED),
    )
    cells = "".join(f'<td class="number">{number}</td>' for number in numbers)
    told = f"<ul>{told}</ul>" if told else "–"
    return f'<tr><th scope="row">{_title(standing)}</th>{cells}<td>{told}</td></tr>\n'


def _mistake(words: str, learners: Sequence[str]) -> str:
    names = ", ".join(learners[:MOST_NAMES]) + (" …" if len(learners) > MOST_NAMES else "")
    return f"<li>{len(learners)} ×: {inline(printable(words))} <i>{text(names)}</i></li>"


def _title(standing: Standing) -> str:
    extra = "" if standing.core else " (extra)"
    return f"{text(standing.exercise)} {text(standing.title)}{extra}"


def _learners(people: Sequence[str], graded: Sequence[Graded], pages: Mapping[str, str]) -> str:
    rows = []
    for learner in people:
        everything = [one for one in graded if one.learner == learner]
        own = [one for one in everything if not one.untouched] or everything
        points, most = sum(one.points for one in own), sum(one.max for one in own)
        reached = f"{points:g} of {most:g}" if most else "–"
        missing = "".join(f"<td>{_exercises(own, kind)}</td>" for kind in (NOT_YET, NOT_ATTEMPTED))
        rows.append(
            f'<tr><th scope="row"><a href="{text(pages[learner])}">{text(learner)}</a></th>'
            f'<td class="number">{reached}</td>{missing}</tr>\n'
        )
    names = ("learner", "points", "not yet", "not tried")
    head = "".join(f'<th scope="col"{_number(word == "points")}>{word}</th>' for word in names)
    table = _table("The learners", head, "".join(rows))
    return f"<section>\n<h2>The learners</h2>\n{table}</section>\n"


def _exercises(graded: Sequence[Graded], outcome: str) -> str:
    """The exercises with an outcome, or a dash."""
    found = [v.exercise for one in graded for v in one.verdicts if v.outcome == outcome]
    return text(", ".join(found)) or "–"


def _listed(title: str, said: Mapping[str, str]) -> str:
    """What is said of some, if it is said of any."""
    rows = "".join(f"<li>{text(who)}: {text(what)}</li>\n" for who, what in said.items() if what)
    return f"<section>\n<h2>{title}</h2>\n<ul>\n{rows}</ul>\n</section>\n" if rows else ""


def _number(is_number: bool) -> str:
    return ' class="number"' if is_number else ""
