"""MiniTorch holds what the real torch holds, and a learner's piece is judged alone."""

from __future__ import annotations

import operator
from itertools import permutations, product
from math import prod

import pytest
import torch

from insidetorch import mini
from insidetorch.mini import alias, assemble, new
from insidetorch.mini.assembly import PIECES

DTYPES = {
    "f": torch.float32,
    "d": torch.float64,
    "i": torch.int32,
    "q": torch.int64,
    "B": torch.uint8,
}
SIZES = [sizes for dims in range(4) for sizes in product(range(4), repeat=dims)]
OFFSETS = (0, 1, 5)


def opened(t):
    """The tensor as the real torch reads it, on the same bytes."""
    dtype = DTYPES[t.dtype]
    data = t.storage.bytes
    storage = torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)
    return storage.as_strided(t.sizes, t.strides, t.offset)


def numbers(m, sizes, dtype="d"):
    return m.new(range(1, 1 + prod(sizes)), sizes, dtype)


def same(t, expected):
    assert t.sizes == tuple(expected.shape) and DTYPES[t.dtype] == expected.dtype
    assert list(t) == expected.flatten().tolist() == opened(t).flatten().tolist()


def check_contiguous_strides(m):
    for sizes in SIZES:
        strides = m.contiguous_strides(sizes)
        assert type(strides) is tuple and strides == torch.empty(sizes).stride()


