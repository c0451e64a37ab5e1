"""Who shares memory with whom: exact, and by the names that a reader would use."""

from __future__ import annotations

import subprocess
import sys
from itertools import product

import numpy
import pytest
import torch
from hard_tensors import SHOWN

from insidetorch import count, families, relation, show
from insidetorch.draw.aliases import aliases_svg


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
    found = families({"one": one, "many": one.expand(2**40)})[0]
    assert [m.runs for m in found.members] == [((0, 4),)] * 2


def test_a_relation_runs_no_operator():
    x = torch.empty(10_000, 10_000)
    pairs = [(x, x.t()), (x[::2], x[1::2]), (x[:, :5000], x[:, 5000:]), (x, x.view(torch.int8))]
    assert count(lambda: [relation(a, b) for a, b in pairs]).total == 0


@pytest.mark.skipif(sys.platform == "win32", reason="a mapped file cannot be cut short there")
@pytest.mark.parametrize("touch", [False, True])
def test_a_relation_reads_no_memory(touch, tmp_path):
    # Behind a mapped file that was cut short there is no memory: to read it ends the process.
    code = f"""
import os, torch
from insidetorch import relation
open({str(tmp_path / "data")!r}, "wb").truncate(4 * 10**8)
x = torch.from_file({str(tmp_path / "data")!r}, shared=True, size=10**8)
os.truncate({str(tmp_path / "data")!r}, 0)
assert relation(x, x.view(10_000, 10_000).t()).common_bytes == 4 * 10**8
assert relation(x[::2], x[1::2]).common_bytes == 0
if {touch}: x[5].item()
"""
    ended = subprocess.run([sys.executable, "-c", code], check=False).returncode
    assert (ended < 0) if touch else (ended == 0)


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
    assert families({"row": row}, alone=True)[0].others == 2  # that base, and the other row


def test_gradients_and_arrays_are_found():
    array = numpy.zeros(3)
    w = torch.ones(3, requires_grad=True)
    w.grad = torch.zeros(3)
    first, second = torch.from_numpy(array), torch.from_numpy(array)
    found = families({"w": w, "g": w.grad[1:], "first": first, "second": second})
    assert [[m.name for m in f.members] for f in found] == [["w.grad", "g"], ["first", "second"]]
    assert found[1].storages == 2 and "2 storage objects over the same 24 bytes" in repr(
        show(found)
    )


def test_tensors_made_from_one_array_are_seen_to_share_it():
    array = numpy.zeros(4)
    whole, again, part = (torch.from_numpy(a) for a in (array, array, array[1:]))
    assert relation(whole, again).common_bytes == 32
    assert relation(whole, part).common_bytes == relation(part, whole).common_bytes == 24
    assert relation(whole[:1], part).common_bytes == 0
    assert relation(whole, part).words == "on two storage objects that have 24 bytes in common"
    assert families({"whole": whole, "part": part})[0].members[1].runs[0] == (8, 16)


def test_a_small_part_that_keeps_a_large_block_alive_is_given():
    large = torch.zeros(1000)
    part, half = large[:10], torch.zeros(10)[:5]
    del large
    found = families({"part": part, "half": half, "whole": torch.zeros(3)})
    assert [[m.name for m in f.members] for f in found] == [["part"]]
    assert found[0].is_kept_by_a_part and found[0].read_bytes == 40
    assert "kept alive for less than half" in show(found).alt


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
    for t, member in zip(members.values(), family.members, strict=True):
        covered = {b for start, end in member.runs for b in range(start, end)}
        read = {8 * k + i for k in t.flatten().tolist() for i in range(8)}
        assert covered > read if member.has_holes else covered == read
    assert [m.name for m in family.members if m.has_holes] == ["every"]
    assert "every reads 800 of the bytes 0 to 1,591" in aliases_svg((family,), live=True)


class Proxy:
    """Raises when asked for its class, as some proxies do outside their context."""

    @property
    def __class__(self):
        raise RuntimeError("outside of context")


class Keyless:
    def __repr__(self):
        raise RuntimeError("no text")


def test_an_odd_object_among_the_names_hides_no_other():
    x = torch.zeros(4)
    odd = {"proxy": Proxy(), "keys": {Keyless(): x[1:], "plain": x[2:]}, 7: x[3:]}
    loop = [x]
    loop.append(loop)
    found = families({**odd, "refusing": SHOWN["refusing subclass"](), "loop": loop})
    assert len(found) == 1
    names = [m.name for m in found[0].members]
    assert names == ["keys[a Keyless]", "keys['plain']", "7", "loop[0]"]


def test_a_large_map_is_bounded_and_says_what_it_leaves_out():
    x = torch.zeros(400)
    found = families({f"part_{i}": x[i:] for i in range(200)})
    picture = show(found)
    assert len(found[0].members) == 200 and "and 140 more tensors" in picture.text
    assert len(aliases_svg(found, live=True)) < 100_000


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
