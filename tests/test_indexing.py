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
        assert indexing.chunks(sizes, indexing.contiguous_strides(sizes)) == [
            (prod(sizes), 1, (0, 1, 2))
        ]


def test_wanted_sizes_with_another_product_are_no_view():
    assert indexing.view_strides((2, 3), (3, 1), (4,)) is None


def test_an_index_needs_one_number_per_dimension():
    with pytest.raises(ValueError, match=r"index \(1,\) was asked .* here 2\. Give 2 numbers"):
        indexing.element_offset((1,), (3, 1))


def test_an_open_size_is_inferred_as_torch_does():
    for numel, wanted in product(range(9), product(range(-2, 5), repeat=2)):
        try:
            expected = tuple(torch.empty(numel).view(wanted).shape)
        except RuntimeError:
            expected = None
        try:
            found = indexing.inferred(numel, wanted)
        except ValueError:
            found = None
        assert found == expected, (numel, wanted)


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ((5,), "They hold 5"),
        ((-1, 5), "must divide"),
        ((-1, -1), "Only one size"),
        ((-3, -4), "No size but -1"),
    ],
)
def test_sizes_that_do_not_fit_are_refused_with_the_reason(wanted, why):
    with pytest.raises(ValueError, match=rf"asked for 12 values\. .*{why}.* product is 12"):
        indexing.inferred(12, wanted)


def test_fillings_end_with_the_chunk_that_does_not_fit():
    # (2, 3, 4) with its first two dimensions swapped: chunks of 3, 2 and 4 elements.
    [last, left] = indexing.fillings((3, 2, 4), (4, 12, 1), (6, 4))
    assert last.fits and last.wanted == (1,) and last.chunk.dims == (2,)
    assert not left.fits and left.wanted == (0,) and left.chunk == (2, 12, (1,))
