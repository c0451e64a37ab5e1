"""How does a class stand with each exercise?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..verdicts import NOT_ATTEMPTED, NOT_YET, RIGHT, Graded, Verdict
from .page import told_of


@dataclass
class Standing:
    """How a class stands with one exercise: who has which outcome, and who made which mistake.

    Only those count who have answered anything in its chapter. `known` holds what is told of the
    misconceptions that the course knows.
    """

    exercise: str
    title: str
    core: bool
    learners: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    mistakes: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    known: set[str] = field(default_factory=set)

    def count(self, outcome: str) -> int:
        return len(self.learners.get(outcome, ()))

    @property
    def all(self) -> int:
        """How many there are, where it could be graded."""
        return self.count(RIGHT) + self.count(NOT_YET) + self.count(NOT_ATTEMPTED)

    @property
    def in_need(self) -> int:
        """How many are not there yet; an extra exercise is nobody's duty."""
        return self.count(NOT_YET) + (self.count(NOT_ATTEMPTED) if self.core else 0)

    def add(self, learner: str, verdict: Verdict) -> None:
        self.learners[verdict.outcome].append(learner)
        if verdict.outcome == NOT_YET:
            told = told_of(verdict)
            self.mistakes[told].append(learner)
            if verdict.known:
                self.known.add(told)

    def most_common(self) -> list[tuple[str, list[str]]]:
        """What was told, and to whom: the most common first, of equals a known misconception."""
        return sorted(
            self.mistakes.items(), key=lambda item: (-len(item[1]), item[0] not in self.known)
        )


def standings(graded: Sequence[Graded]) -> dict[str, list[Standing]]:
    """How the class stands with each exercise, by chapter, in their order."""
    found: dict[str, dict[str, Standing]] = defaultdict(dict)
    for one in graded:
        if one.untouched:
            continue
        for verdict in one.verdicts:
            new = Standing(verdict.exercise, verdict.title, verdict.core)
            found[one.chapter].setdefault(verdict.exercise, new).add(one.learner, verdict)
    return {chapter: list(exercises.values()) for chapter, exercises in sorted(found.items())}