def check_elements(m):
    for letter, dtype in DTYPES.items():
        storage = m.Storage(16)
        elements = storage.elements(letter)
        assert list(elements) == [0] * (16 // dtype.itemsize)
        elements[1] = 7
        assert torch.frombuffer(storage.bytes, dtype=dtype).tolist() == list(elements)
        torch.frombuffer(storage.bytes, dtype=dtype)[0] = 9
        assert elements[0] == 9 and elements[1] == 7


def check_reading(m):
    """Every index of every tensor: its address, its value, and writes from both sides."""
    addresses = 0
    for letter, offset in product(DTYPES, OFFSETS):
        for sizes in SIZES:
            for dims in permutations(range(len(sizes))):
                memory = numbers(m, (prod(sizes) + offset,), letter)
                strides = torch.empty(sizes).permute(dims).stride()
                t = m.alias(memory, [sizes[d] for d in dims], strides, offset)
                twin = opened(t)
                start, itemsize = opened(memory).data_ptr(), twin.element_size()
                assert list(t) == twin.flatten().tolist()
                for index in product(*map(range, t.sizes)):
                    assert t.position(index) * itemsize == twin[index].data_ptr() - start
                    addresses += 1
                twin += 100
                assert list(t) == twin.flatten().tolist()
                t.write(range(twin.numel()))
                assert twin.flatten().tolist() == list(range(twin.numel()))
    assert addresses > 20_000


def check_any_strides(m):
    memory = numbers(m, (64,))
    for sizes in SIZES:
        for strides in product((0, 1, 2, 7), repeat=len(sizes)):
            same(m.alias(memory, sizes, strides, 3), opened(memory).as_strided(sizes, strides, 3))


def check_permute(m):
    for sizes in SIZES:
        t = numbers(m, (prod(sizes) + 2,))
        t = m.alias(t, sizes, torch.empty(sizes).stride(), 2)
        for dims in permutations(range(len(sizes))):
            moved, expected = m.permute_kernel(t, dims), opened(t).permute(dims)
            same(moved, expected)
            assert moved.strides == expected.stride() and moved.storage is t.storage
            back = permutations(range(len(sizes)))
            for again in back:  # of a tensor that is not contiguous
                same(m.permute_kernel(moved, again), expected.permute(again))


CHECKS = {
    "contiguous_strides": check_contiguous_strides,
    "elements": check_elements,
    "reading": check_reading,
    "any strides": check_any_strides,
    "permute": check_permute,
}


@pytest.mark.parametrize("name", CHECKS)
def test_the_reference_agrees_with_torch(name):
    CHECKS[name](mini)


@pytest.mark.parametrize("name", CHECKS)
def test_an_assembled_reference_agrees_with_torch(name):
    CHECKS[name](assemble())


def storage(init, elements):
    return type("Storage", (), {"__init__": init, "elements": elements})


def tensor(position=mini.Tensor.position, iterate=mini.Tensor.__iter__):
    return type("Tensor", (), {"position": position, "__iter__": iterate})


def strides_where_zero_counts(sizes):
    return tuple(prod(sizes[d + 1 :]) for d in range(len(sizes)))


def strides_of_columns(sizes):
    return tuple(prod(max(size, 1) for size in sizes[:d]) for d in range(len(sizes)))


def strides_as_a_list(sizes):
    return [prod(max(size, 1) for size in sizes[d + 1 :]) for d in range(len(sizes))]


def without_offset(self, index):
    return sum(i * s for i, s in zip(index, self.strides, strict=True))


def counted_in_bytes(self, index):
    return self.offset + sum(i * s * 8 for i, s in zip(index, self.strides, strict=True))


def in_storage_order(self):
    return iter(self.storage.elements(self.dtype)[self.offset : self.offset + prod(self.sizes)])


def columns_first(self):
    elements = self.storage.elements(self.dtype)
    for index in product(*(range(size) for size in reversed(self.sizes))):
        yield elements[self.position(index[::-1])]


def sizes_only(t, dims):
    return alias(t, [t.sizes[d] for d in dims], t.strides)


def offset_lost(t, dims):
    return alias(t, [t.sizes[d] for d in dims], [t.strides[d] for d in dims], 0)


def backwards(t, dims):
    where = [list(dims).index(d) for d in range(len(dims))]
    return alias(t, [t.sizes[d] for d in where], [t.strides[d] for d in where])


def copied(t, dims):
    turned = alias(t, [t.sizes[d] for d in dims], [t.strides[d] for d in dims])
    return new(turned, turned.sizes, t.dtype)


WRONG = {
    "a size of 0 makes strides 0": (
        "contiguous_strides",
        {"contiguous_strides": strides_where_zero_counts},
    ),
    "columns first": ("contiguous_strides", {"contiguous_strides": strides_of_columns}),
    "a list": ("contiguous_strides", {"contiguous_strides": strides_as_a_list}),
    "elements are copies": (
        "elements",
        {
            "Storage": storage(
                mini.Storage.__init__, lambda self, dtype: memoryview(self.bytes[:]).cast(dtype)
            )
        },
    ),
    "elements are bytes": (
        "elements",
        {"Storage": storage(mini.Storage.__init__, lambda self, dtype: memoryview(self.bytes))},
    ),
    "offset forgotten": ("reading", {"Tensor": tensor(without_offset)}),
    "position in bytes": ("reading", {"Tensor": tensor(counted_in_bytes)}),
    "storage order": ("reading", {"Tensor": tensor(iterate=in_storage_order)}),
    "storage order, any strides": ("any strides", {"Tensor": tensor(iterate=in_storage_order)}),
    "column-major values": ("reading", {"Tensor": tensor(iterate=columns_first)}),
    "only sizes permuted": ("permute", {"permute_kernel": sizes_only}),
    "offset lost": ("permute", {"permute_kernel": offset_lost}),
    "the inverse permutation": ("permute", {"permute_kernel": backwards}),
    "a copy": ("permute", {"permute_kernel": copied}),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_piece_is_seen(wrong):
    check, pieces = WRONG[wrong]
    with pytest.raises((AssertionError, IndexError)):
        CHECKS[check](assemble(**pieces))


def test_broadcast_agrees_with_torch():
    fits = 0
    for a, b in product(SIZES, repeat=2):
        try:
            expected = tuple(torch.broadcast_shapes(a, b))
        except RuntimeError:
            with pytest.raises(ValueError, match=r"From the right, two .* neither is 1\. Give"):
                mini.broadcast(a, b)
        else:
            assert mini.broadcast(a, b) == expected
            fits += 1
    assert 1_000 < fits < len(SIZES) ** 2


def broadcastable():
    for a, b in product(SIZES, repeat=2):
        try:
            mini.broadcast(a, b)
        except ValueError:
            continue
        yield a, b


def test_pointwise_kernels_agree_with_torch():
    for a, b in broadcastable():
        x, y = numbers(mini, a), numbers(mini, b[::-1])
        y = mini.permute_kernel(y, range(len(b))[::-1])
        for fn in (operator.sub, operator.truediv):
            out = mini.pointwise(fn)(x, y)
            same(out, fn(opened(x), opened(y)))
            assert out.storage not in (x.storage, y.storage)


def test_pointwise_kernels_keep_the_dtype_and_take_any_number_of_tensors():
    for letter in DTYPES:
        x, y, z = (numbers(mini, sizes, letter) for sizes in ((2, 1), (3,), ()))
        kernel = mini.pointwise(lambda x, y, z: x * y + z)
        same(kernel(x, y, z), opened(x) * opened(y) + opened(z))
        same(
            mini.pointwise(operator.neg)(new([], (0,), letter)),
            torch.empty(0, dtype=DTYPES[letter]),
        )


def test_sums_agree_with_torch():
    for letter, sizes in product(DTYPES, SIZES):
        t = numbers(mini, sizes[::-1], letter)
        t = mini.permute_kernel(t, range(len(sizes))[::-1])
        for chosen in product((False, True), repeat=len(sizes)):
            dims = [d for d, take in enumerate(chosen) if take]
            if dims:  # torch takes no dims for all of them
                same(mini.sum_kernel(t, dims), opened(t).sum(dims, keepdim=True))
        assert list(mini.sum_kernel(t, ())) == list(t)


def test_sum_to_undoes_every_broadcast():
    undone = 0
    for sizes, small in product(SIZES, repeat=2):
        t = numbers(mini, sizes)
        try:
            expected = opened(t).sum_to_size(small)
        except RuntimeError:
            with pytest.raises(ValueError, match=r"asked to be summed .* do not broadcast .* Give"):
                mini.sum_to(t, small)
        else:
            same(mini.sum_to(t, small), expected)
            undone += 1
    assert undone > 500
    assert mini.sum_to(t, t.sizes) is t


def test_an_alias_keeps_the_offset_unless_one_is_given():
    t = alias(numbers(mini, (6,)), (2,), (1,), 3)
    assert list(alias(t, (3,), (1,))) == [4, 5, 6] and list(alias(t, (3,), (1,), 0)) == [1, 2, 3]


def test_new_refuses_another_number_of_values():
    with pytest.raises(ValueError, match=r"sizes \(2, 3\) .* with 5 values\. It has 6 .* Give one"):
        new(range(5), (2, 3))


def test_new_refuses_another_dtype():
    with pytest.raises(ValueError, match=r"dtype 'h'\. .* dtypes f, d, i, q, B\. Give one"):
        new([1], (), "h")


def test_a_pointwise_kernel_refuses_two_dtypes():
    with pytest.raises(TypeError, match=r"dtypes d, i\. MiniTorch promotes no types\. Make all"):
        mini.pointwise(operator.add)(new([1], ()), new([1], (), "i"))


def test_an_index_needs_one_number_per_dimension():
    with pytest.raises(ValueError, match="argument"):
        new(range(6), (2, 3)).position((1,))


def test_the_reference_sees_the_learners_names():
    m = assemble(contiguous_strides=strides_of_columns)
    assert m.new(range(6), (2, 3)).strides == (1, 2)
    m = assemble(Tensor=tensor(iterate=lambda self: iter([40.0, 2.0])))
    assert list(m.sum_kernel(m.new([1, 1], (2,)), (0,))) == [40.0, 2.0]


def test_a_learner_who_asks_the_reference_for_the_answer_asks_themselves():
    m = assemble(contiguous_strides=lambda sizes: mini.contiguous_strides(sizes))
    with pytest.raises(RecursionError):
        m.contiguous_strides((2, 3))


# As in a learner's notebook: an earlier piece, a helper, and the reference under other names.
def contiguous_strides(sizes):
    raise AssertionError("an earlier piece of the notebook was used")


def helper(t, sizes):
    return alias(t, sizes, contiguous_strides(sizes))


def permute_kernel(t, dims):
    made = mini.new([0], (1,)), new([0], (1,)), helper(t, t.sizes)
    assert all(type(other) is type(t) for other in made)
    return alias(t, [t.sizes[d] for d in dims], [t.strides[d] for d in dims])


def test_the_learners_functions_see_the_assembled_names():
    m = assemble(permute_kernel=permute_kernel)
    moved = m.permute_kernel(m.new(range(6), (2, 3)), (1, 0))
    assert type(moved) is m.Tensor is not mini.Tensor
    with pytest.raises(AssertionError):
        permute_kernel(m.new(range(6), (2, 3)), (1, 0))


made = []


def counting(*, start=1):
    global made
    made = [*made, start]
    return made


def test_two_functions_of_a_learner_share_their_globals_and_leave_the_notebook_alone():
    m = assemble(contiguous_strides=counting, permute_kernel=lambda: made)
    assert m.contiguous_strides() == m.permute_kernel() == [1] and made == []


def test_a_class_of_the_learners_may_hold_helpers_and_call_super():
    class Storage(mini.Storage):
        filling = 7

        def __init__(self, nbytes):
            super().__init__()
            self.bytes = bytearray([self.filling] * nbytes)

        def elements(self, dtype):
            return self.cast(dtype)

        def cast(self, dtype):
            return memoryview(self.bytes).cast(dtype)

    m = assemble(Storage=Storage)
    assert list(m.Storage(2).elements("B")) == [7, 7] and type(m.Storage(1)) is not Storage


def test_assembled_modules_are_independent():
    before = {name: getattr(mini, name) for name in mini.__all__}
    wrong = assemble(contiguous_strides=strides_of_columns, Tensor=tensor(without_offset))
    right, other = assemble(), assemble()
    for name in set(mini.__all__) - {"assemble"}:
        assert len({getattr(m, name) for m in (wrong, right, other, mini)}) == 4
    assert {name: getattr(mini, name) for name in mini.__all__} == before
    assert wrong.new(range(6), (2, 3)).strides == (1, 2)
    for m in (right, other, mini):
        assert m.new(range(6), (2, 3)).strides == (3, 1)
    right.ITEMSIZE["d"] = 0
    assert other.ITEMSIZE["d"] == mini.given.ITEMSIZE["d"] == 8


def test_a_traceback_in_an_assembled_module_names_the_line_of_the_reference():
    with pytest.raises(ValueError) as caught:
        assemble().new([1], (2,))
    last = caught.traceback[-1]
    assert last.path.name == "given.py" and "raise ValueError" in str(last.statement)


@pytest.mark.parametrize("name", ["permute_kernal", "new", "position", "_expanded"])
def test_a_name_that_learners_do_not_build_is_refused(name):
    message = rf"assembled with {name}\. Learners build contiguous_strides, .* Give a piece one"
    with pytest.raises(TypeError, match=message):
        assemble(**{name: lambda: None})


def test_a_function_that_cannot_be_called_is_refused():
    message = r"permute_kernel, a value of type int\. That cannot be called\. Give the function"
    with pytest.raises(TypeError, match=message):
        assemble(permute_kernel=3)


class OnlyPosition(mini.Tensor):
    def position(self, index):
        return 0


@pytest.mark.parametrize("piece", [OnlyPosition, lambda: None, 3])
def test_a_class_without_its_methods_is_refused(piece):
    message = r"no class which defines position and __iter__ itself\. Give a class Tensor with"
    with pytest.raises(TypeError, match=message):
        assemble(Tensor=piece)


def test_what_learners_build_is_what_the_reference_has():

    for name, methods in PIECES.items():
        assert set(methods) <= set(vars(getattr(mini, name)))
