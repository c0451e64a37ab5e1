"""How are costs and points of a class printed?"""

from __future__ import annotations

from collections.abc import Sequence

from class_submissions import Submission
from machine import load
from process_tree import Cost

# By submission and exercise.
Points = dict[str, dict[str, float]]


class Table:
    """Rows that are printed as they come; the first one is what the others are compared with."""

    def __init__(self) -> None:
        self.base: tuple[float, float] | None = None
        print(
            "| grader | n | wall | CPU | wall each | beside | CPU each | beside | peak MB | load |"
        )
        print("|---|---|---|---|---|---|---|---|---|---|")

    def row(self, what: str, count: int, cost: Cost, before: str) -> None:
        wall, cpu = cost.wall / count, cost.cpu / count
        self.base = self.base or (wall, cpu)
        print(
            f"| {what} | {count} | {cost.wall:.1f} s | {cost.cpu:.1f} s | {wall:.2f} s | "
            f"{wall / self.base[0]:.2f} × | {cpu:.2f} s | {cpu / self.base[1]:.2f} × | "
            f"{cost.peak:.0f} | {before} → {short_load()} |",
            flush=True,
        )


def short_load() -> str:
    return load().removeprefix("load ").partition(" ")[0]


def tell_points(submissions: Sequence[Submission], paid: dict[str, Points]) -> None:
    """What each answer is worth, what each grader paid for it, and where that differs."""
    print(f"\n| submission | worth | {' | '.join(paid)} |\n|---|---|{'---|' * len(paid)}")
    differing = []
    for one in submissions:
        sums = []
        for grader, points in paid.items():
            got = points.get(one.name, {})
            sums.append(f"{sum(got.values()):g}" if got else "no result")
            differing += [
                f"{grader}, {one.name}, {exercise}: {got.get(exercise, 'nothing')}, not {worth:g}"
                for exercise, worth in one.points.items()
                if got.get(exercise) != worth
            ]
        print(f"| {one.name} | {sum(one.points.values()):g} | {' | '.join(sums)} |")
    print("\nPaid otherwise than they are worth:", *(differing or ["none"]), sep="\n  ")
