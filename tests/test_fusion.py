"""What the fusion lab shows is what torch ran: operators, bytes and results; charts of times."""

from __future__ import annotations

import re

import pytest
import torch
import torch.nn.functional as F

from insidetorch import (
    FusionLab,
    byte_costs,
    compare_times,
    copy_costs,
    operator_costs,
    show,
    trace,
)
from insidetorch.draw.charts import points
from insidetorch.draw.fusion import fusion_sentence, fusion_svg, fusion_text
from insidetorch.observe.fusion import COLUMNS, PRESETS, function_of, fusion_of, tensors
from insidetorch.records import FusedWay, Fusion

GELU = PRESETS["GELU"]


@pytest.mark.parametrize("name", PRESETS)
def test_both_ways_of_a_preset_give_the_same_values(name):
    written, instead = PRESETS[name]
    first, second = (function_of(code)(*tensors(8)) for code in (written, instead))
    assert torch.allclose(first, second, rtol=1e-4, atol=1e-5)
    found = fusion_of(written, instead, rows=8)
    assert found.difference == "the same values within rounding"
    assert found.ways[1].trace.moved <= found.ways[0].trace.moved


@pytest.mark.parametrize("rows", [1, 7, 64])
def test_operators_and_bytes_are_those_that_ran(rows):
    a, b, c, _ = tensors(rows)
    found = fusion_of("a * b + c.exp()", "torch.addcmul(c.exp(), a, b)", rows=rows)
    n = rows * COLUMNS * 4
    assert [way.operators for way in found.ways] == [
        ("aten.mul", "aten.exp", "aten.add"),
        ("aten.exp", "aten.addcmul"),
    ]
    assert [way.trace.moved for way in found.ways] == [8 * n, 6 * n]
    assert found.ways[0].trace.moved == trace(lambda: a * b + c.exp()).moved
    assert [way.trace.intermediates for way in found.ways] == [(n, n), (n,)]


def test_an_expression_that_writes_gets_tensors_of_its_own():
    before = tensors(4)
    found = fusion_of("a.add_(1) * b", "a * b + b", rows=4)
    assert found.difference == "the same values within rounding"
    assert all(torch.equal(x, y) for x, y in zip(before, tensors(4), strict=True))


def test_the_lab_leaves_generator_and_grad_mode_alone():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    fusion_of("a * b", rows=4)
    assert torch.equal(torch.get_rng_state(), before) and torch.is_grad_enabled()


def test_results_that_differ_are_told():
    assert fusion_of("a + b", "a - b", rows=4).difference == "other values"
    assert fusion_of("a", "a.sum(-1)", rows=4).difference == "results of sizes (4, 64) and (4,)"
    assert "torch.float32 and torch.float64" in fusion_of("a", "a.double()", rows=4).difference
    assert "no tensors" in fusion_of("a.tolist()", "a", rows=4).difference


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("a * d", r"'a \* d' was asked.*NameError: name 'd' is not defined.*Use a, b, c, w"),
        ("a @ b", r"It raised RuntimeError: mat1 and mat2 shapes cannot be multiplied"),
        ("a *", r"Python cannot read it: invalid syntax. Write one expression"),
        ("a = b", r"Python cannot read it"),
        ("", r"The expression '' was asked. Python cannot read it"),
        ("a) + (b", r"Python cannot read it"),
        ("a + " + "(" * 300 + "b" + ")" * 300, r"Python cannot read it"),
        ("a + '\ud800'", r"Python cannot read it"),
    ],
)
def test_an_expression_that_cannot_run_is_refused(code, words):
    with pytest.raises(ValueError, match=words):
        fusion_of(code, rows=4)


def test_boxes_are_as_wide_as_the_bytes():
    found = fusion_of(*GELU, rows=64)
    svg = fusion_svg(found, live=True)
    boxes = re.findall(
        r'data-say="(\S+) reads ([\d,]+) and writes ([\d,]+) bytes".*?width="([\d.]+)"', svg
    )
    assert len(boxes) == 9
    per_byte = {
        float(width) / (int(read.replace(",", "")) + int(written.replace(",", "")))
        for _, read, written, width in boxes
    }
    assert max(per_byte) / min(per_byte) < 1.001


