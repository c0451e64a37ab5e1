"""The view rule, with its reason, beside torch's own answer."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from hard_tensors import SHOWN

from insidetorch import ViewExplorer, count, explain_view, layout_of, show
from insidetorch.draw.viewing import view_sentence, view_svg, view_text
from insidetorch.observe.presets import VIEW_SOURCES, tensor_with
from insidetorch.observe.viewing import view_rule
from insidetorch.widgets.view_explorer import FREE

SIZES = [sizes for dims in range(4) for sizes in product((0, 1, 2, 3), repeat=dims)]
WANTED = [(), (1,), (0,), (2,), (6,), (2, 3), (3, 2), (6, 3), (-1,), (3, -1), (2, 3, 3), (1, 18, 1)]


def rules():
    for sizes in SIZES:
        for strides in product((0, 1, 2, 6), repeat=len(sizes)):
            t = tensor_with(sizes, strides)
            for wanted in WANTED:
                try:
                    yield t, wanted, view_rule(t, wanted)
                except ValueError:
                    with pytest.raises(RuntimeError):
                        t.view(wanted)


def test_the_rule_gives_torchs_answer_and_a_reason_where_there_is_no_view():
    views = refused = 0
    for _, _, rule in rules():
        assert rule.strides == rule.torch_strides, rule
        assert (rule.strides is None) == ("not compatible" in rule.refusal)
        if rule.strides is None:
            chunk = rule.stopped_by.chunk
            left = chunk.dims[0] - 1
            assert ("stops it" in view_text(rule)) == (f"Dimension {left} stops" in view_text(rule))
            if "stops it" in view_text(rule):
                assert rule.strides_before[left] != chunk.length * chunk.stride
            refused += 1
        views += rule.strides is not None
    assert views > 500 and refused > 500


def test_the_dimension_that_is_named_is_the_one_that_stops_it():
    # Move it to where the rule wants it, and the chunk to its right is no hindrance any more.
    moved = 0
    for _, wanted, rule in rules():
        if "stops it" not in view_text(rule):
            continue
        chunk = rule.stopped_by.chunk
        strides = list(rule.strides_before)
        strides[chunk.dims[0] - 1] = chunk.length * chunk.stride
        again = view_rule(tensor_with(rule.sizes, strides), wanted)
        assert again.strides is not None or again.stopped_by.chunk.dims[0] < chunk.dims[0]
        moved += 1
    assert moved > 500


def test_words_and_picture_hold_the_same_facts():
    turned = torch.arange(24).view(2, 3, 4).transpose(0, 1)
    rule = view_rule(turned, (6, 4))
    assert view_sentence(rule) == (
        "Sizes (3, 2, 4) with strides (4, 12, 1), viewed as (6, 4): no view, only a copy. "
        "Dimension 0 stops it: one step along it moves 4 elements, and the 2 elements to its right "
        "span 24."
    )
    picture = view_svg(rule, live=True)
    for text in ("12 apart", "stride 4", "Dimension 0 stops it"):
        assert text in picture
    assert picture.count('class="bad') == 2  # the chunk, and what would lie in it
    found = view_svg(view_rule(turned, (3, 8)), live=True)
    assert found.count('class="bad') == 2 and view_svg(view_rule(turned, (3, 2, 2, 2))).count("bad")


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_looking_for_a_view_changes_nothing_and_never_fails(name):
    t = SHOWN[name]()
    before = layout_of(t)
    picture = explain_view(t, (-1,) if before.numel else before.sizes)
    assert "torch:" in picture.text and "<img" in picture._repr_html_()
    assert layout_of(t) == before


def test_a_view_that_is_asked_for_runs_no_operator_of_the_users():
    x = torch.zeros(4, 6, requires_grad=True)
    assert count(lambda: explain_view(x, (24,))).total == 0
    assert x.grad is None and x.grad_fn is None


def test_a_single_size_may_be_given_as_a_number():
    assert "a view with strides (1,)" in explain_view(torch.zeros(2, 3), -1).text


def test_other_numbers_of_values_and_other_things_are_refused():
    with pytest.raises(ValueError, match=r"asked for 6 values\. They hold 5\. Give sizes"):
        explain_view(torch.zeros(6), (5,))
    with pytest.raises(TypeError, match="layout of a list was asked"):
        explain_view([1, 2], (2,))
    with pytest.raises(TypeError, match="no element addresses"):
        explain_view(torch.eye(2).to_sparse(), (4,))


@pytest.mark.parametrize("source", VIEW_SOURCES)
def test_a_source_sets_sizes_and_strides_to_what_torch_gives(source):
    a = torch.arange(24.0).view(2, 3, 4)
    explorer, view = ViewExplorer(source, wanted=(-1,)), VIEW_SOURCES[source](a)
    assert explorer.sizes.value == str(tuple(view.shape)).strip("()")
    assert explorer.strides.value == str(tuple(view.stride())).strip("()")
    verdict = explorer.view.status
    try:
        assert f"a view with strides {view.view(-1).stride()}" in verdict
    except RuntimeError:
        assert "no view, only a copy" in verdict


def test_numbers_of_ones_own_free_the_source():
    explorer = ViewExplorer()
    explorer.strides.value = "12, 4, 2"
    assert explorer.source.value == FREE and "strides (4, 2)" in explorer.view.status
    explorer.source.value = "a"
    assert explorer.strides.value == "12, 4, 1" and "strides (4, 1)" in explorer.view.status


@pytest.mark.parametrize(
    ("sizes", "strides", "wanted", "said"),
    [
        ("2, x", "1, 1", "2", "It holds more than whole numbers"),
        ("2, 3", "1", "6", "one stride for each size"),
        ("2", "-1", "2", "none is negative"),
        ("2000", "1000", "2000", "would reach element 1,999,000"),
        ("2, 3", "3, 1", "5", "They hold 5"),
        ("2, 3", "3, 1", "-1, -1", "Only one size can be left open"),
    ],
)
def test_numbers_that_make_no_tensor_are_answered_by_a_sentence(sizes, strides, wanted, said):
    explorer = ViewExplorer()
    with explorer.together():
        explorer.sizes.value, explorer.strides.value, explorer.wanted.value = sizes, strides, wanted
    assert said in explorer.view.status and said in repr(explorer)


def test_an_unknown_source_is_refused():
    with pytest.raises(ValueError, match=r"source 'b' was asked .* Choose from a, a\.transpose"):
        ViewExplorer("b")


def test_the_largest_picture_of_a_rule_is_small():
    wide = view_rule(torch.zeros((1,) * 12 + (4,)), (2, 2, *(1,) * 8))
    assert len(show(wide)._repr_html_()) < 150_000
