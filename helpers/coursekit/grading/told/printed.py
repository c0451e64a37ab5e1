"""What is printed in a terminal of what was graded?"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..verdicts import Graded


def table(graded: Sequence[Graded], *, only: Collection[str] | None = None) -> str:
    """Each submission with its exercises, or `only` some of them, and why points are missing."""
    lines = []
    for one in graded:
        lines.append(line(one))
        for verdict in one.verdicts:
            if only is not None and verdict.exercise not in only:
                continue
            points = "  –" if verdict.points is None else f"{verdict.points:3g}"
            why = f": {plain(verdict.why)}" if verdict.why else ""
            lines.append(
                f"  {verdict.exercise:<6}{points} of {verdict.max:g}  {verdict.outcome}{why}"
            )
        lines += [f"  note: {plain(note)}" for note in one.notes]
        lines.append("")
    return "\n".join(lines)


def line(one: Graded) -> str:
    """One submission in a line: whose it is, and how many points it has."""
    called = plain(": ".join(filter(None, (one.learner, one.file))))
    if one.problem:
        return f"{called}: not graded, {plain(one.problem)}"
    return f"{called}: {one.points:g} of {one.max:g} points"


def plain(text: str, most: int = 160) -> str:
    """One line without control characters: file names and errors come from the learner."""
    line = "".join(c if c.isprintable() else " " for c in text)
    return line if len(line) <= most else line[:most] + " …"