def test_text_and_sentence_say_what_the_record_says():
    found = fusion_of("a * b + c", "torch.addcmul(c, a, b)", rows=4)
    assert fusion_sentence(found) == (
        "a * b + c: 2 operators, 24 bytes for each element; torch.addcmul(c, a, b): 1 operator, 16 "
        "bytes for each element; the same values within rounding."
    )
    assert "runs mul, add" in fusion_text(found) and "no intermediate result" in fusion_text(found)
    fused = Fusion(found.sizes, found.ways, found.difference, FusedWay(1, 4096, ratio=0.5))
    assert (
        "compiled: 1 generated kernel, 16 bytes for each element if it moves each"
        in fusion_text(fused)
    )
    assert "0.50 of the time" in fusion_text(fused) and "1 kernel" in fusion_svg(fused)
    none = Fusion(found.sizes, found.ways, "", FusedWay(None, None, skipped="No compiler."))
    assert "No compiler" in fusion_text(none) and "1 kernel" not in fusion_svg(none)


def test_the_controls_choose_expressions_and_sizes():
    lab = FusionLab("a + b", rows=16)
    assert lab.view.status == "a + b: 1 operator, 12 bytes for each element."
    lab.preset.value = "softmax"
    assert lab.instead.value == "torch.softmax(a, -1)" and "4 operators" in lab.view.status
    lab.rows.value = 256
    assert "16,384 elements" in lab.view.svg
    lab.written.value = "a * d"
    assert lab.view.status.startswith("The expression 'a * d' was asked")
    lab.written.value = "F.relu(a)"
    assert "F.relu(a): 1 operator, 8 bytes" in lab.view.status


def test_measuring_is_asked_for_and_gone_with_the_expression():
    lab = FusionLab(rows=16)
    assert "of the time" not in repr(lab)
    lab.measure.click()
    assert "of the time of the expression as written" in repr(lab)
    lab.rows.value = 256
    assert "of the time" not in repr(lab)


ONCE = "a.t_() @ b"  # turned back by the second run, its sizes do not fit


@pytest.mark.parametrize("ways", [("a * b", ONCE), (ONCE, "a * b")])
def test_an_expression_that_runs_only_once_is_not_measured(ways):
    assert len(fusion_of(*ways, rows=4).ways) == 2
    words = r"'a\.t_\(\) @ b' was asked.*It ran once, but measured.*RuntimeError: mat1.*do not"
    with pytest.raises(ValueError, match=words):
        fusion_of(*ways, rows=4, measured=True)


def test_an_expression_that_only_the_compiler_refuses_is_told(monkeypatch):
    def refusing(_fn, *_calls):
        raise RuntimeError("no such graph.\nA long explanation")

    monkeypatch.setattr("insidetorch.observe.fusion.compilation_of", refusing)
    words = r"'a \* b' was asked.*compiled it raised RuntimeError: no such graph\. Look at it"
    with pytest.raises(ValueError, match=words):
        fusion_of("a * b", rows=4, fused=True)


def test_the_lab_tells_a_failure_in_a_sentence_and_shows_no_code_of_before(monkeypatch):
    lab = FusionLab("a * b", rows=4)
    fused = FusedWay(None, None, code="the kernel of before", skipped="Not now.")
    monkeypatch.setattr("insidetorch.observe.fusion._fused", lambda *_: fused)
    lab.compile.click()
    assert "the kernel of before" in lab.code.value
    lab.written.value = "a * d"
    lab.compile.click()
    assert lab.code.value == "" and lab.view.status.startswith("The expression 'a * d' was asked")
    assert lab.view.svg == ""  # not the picture of what was written before
    lab.written.value = ONCE
    lab.measure.click()
    assert "It ran once, but measured" in lab.view.status
    assert "It ran once, but measured" in repr(lab)
    assert "It ran once" in lab._repr_mimebundle_()["text/html"]
    lab.written.value = "a + b"
    assert "a + b: 1 operator" in lab.view.status and ">add<" in lab.view.svg


