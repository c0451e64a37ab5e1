"""How many points is a notebook worth, whatever its code does?

`course.py grade PATH…` takes the answers out of a submission, puts them into the course's own
solution notebook and lets nbval run that in a throw-away folder. What a check cell shows of the
answer's behaviour is compared with the stored observation here, outside the kernel: a printed tick
or an edited check is worth nothing. The kernel has a copy of our packages with no solutions beside
it, a check is given back the functions that it leans on (`guard`) and holds none that gives right
values away (`check_cells`), and what an answer by hand may name is read in its source
(`plain_python`).

On Linux a run is a copy of a process that has loaded everything (`warm`), and its kernel is kept
apart from the machine as far as that allows (`isolation` tells how far). What no isolation holds
against: a check looks from within the learner's process, so code that is written against this
grader can lie to it. Where marks count, keep the solutions of hidden exercises elsewhere, and read
what the answers say.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Carries out `course.py grade` and returns its exit status."""
    # Imported only now: nbval's process imports this package for its plugin alone.
    from .command import main as carry_out

    return carry_out(argv)
