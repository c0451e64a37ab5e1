"""Which of many answers are right? Judges of exercises that have no single one.

A judge is a pure function of what a check saw; it knows no torch. It turns every right answer into
the same value, and a wrong one into a word that says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isclose, prod

from .. import footprint, indexing

BROKEN, REPAIRED = "the broken script", "the repaired script"
# How the name of another version begins that is broken, often by a cure for the first.
ALSO_BROKEN = "a broken "
RETURNED = "returns a value"


def counterexamples_of_views(seen: object) -> object:
    """Judge three layouts: viewed though not contiguous, copied by reshape, written unnoticed.

    What raised an error is left as it is.

    >>> counterexamples_of_views([{"copied": [[2], [1], [2]]}])
    {'viewed': 'not given', 'copied': 'a view', 'unnoticed': 'not given'}
    """
    given = seen[0] if isinstance(seen, list) and seen and isinstance(seen[0], dict) else {}
    if "error" in given:
        return seen
    return {
        "viewed": _judged(_viewed, given.get("viewed"), numbers=3),
        "copied": _judged(_copied, given.get("copied"), numbers=3),
        "unnoticed": _judged(_unnoticed, given.get("unnoticed"), numbers=2),
    }


def _judged(judge, layout: object, *, numbers: int) -> str:
    if not isinstance(layout, list) or len(layout) != numbers:
        return "not given"
    if not all(isinstance(part, list) and all(type(n) is int for n in part) for part in layout):
        return "not given"
    sizes, strides = layout[:2]
    if len(sizes) != len(strides) or any(n < 0 for part in layout for n in part):
        return "no tensor"
    return judge(*layout)


def _viewed(sizes: list[int], strides: list[int], wanted: list[int]) -> str:
    if _is_contiguous(sizes, strides):
        return "contiguous"
    if [n for n in wanted if n != 1] == [n for n in sizes if n != 1]:
        return "the same sizes"
    return "right" if indexing.view_strides(sizes, strides, wanted) else "no view"


def _copied(sizes: list[int], strides: list[int], wanted: list[int]) -> str:
    if prod(sizes) != prod(wanted):
        return "another number of values"
    return "a view" if indexing.view_strides(sizes, strides, wanted) else "right"


def _unnoticed(sizes: list[int], strides: list[int]) -> str:
    if footprint.distinct_elements(sizes, strides) == prod(sizes):
        return "no overlap"
    if any(n > 1 and s == 0 for n, s in zip(sizes, strides, strict=True)):
        return "refused"
    return "right"


def _is_contiguous(sizes: list[int], strides: list[int]) -> bool:
    usual = indexing.contiguous_strides(sizes)
    dims = zip(sizes, strides, usual, strict=True)
    return 0 in sizes or all(n == 1 or s == u for n, s, u in dims)


def probe_then_repair(seen: object) -> object:
    """Judge a probe by what it did on each version of a script, and only then the repair.

    The first thing that a check saw is the probe: versions by their names, and whether it "fails"
    or "holds" there. A good one makes way for what was seen of the repair, a bad one hides it, and
    one that is still to be written leaves all as it is.

    >>> probe_then_repair([{"the broken script": "fails", "the repaired script": "holds"}, 1])
    ['a good probe', 1]
    >>> probe_then_repair([{"the broken script": "holds", "the repaired script": "holds"}, 1])
    [{'the broken script': 'holds', 'the repaired script': 'holds'}]
    """
    if not isinstance(seen, list) or not seen or "error" in seen[0]:
        return seen
    probe, *repair = seen
    return ["a good probe", *repair] if probe == wanted_of_probe(probe) else [probe]


def wanted_of_probe(versions: Iterable[str]) -> dict[str, str]:
    """What a good probe does on each of these versions.

    >>> wanted_of_probe([BROKEN, REPAIRED])
    {'the broken script': 'fails', 'the repaired script': 'holds'}
    >>> wanted_of_probe(["a broken script that hides the error"])
    {'a broken script that hides the error': 'fails'}
    """
    return {
        name: "fails" if name == BROKEN or name.startswith(ALSO_BROKEN) else "holds"
        for name in versions
    }


def words_of_probe(did: Mapping[str, str], errors: Mapping[str, str]) -> str:
    """What to tell of the first version on which a probe does not do what a good one does; "" for a
    good one.

    Args: `errors`, what it raised on each version, if that is known.

    >>> words_of_probe({"the repaired script": "fails"}, {"the repaired script": "AssertionError"})
    'Your probe fails on the repaired script (AssertionError). Nothing is wrong there.'
    """
    for name, should in wanted_of_probe(did).items():
        if did[name] == should:
            continue
        error = f" ({errors[name]})" if errors.get(name) else ""
        return {
            RETURNED: f"On {name} your probe returns a value. What it has to say, it asserts.",
            "holds": f"Your probe holds on {name}. It must fail there, or this bug is not found.",
            "fails": f"Your probe fails on {name}{error}. Nothing is wrong there.",
        }.get(did[name], f"On {name} your probe {did[name]}. It must say the same each time.")
    return ""


def witnesses_of_loops(seen: object) -> object:
    """Judge what was said of training loops: which are wrong, mended how, convicted by which batch.

    A right loop makes, for each number x of a batch, one step of 0.25 times the gradient of
    (weight x - 1) ** 2, from the weight 0 on. For each loop that was named the check has seen runs:
    a batch, the gradients at the `steps`, and the `weight` that was left; under `mended` those of
    the mended loop, under `witness` the one of the loop as it was. What raised an error is left as
    it is.

    >>> run = {"batch": [1], "steps": [-2.0], "weight": 0.5}
    >>> a = {"mended": [run], "witness": {**run, "weight": 0.0}}
    >>> witnesses_of_loops([{"d": a, "c": {**a, "witness": run}}])
    {'c': ['mended', 'the same weight'], 'd': ['mended', 'convicted']}
    """
    found = seen[0] if isinstance(seen, list) and seen and isinstance(seen[0], dict) else {}
    if "error" in found:
        return seen
    return {loop: [_mended(found[loop]), _convicted(found[loop])] for loop in sorted(found)}


def _mended(entry: dict) -> str:
    for run in entry["mended"]:
        steps, weight = _right_run(run["batch"])
        if not _close([run["weight"]], [weight]):
            return "another weight"
        if not _close(run["steps"], steps):
            return "other steps"
    return "mended"


def _convicted(entry: dict) -> str:
    batch = entry["witness"]["batch"]
    if not isinstance(batch, list) or not 1 <= len(batch) <= 4:
        return "no list of one to four numbers"
    if not all(type(x) in (int, float) and -2 <= x <= 2 for x in batch):
        return "not numbers from -2 to 2"
    _, weight = _right_run(batch)
    return "the same weight" if _close([entry["witness"]["weight"]], [weight]) else "convicted"


def _right_run(batch: list[float]) -> tuple[list[float], float]:
    """The gradients along which a right loop steps, and the weight that it leaves."""
    steps, weight = [], 0.0
    for x in batch:
        steps.append(2 * (weight * x - 1) * x)
        weight -= 0.25 * steps[-1]
    return steps, weight


def _close(numbers: list[object], wanted: list[float]) -> bool:
    """Are these the numbers, to the digits that a check keeps? A NaN stands there as a word."""
    return len(numbers) == len(wanted) and all(
        type(n) in (int, float) and isclose(n, w, rel_tol=1e-3)
        for n, w in zip(numbers, wanted, strict=True)
    )


def _within(run: dict) -> dict:
    moved, budget = run["bytes moved"], run["budget"]
    within = type(moved) is int and moved <= budget
    rest = {name: value for name, value in run.items() if name != "budget"}
    return rest | {"bytes moved": "within the budget" if within else moved}
