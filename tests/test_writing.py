"""A write through one alias: who sees it, and whose version moves."""

from __future__ import annotations

import re

import numpy
import pytest
import torch

from insidetorch import WriteThrough
from insidetorch.draw.writing import write_svg, write_text
from insidetorch.observe import private
from insidetorch.observe.writing import WAYS, write_through


def made():
    a = torch.arange(12.0).view(3, 4).clone()
    return a, {name: make(a) for name, make in WAYS.items()}


@pytest.mark.parametrize("way", WAYS)
def test_a_value_changes_where_the_written_byte_is_read_and_nowhere_else(way):
    _, ways = made()
    for index in range(ways[way].size if way == "a.numpy()" else ways[way].numel()):
        write = write_through(way, index)
        target = next(r for r in write.readers if r.name == way)
        byte = target.bytes[index]
        for reader in write.readers:
            changed = [old != new for old, new in zip(reader.before, reader.after, strict=True)]
            if byte < 0:  # memory of its own
                assert changed == [reader is target and k == index for k in range(len(changed))]
            else:
                assert changed == [b == byte for b in reader.bytes]


@pytest.mark.parametrize("way", WAYS)
def test_a_version_moves_where_the_counter_is_shared(way):
    _, ways = made()
    for reader in write_through(way, 0).readers:
        if reader.version_before is None:
            assert reader.name == "a.numpy()"
            continue
        moved = reader.version_after > reader.version_before
        if way == "a.numpy()":
            assert not moved
        else:
            assert moved == private.share_version(ways[way], ways[reader.name])


def test_torch_refuses_to_add_to_an_expanded_tensor_and_nothing_changes():
    write = write_through("a[:1].expand(2, 4)", None)
    assert "more than one element of the written-to tensor" in write.refusal
    assert not any(reader.changed for reader in write.readers)
    assert "torch refuses" in write_text(write)


def test_text_and_picture_hold_the_same_values():
    write = write_through("a.t()", 1)
    text, picture = write_text(write), write_svg(write, live=True)
    assert "a.data               version 0              0  1  2  3  4→100" in text
    assert len(re.findall('class="new m"', picture)) == sum(r.changed for r in write.readers)
    assert picture.count("was 4<") == sum(r.changed for r in write.readers) == 8


def test_looking_does_not_depend_on_the_users_modes():
    expected = write_through("a", 0)
    with torch.inference_mode(), torch.device("meta"):
        assert write_through("a", 0) == expected


def test_a_place_that_is_not_there_is_refused():
    with pytest.raises(IndexError, match=r"Place 4 of a\[1\] .* has 4 values\. Give a place from"):
        write_through("a[1]", 4)


def test_the_slider_has_a_place_for_each_value():
    widget = WriteThrough("a")
    widget.place.value = 11
    assert widget.view.status.startswith("a[2, 3] = 100: seen through a, a.t(), a.reshape(-1)")
    widget.way.value = "a[1]"
    assert (widget.place.max, widget.place.value) == (3, 3)
    widget.what.value = widget.what.options[1]
    assert widget.place.layout.display == "none" and "a[1] += 100" in widget.view.status


def test_an_unknown_way_is_refused():
    with pytest.raises(ValueError, match=r"write through 'b' was asked\. There are 12 ways"):
        WriteThrough("b")


def test_numpy_shares_the_memory_of_a():
    a, ways = made()
    assert isinstance(ways["a.numpy()"], numpy.ndarray)
    assert ways["a.numpy()"].ctypes.data == a.data_ptr()
