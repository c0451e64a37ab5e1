"""One call of the package on a script says which operator fails or surprises, and why."""

from __future__ import annotations

import pytest
from cases_looks import Look, check, check_control, check_twin, name_of, said
from cases_runner import CASES, RECORDS

LOOKS = [
    Look(
        "079",
        "explain_dispatch(lambda: histogram(bins, 4))",
        (
            "main.py, line 5: count[bins] += 1",
            "6 indices name 3 places: where one is named more than once, one value stays and the "
            "others are overwritten. index_add_, or index_put_ with accumulate=True, adds them up",
        ),
        ("aten.index_add_: float32 (4,), int64 (6,), float32 (6,) → float32 (4,)",),
    ),
    Look(
        "104",
        "explain_dispatch(lambda: nearest(query, bank))",
        (
            'aten._cdist_forward.default raised NotImplementedError: "cdist" not implemented for '
            "'Half', at main.py, line 8: return torch.cdist(a, b).argmin(dim=1)",
            "It was given x1 float16 (3, 8); x2 float16 (20, 8).",
            "The dispatcher took it to CPU",
            "No dtype is a dispatch key.",
            "It runs with x1 and x2 as float32 or float64, not as bfloat16",
        ),
        ("aten._cdist_forward: float32 (3, 8), float32 (20, 8) → float32 (3, 20)",),
    ),
    Look(
        "105",
        "explain_dispatch(lambda: train_step(net, torch.randn(4, 4), labels))",
        (
            "aten.nll_loss_forward.default raised RuntimeError: expected target dtype to be Long "
            "or Byte, but got Int, at main.py, line 11: loss = F.cross_entropy(net(x), y)",
            "It was given self float32 (4, 3); target int32 (4,).",
            "It runs with target as int64 or uint8 (tried on tensors like these).",
        ),
        ("in backward, NllLossBackward0",),
    ),
    Look(
        "108",
        "explain_dispatch(lambda: residual(a, b))",
        (
            "aten.add.Tensor raised NotImplementedError: Could not run 'aten::add.out' with "
            "arguments from the 'QuantizedCPU' backend",
            "at main.py, line 8: return a + b",
            "Its kernel for QuantizedCPU calls aten.add.out, and there the call stops",
            "self and other bring this key.",
            ".dequantize() before the call, with which it runs (tried); or register a kernel of "
            "aten.add.out for QuantizedCPU with torch.library. torch.ops.quantized.add is an "
            "operator of the same name for quantised tensors.",
        ),
        ("quantized.add: qint8 (4,), qint8 (4,) → qint8 (4,)",),
    ),
]
# Controls look like the cases above and are right.
CONTROLS = [
    Look(
        "215",
        "explain_dispatch(lambda: run(torch.float16))",
        ("aten.native_layer_norm: float16 (5, 8), float16 (8,), float16 (8,) → float16 (5, 8)",),
    ),
    Look(
        "222",
        "explain_dispatch(lambda: scale(x, 3.0).sum().backward())",
        ("shop222.scale: float32 (4,) → float32 (4,)",),
    ),
]
ALARMS = ("raised", "The dispatcher took it to", "It runs with", "the call stops", "indices name")
# What torch.compile does with these is asked of the compiler, not of the dispatcher.
COMPILED = {"110", "111", "112"}


def test_every_case_whose_tool_is_the_dispatch_tracer_is_looked_at():
    found = {r["id"]: r for r in RECORDS.values() if r["tool"] == "dispatch_tracer"}
    assert {look.case for look in LOOKS + CONTROLS} == set(found) - COMPILED
    healthy = {case for case, record in found.items() if record["cause_kind"] == "healthy"}
    assert {look.case for look in CONTROLS} == healthy


@pytest.mark.parametrize("look", LOOKS + CONTROLS, ids=name_of)
def test_one_call_on_the_script_says_what_happens(look):
    check(look)


@pytest.mark.parametrize("look", LOOKS, ids=name_of)
def test_the_call_on_the_twin_says_the_opposite(look):
    check_twin(look, ALARMS)


@pytest.mark.parametrize("look", CONTROLS, ids=name_of)
def test_a_control_raises_no_alarm(look):
    check_control(look, ALARMS)


@pytest.mark.parametrize("alarm", ALARMS)
def test_an_alarm_is_raised_by_some_case(alarm):
    assert any(alarm in words for look in LOOKS for words in look.says)


@pytest.mark.parametrize("look", LOOKS, ids=name_of)
def test_the_line_that_is_told_is_the_culprit_or_shows_it(look):
    record = RECORDS[look.case]
    lines = [record["culprit"], *record["also_accepted"]]
    text = said(look)
    assert any(f"line {one['line']}: {one['text']}" in text for one in lines)
    assert (CASES / look.case / record["culprit"]["file"]).is_file()
