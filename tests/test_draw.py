"""Pictures and texts hold the facts of their record, for every tensor there is."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
import torch
from hard_tensors import ANSWERED, SHOWN

from insidetorch import copy_costs, families, show, xray_of
from insidetorch.draw.aliases import aliases_svg
from insidetorch.draw.charts import bars, lines
from insidetorch.draw.text import value_text
from insidetorch.draw.xray import xray_svg


def live_cells(svg: str) -> list[ET.Element]:
    return [e for e in ET.fromstring(svg).iter() if "data-r" in e.attrib]


@pytest.mark.parametrize("name", [n for n in SHOWN if n != "refusing subclass"])
def test_a_live_picture_has_one_cell_for_each_shown_value(name):
    record = xray_of(SHOWN[name]())
    cells = live_cells(xray_svg(record, live=True))
    assert len(cells) == len(record.cells)
    places = [(e.attrib["data-r"], e.attrib["data-c"]) for e in cells]
    assert len(set(places)) == len(places)
    assert [e.attrib["tabindex"] for e in cells].count("0") == min(len(cells), 1)
    for element, cell in zip(cells, record.cells, strict=True):
        texts = [text.text for text in element.iter("{http://www.w3.org/2000/svg}text")]
        assert texts == [value_text(cell.value), str(cell.element)]
        assert element.attrib["data-link"] == str(cell.element)
        assert f"= {cell.element}" in element.attrib["data-say"]


@pytest.mark.parametrize("name", SHOWN)
def test_a_shown_tensor_has_a_static_picture_and_the_same_facts_as_text(name):
    t = SHOWN[name]()
    picture, record = show(t), xray_of(t)
    ET.fromstring(picture.svg)
    assert picture.svg == show(t).svg and len(picture.svg) < 112_000
    assert "data-" not in picture.svg and "<script" not in picture.svg
    assert f"sizes    {record.layout.sizes}" in picture.text
    assert f"strides  {record.layout.strides}" in picture.text
    written = re.findall(r"@(-?\d+)", picture.text)
    assert [int(k) for k in written] == [c.element for c in record.cells]
    assert picture._repr_html_().startswith(f'<img alt="{picture.alt[:10]}')


@pytest.mark.parametrize("name", ANSWERED)
def test_a_tensor_without_addresses_is_shown_as_a_sentence(name):
    make, words = ANSWERED[name]
    picture = show(make())
    assert picture.svg == "" and words in repr(picture)
    assert picture._repr_html_().startswith("<p>This ")


def test_a_tensor_that_fails_in_an_unforeseen_way_is_answered(monkeypatch):
    def broken(_t, **_options):
        raise RuntimeError("something new\nand more")

    monkeypatch.setattr("insidetorch.widgets.show.xray_of", broken)
    assert repr(show(torch.ones(1))) == (
        "This Tensor cannot be described: RuntimeError: something new"
    )


def test_what_is_no_tensor_is_refused():
    with pytest.raises(TypeError, match=r"picture of a dict was asked.*one by one"):
        show({"x": torch.ones(1)})


def test_an_elided_picture_is_counted_in_its_text():
    picture = show(torch.arange(10_000_000))
    assert "10,000,000 read" in picture.text and "…" in picture.text
    assert picture.text.count("@") == 6


def test_unusual_tensors_say_what_is_unusual():
    assert "12 values share 3 elements" in show(SHOWN["expanded"]()).alt
    assert "conjugate bit" in show(SHOWN["conj"]()).alt
    assert "negative bit" in show(SHOWN["neg"]()).alt
    assert "4,000 bytes are needed, 0 are there" in show(SHOWN["released"]()).alt
    assert "scale 0.1, zero point 10" in show(SHOWN["quantised"]()).alt
    assert "inference tensor" in show(SHOWN["inference"]()).text


def test_text_in_a_picture_cannot_become_markup():
    class Odd(torch.Tensor):
        pass

    Odd.__name__ = "<script>&"
    assert "<script>" not in show(torch.ones(1).as_subclass(Odd))._repr_html_()
    found = families({'<b>"x"</b>': torch.zeros(3).expand(2, 3), "y": torch.zeros(1)}, alone=True)
    for live in (True, False):
        assert "<b>" not in aliases_svg(found, live=live)


def test_the_map_has_a_row_for_each_tensor_and_links_equal_memory():
    x = torch.zeros(2, 3)
    found = families({"x": x, "row": x[1], "column": x[:, 0]})
    cells = live_cells(aliases_svg(found, live=True))
    assert [e.attrib["data-r"] for e in cells] == ["0"] * 6 + ["1"] * 3 + ["2"] * 2
    links = [[e.attrib["data-link"] for e in cells if e.attrib["data-r"] == r] for r in "012"]
    assert links[0][3:] == links[1] and set(links[2]) == {links[0][0], links[0][3]}
    text = repr(show(found))
    assert "row: float32, sizes (3,), strides (1,), offset 3; view of x" in text
    assert repr(show(())) == "No two tensors found here share memory."


def test_a_chart_is_the_same_each_time_and_writes_its_numbers():
    values = {"large.t()": 0.5, "large.clone()": 1234.4}
    svg = bars(values, title="copies", unit="microseconds")
    assert svg == bars(values, title="copies", unit="microseconds")
    assert "1,234" in svg and "large.clone()" in svg
    ET.fromstring(svg)


def test_lines_are_labelled_in_plain_numbers_and_the_same_each_time():
    values = {"a": [1.0, 20.0], "b": [5.0, 30_000.0]}
    svg = lines([1024, 4_194_304], values, title="cost", x="bytes", y="microseconds")
    assert svg == lines([1024, 4_194_304], values, title="cost", x="bytes", y="microseconds")
    for text in (">1.02 kB<", ">4.19 MB<", ">10,000<", ">a<", ">b<", ">cost<"):
        assert text in svg
    assert "mathdefault" not in svg


def test_the_cost_of_copies_is_told_with_bytes_for_each_size():
    picture = copy_costs((4, 8))
    first, second = picture.text.splitlines()
    assert first.startswith("64 bytes: t() moves none; clone() reads and writes 128 and takes")
    assert second.startswith("256 bytes: t() moves none; clone() reads and writes 512 and takes")
    assert picture.svg.count("<svg") == 1 and "times as long as clone()" in picture.alt
