"""How long do the chapters take, and what of them fits into half a day, one day or two?

The minutes stand in the sources: a lesson's in its first cell, an exercise's in its head. The
tables made of them stand in teach/README.md, between two marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import CourseError
from .exercises.parse import find_sets, read_set
from .files import back_up, write_atomically
from .sources import Lesson, find_lessons, read_lesson
from .texts import read_text

NAME = "teach/README.md"
BEGIN, END = "<!-- times -->", "<!-- /times -->"
TIME = re.compile(r"\*\*Time\*\* (\d+) minutes")

# What a plan is called, and the minutes of work of each of its days. Half a day is 3.5 hours with a
# break in it; a day of more than LONG_DAY minutes has a lunch. All are minutes; days begin at nine.
PLANS = {"Half a day": (195,), "One day": (360,), "Two days": (360, 360)}
STRETCH, BREAK, LUNCH, LONG_DAY, START = 120, 15, 60, 240, 9 * 60

RULE = (
    "The rule: chapters in the order of the course, each with its lesson and its core exercises "
    "but for MiniTorch, as long as the next one fits; then the MiniTorch exercises of these "
    "chapters, in order, as long as the next one fits; all the rest is home work. A break comes "
    f"before the part with which a stretch would be longer than {STRETCH} minutes."
)


@dataclass(frozen=True)
class Part:
    """What is done in one piece."""

    name: str
    minutes: int


@dataclass(frozen=True)
class Exercise:
    """What a plan has to know of an exercise; `mini` is a piece of MiniTorch."""

    id: str
    minutes: int
    core: bool
    mini: bool


@dataclass(frozen=True)
class Chapter:
    """A chapter with its minutes; `page` is what its title leads to, seen from teach/."""

    number: int
    title: str
    page: str
    lesson: int
    exercises: tuple[Exercise, ...]

    def parts(self, *, mini: bool) -> list[Part]:
        """The lesson, then its core exercises, if there are any."""
        chosen = [one for one in self.exercises if one.core and (mini or not one.mini)]
        names = ", ".join(one.id for one in chosen)
        work = [Part(f"Exercises {names}", minutes_of(chosen))] if chosen else []
        return [Part(f"Lesson {self.number}: {self.title}", self.lesson), *work]


def minutes_of(parts: Iterable[Part | Exercise]) -> int:
    """The minutes of all of them together."""
    return sum(part.minutes for part in parts)


def build_timetable(root: Path) -> str:
    """Write the tables into the teacher's guide; returns what to tell, if there is anything.

    A guide that changes is kept as it was. Raises CourseError where it, or a minute in the
    sources, cannot be read, and where the marks are missing.
    """
    file = root / NAME
    if not file.is_file():
        return ""
    text = read_text(file, name=NAME)
    wanted = _with_tables(text, root)
    if text == wanted:
        return ""
    copy = back_up(root, file, name="timetable")
    write_atomically(file, wanted)
    return f"{NAME}: timetable built; the old page is {copy.relative_to(root).as_posix()}"


def check_timetable(root: Path) -> list[str]:
    """Do the tables of the teacher's guide differ from what the sources give?"""
    if not (root / NAME).is_file():
        return []
    text = read_text(root / NAME, name=NAME)
    return [] if text == _with_tables(text, root) else [f"{NAME}: its timetable is out of date."]


def chapters_of(root: Path) -> list[Chapter]:
    """All chapters with their minutes, in order; CourseError where a lesson states none."""
    sets = find_sets(root)
    return [_chapter(lesson, has_set=lesson.name in sets) for lesson in find_lessons(root)]


def plan_of(limits: Sequence[int], chapters: Sequence[Chapter]) -> tuple[list[list[Part]], str]:
    """The parts of each day of work that has these minutes, by RULE, and in words what is left."""
    taken: list[Chapter] = []
    minis: list[Chapter] = []
    days: list[list[Part]] = []
    for chapter in chapters:
        if (found := _days(_parts([*taken, chapter], minis=()), limits)) is None:
            break
        taken, days = [*taken, chapter], found
    for chapter in taken:
        if (found := _days(_parts(taken, minis=[*minis, chapter]), limits)) is None:
            break
        minis, days = [*minis, chapter], found
    return days, _home(chapters, taken, minis)


def tables(chapters: Sequence[Chapter]) -> str:
    """What stands between the marks."""
    plans = [_table_of(name, limits, *plan_of(limits, chapters)) for name, limits in PLANS.items()]
    return "\n\n".join([_overview(chapters), RULE, *plans])


def _with_tables(text: str, root: Path) -> str:
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise CourseError(
            f"Asked for the timetable of {NAME}. It does not have the marks {BEGIN} and {END}. Put "
            "them back where the tables belong."
        )
    return f"{before}{BEGIN}\n{tables(chapters_of(root))}\n{END}{after}"


