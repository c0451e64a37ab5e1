"""Which of these takes longer? A chart of times measured now, with the ratios in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..draw.charts import bars
from ..observe.cost import times
from .show import Picture


def compare_times(
    fns: Mapping[str, Callable[[], object]], *, title: str = "time", rounds: int = 30
) -> Picture:
    """Measure functions side by side and show their times.

    Args: `fns` maps names to functions without arguments; see `insidetorch.observe.cost.times`.
    Returns a `Picture` whose text gives each time as a multiple of the first one.

    >>> compare_times({"one": lambda: None, "two": lambda: None}).text.startswith("one: 1.0")
    True
    """
    found = times(fns, rounds=rounds)
    first = next(iter(found.values()), 1.0)
    text = "\n".join(
        f"{name}: {value / first:.1f} times the first" for name, value in found.items()
    )
    chart = bars(found, title=title, unit="microseconds, the shortest of all rounds")
    return Picture(chart, f"{title}. {text}".replace("\n", "; "), text)
