"""How many points is a notebook worth, whatever its code does?

`course.py grade PATH…` takes the answers out of a submission, puts them into the course's own
solution notebook and lets nbval run that in a throw-away folder. What a check cell shows of the
answer's behaviour is compared with the stored observation here, outside the kernel: a printed tick,
an edited check or a patched function is worth nothing.

What this promises: honest mistakes cost no more than the exercise they are made in, and casual
tampering gains nothing. It does not hold against a determined attacker. An answer runs as the same
user as the grader: it could read `solutions/` or reach into the grader's process. Where marks
count, run the grader in a container without a network, or as a user of its own, and keep the
solutions of hidden exercises elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Carries out `course.py grade` and returns its exit status."""
    # Imported only now: nbval's process imports this package for its plugin alone.
    from .command import main as carry_out

    return carry_out(argv)