def test_many_operators_are_told_and_drawn_in_short():
    found = fusion_of("sum(a.unbind(0))", "a.sum(0)", rows=3000)
    assert len(found.ways[0].operators) == 3000
    boxes = re.findall(r'data-say="([^"]*)"', fusion_svg(found, live=True))
    assert len(boxes) == 40 + 1 + 1
    rest = sum(one.moved for one in [one for one in found.ways[0].trace.found if one.moved][40:])
    assert boxes[40] == f"2,960 more operators, {rest:,} bytes"
    assert "and 2,960 more operators" in fusion_text(found) and len(fusion_text(found)) < 1000


def test_a_gpu_that_is_not_there_is_told(monkeypatch):
    def refuse(self):
        raise AssertionError("Torch not compiled with CUDA enabled")

    monkeypatch.setattr(torch.Tensor, "cuda", refuse)
    words = r"'a\.cuda\(\)' was asked.*It raised Ass.*torch sees no GPU here; leave them there\."
    with pytest.raises(ValueError, match=words):
        fusion_of("a.cuda()", rows=4)


def test_costs_are_told_as_ratios_over_the_bytes_that_ran():
    a = torch.ones(1000)
    told = byte_costs({"relu": lambda: F.relu(a), "two": lambda: (a + 1) * 2}, rounds=2).text
    first, second = told.splitlines()
    assert first == "relu: 8,000 bytes"
    assert second.startswith("two: 16,000 bytes, 2.00 of the first; ")
    assert [line.partition(" ")[0] for line in operator_costs((8, 64)).text.splitlines()] == [
        "8",
        "64",
    ]


def test_points_are_named_and_the_same_each_time():
    values = {"one": (8.0, 2.0), "two": (16.0, 5.0)}
    first, second = (points(values, title="bytes and time", x="x", y="y") for _ in range(2))
    assert first == second and all(f">{name}<" in first for name in values)


def test_a_pair_is_one_expression_and_results_without_values_are_told():
    assert fusion_of("a, b", rows=4).ways[0].operators == ()
    assert fusion_of("a.to('meta')", "b.to('meta')", rows=4).difference == (
        "results that torch cannot compare"
    )
    with pytest.raises(ValueError, match=r"Tensors of 0 rows were asked\..*Give 1 row or more"):
        fusion_of("a", rows=0)


def test_costs_of_nothing_are_refused_before_anything_runs():
    for asked in (byte_costs, compare_times):
        with pytest.raises(ValueError, match=r"without functions was asked\..*Give one or more"):
            asked({})
    for asked in (operator_costs, copy_costs):
        with pytest.raises(ValueError, match=r"without sizes was asked\..*Give one or more"):
            asked(())
    with pytest.raises(ValueError, match=r"'none' were asked\. It moves 0 bytes.*Put a function"):
        byte_costs({"none": lambda: None}, rounds=1)
    assert len(operator_costs(n for n in (8, 64)).text.splitlines()) == 2


def test_a_training_step_is_refused_before_its_backward_pass():
    w = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="does not require grad"):
        byte_costs({"step": lambda: (w * 2).sum().backward()})
    assert w.grad is None


def test_the_same_example_can_be_chosen_twice_and_no_expression_is_dropped():
    lab = FusionLab(rows=16)
    lab.preset.value = "softmax"
    lab.written.value = "a + 1"
    lab.preset.value = "softmax"
    assert lab.written.value == PRESETS["softmax"][0] and lab.preset.value == ""
    assert FusionLab("", "b").view.status.startswith("The expression '' was asked")


def test_a_fusion_is_shown():
    assert show(fusion_of("a + b", rows=4)).alt == "a + b: 1 operator, 12 bytes for each element."
