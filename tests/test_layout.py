"""Layouts and x-rays hold what torch holds, and looking changes nothing."""

from __future__ import annotations

import warnings
from itertools import product

import pytest
import torch
from hard_tensors import ANSWERED, SHOWN

from insidetorch import count, indexing, show
from insidetorch.observe import private
from insidetorch.observe.layout import NoStorageError, layout_of
from insidetorch.observe.xray import strided_xray, xray_of

READABLE = [
    n for n in SHOWN if "released" not in n and n not in ("refusing subclass", "lying subclass")
]


def test_this_torch_has_every_private_name():
    assert private.missing() == []


@pytest.mark.parametrize("name", SHOWN)
def test_layout_says_what_torch_says(name):
    t = SHOWN[name]()
    record = layout_of(t)
    if type(t).__name__ == "Lying":
        t = t.as_subclass(torch.Tensor)
    with torch._C.DisableTorchFunctionSubclass():
        assert record.sizes == tuple(t.shape) and record.strides == t.stride()
        assert record.offset == t.storage_offset() and record.itemsize == t.element_size()
        assert record.numel == t.numel() and record.nbytes == t.nbytes
        assert record.storage_bytes == t.untyped_storage().nbytes()
        assert record.is_contiguous == t.is_contiguous()
        assert (record.requires_grad, record.is_leaf) == (t.requires_grad, t.is_leaf)
        assert record.version == (None if t.is_inference() else t._version)


@pytest.mark.parametrize("name", READABLE)
def test_every_shown_cell_links_to_the_memory_that_holds_its_value(name):
    t = SHOWN[name]()
    record = xray_of(t)
    start = t.untyped_storage().data_ptr()
    for cell in record.cells:
        assert t[cell.index].data_ptr() == start + record.layout.byte(cell.index)
        assert cell.element * record.layout.itemsize == record.layout.byte(cell.index)


@pytest.mark.parametrize("name", [n for n in READABLE if n not in ("packed dtype", "float8")])
def test_every_shown_cell_shows_its_value(name):
    t = SHOWN[name]().detach()
    for cell in xray_of(t).cells:
        plain = t.dequantize() if t.is_quantized else t.resolve_conj().resolve_neg()
        expected = plain[cell.index].item()
        assert cell.value == pytest.approx(expected, nan_ok=True)


