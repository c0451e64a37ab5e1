"""A judge makes all right answers equal, and each wrong one a word."""

from __future__ import annotations

import pytest

from insidetorch.learn.judges import witnesses_of_loops


def loop(**changes):
    """What a check sees of a loop that was named, mended and convicted."""
    right = {"mended": [[0.5, 0.5], [1.0, 1.0]], "witness": [1, 0.5], "weights": [0.0, 0.5]}
    return right | changes


def test_every_witness_on_which_the_weights_differ_is_the_same_to_the_judge():
    others = loop(witness=[-2, 2, 0, 1], weights=[3.0, "nan"])
    assert witnesses_of_loops([{"d": loop()}]) == witnesses_of_loops([{"d": others}])


def test_the_order_in_which_loops_are_named_does_not_count():
    seen = {"b": loop(), "d": loop()}
    found = witnesses_of_loops([dict(reversed(seen.items()))])
    assert list(found) == ["b", "d"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"weights": [0.5, 0.5]}, ["mended", "the same weight"]),
        ({"mended": [[0.5, 0.5], [0.0, 1.0]]}, ["not mended", "convicted"]),
        ({"witness": []}, ["mended", "no list of one to four numbers"]),
        ({"witness": [1] * 5}, ["mended", "no list of one to four numbers"]),
        ({"witness": 1}, ["mended", "no list of one to four numbers"]),
        ({"witness": [1, 3]}, ["mended", "not numbers from -2 to 2"]),
        ({"witness": ["1"]}, ["mended", "not numbers from -2 to 2"]),
        ({"witness": [True]}, ["mended", "not numbers from -2 to 2"]),
    ],
)
def test_the_judge_says_what_is_wrong_with_an_entry(changes, said):
    assert witnesses_of_loops([{"d": loop(**changes)}]) == {"d": said}


def test_an_answer_that_raised_is_left_as_it_is():
    assert witnesses_of_loops([{"error": "ValueError"}]) == [{"error": "ValueError"}]


def test_no_loop_named_is_no_loop_judged():
    assert witnesses_of_loops([{}]) == {}
