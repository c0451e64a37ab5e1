"""The views of MiniTorch are those of torch: alone, in random programs, and in an assembly."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from itertools import permutations, product
from math import prod
from pathlib import Path
from random import Random

import pytest
import torch
from test_indexing import sizes_of
from test_mini import DTYPES, numbers, opened

from insidetorch import indexing, mini
from insidetorch.mini import alias, assemble, new
from insidetorch.mini.assembly import PIECES, SOURCES

BUFFER = torch.arange(1024)


def layout(t):
    """Sizes, strides and offset of a tensor of torch."""
    return tuple(t.shape), t.stride(), t.storage_offset()


@cache
def made_layouts():
    """Layouts of fresh tensors, permuted, and then narrowed or expanded."""
    found = set()
    for sizes in (sizes for dims in range(4) for sizes in product(range(5), repeat=dims)):
        for order in permutations(range(len(sizes))):
            t = torch.empty(sizes).permute(order)
            found.add(layout(t))
            for d, size in enumerate(t.shape):
                if size > 1:
                    found |= {layout(t.narrow(d, 1, size - 1)), layout(t.narrow(d, 1, 1))}
                elif size == 1:
                    found.add(layout(t.expand(*t.shape[:d], 3, *t.shape[d + 1 :])))
    return sorted(found)


@cache
def free_layouts():
    """Sizes with strides that no operator need have made, and an offset."""
    return [
        (sizes, strides, 3)
        for dims in range(4)
        for sizes in product(range(4), repeat=dims)
        for strides in product((0, 1, 2, 3, 4, 8), repeat=dims)
    ]


def some(layouts, every):
    """All of up to 2 dimensions, and every n-th of 3."""
    small = [found for found in layouts if len(found[0]) < 3]
    return small + [found for found in layouts if len(found[0]) == 3][::every]


def sources(m, every):
    """Tensors of one MiniTorch storage, each with torch's tensor on the same bytes."""
    memory = numbers(m, (66,))
    for sizes, strides, offset in some(made_layouts(), every):
        t = m.alias(memory, sizes, strides, offset + 2)
        yield t, opened(t)


def wanted_sizes(t):
    """All sizes for the values of `t`, the same with an open size, and some that do not fit."""
    for sizes in sizes_of(prod(t.sizes), 3):
        yield sizes
        yield from ((*sizes[:d], -1, *sizes[d + 1 :]) for d in range(len(sizes)))
    yield from ((-1, -1), (-2, -1), (-1, 5), (0,), (0, -1), (2, 3), (-2, -3), ())


def expanded(t, sizes):
    """torch's answer, but for a negative size, which it lets through where another is 0 (2.13)."""
    out = t.expand(sizes)
    if any(size < 0 for size in out.shape):
        raise RuntimeError("no tensor has a negative size")
    return out


TORCHS = {
    "permute_kernel": torch.Tensor.permute,
    "view_kernel": torch.Tensor.view,
    "reshape": torch.Tensor.reshape,
    "expand_kernel": expanded,
    "narrow_kernel": torch.Tensor.narrow,
    "contiguous": torch.Tensor.contiguous,
}


def share(a, b):
    """Do two tensors of torch have one storage? It may be empty, and then has no address."""
    a, b = (t.as_strided((0,), (1,), 0) for t in (a, b))
    return a.is_set_to(b)


def both(m, name, t, twin, args, seen):
    """What MiniTorch and torch return, or None where both refuse; an error where only one does."""
    try:
        expected = TORCHS[name](twin, *args)
    except (RuntimeError, IndexError):
        with pytest.raises(ValueError, match=r"asked .*\. .*\. (Give|Keep|Use|Count) "):
            getattr(m, name)(t, *args)
        seen[name, "refused"] += 1
        return None
    seen[name, "shares" if share(expected, twin) else "copies"] += 1
    return getattr(m, name)(t, *args), expected


def same_layout(out, expected):
    return layout(expected) == (out.sizes, out.strides, out.offset)


def check_views(m, name, t, twin, cases, seen):
    """The same view, or refused by both."""
    for args in cases:
        found = both(m, name, t, twin, args, seen)
        if found is not None:
            out, expected = found
            assert same_layout(out, expected) and out.storage is t.storage
            assert out.dtype == t.dtype and out is not t


def check_copy(t, out, expected):
    """Ours lies in a storage of its own, which holds what torch's copy holds."""
    assert same_layout(out, expected) and out.storage is not t.storage
    assert list(out) == expected.flatten().tolist() and out.dtype == t.dtype
    assert len(out.storage.bytes) == expected.untyped_storage().nbytes()