def test_values_of_dtypes_that_torch_cannot_index_are_their_bytes():
    t = torch.arange(4, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    assert [c.value for c in xray_of(t).cells] == ["0x00", "0x01", "0x02", "0x03"]


def test_all_small_layouts_are_shown_as_torch_reads_them():
    buffer, cases = torch.arange(60), 0
    for sizes in product(range(4), repeat=3):
        for strides in product((0, 1, 2, 5, 9), repeat=3):
            t = buffer.as_strided(sizes, strides, 3)
            record = xray_of(t)
            assert [c.value for c in record.cells] == t.flatten().tolist()
            assert [c.element for c in record.cells] == t.flatten().tolist()
            used = sorted({c.element for c in record.cells})
            assert [c.element for c in record.storage if c.used] == used
            assert record.layout.distinct == len(used)
            cases += 1
    assert cases == 64 * 125


def test_elements_are_counted_exactly_however_many_overlap():
    signal = torch.zeros(200_000)
    assert layout_of(signal.as_strided((100_000, 100_000), (1, 1))).distinct == 199_999
    patches = torch.arange(5000).as_strided((30, 40, 50), (3, 50, 7))
    assert layout_of(patches).distinct == patches.unique().numel()
    assert layout_of(signal[:1].expand(2**40)).distinct == 1
    assert layout_of(torch.zeros(10_000, 1000)).distinct == 10_000_000


@pytest.mark.parametrize("name", ANSWERED)
def test_a_tensor_without_addresses_is_answered_in_one_sentence(name):
    make, words = ANSWERED[name]
    with pytest.raises(NoStorageError, match=words) as caught:
        layout_of(make())
    assert str(caught.value).startswith("This ") and str(caught.value).endswith(".")


def test_tensors_inside_a_torch_func_transform_are_answered():
    said = []

    def look(x):
        with pytest.raises(NoStorageError, match=r"torch\.func") as caught:
            layout_of(x)
        said.append(caught.value)
        return x.sum()

    torch.vmap(look)(torch.ones(2, 3))
    torch.func.grad(look)(torch.ones(3))
    torch.func.functionalize(look)(torch.ones(3))
    assert len(said) == 3


def test_what_is_no_tensor_has_no_layout():
    with pytest.raises(TypeError, match=r"layout of a list was asked.*Convert it first"):
        layout_of([1, 2])


def test_a_released_storage_is_seen_and_never_read():
    record = xray_of(SHOWN["released"]())
    assert not record.layout.fits and all(c.value is None for c in record.cells)
    half = xray_of(SHOWN["half released"]())
    assert [c.value is None for c in half.cells] == [False] * 5 + [True] * 5


@pytest.mark.parametrize(
    ("sizes", "strides", "offset", "words"),
    [
        ((4, 6), (6, 1), 1, "out of bounds for storage"),
        ((4,), (-1,), 3, "Negative strides are not supported"),
        ((2,), (1,), -1, "torch.as_strided|Tensor: invalid storage offset"),
    ],
)
def test_an_illegal_layout_is_answered_in_torchs_words(sizes, strides, offset, words):
    base = torch.arange(24)
    record = strided_xray(base, sizes, strides, offset)
    with pytest.raises(RuntimeError, match=words) as caught:
        torch.as_strided(base, sizes, strides, offset)
    assert record.refusal == str(caught.value).partition("\n")[0]
    outside = [c for c in record.cells if not 0 <= c.element < 24]
    assert outside or "-1" in record.refusal
    assert all(c.value is None for c in outside)
    assert all(c.value == c.element for c in record.cells if 0 <= c.element < 24)


def test_a_legal_layout_is_the_tensor_that_torch_makes():
    base = torch.arange(24)
    record = strided_xray(base, (2, 3), (5, 2), 1)
    assert record.refusal == "" and record == xray_of(base.as_strided((2, 3), (5, 2), 1))


def test_storage_cells_are_used_if_the_tensor_reads_them_shown_or_not():
    block = xray_of(torch.arange(48).view(2, 4, 6), outer=(0,))
    assert all(c.used for c in block.storage) and len(block.storage) == 48
    repeated = xray_of(torch.arange(100).expand(1000, 100))
    assert all(c.used for c in repeated.storage) and len(repeated.storage) == 100
    inner = xray_of(torch.arange(10_000)[10:-10]).storage
    assert [(c.element, c.used) for c in inner if not c.used] == [(0, False), (9999, False)]


def test_one_block_of_a_large_tensor_can_be_chosen():
    t = torch.arange(6000).view(2, 30, 10, 10)
    cells = xray_of(t, outer=(1, 29)).cells
    assert {c.index[:2] for c in cells} == {(1, 29)} and cells[-1].value == 5999
    with pytest.raises(IndexError, match=r"Block \(2, 0\).*outer dimensions are \(2, 30\)"):
        xray_of(t, outer=(2, 0))


def test_looking_changes_nothing():
    w = torch.ones(3, requires_grad=True)
    y = (w * w).sum()
    generator, dtype = torch.get_rng_state(), torch.get_default_dtype()
    users, version, node = private.storage_users(w), w._version, y.grad_fn
    for t in (w, y, w.detach()):
        xray_of(t)
    del t
    assert torch.equal(torch.get_rng_state(), generator) and torch.get_default_dtype() == dtype
    assert w.grad is None and w._version == version and y.grad_fn is node
    assert private.storage_users(w) == users
    assert not w._backward_hooks and not y._backward_hooks
    y.backward()
    assert w.grad.tolist() == [2.0, 2.0, 2.0]


def test_looking_is_unseen_by_modes_and_works_inside_them():
    t = torch.arange(6).view(2, 3)
    assert count(lambda: xray_of(t)).total == 0
    with torch.device("meta"):
        inside = xray_of(t)
    with torch.inference_mode():
        frozen = xray_of(t)
    assert inside == frozen == xray_of(t)


def test_looking_leaves_a_copy_on_write_tensor_uncopied():
    lazy = torch._lazy_clone(torch.arange(4))
    assert [c.value for c in xray_of(lazy).cells] == [0, 1, 2, 3]
    assert torch._C._is_cow_tensor(lazy)


def test_looking_works_while_torch_traces_and_transforms():
    t, seen = torch.arange(6).view(2, 3), []

    def traced(x):
        seen.append(xray_of(x))
        return x + 1

    def transformed(x):
        seen.append(xray_of(t))
        return x + 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jit is deprecated, and still used
        torch.jit.trace(traced, t, check_trace=False)
    torch.func.functionalize(transformed)(t)
    torch.vmap(transformed)(t)
    assert len(seen) == 3 and all(found.cells == xray_of(t).cells for found in seen)


def test_operators_of_higher_order_are_counted():
    x = torch.ones(2)
    counted = count(lambda: torch.cond(x.sum() > 0, lambda a: a + 1, lambda a: a - 1, (x,)))
    assert counted["higher_order.cond"] == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex128, torch.int8])
def test_ten_million_elements_stay_small(dtype):
    for sizes in ((10_000_000,), (3163, 3162), (10, 100, 100, 100), (10,) * 7):
        picture = show(torch.full(sizes, -1.2345e-30, dtype=dtype))
        assert len(picture.svg) <= 10_000 and len(picture.text) <= 10_000
        assert indexing.span(sizes, indexing.contiguous_strides(sizes))[1] >= 9_999_999
