"""NumPy arrays are shown as the tensors over their memory, and looking leaves no trace."""

from __future__ import annotations

import gc
import warnings
import weakref
from itertools import product

import numpy
import pytest
import torch

from insidetorch import TensorXRay, compare, count, show
from insidetorch.observe.arrays import array_xray, is_array, tensor_over
from insidetorch.observe.layout import NoStorageError

IMAGE = numpy.arange(24.0, dtype=numpy.float32).reshape(2, 3, 4)
LENT = torch.arange(6).numpy()

SHOWN = {
    "owning": numpy.arange(5),
    "scalar": numpy.array(3.5),
    "empty": numpy.zeros((2, 0, 3)),
    "transposed": IMAGE.T,
    "sliced": IMAGE[:, ::2, 1:],
    "Fortran order": numpy.asfortranarray(IMAGE),
    "windows": numpy.lib.stride_tricks.sliding_window_view(numpy.arange(5), 3),
    "broadcast": numpy.broadcast_to(numpy.arange(3), (2, 3)),
    "bool": numpy.array([True, False]),
    "float16": IMAGE.astype(numpy.float16),
    "uint16": numpy.array([1, 65535], dtype=numpy.uint16),
    "complex": numpy.array([1 + 2j, 3 - 1j]),
    "masked": numpy.ma.masked_array([1, 2, 3], [False, True, False]),
    "lent by torch": LENT,
    "large": numpy.zeros((3163, 3162), dtype=numpy.int8),
}