def check_view_strides(m, every):
    seen = Counter()
    for sizes, strides, _ in some(made_layouts(), every) + some(free_layouts(), every):
        t = BUFFER.as_strided(sizes, strides)
        for wanted in [*sizes_of(prod(sizes), 3), (5,), (2, 2), (0,), ()]:
            try:
                expected = t.view(wanted).stride()
            except RuntimeError:
                expected = None
            found = m.view_strides(sizes, strides, wanted)
            assert found == expected == indexing.view_strides(sizes, strides, wanted)
            assert type(found) is type(expected)
            seen[expected is None] += 1
    assert min(seen.values()) > 3_000


def check_view(m, every):
    seen = Counter()
    for t, twin in sources(m, every):
        check_views(m, "view_kernel", t, twin, [(sizes,) for sizes in wanted_sizes(t)], seen)
    assert min(seen.values()) > 3_000


def check_expand(m, every):
    seen = Counter()
    leads = ((), (0,), (1,), (3,), (-1,), (-2,), (1, 1), (1, 2), (2, 1))
    for t, twin in sources(m, 4 * every):
        own = product(*({size, -1, 0, 2} for size in t.sizes))
        wanted = [(*lead, *sizes) for lead, sizes in product(leads, own)]
        wanted += [t.sizes[1:], t.sizes[:-1], (-2,) * len(t.sizes)]
        check_views(m, "expand_kernel", t, twin, [(sizes,) for sizes in wanted], seen)
    assert min(seen.values()) > 3_000


def check_narrow(m, every):
    seen = Counter()
    for t, twin in sources(m, every):
        for dim, size in enumerate((*t.sizes, 1)):
            cases = product((dim,), range(size + 2), range(-1, size + 2))
            check_views(m, "narrow_kernel", t, twin, cases, seen)
    assert min(seen.values()) > 3_000


def check_contiguous(m, every):
    seen = Counter()
    for letter in DTYPES:
        memory = numbers(m, (80,), letter)
        n = every if letter == "d" else 4 * every
        for sizes, strides, offset in some(made_layouts(), n) + some(free_layouts(), n):
            t = m.alias(memory, sizes, strides, offset)
            twin = opened(t)
            out, expected = m.contiguous(t), twin.contiguous()
            assert (out is t) == (expected is twin) == twin.is_contiguous()
            if out is not t:
                check_copy(t, out, expected)
            seen[out is t] += 1
    assert min(seen.values()) > 1_500


def check_reshape(m, every):
    seen = Counter()
    for t, twin in sources(m, every):
        for sizes in wanted_sizes(t):
            found = both(m, "reshape", t, twin, (sizes,), seen)
            if found is None:
                continue
            out, expected = found
            if share(expected, twin):
                assert same_layout(out, expected) and out.storage is t.storage and out is not t
            else:
                check_copy(t, out, expected)
    assert min(seen.values()) > 1_500


CHECKS = {
    "view_strides": check_view_strides,
    "view_kernel": check_view,
    "expand_kernel": check_expand,
    "narrow_kernel": check_narrow,
    "contiguous": check_contiguous,
    "reshape": check_reshape,
}


@pytest.mark.parametrize("name", CHECKS)
def test_the_reference_views_as_torch_does(name, every):
    CHECKS[name](mini, every)


@pytest.mark.parametrize("name", CHECKS)
def test_an_assembled_reference_views_as_torch_does(name, every):
    CHECKS[name](assemble(), 3 * every)


# Random programs: the same operations on tensors of MiniTorch and of torch, in memories apart.
WRITES = ("write", "torch writes")


def arguments(name, t, random):
    """Arguments that are right more often than not."""
    dims, count = len(t.sizes), prod(t.sizes)
    if name == "permute_kernel":
        return (random.sample(range(dims), dims),)
    if name in ("view_kernel", "reshape"):
        sizes = list(random.choice(sizes_of(random.choice((count, count, count, 6)), 3)))
        if sizes and random.random() < 0.3:
            sizes[random.randrange(len(sizes))] = -1
        return (sizes,)
    if name == "expand_kernel":
        own = [random.choice((size, -1, 3 if size == 1 else size)) for size in t.sizes]
        return (random.choice(([], [1], [2], [1, 1], [-1])) + own,)
    if name == "narrow_kernel":
        dim = random.randrange(max(dims, 1))
        size = t.sizes[dim] if dims else 1
        start = random.randrange(size + 1)
        return dim, start, random.randrange(size - start + 2)
    return ()


def write(name, t, twin, random):
    """Write a number to each index, or only to one, through the real torch on our bytes."""
    indices = list(product(*map(range, t.sizes)))
    values = [random.randrange(1000) for _ in indices]
    if name == "write":
        t.write(values)
    elif indices:
        indices, values = [random.choice(indices)], values[:1]
        opened(t)[indices[0]] = values[0]
    for index, value in zip(indices, values, strict=True):
        twin[index] = value


def same_values(pairs):
    for t, twin in pairs:
        assert list(t) == twin.flatten().tolist() == opened(t).flatten().tolist()


