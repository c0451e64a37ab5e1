"""The explorers without a browser: controls are set as the page would set them."""

from __future__ import annotations

import pytest
import torch
from hard_tensors import ANSWERED, SHOWN
from torch._subclasses.fake_tensor import FakeTensorMode

from insidetorch import AliasMap, StrideExplorer, TensorXRay, xray_of
from insidetorch.observe.presets import DTYPES, PRESETS
from insidetorch.widgets.stride_explorer import FREE


@pytest.fixture
def sent(monkeypatch):
    """What an explorer sends to the page, message by message."""

    def watch(explorer):
        messages = []
        monkeypatch.setattr(explorer.view, "_send", lambda m, buffers=None: messages.append(m))
        return messages

    return watch


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_what_torch_gives(preset, dtype):
    expected = xray_of(PRESETS[preset](torch.arange(24, dtype=DTYPES[dtype]).view(4, 6)))
    found = StrideExplorer(preset, dtype=dtype).xray
    assert found.refusal == ""
    for field in ("sizes", "strides", "offset", "itemsize", "storage_bytes", "is_contiguous"):
        assert getattr(found.layout, field) == getattr(expected.layout, field)
    assert (found.cells, found.storage) == (expected.cells, expected.storage)


def test_choosing_a_preset_moves_all_controls_and_draws_once(sent):
    explorer = StrideExplorer()
    messages = sent(explorer)
    explorer.preset.set_state({"index": list(PRESETS).index("a.view(2, 2, 2, 3)")})
    assert explorer.xray.layout.sizes == (2, 2, 2, 3) and explorer.dims.value == 4
    assert len(messages) == 1 and set(messages[0]["state"]) == {"svg", "status", "rev"}


@pytest.mark.parametrize("control", ["offset", "dims", "dtype"])
def test_each_change_is_one_message(control, sent):
    explorer = StrideExplorer()
    messages = sent(explorer)
    value = "uint8" if control == "dtype" else getattr(explorer, control).value + 1
    getattr(explorer, control).value = value
    assert len(messages) == 1 and messages[0]["state"]["rev"] == 2


def test_moving_a_slider_leaves_the_preset_and_choosing_it_again_returns(sent):
    explorer = StrideExplorer("a.t()")
    messages = sent(explorer)
    explorer.strides[0].value = 0
    assert explorer.preset.value == FREE and len(messages) == 1
    explorer.preset.value = "a.t()"
    assert explorer.xray.layout.strides == (1, 6) and len(messages) == 2
    explorer.preset.value = FREE
    assert explorer.xray.layout.strides == (1, 6) and len(messages) == 2


def test_an_illegal_setting_shows_torchs_words():
    explorer = StrideExplorer("a")
    explorer.strides[1].set_state({"value": -1})
    assert "Negative strides are not supported" in explorer.view.status
    assert "Negative strides are not supported" in explorer.view.svg
    explorer.strides[1].value, explorer.offset.value = 1, 24
    assert "out of bounds for storage" in explorer.view.status


def test_a_value_beyond_the_slider_is_held_at_its_end():
    explorer = StrideExplorer()
    explorer.offset.set_state({"value": 999})
    assert explorer.xray.layout.offset == explorer.offset.max


def test_only_the_sliders_of_existing_dimensions_are_shown():
    explorer = StrideExplorer("a[2, 3]")
    shown = [s.layout.display != "none" for s in explorer.sizes]
    explorer.dims.value = 3
    assert shown == [False] * 4
    assert [s.layout.display != "none" for s in explorer.strides] == [True, True, True, False]


@pytest.mark.parametrize("words", [{"preset": "a.flip(0)"}, {"dtype": "float16"}])
def test_an_unknown_preset_or_dtype_is_refused(words):
    with pytest.raises(ValueError, match=r"was asked of a StrideExplorer.*Choose from "):
        StrideExplorer(**words)