# The array, and the words that must stand in the one sentence about it.
ANSWERED = {
    "flipped": (IMAGE[:, :, ::-1], r"sizes \(2, 3, 4\) and strides of \(48, 16, -4\) bytes.*negat"),
    "foreign byte order": (IMAGE.astype(">f4"), "which torch does not take: .*byte order"),
    "field": (numpy.zeros(3, "i1,f4")["f1"], r"strides of \(5,\) bytes, which torch .*multiple"),
    "text": (numpy.array(["a"]), r"strides of \(4,\) bytes, which torch does not take: .*str_"),
    "objects": (numpy.array([{}], dtype=object), "which torch does not take: .*object_"),
    "dates": (numpy.zeros(2, "M8[s]"), "which torch does not take: .*datetime64"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_every_shown_cell_links_to_the_memory_that_holds_its_value(name):
    array = SHOWN[name]
    plain, x = numpy.asarray(array), array_xray(array)
    assert x.layout.sizes == array.shape and x.layout.itemsize == array.itemsize
    assert bool(x.cells) == bool(array.size)
    for cell in x.cells:
        place = plain[(*(slice(i, i + 1) for i in cell.index), ...)]
        assert place.ctypes.data == array.ctypes.data + x.layout.byte(cell.index)
        assert cell.value == place.item()


def test_all_small_slices_are_shown_as_numpy_reads_them():
    base, cases = numpy.arange(24).reshape(4, 6), 0
    for rows, columns, turned in product(range(1, 5), range(1, 7), (False, True)):
        array = base[::rows, ::columns]
        array = array.T if turned else array
        x = array_xray(array)
        assert [cell.value for cell in x.cells] == array.ravel().tolist()
        assert x.layout.is_contiguous == array.flags.c_contiguous
        assert x.layout.distinct == array.size
        cases += 1
    assert cases == 48


def test_the_text_names_the_class_and_what_numpy_knows():
    text = show(numpy.zeros((2, 3))[:, ::2]).text
    assert text.splitlines()[:4] == [
        "ndarray of float64 on cpu: not contiguous, view, no version",
        "sizes    (2, 2)",
        "strides  (3, 2)",
        "offset   0 = byte 0",
    ]
    assert show(numpy.zeros(3)).text.startswith(
        "ndarray of float64 on cpu: contiguous, no view, no version\n"
    )
    assert show(SHOWN["masked"]).text.startswith("MaskedArray of int64")
    assert show(LENT).text.startswith("ndarray of int64 on cpu: contiguous, view, no version")


@pytest.mark.parametrize("name", SHOWN)
def test_a_picture_and_a_text_are_made(name):
    picture = show(SHOWN[name])
    assert picture.svg.startswith("<svg") and "no version" in picture.svg
    assert len(picture.svg) < 50_000 and "<img" in picture._repr_html_()


@pytest.mark.parametrize("name", ANSWERED)
def test_an_array_that_torch_does_not_take_is_answered_in_one_sentence(name):
    array, words = ANSWERED[name]
    with pytest.raises(NoStorageError, match=f"^This ndarray has .*{words}") as caught:
        tensor_over(array)
    with pytest.raises((TypeError, ValueError)) as refused:
        torch.from_numpy(array)
    assert str(caught.value)[-30:-1] in str(refused.value)
    picture = show(array)
    assert picture.svg == "" and picture.text == str(caught.value)
    assert picture.text.endswith(".") and "<p>" in picture._repr_html_()
    assert f"second: {picture.text}" in compare(torch.zeros(2), array).text


def test_a_shared_write_counts_for_no_version():
    t = torch.from_numpy(IMAGE.copy())
    assert "first: float32 on cpu, sizes (2, 3, 4), strides (12, 4, 1), offset 0\n" in (
        text := compare(t.numpy(), t).text
    )
    assert "96 bytes in common; one of them keeps no version, so autograd does not notice" in text
    moved = t._version
    t.numpy()[0, 0, 0] = 7
    assert t[0, 0, 0] == 7 and t._version == moved


def test_a_read_only_array_is_shown_and_torchs_one_warning_is_kept_for_the_user(monkeypatch):
    array = numpy.arange(6).reshape(2, 3)
    array.flags.writeable = False
    taken = []
    monkeypatch.setattr(torch, "from_numpy", lambda a, take=torch.from_numpy: _seen(taken, take, a))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert [c.value for c in array_xray(array.T).cells] == [0, 3, 1, 4, 2, 5]
        assert "48 bytes in common" in compare(array, array[0:]).text
    assert warned == [] and len(taken) == 3 and all(a.flags.writeable for a in taken)
    assert not array.flags.writeable


def _seen(taken, take, array):
    taken.append(array)
    return take(array)


def test_the_tensor_over_a_read_only_array_keeps_it_alive():
    array = numpy.arange(6)
    array.flags.writeable = False
    gone = weakref.ref(array)
    over = tensor_over(array)
    del array
    gc.collect()
    assert gone() is not None and over.tolist() == [0, 1, 2, 3, 4, 5]
    del over
    gc.collect()
    assert gone() is None


def test_looking_is_unseen_by_modes_and_works_inside_them():
    assert count(lambda: show(IMAGE)).total == 0
    expected = array_xray(IMAGE)
    with torch.inference_mode(), torch.device("meta"):
        assert array_xray(IMAGE) == expected
    with torch.inference_mode(), torch.device("meta"):
        assert "float32" in compare(IMAGE, IMAGE).text


def test_a_block_of_a_large_array_can_be_walked():
    array = numpy.arange(6000).reshape(2, 30, 10, 10)
    cells = array_xray(array, outer=(1, 29)).cells
    assert {c.index[:2] for c in cells} == {(1, 29)} and cells[-1].value == 5999
    widget = TensorXRay(array)
    before = widget.view.rev
    array[0, 0, 0, 0] = -7
    widget.again.click()
    assert widget.view.rev > before and ">-7<" in widget.view.svg


class Refusing(numpy.ndarray):
    """A subclass that answers no question about itself."""

    @property
    def flags(self):
        raise RuntimeError("this class answers nothing")

    shape = strides = base = ctypes = __array_interface__ = flags


def test_an_array_is_known_by_its_class_whatever_the_class_answers():
    array = numpy.arange(3).view(Refusing)
    assert show(array).text.startswith("Refusing of int64 on cpu: contiguous, view, no version")
    assert "strides of (-8,) bytes" in show(array[::-1]).text
    assert is_array(array) and not is_array(numpy.int64(1)) and not is_array([1])


def test_a_list_of_arrays_is_refused():
    with pytest.raises(TypeError, match=r"picture of a list was asked\. .*NumPy.* one by one"):
        show([IMAGE])