def run_program(m, seed, seen):
    random = Random(seed)
    t = numbers(m, random.choice(((2, 3, 4), (4, 1, 3), (2, 2, 3), (2, 6), (), (2, 0, 3))))
    pairs = [(t, opened(t).clone())]
    for _ in range(random.randint(1, 8)):
        name = random.choice(("permute_kernel", *TORCHS, *WRITES))
        t, twin = random.choice((pairs[-1], random.choice(pairs)))
        if name in WRITES:
            write(name, t, twin, random)
            same_values(pairs)
            seen[name, "done"] += 1
            continue
        found = both(m, name, t, twin, arguments(name, t, random), seen)
        if found is None or found[1].numel() > 64:
            continue
        out, expected = found
        assert same_layout(out, expected) and out.dtype == "d"
        for older, old in pairs:
            assert (out is older) == (expected is old)
            assert (out.storage is older.storage) == share(expected, old)
        same_values([found])
        pairs.append(found)


def test_random_programs_of_views_and_writes_run_in_step_with_torch():
    seen = Counter()
    for seed in range(2_500):
        run_program(mini, seed, seen)
    assert len(seen) == 14 and min(seen.values()) > 100, seen


# What wrong pieces lean on: in an assembly, `mini` means the module that they are assembled in.
right = assemble()


def fresh_strides(sizes, strides, wanted):
    return right.contiguous_strides(wanted) if prod(sizes) == prod(wanted) else None


def strides_of_contiguous_only(sizes, strides, wanted):
    fits = strides == right.contiguous_strides(sizes) and prod(sizes) == prod(wanted)
    return right.contiguous_strides(wanted) if fits else None


def strides_without_merging(sizes, strides, wanted):
    return strides if tuple(sizes) == tuple(wanted) else None


def view_rule_ignored(t, sizes):
    return alias(t, sizes, right.contiguous_strides(sizes))


def view_from_the_start(t, sizes):
    view = right.view_kernel(t, sizes)
    return alias(view, view.sizes, view.strides, 0)


def view_that_copies(t, sizes):
    return right.reshape(t, sizes)


def stride_kept(t, sizes):
    wide = right.expand_kernel(t, sizes)
    return alias(wide, wide.sizes, (1,) * (len(sizes) - len(t.sizes)) + t.strides)


def stretched_unasked(t, sizes):
    lead = len(sizes) - len(t.sizes)
    strides = [s if t.sizes[d] == sizes[lead + d] else 0 for d, s in enumerate(t.strides)]
    return alias(t, sizes, [0] * lead + strides)


def from_the_start(t, dim, start, length):
    part = right.narrow_kernel(t, dim, start, length)
    return alias(t, part.sizes, part.strides, start * t.strides[dim])


def one_element_a_step(t, dim, start, length):
    part = right.narrow_kernel(t, dim, start, length)
    return alias(t, part.sizes, part.strides, t.offset + start)


def start_and_stop(t, dim, start, stop):
    return right.narrow_kernel(t, dim, start, stop - start)


def always_copied(t):
    return new(t, t.sizes, t.dtype)


def copied_unless_strides_are_equal(t):
    return t if t.strides == right.contiguous_strides(t.sizes) else always_copied(t)


def strides_renamed(t):
    return alias(t, t.sizes, right.contiguous_strides(t.sizes))


def copy_in_double(t):
    out = right.contiguous(t)
    return out if out is t else new(t, t.sizes)


def reshape_that_copies(t, sizes):
    return right.view_kernel(always_copied(t), sizes)


def reshape_that_takes_no_strides_for_none(t, sizes):
    strides = right.view_strides(t.sizes, t.strides, sizes)
    return alias(t, sizes, strides) if strides else right.view_kernel(always_copied(t), sizes)


def reshape_that_never_copies(t, sizes):
    return right.view_kernel(alias(t, t.sizes, right.contiguous_strides(t.sizes)), sizes)


WRONG = {
    "view_strides": (fresh_strides, strides_of_contiguous_only, strides_without_merging),
    "view_kernel": (view_rule_ignored, view_from_the_start, view_that_copies),
    "expand_kernel": (stride_kept, stretched_unasked),
    "narrow_kernel": (from_the_start, one_element_a_step, start_and_stop),
    "contiguous": (
        always_copied,
        copied_unless_strides_are_equal,
        strides_renamed,
        copy_in_double,
    ),
    "reshape": (
        reshape_that_copies,
        reshape_that_takes_no_strides_for_none,
        reshape_that_never_copies,
    ),
}


@pytest.mark.parametrize(
    ("name", "wrong"), [(name, wrong) for name, wrongs in WRONG.items() for wrong in wrongs]
)
def test_a_wrong_piece_is_seen(name, wrong, every):
    with pytest.raises((AssertionError, ValueError, IndexError, pytest.fail.Exception)):
        CHECKS[name](assemble(**{name: wrong}), every)


