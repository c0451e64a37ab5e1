"""What is said of an exercise, and of a submission?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

RIGHT = "right"
NOT_YET = "not yet"
NOT_ATTEMPTED = "not attempted"
NOT_GRADABLE = "not gradable here"


@dataclass(frozen=True)
class Verdict:
    """One exercise of one submission.

    `why` is what is told of an outcome that is not right, `known` that it is one of the course's
    known misconceptions. `seen` is the observation as JSON text; `given`, `got` and `expected`
    tell the first case that differs. `hints` are the exercise's, for an outcome that is not right;
    `core` says that every learner is asked to do it.
    """

    exercise: str
    title: str
    outcome: str
    max: float
    why: str = ""
    known: bool = False
    seen: str = ""
    given: str = ""
    got: str = ""
    expected: str = ""
    hints: tuple[str, ...] = ()
    answer: str = ""
    core: bool = True

    @property
    def points(self) -> float | None:
        """All points or none; None where the exercise cannot be graded on this machine."""
        if self.outcome == NOT_GRADABLE:
            return None
        return self.max if self.outcome == RIGHT else 0


@dataclass(frozen=True)
class Graded:
    """A submission: who handed it in, its verdicts, notes, and why it could not be read, if so.

    `attempts` tells which of several notebooks it is that counts, and which do not. `passing` says
    that the problem is one of this machine's at this moment, not the submission's.
    """

    file: str
    chapter: str = ""
    verdicts: tuple[Verdict, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""
    learner: str = ""
    passing: bool = False
    attempts: str = ""

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Graded:
        """The submission that `dataclasses.asdict` made these fields of."""
        verdicts = [Verdict(**{**one, "hints": tuple(one["hints"])}) for one in fields["verdicts"]]
        return cls(**{**fields, "verdicts": tuple(verdicts), "notes": tuple(fields["notes"])})

    @property
    def points(self) -> float:
        return sum(one.points or 0 for one in self.verdicts)

    @property
    def max(self) -> float:
        """The points that can be had on this machine."""
        return sum(one.max for one in self.verdicts if one.outcome != NOT_GRADABLE)

    @property
    def untouched(self) -> bool:
        """Was it read, and is nothing in it answered?"""
        outcomes = {one.outcome for one in self.verdicts} - {NOT_GRADABLE}
        return not self.problem and outcomes <= {NOT_ATTEMPTED}

    @property
    def all_right(self) -> bool:
        """Is every exercise right that can be graded, and can any be graded?"""
        gradable = [one for one in self.verdicts if one.outcome != NOT_GRADABLE]
        return bool(gradable) and all(one.outcome == RIGHT for one in gradable)


@dataclass(frozen=True)
class Check:
    """How a check cell ended: right or why not, and what it showed of the answer."""

    right: bool
    why: str = ""
    seen: str = ""


@dataclass
class Run:
    """What one run of nbval told, up to its end.

    `started` says that a cell ran at all, `finished` that every cell ran. `stopped` is the unit
    whose cell was running when the run ended too early, `why` the reason. A unit is an exercise or
    a helper cell; the cells that belong to none have the unit "".
    """

    checks: dict[str, Check] = field(default_factory=dict)
    raised: dict[str, str] = field(default_factory=dict)
    started: bool = False
    stopped: str = ""
    why: str = ""
    finished: bool = False
