"""The picture of a step shows where the values went and where the gradient's way ends."""

from __future__ import annotations

import linecache
import re
import xml.etree.ElementTree as ET

import pytest
import torch
from torch import nn

import insidetorch
from insidetorch.draw.diagnosis import diagnosis_svg
from insidetorch.draw.diagnosis_text import MOST_LINES, diagnosis_text, shortened
from insidetorch.draw.lanes import lanes_of
from insidetorch.records import Diagnosis

watch = insidetorch.watch


class Gated(nn.Module):
    """A model with a cut on one of its two ways, and a part that never runs."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.gate = nn.Linear(2, 2), nn.Linear(2, 2)
        self.spare, self.head = nn.Linear(2, 2), nn.Linear(2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.encoder(x)
        g = self.gate(h.detach())
        return self.head(g)


@pytest.fixture
def ways() -> Diagnosis:
    model = Gated()
    with watch(model) as run:
        model(torch.ones(3, 2)).sum().backward()
    return run.ways()


def test_each_line_tells_what_it_read_and_what_came_back(ways):
    said = [
        (line.place.statement, line.gradient, line.cut, [one.name for one in line.trained])
        for line in ways.lines
    ]
    assert said == [
        ("h = self.encoder(x)", "none", "", ["model.encoder.weight", "model.encoder.bias"]),
        ("g = self.gate(h.detach())", "fine", "detach", ["model.gate.weight", "model.gate.bias"]),
        ("return self.head(g)", "fine", "", ["model.head.weight", "model.head.bias"]),
        ("model(torch.ones(3, 2)).sum().backward()", "fine", "", []),
    ]


def test_values_go_on_and_the_gradient_comes_back_as_far_as_the_cut(ways):
    assert ways.values == ((0, 1), (1, 2), (2, 3), (3, 4))
    assert ways.gradients == ((2, 1), (3, 2), (4, 3))


def test_a_gradient_comes_back_on_the_ways_that_carry_one():
    layer, x = nn.Linear(2, 2), torch.ones(3, 2)
    with watch(layer) as run:
        h = layer(x)
        fixed = h.detach()
        best, where = h.max(dim=1, keepdim=True)
        picked = h.gather(1, where)
        (picked * best + fixed.sum()).sum().backward()
    ways = run.ways()
    names = ["h", "fixed", "best, where", "picked", "loss"]
    assert [names[k] for k, line in enumerate(ways.lines) if line.cut] == ["fixed"]
    without = set(ways.values) - {(b, a) for a, b in ways.gradients}
    assert without == {(0, 1), (1, 4), (2, 3)}  # into the cut, out of it, and the index


def test_the_lines_that_make_a_layer_are_no_part_of_the_way():
    with watch() as run:
        layer = nn.Linear(2, 1)
        loss = layer(torch.ones(1, 2)).sum()
        loss.backward()
    statements = [line.place.statement for line in run.ways().lines]
    assert statements == ["loss = layer(torch.ones(1, 2)).sum()"]


def test_what_no_line_reads_stands_apart(ways):
    assert [one.name for one in ways.unread] == ["model.spare.weight", "model.spare.bias"]


def test_the_findings_lead_to_their_lines(ways):
    found = [(one.kind, one.line) for one in ways.findings]
    assert found == [("detach", 1), ("unused_param", None)]


def test_picture_and_text_tell_the_same(ways):
    svg, text = diagnosis_svg(ways), diagnosis_text(ways)
    drawn = "".join(ET.fromstring(svg).itertext())
    for line in ways.lines:
        assert line.place.statement in drawn and line.place.statement in text
    assert drawn.count("CUT: detach") == 1 == text.count("ENDS HERE (detach)")
    assert "4 of 8 trained tensors got a gradient" in drawn
    assert "model.spare.weight" in drawn and "model.spare.weight" in text


def test_there_is_an_arrow_for_each_way(ways):
    svg = diagnosis_svg(ways)
    paths = re.findall(r'<path class="(e|g[fzn])" d="([^"]*)"', svg)
    arrows = {kind: path.count("M") / 2 for kind, path in paths}
    assert arrows == {"e": len(ways.values), "gf": len(ways.gradients)}


@pytest.mark.parametrize(
    ("spoil", "state"),
    [(lambda x: torch.clamp(x, 50, 60), "zero"), (lambda x: torch.sqrt(x * 0), "not finite")],
)
def test_a_gradient_that_is_zero_or_not_finite_is_told_from_a_good_one(spoil, state):
    layer, head = nn.Linear(2, 2), nn.Linear(2, 1)
    with watch() as run:
        h = layer(torch.ones(1, 2))
        h = spoil(h)
        head(h).sum().backward()
    ways = run.ways()
    assert {one.gradient for one in ways.lines[0].trained} == {state}
    assert {one.name: one.gradient for one in ways.trained}["head.bias"] == "fine"
    assert ways.lines[0].gradient == state and ways.lines[1].gradient == "fine"


def test_a_pass_that_raises_brings_a_gradient_as_far_as_it_ran():
    layer, head = nn.Linear(2, 2), nn.Linear(2, 1)
    with pytest.raises(RuntimeError, match="inplace"), watch() as run:
        h = layer(torch.ones(1, 2))
        e = h.exp()
        e.add_(1)
        head(e).sum().backward()
    ways = run.ways()
    assert "modified by an inplace operation" in ways.error
    states = {one.name: one.gradient for one in ways.trained}
    assert states["layer.weight"] == "none" and states["head.bias"] == "fine"


def test_a_pass_is_chosen_by_its_number():
    first, second = nn.Linear(2, 1), nn.Linear(2, 1)
    with watch() as run:
        first(torch.ones(1, 2)).sum().backward()
        second(torch.ones(1, 2)).sum().backward()
    assert run.passes == 2
    names = [[one.name for one in run.ways(k).trained] for k in (1, 2)]
    assert names == [["first.weight", "first.bias"], ["second.weight", "second.bias"]]
    with pytest.raises(ValueError, match=r"Backward pass 3 was asked for. The run has 2"):
        run.ways(3)


def test_a_run_without_a_pass_has_no_ways():
    with watch() as run:
        torch.ones(2) + 1
    assert run.ways() is None
    assert "<img" not in run.report()._repr_html_()


def test_a_long_step_keeps_the_lines_that_matter():
    lines = ["def forward(x, w):"]
    lines += [f"    x = x * 1.0{k % 7}" for k in range(60)]
    lines[40] = "    x = x.detach() * w"
    name, source, space = "<doctest long>", "\n".join([*lines, "    return x.sum()"]), {}
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), space)
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with watch() as run:
        space["forward"](x, w).backward()
    ways = run.ways()
    short = shortened(ways)
    assert len(ways.lines) == 61 and len(short.lines) <= MOST_LINES + 2
    assert [line.cut for line in short.lines].count("detach") == 1
    assert sum(line.merged for line in short.lines) == len(ways.lines)
    assert short.values[-1][1] == len(short.lines)
    assert f"{short.lines[1].merged} lines" in diagnosis_text(ways)


def test_lines_beside_a_list_do_not_run_upon_each_other():
    pairs = [(a, b) for a in range(7) for b in range(a + 1, 7)]
    lanes = lanes_of(pairs)
    for one in pairs:
        for other in pairs:
            if one < other and lanes[one] == lanes[other]:
                assert one[1] <= other[0] or other[1] <= one[0]


def test_a_report_shows_the_picture_only_where_something_was_found():
    layer = nn.Linear(2, 1)
    with watch(layer) as healthy:
        layer(torch.ones(1, 2)).sum().backward()
    with watch(layer) as cut:
        (layer(torch.ones(1, 2)).detach().sum() + layer.bias.sum()).backward()
    assert "<img" not in healthy.report()._repr_html_()
    assert "<img" in cut.report()._repr_html_()
    assert cut.report().page().startswith("<!doctype html>")