class Reached(Exception):
    pass


def reached(*args):
    raise Reached


# Who calls whom: a learner's piece is met by these pieces of the reference, and by no other.
CALLERS = {
    "view_strides": {"view_kernel", "reshape"},
    "view_kernel": {"reshape"},
    "expand_kernel": set(),
    "narrow_kernel": set(),
    "contiguous": {"reshape"},
    "reshape": set(),
}


@pytest.mark.parametrize("piece", CALLERS)
def test_a_learners_piece_is_met_by_the_pieces_that_call_it(piece):
    m = assemble(**{piece: reached})
    t = m.alias(m.new(range(6), (2, 3)), (3, 2), (1, 3))
    calls = {
        "view_strides": ((3, 2), (1, 3), (6,)),
        "view_kernel": (t, (3, 2)),
        "expand_kernel": (t, (4, 3, 2)),
        "narrow_kernel": (t, 0, 1, 2),
        "contiguous": (t,),
        "reshape": (t, (6,)),
    }
    met = set()
    for name, args in calls.items():
        try:
            getattr(m, name)(*args)
        except Reached:
            met.add(name)
    assert met == CALLERS[piece] | {piece}


def test_contiguous_asks_the_learners_strides():
    m = assemble(contiguous_strides=lambda sizes: (1, 2))
    t = m.new(range(4), (2, 2))
    assert m.contiguous(t) is t
    assert m.contiguous(m.alias(t, (2, 2), (2, 1))).strides == (1, 2)


def test_what_is_given_needs_no_piece_of_views():
    m = assemble(**dict.fromkeys(CALLERS, reached))
    t = m.pointwise(lambda x, y: x + y)(m.new([1, 2], (2, 1)), m.new([10, 20], (2,)))
    assert list(m.sum_to(t, (2,))) == [23, 43] and list(m.sum_kernel(t, (0, 1))) == [66]


def test_no_two_sources_define_one_name():
    defined = Counter()
    for source in SOURCES:
        body = ast.parse(Path(mini.__file__).with_name(source).read_text(encoding="utf-8")).body
        defined.update({s.name for s in body if isinstance(s, ast.FunctionDef | ast.ClassDef)})
    assert set(defined.values()) == {1} and set(CALLERS) <= set(PIECES) & set(defined)


def test_an_expanded_tensor_cannot_be_viewed_across_its_repeats():
    rows = mini.expand_kernel(numbers(mini, (3,)), (2, 3))
    message = (
        r"sizes \(2, 3\) and strides \(0, 1\) was asked to be viewed as \(6,\)\. No strides .*\. "
        r"Use reshape, which copies them\."
    )
    with pytest.raises(ValueError, match=message):
        mini.view_kernel(rows, (-1,))
    assert list(mini.reshape(rows, (-1,))) == [1, 2, 3, 1, 2, 3]


@pytest.mark.parametrize("kernel", [mini.view_kernel, mini.reshape])
@pytest.mark.parametrize("sizes", [(5,), (-1, 4), (-1, -1, 6), (-2, -3), (0, -1), ()])
def test_sizes_for_another_number_of_values_are_refused(kernel, sizes):
    message = r"of 6 values was asked for the sizes \(.*\)\. .* one -1 .*\. Give .* product is 6\."
    with pytest.raises(ValueError, match=message):
        kernel(numbers(mini, (2, 3)), sizes)


@pytest.mark.parametrize("sizes", [(2, 4), (4, 3), (3,), (-1, 2, 3), (-2, 2, 3), (2, 0)])
def test_an_expand_that_would_change_another_size_is_refused(sizes):
    message = r"\(2, 3\) was asked to be expanded to \(.*\)\. Only a size of 1 .*\. Keep the others"
    with pytest.raises(ValueError, match=message):
        mini.expand_kernel(numbers(mini, (2, 3)), sizes)


@pytest.mark.parametrize(
    ("dim", "start", "length"),
    [(2, 0, 1), (-1, 0, 1), (1, -1, 1), (1, 0, 4), (1, 2, 2), (1, 4, 0), (1, 0, -1), (1, 2, -1)],
)
def test_a_narrow_out_of_range_is_refused(dim, start, length):
    message = (
        rf"\(2, 3\) was asked for {length} indices of dimension {dim} from {start} on\. "
        r"It does not have all of these\. Count both from 0"
    )
    with pytest.raises(ValueError, match=message):
        mini.narrow_kernel(numbers(mini, (2, 3)), dim, start, length)


def test_no_indices_are_narrowed_from_a_tensor_without_dimensions():
    with pytest.raises(ValueError, match=r"sizes \(\) was asked for 1 indices of dimension 0"):
        mini.narrow_kernel(numbers(mini, ()), 0, 0, 1)
