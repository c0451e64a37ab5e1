"""What two tensors have in common, and where they differ: torch is the oracle."""

from __future__ import annotations

from itertools import permutations, product

import numpy
import pytest
import torch
from hard_tensors import ANSWERED, SHOWN

from insidetorch import compare, layout_of, relation
from insidetorch.draw.comparison import comparison_text
from insidetorch.observe import compare as module
from insidetorch.observe.compare import comparison_of
from insidetorch.observe.writing import WAYS

BASE = torch.arange(24.0).view(2, 3, 4).clone()


def made(name):
    a = torch.arange(12.0).view(3, 4).clone()
    ways = {way: make(a) for way, make in WAYS.items() if way != "a.numpy()"}
    return ways[name[0]], ways[name[1]]


@pytest.mark.parametrize("pair", list(product([w for w in WAYS if w != "a.numpy()"], repeat=2)))
def test_one_counter_means_that_a_write_to_one_moves_the_other(pair):
    a, b = made(pair)
    found = relation(a, b)
    before = b._version
    torch.autograd.graph.increment_version(a)
    assert found.one_counter == (b._version > before)


@pytest.mark.parametrize(
    ("make", "recorded"),
    [
        (lambda x: (x, x[0]), "b of a"),
        (lambda x: (x[0], x), "a of b"),
        (lambda x: (x[0], x[1].t()), "both of one"),
        (lambda x: (x, x.detach()), ""),
        (lambda x: (x, x.clone()), ""),
        (lambda x: (x, x), ""),
    ],
)
def test_recorded_is_what_torch_keeps_of_views(make, recorded):
    a, b = make(BASE)
    assert relation(a, b).recorded == recorded
    assert relation(a, b).same_object == (a is b)


def test_asking_leaves_versions_and_the_backward_pass_alone():
    w = torch.ones(3, requires_grad=True)
    y = w.exp()
    z = y * 2
    relation(y, y.detach())
    relation(y, y[1:])
    compare(y, z)
    assert y._version == 0
    y.exp().sum().backward()
    assert w.grad is not None


@pytest.mark.parametrize("dims", list(permutations(range(3))))
def test_a_permutation_read_row_by_row_is_named(dims):
    b = BASE.permute(dims).reshape(4, 6)
    values = comparison_of(BASE, b).values
    if dims == (0, 1, 2):
        assert values.order == "recut" and not values.repeated
    else:
        assert (values.order, values.dims) == ("permuted", dims)
        assert b[values.at] == BASE[values.origin]


def test_values_elsewhere_are_found_where_they_stand():
    merged = BASE.view(2, 3, 2, 2).transpose(1, 2).reshape(2, 3, 4)
    values = comparison_of(BASE, merged).values
    assert values.order == "moved" and merged[values.at] == BASE[values.origin]
    assert values.unequal == int((merged != BASE).sum())


def test_equal_and_unequal_values_are_counted():
    other = BASE.clone()
    other[1, 2, 3] = -1
    assert comparison_of(BASE, BASE.clone()).values.order == "equal"
    assert comparison_text(comparison_of(BASE, other)).endswith(
        "values: 1 index differs, first at [1, 2, 3]: 23 and -1"
    )
    close = torch.tensor([3.9210000]), torch.tensor([3.9210005])
    assert "3.921 and 3.921\n" not in compare(*close).text + "\n"
    nan = torch.tensor([1.0, float("nan")])
    assert comparison_of(nan, nan.clone()).values.order == "equal"
    assert comparison_of(nan, nan.flip(0)).values.order == "moved"
    both = torch.tensor([1 + 2j, 3 - 1j])
    assert comparison_of(both, both.flip(0)).values.order == "moved"
    assert comparison_of(both, both.conj()).values.order == "different"


def test_sizes_that_broadcast_are_told():
    text = compare(torch.zeros(64, 1), torch.zeros(64)).text
    assert "(64, 1) and (64,) broadcast to (64, 64), 4,096 pairs of values" in text
    assert "do not broadcast" in compare(torch.zeros(2), torch.zeros(3)).text


def test_equal_values_prove_no_order():
    b = torch.zeros(2, 3)
    assert "as if no dimension was moved (values repeat" in compare(b, b.t()).text


def test_a_relation_is_hidden_from_the_users_modes():
    class Refusing(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise RuntimeError("seen")

    with Refusing():
        found = relation(BASE, BASE)
    assert found.same_object


def test_large_tensors_are_compared_without_their_values(monkeypatch):
    monkeypatch.setattr(module, "MOST_VALUES", 23)
    assert "values: not compared: there are more than 23 of them" in compare(BASE, BASE).text


def test_arrays_are_compared_with_tensors():
    array = numpy.zeros((2, 3), dtype=numpy.float32)
    assert "24 bytes in common" in compare(torch.from_numpy(array), array).text
    flipped = compare(array[:, ::-1], BASE)
    assert "strides of (12, -4) bytes, which torch does not take: At least one" in flipped.text
    assert flipped.svg == "" and "<pre" in flipped._repr_html_()
    assert "float16" in compare(array.astype("f2"), BASE).text
    assert "which torch does not take" in compare(numpy.array(["a"]), BASE).text


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_every_tensor_with_addresses_is_compared(name):
    t = SHOWN[name]()
    before = layout_of(t)
    text = compare(t, BASE).text
    assert "memory: on different storages" in text and "values: " in text
    assert "one and the same tensor" in compare(t, t).text
    assert layout_of(t) == before


@pytest.mark.parametrize("name", sorted(ANSWERED))
def test_every_other_tensor_is_answered_by_a_sentence(name):
    make, _ = ANSWERED[name]
    found = compare(make(), BASE)
    assert "has no element addresses" in found.text and found.svg == ""


def test_other_things_are_refused():
    with pytest.raises(TypeError, match=r"A list was asked to be compared\. Only tensors and"):
        compare([1], BASE)
