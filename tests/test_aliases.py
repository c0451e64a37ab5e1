"""Who shares memory with whom: exact, and by the names that a reader would use."""

from __future__ import annotations

from itertools import product

import numpy
import pytest
import torch

from insidetorch import count, families, relation


def test_common_bytes_are_counted_exactly():
    base, cases = torch.arange(40), 0
    choices = [
        base.as_strided(sizes, strides, offset)
        for sizes in ((3,), (2, 3), (2, 0))
        for strides in product((0, 1, 2, 3, 7), repeat=len(sizes))
        for offset in (0, 1, 5)
    ]
    for a, b in product(choices, repeat=2):
        common = set(a.flatten().tolist()) & set(b.flatten().tolist())
        assert relation(a, b).common_bytes == 8 * len(common)
        cases += 1
    assert cases > 10_000


def test_readings_with_other_dtypes_are_compared_byte_by_byte():
    x = torch.arange(4, dtype=torch.int32)
    upper = x.view(torch.int16)[1::2]
    assert relation(x, upper).common_bytes == 8 and relation(x, upper).same_storage
    assert relation(x[2:], upper).common_bytes == 4
    assert relation(x.view(torch.int16)[::2], upper).common_bytes == 0


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (slice(0, 4), slice(0, 4), "reading the same 32 bytes"),
        (slice(0, 4), slice(2, 6), "on one storage, with 16 bytes in common"),
        (slice(0, 6, 2), slice(1, 6, 2), "on one storage, without a byte in common"),
    ],
)
def test_a_relation_has_words(a, b, words):
    x = torch.arange(6)
    assert relation(x[a], x[b]).words == words
    assert relation(x, x.clone()).words == "on different storages"


def test_huge_overlaps_are_counted_at_once():
    x = torch.zeros(200_000, dtype=torch.int16)
    windows = x.as_strided((100_000, 100_000), (1, 1))
    assert relation(windows, x[199_990:]).common_bytes == 2 * 9
    assert relation(x[:1].expand(2**40), x).common_bytes == 2
    one = torch.zeros(1)
    assert families({"one": one, "many": one.expand(2**40)})[0].runs == (((0, 4),), ((0, 4),))


def test_families_name_tensors_as_a_reader_would():
    layer = torch.nn.Linear(2, 3)
    tied = torch.nn.Linear(2, 3)
    tied.weight = layer.weight
    x = torch.zeros(4, 6)
    found = families(
        {
            "layer": layer,
            "tied": tied,
            "x": x,
            "again": x,
            "parts": [x[0], {"right": (x[:, 3:],)}],
            "alone": torch.ones(1),
        }
    )
    assert [[m.names for m in f.members] for f in found] == [
        [("x", "again"), ("parts[0]",), ("parts[1]['right'][0]",)]
    ]
    assert [m.role for m in found[0].members][1:] == ["view of x", "view of x"]
    shared = families({"layer": layer, "tied": tied}, alone=True)
    assert ("layer.weight", "tied.weight") in [m.names for f in shared for m in f.members]


def test_holders_without_a_name_are_counted():
    x = torch.zeros(2, 3)
    row, part = x[0], [x[1]]
    assert families({"x": x, "row": row, "part": part})[0].others == 0
    assert families({"row": row, "part": part})[0].others == 1
    del x
    assert families({"row": row, "part": part})[0].others == 1  # the base that its views keep
    assert families({"row": row}, alone=True)[0].others == 2


def test_gradients_and_arrays_are_found():
    array = numpy.zeros(3)
    w = torch.ones(3, requires_grad=True)
    w.grad = torch.zeros(3)
    first, second = torch.from_numpy(array), torch.from_numpy(array)
    found = families({"w": w, "g": w.grad[1:], "first": first, "second": second})
    assert [[m.name for m in f.members] for f in found] == [["w.grad", "g"]]
    assert first.data_ptr() == second.data_ptr()  # one array, yet two storages for torch


def test_members_without_addresses_are_left_out_and_hard_ones_are_not():
    released = torch.ones(8)
    part = released[2:]
    released.untyped_storage().resize_(0)
    found = families({"s": torch.eye(2).to_sparse(), "released": released, "part": part})
    assert [[m.name for m in f.members] for f in found] == [["released", "part"]]


def test_runs_are_the_bytes_that_a_member_reads():
    x = torch.arange(200)
    members = {"x": x, "rows": x.view(10, 20)[::2], "every": x[::2], "column": x.view(10, 20)[:, 3]}
    family = families(members)[0]
    for (name, t), runs in zip(members.items(), family.runs, strict=True):
        covered = {b for start, end in runs for b in range(start, end)}
        read = {8 * k + i for k in t.flatten().tolist() for i in range(8)}
        assert covered == read if name != "every" else covered >= read, name


def test_count_tells_operators_in_order():
    x = torch.ones(3)
    counted = count(lambda: ((x + 1) * 2 + x).sum())
    assert counted.calls == (
        ("aten.add.Tensor", 2),
        ("aten.mul.Tensor", 1),
        ("aten.sum.default", 1),
    )
    assert counted["aten.add"] == 2 and counted["aten.mul.Tensor"] == 1 and counted["aten.t"] == 0
    assert counted.total == 4 and str(count(lambda: None)) == "no operator"