def _chapter(lesson: Lesson, *, has_set: bool) -> Chapter:
    first = read_lesson(lesson)[0]
    stated = TIME.search(first.source)
    if stated is None:
        raise CourseError(
            f"Asked for the minutes of {lesson.text_name}. Its first cell states none. Write "
            "`**Time** 50 minutes.` there."
        )
    told = read_set(lesson.root, lesson.name).exercises if has_set else []
    page = f"{lesson.name}.md"
    return Chapter(
        number=lesson.chapter,
        title=first.first_line.partition("·")[2].strip(),
        page=page if (lesson.root / "teach" / page).is_file() else f"../{lesson.notebook_name}",
        lesson=int(stated[1]),
        exercises=tuple(
            Exercise(one.id, one.about["minutes"], one.about["core"], one.about["kind"] == "build")
            for one in told
        ),
    )


def _parts(chapters: Sequence[Chapter], *, minis: Sequence[Chapter]) -> list[Part]:
    return [part for chapter in chapters for part in chapter.parts(mini=chapter in minis)]


def _days(parts: Sequence[Part], limits: Sequence[int]) -> list[list[Part]] | None:
    """The parts by days; None if they do not fit. What is too long for a day begins the next."""
    days: list[list[Part]] = [[]]
    for part in parts:
        while minutes_of(days[-1]) + part.minutes > limits[len(days) - 1]:
            if len(days) == len(limits):
                return None
            days.append([])
        days[-1].append(part)
    return days


def _home(chapters: Sequence[Chapter], taken: Sequence[Chapter], minis: Sequence[Chapter]) -> str:
    """What a plan leaves out, in words."""
    later = [chapter for chapter in taken if chapter not in minis]
    ids = [one.id for chapter in later for one in chapter.exercises if one.core and one.mini]
    left = [str(chapter.number) for chapter in chapters if chapter not in taken]
    told = [f"MiniTorch {', '.join(ids)}"] if ids else []
    told += [f"chapter{'s' * (len(left) > 1)} {', '.join(left)}"] if left else []
    return "; ".join([*told, "the extra exercises"])


def _overview(chapters: Sequence[Chapter]) -> str:
    rows = [
        "| chapter | lesson | core exercises | extra exercises | together |",
        "|---|---|---|---|---|",
    ]
    for chapter in chapters:
        title = f"[{chapter.number} · {chapter.title}]({chapter.page})"
        rows.append(_row(title, chapter.lesson, chapter.exercises))
    everything = [one for chapter in chapters for one in chapter.exercises]
    rows.append(_row("all", sum(chapter.lesson for chapter in chapters), everything))
    return "\n".join(rows)


def _row(title: str, lesson: int, exercises: Sequence[Exercise]) -> str:
    core = [one for one in exercises if one.core]
    extra = [one for one in exercises if not one.core]
    counted = [f"{minutes_of(some)} ({len(some)})" if some else "–" for some in (core, extra)]
    return f"| {title} | {lesson} | {' | '.join(counted)} | {lesson + minutes_of(exercises)} |"


def _table_of(name: str, limits: Sequence[int], days: Sequence[Sequence[Part]], home: str) -> str:
    found = [f"### {name}"]
    for number, (day, limit) in enumerate(zip(days, limits, strict=False), 1):
        first = f"Day {number}: " if len(limits) > 1 else ""
        found.append(f"{first}{minutes_of(day)} of {limit} minutes of work.")
        found.append("| from | part | minutes |\n|---|---|---|\n" + "\n".join(_rows(day)))
    return "\n\n".join([*found, f"Home work: {home}."])


def _rows(day: Sequence[Part]) -> Iterator[str]:
    """The parts of a day with their times, and breaks between them."""
    clock = START
    for part in _with_breaks(day):
        yield f"| {clock // 60}:{clock % 60:02} | {part.name} | {part.minutes} |"
        clock += part.minutes
    yield f"| {clock // 60}:{clock % 60:02} | end | |"


def _with_breaks(day: Sequence[Part]) -> list[Part]:
    """A day's parts and its breaks; on a long day the one nearest to its middle is for lunch."""
    before, done, stretch = {}, 0, 0
    for part in day:
        if stretch + part.minutes > STRETCH and stretch:
            before[part], stretch = done, 0
        done, stretch = done + part.minutes, stretch + part.minutes
    lunch = min(before, key=lambda p: abs(2 * before[p] - done), default=None)
    found = []
    for part in day:
        if part in before:
            long = part is lunch and done > LONG_DAY
            found.append(Part("*lunch*", LUNCH) if long else Part("*break*", BREAK))
        found.append(part)
    return found