def test_an_error_in_a_callback_is_told_in_the_status_line(monkeypatch):
    explorer = StrideExplorer()
    before = explorer.view.svg

    def fail(*, live):
        raise RuntimeError("no such picture")

    monkeypatch.setattr(explorer, "picture", fail)
    explorer.offset.value = 3
    assert explorer.view.status == "RuntimeError: no such picture"
    assert explorer.view.svg == before and explorer.view.rev == 2


def test_the_explorer_touches_no_state_of_torch():
    generator = torch.get_rng_state()
    with torch.device("meta"), FakeTensorMode():
        explorer = StrideExplorer()
        explorer.offset.value = 1
    assert explorer.xray.layout.device == "cpu"
    assert torch.equal(torch.get_rng_state(), generator)


def test_the_x_ray_reads_again_when_asked():
    t = torch.zeros(3)
    widget = TensorXRay(t)
    t[1] = 7
    assert "1 + 0" not in widget.view.svg and ">7<" not in widget.view.svg
    widget.again.click()
    assert ">7<" in widget.view.svg and widget.view.rev == 2


def test_the_x_ray_walks_the_blocks_of_a_large_tensor():
    t = torch.arange(5 * 30 * 10 * 10).view(5, 30, 10, 10)
    widget = TensorXRay(t)
    assert [s.max for s in widget.outer] == [4, 29]
    assert widget._sliders.layout.display == "none"
    widget.blocks.value = "one block"
    first_slider, second_slider = widget.outer
    first_slider.value, second_slider.value = 3, 17
    assert widget._sliders.layout.display == ""
    first = t[3, 17, 0, 0].item()
    assert f">{first}<" in widget.view.svg and "[3, 17, :, :]" in widget.view.svg


def test_the_x_ray_follows_a_tensor_that_gets_other_sizes():
    t = torch.arange(5 * 30 * 100).view(5, 30, 10, 10)
    widget = TensorXRay(t)
    widget.blocks.value = "one block"
    widget.outer[1].value = 17
    t.resize_(2, 7, 10)
    widget.again.click()
    assert [s.max for s in widget.outer] == [1] and "[0, :, :]" in widget.view.svg
    t.resize_(6, 4)
    widget.again.click()
    assert widget.outer == () and "sizes (6, 4)" in widget.view.svg


@pytest.mark.parametrize("name", [*SHOWN, *ANSWERED])
def test_any_tensor_at_all_has_an_x_ray(name):
    t = SHOWN[name]() if name in SHOWN else ANSWERED[name][0]()
    bundle = TensorXRay(t)._repr_mimebundle_()
    assert bundle["text/plain"].startswith("TensorXRay\n") and "0x0" not in bundle["text/html"]
    assert ("<img" in bundle["text/html"]) == (name in SHOWN)


def test_the_map_finds_the_names_around_it():
    scope = {"__name__": "notebook", "AliasMap": AliasMap, "torch": torch}
    exec("x = torch.zeros(4)\n_hidden = x[0]\nIn = x[1]\npart = x[2:]\nfound = AliasMap()", scope)
    assert [m.name for m in scope["found"].families()[0].members] == ["x", "part"]
    exec("later = x[:1]", scope)
    scope["found"].again.click()
    assert "later" in scope["found"].view.svg


def test_the_map_can_show_tensors_that_share_with_none():
    widget = AliasMap({"x": torch.zeros(2)})
    assert "No two tensors" in widget.view.status
    widget.alone.value = True
    assert ">x<" in widget.view.svg


@pytest.mark.parametrize("make", [StrideExplorer, lambda: TensorXRay(torch.ones(2)), AliasMap])
def test_a_saved_widget_is_the_same_each_time_and_has_a_picture(make):
    first, second = make()._repr_mimebundle_(), make()._repr_mimebundle_()
    for face in ("text/plain", "text/html"):
        assert first[face] == second[face]
    assert "application/vnd.jupyter.widget-view+json" in first
    assert "<img" in first["text/html"] and "alt=" in first["text/html"]
