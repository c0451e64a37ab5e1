"""What is known already of a learner's answers, when the notebook is saved once more?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .answers import Answers
from .helper_cells import Helper
from .verdicts import Verdict

# What an exercise's verdict depends on: its answer's cells, and the helper cells that these need.
Written = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass
class Earlier:
    """The verdicts on one learner's answers to one chapter, as long as nothing changes in them."""

    written: dict[str, Written] = field(default_factory=dict)
    verdicts: dict[str, Verdict] = field(default_factory=dict)

    def of(self, answers: Answers, helpers: Sequence[Helper]) -> dict[str, Verdict]:
        """The verdicts on what is written as it was before."""
        return {
            name: verdict
            for name, verdict in self.verdicts.items()
            if self.written[name] == _written(name, answers, helpers)
        }

    def keep(
        self, answers: Answers, helpers: Sequence[Helper], verdicts: Sequence[Verdict]
    ) -> None:
        """Remember these verdicts, and what was written."""
        self.verdicts = {one.exercise: one for one in verdicts}
        self.written = {name: _written(name, answers, helpers) for name in self.verdicts}


def _written(exercise: str, answers: Answers, helpers: Sequence[Helper]) -> Written:
    needed = [one.source for one in helpers if exercise in one.needed_by]
    return tuple(answers.sources.get(exercise, ())), tuple(needed)
