"""A judge makes all right answers equal, and each wrong one a word."""

from __future__ import annotations

import pytest

from insidetorch.learn.judges import witnesses_of_loops

RIGHT = {"batch": [1, 0.5], "steps": [-2.0, -0.75], "weight": 0.6875}


def loop(*, mended=RIGHT, **witness):
    """What a check sees of a loop that was named, mended and convicted."""
    return {"mended": [RIGHT, mended], "witness": {**RIGHT, "weight": 0.5, **witness}}


def test_every_witness_on_which_the_weights_differ_is_the_same_to_the_judge():
    others = loop(batch=[-2, 2, 0, 1], weight="nan")
    assert witnesses_of_loops([{"d": loop()}]) == witnesses_of_loops([{"d": others}])


def test_the_order_in_which_loops_are_named_does_not_count():
    seen = {"b": loop(), "d": loop()}
    found = witnesses_of_loops([dict(reversed(seen.items()))])
    assert list(found) == ["b", "d"]


def test_the_digits_that_float32_and_the_check_leave_convict_nobody():
    seen = loop(batch=[0.3, 0.7], weight=0.4632)
    assert witnesses_of_loops([{"c": seen}]) == {"c": ["mended", "the same weight"]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"weight": 0.6875}, ["mended", "the same weight"]),
        ({"mended": RIGHT | {"weight": 0.5}}, ["another weight", "convicted"]),
        ({"mended": RIGHT | {"weight": "nan"}}, ["another weight", "convicted"]),
        ({"mended": RIGHT | {"steps": []}}, ["other steps", "convicted"]),
        ({"mended": RIGHT | {"steps": [-2.0, -0.5]}}, ["other steps", "convicted"]),
        ({"batch": []}, ["mended", "no list of one to four numbers"]),
        ({"batch": [1] * 5}, ["mended", "no list of one to four numbers"]),
        ({"batch": 1}, ["mended", "no list of one to four numbers"]),
        ({"batch": [1, 3]}, ["mended", "not numbers from -2 to 2"]),
        ({"batch": ["1"]}, ["mended", "not numbers from -2 to 2"]),
        ({"batch": [True]}, ["mended", "not numbers from -2 to 2"]),
    ],
)
def test_the_judge_says_what_is_wrong_with_an_entry(changes, said):
    assert witnesses_of_loops([{"d": loop(**changes)}]) == {"d": said}


def test_an_answer_that_raised_is_left_as_it_is():
    assert witnesses_of_loops([{"error": "ValueError"}]) == [{"error": "ValueError"}]


def test_no_loop_named_is_no_loop_judged():
    assert witnesses_of_loops([{}]) == {}
