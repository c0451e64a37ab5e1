"""The arithmetic of strided memory, compared with torch on exhaustive small sets."""

from __future__ import annotations

from functools import cache
from itertools import islice, product
from math import prod

import pytest
import torch

from insidetorch import indexing

STRIDES = (0, 1, 2, 3, 4, 6, 8, 12, 16)
BUFFER = torch.arange(4096)


@cache
def sizes_of(numel: int, most: int = 4) -> list[tuple[int, ...]]:
    """Every tuple of at most `most` sizes with this product; for 0, of sizes up to 3."""
    if numel == 0:
        lengths = range(1, most)
        return [s for k in lengths for s in product(range(4), repeat=k) if 0 in s]
    if most == 0:
        return [()] if numel == 1 else []
    found = {()} if numel == 1 else set()
    for first in range(1, numel + 1):
        if numel % first == 0:
            found |= {(first, *rest) for rest in sizes_of(numel // first, most - 1)}
    return sorted(found)


def layouts(every: int):
    """All sizes up to 4 in up to 3 dimensions, with every choice of strides."""
    for dims in range(4):
        pairs = product(product(range(5), repeat=dims), product(STRIDES, repeat=dims))
        yield from islice(pairs, 0, None, every if dims == 3 else 1)


def test_view_rule_agrees_with_torch(every):
    cases = viewable = 0
    for sizes, strides in layouts(every):
        t = BUFFER.as_strided(sizes, strides)
        for wanted in sizes_of(prod(sizes)):
            try:
                expected = t.view(wanted).stride()
            except RuntimeError:
                expected = None
            assert indexing.view_strides(sizes, strides, wanted) == expected, (sizes, strides)
            cases += 1
            viewable += expected is not None
    assert cases >= (4_900_000 if every == 1 else 300_000)
    assert 0.2 < viewable / cases < 0.8


def test_elements_are_what_torch_reads(every):
    addresses = 0
    for sizes, strides in layouts(max(every // 4, 1)):
        for offset in (0, 5):
            read = BUFFER.as_strided(sizes, strides, offset).flatten().tolist()
            assert list(indexing.elements(sizes, strides, offset)) == read
            span = (min(read), max(read)) if read else None
            assert indexing.span(sizes, strides, offset) == span
            addresses += len(read)
    assert addresses >= 300_000


def test_contiguous_strides_are_those_of_a_fresh_tensor():
    for dims in range(5):
        for sizes in product(range(4), repeat=dims):
            assert indexing.contiguous_strides(sizes) == torch.empty(sizes).stride()


def test_chunks_of_a_contiguous_tensor_are_one():
    for sizes in product(range(1, 4), repeat=3):
        assert indexing.chunks(sizes, indexing.contiguous_strides(sizes)) == [(prod(sizes), 1)]


def test_wanted_sizes_with_another_product_are_no_view():
    assert indexing.view_strides((2, 3), (3, 1), (4,)) is None


def test_an_index_needs_one_number_per_dimension():
    with pytest.raises(ValueError, match=r"index \(1,\) was asked .* here 2\. Give 2 numbers"):
        indexing.element_offset((1,), (3, 1))


@pytest.mark.parametrize(
    "sizes", [(), (0,), (7,), (12, 12), (1000,), (5, 1000), (8,) * 5, (64, 3, 224, 224), (2,) * 12]
)
def test_edge_indices_are_few_and_hold_both_ends(sizes):
    shown = indexing.edge_indices(sizes)
    assert prod(sum(i >= 0 for i in dim) for dim in shown) <= (144 if prod(sizes) <= 144 else 40)
    for size, dim in zip(sizes, shown, strict=True):
        inside = [i for i in dim if i >= 0]
        assert inside == sorted(set(inside)) and all(i < size for i in inside)
        assert size == 0 or inside[0] == 0
        assert size == 0 or inside[-1] == size - 1 or dim == (0, -1)
        assert (-1 in dim) == (len(inside) < size)
