"""Which of these takes longer? A chart of times measured now, with the ratios in words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import torch

from ..draw.charts import bars, lines, points
from ..observe.cost import times
from ..observe.trace import trace
from .show import Picture


def compare_times(
    fns: Mapping[str, Callable[[], object]], *, title: str = "time", rounds: int = 30
) -> Picture:
    """Measure functions side by side and show their times.

    Args: `fns` maps names to functions without arguments; see `insidetorch.observe.cost.times`.
    Gradients are off, so that no backward pass can run.
    Returns a `Picture` whose text gives each time as a multiple of the first one.

    >>> compare_times({"one": lambda: None, "two": lambda: None}).text.startswith("one: 1.0")
    True
    """
    _check(fns, "functions")
    found = times(fns, rounds=rounds)
    first = next(iter(found.values()), 1.0)
    text = "\n".join(
        f"{name}: {value / first:.1f} times the first" for name, value in found.items()
    )
    chart = bars(found, title=title, unit="microseconds, the shortest of all rounds")
    return Picture(chart, f"{title}. {text}".replace("\n", "; "), text)


def copy_costs(sides: Sequence[int] = (16, 64, 256, 1024, 4096)) -> Picture:
    """What do a view and two copies of a square float32 matrix cost, the larger the matrix?

    Args: `sides`, how many rows the matrices have. The largest of them is measured last.
    Returns a `Picture` of times measured now; its text gives for each size the bytes that a copy
    reads and writes, and how many views and how many plain copies the time of each is worth.

    >>> print(copy_costs((4, 8)).text.splitlines()[0].partition(":")[0])
    64 bytes
    """
    sides, places, found = list(sides), [], []
    _check(sides, "sizes")
    for side in sides:
        matrix = torch.ones(side, side)
        ways = {
            "clone()": lambda m=matrix: m.clone(),
            "t().contiguous()": lambda m=matrix: m.t().contiguous(),
        }
        places.append(matrix.nbytes)
        # A copy of many bytes leaves cold caches behind: the view is measured apart from them.
        view = times({"t()": lambda m=matrix: m.t()})
        found.append(view | times(ways, rounds=30 if side < 1000 else 5))
    text = "\n".join(map(_cost_text, places, found))
    values = {name: [one[name] for one in found] for name in found[0]}
    title = "a view and two copies of a matrix"
    chart = lines(places, values, title=title, x="bytes of the matrix", y="microseconds")
    return Picture(chart, f"{title}. {text}".replace("\n", "; "), text)


def operator_costs(sizes: Sequence[int] = (8, 80, 800, 8_000, 80_000, 800_000)) -> Picture:
    """What does one operator cost, the more elements its tensors have?

    Args: `sizes`, how many float32 elements, the fewest first.
    Returns a `Picture` of times measured now: of one addition, and of six cheap operators in a
    chain; its text gives each as a multiple of the time for the first size.

    >>> print(operator_costs((8, 16)).text.splitlines()[1].partition(":")[0])
    16 elements
    """
    sizes, found = list(sizes), []
    _check(sizes, "sizes")
    for size in sizes:
        a, b = torch.ones(size), torch.ones(size)
        ways = {
            "a + b": lambda a=a, b=b: a + b,
            "six operators": lambda a=a, b=b: (((a + b) * b - b) * a).abs() + b,
        }
        found.append(times(ways, rounds=200 if size < 100_000 else 30))
    first = found[0]["a + b"]
    text = "\n".join(
        f"{size:,} elements: one addition takes {_times(one['a + b'] / first)} as long as with "
        f"{sizes[0]:,}; six operators take {_times(one['six operators'] / one['a + b'])} as long "
        "as one"
        for size, one in zip(sizes, found, strict=True)
    )
    values = {name: [one[name] for one in found] for name in found[0]}
    title = "one operator, and six"
    chart = lines(sizes, values, title=title, x="elements", y="microseconds", unit="")
    return Picture(chart, f"{title}. {text}".replace("\n", "; "), text)


def byte_costs(fns: Mapping[str, Callable[[], object]], *, rounds: int = 20) -> Picture:
    """Does the time of these functions go with the bytes that they move?

    Args: `fns` maps names to functions without arguments, the one to compare with first. Bytes
    are those of `insidetorch.trace`. Gradients are off, so that no backward pass can run.
    Returns a `Picture`: times measured now over bytes counted, and the line on which they would lie
    if a byte always took as long as it does in the first function.

    >>> t = torch.ones(1000)
    >>> byte_costs({"t + 1": lambda: t + 1, "t * 2 + 1": lambda: t * 2 + 1}).text.splitlines()[0]
    't + 1: 8,000 bytes'
    """
    _check(fns, "functions")
    with torch.no_grad():  # as they are measured: what needs gradients fails before it has run
        moved = {name: trace(fn).moved for name, fn in fns.items()}
    name, *others = fns
    if not moved[name]:
        raise ValueError(
            f"Costs for each byte of {name!r} were asked. It moves 0 bytes, and nothing can be "
            "compared with that. Put a function first that moves some."
        )
    found = times(fns, rounds=rounds)
    text = "\n".join(
        [f"{name}: {moved[name]:,} bytes"]
        + [
            f"{other}: {moved[other]:,} bytes, {moved[other] / moved[name]:.2f} of the first; "
            f"{found[other] / found[name]:.2f} of its time"
            for other in others
        ]
    )
    title = "bytes moved, and time"
    chart = points(
        {name: (moved[name], found[name]) for name in fns},
        title=title,
        x="bytes read and written",
        y="microseconds",
    )
    return Picture(chart, f"{title}. {text}".replace("\n", "; "), text)


def _check(given: Collection[object], what: str) -> None:
    if not given:
        raise ValueError(
            f"A chart of costs without {what} was asked. There is nothing to measure. Give one or "
            "more."
        )


def _cost_text(nbytes: int, found: Mapping[str, float]) -> str:
    view, copy, turned = found.values()
    return (
        f"{nbytes:,} bytes: t() moves none; clone() reads and writes {2 * nbytes:,} and takes "
        f"{_times(copy / view)} as long; t().contiguous() moves as many in another order and "
        f"takes {_times(turned / copy)} as long as clone()"
    )


def _times(ratio: float) -> str:
    return f"{ratio:,.0f} times" if ratio >= 10 else f"{ratio:.1f} times"
