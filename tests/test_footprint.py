"""Which elements two layouts share, against brute force over addresses."""

from __future__ import annotations

from random import Random

import pytest

from insidetorch import footprint, indexing

PAIRS = 100_000
STRIDES = (0, 1, 1, 2, 3, 4, 5, 6, 8, 12, 16, 20)


def some_layout(random: Random) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    dims = random.randint(0, 4)
    lowest = 0 if random.random() < 0.1 else 1
    sizes = tuple(random.randint(lowest, 5) for _ in range(dims))
    return sizes, tuple(random.choices(STRIDES, k=dims)), random.randint(0, 12)


def test_common_and_distinct_elements_are_exact(monkeypatch):
    monkeypatch.setattr(footprint, "_FEW", -1)  # progressions wherever they fit
    random, meeting, irregular = Random(0), 0, 0
    for _ in range(PAIRS):
        a, b = some_layout(random), some_layout(random)
        read, other = set(indexing.elements(*a)), set(indexing.elements(*b))
        assert footprint.distinct_elements(*a[:2]) == len(read), a
        assert footprint.common_elements(a, b) == len(read & other), (a, b)
        meeting += bool(read & other)
        irregular += not is_nested(a) or not is_nested(b)
    # Both ways are taken often, and both answers occur often.
    assert PAIRS / 4 < meeting < 3 * PAIRS / 4
    assert PAIRS / 10 < irregular < PAIRS / 2


def test_sets_of_bits_are_exact():
    random = Random(0)
    for _ in range(PAIRS // 10):
        a, b = some_layout(random), some_layout(random)
        read, other = set(indexing.elements(*a)), set(indexing.elements(*b))
        assert footprint.element_set(*a) == sum(1 << k for k in read), a
        assert footprint.common_elements(a, b) == len(read & other), (a, b)


def is_nested(layout) -> bool:
    try:
        footprint.nested(*layout[:2])
    except footprint._Irregular:
        return False
    return True


@pytest.mark.parametrize(
    ("a", "b", "common"),
    [
        (((10**8,), (2,), 0), ((10**8,), (2,), 1), 0),
        (((10**8,), (1,), 0), ((10**4, 10**4), (1, 10**4), 0), 10**8),
        (((10**4, 5000), (10**4, 1), 0), ((10**4, 5000), (10**4, 1), 5000), 0),
        (((10**4, 5001), (10**4, 1), 0), ((10**4, 5000), (10**4, 1), 5000), 10**4),
        (((10**8,), (3,), 0), ((10**8,), (5,), 0), 2 * 10**7),
        (((10**6, 3), (7, 2), 0), ((10**6,), (7,), 4), 10**6),
    ],
)
def test_large_sets_are_not_listed(a, b, common, monkeypatch):
    monkeypatch.setattr(footprint, "element_set", lambda *_: pytest.fail("a set of bits was made"))
    assert footprint.common_elements(a, b) == footprint.common_elements(b, a) == common
