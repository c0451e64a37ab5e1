"""One call of the package on the names of a script says what its graph or its pass does wrong."""

from __future__ import annotations

import pytest
from cases_looks import Look, check, check_control, check_twin, name_of, said
from cases_runner import RECORDS

FREED = "tensors that they had kept are freed since then, and a node that lacks one raises."

LOOKS = [
    Look(
        "037",
        "explain_backward(lambda: sgd(model.parameters(), 0.1))",
        (
            "it raised RuntimeError: a leaf Variable that requires grad is being used in an "
            "in-place operation, at main.py, line 7: p.add_(p.grad, alpha=-lr)",
        ),
        ("0 backward passes, 0 optimizer steps.",),
    ),
    Look(
        "040",
        "explain_backward(lambda: adder(w, x).pow(2).mean().backward(), names=names)",
        (
            "_AdderBackward (its backward: mod_040_adder.py, line 14: gx = -sign.sum(1)) returns "
            "None, as a function without a return statement does.",
            "it raised: function _AdderBackward returned an incorrect number of gradients",
        ),
        ("w receives (4, 3)", "x receives (5, 3)"),
    ),
    Look(
        "041",
        "explain_backward(lambda: MeanScore.apply(x, w).backward(), names=names)",
        (
            "its backward: main.py, line 13: return g * w.expand_as(x) / len(x), g * x) returns "
            "sizes (8, 3) for w, which has sizes (3,). The engine sums it to that size, without an "
            "error.",
        ),
    ),
    Look(
        "042",
        "show(graph_of([y, first], names=names))",
        (
            "ctx.s float64 (5,) (an attribute, so a write is not noticed and a second derivative "
            "takes it for a constant)",
            "AddBackward0 → no gradient, MulBackward0",
        ),
        ("AddBackward0 → SigmoidBackward0, MulBackward0", "SigmoidBackward0 → x"),
    ),
    Look(
        "055",
        "explain_backward(lambda: train(torch.randn(2, 40, 1)), names=names)",
        (
            "45 nodes of this graph ran before, in pass 1; the youngest was made by main.py, "
            f"line 10: out, h = rnn(chunk, h). 30 {FREED}",
            "it raised: Trying to backward through the graph a second time",
        ),
        ("4 backward passes, 4 optimizer steps.",),
    ),
    Look(
        "056",
        "explain_backward(lambda: fit(3), names=names)",
        (
            "12 nodes of this graph ran before, in pass 1; the youngest was made by main.py, "
            f"line 9: return (curve - torch.sin(3 * t)).pow(2).mean(). 5 {FREED}",
            "a second time (or directly access saved tensors after they have already been freed), "
            "at main.py, line 15: loss.backward()",
        ),
        ("3 backward passes, 3 optimizer steps.",),
    ),
    Look(
        "059",
        "explain_backward(lambda: train(torch.randn(3, 4, 3)), module=cell)",
        (
            "32 nodes of this graph ran before, in passes 1 and 2; the youngest was made by "
            "main.py, line 10: h = cell(x, h). What they keep is still there",
            "AddmmBackward0 (made by main.py, line 10: h = cell(x, h)) kept mat2 float32 (6, 18), "
            "saved at version 4, now at version 5: backward will raise",
        ),
        ("3 backward passes, 3 optimizer steps.",),
    ),
    Look("060", "graph_holders(names)", ("`loss` holds a graph: 253 nodes",)),
    Look("062", "graph_holders(names)", ("`outputs[0]` and 19 more beside it hold graphs",)),
    Look("064", "graph_holders(names)", ("`rec.acts[0]` and 29 more beside it hold graphs",)),
    Look(
        "081",
        "graph_holders(names)",
        ("`online.last` holds a graph: 5 nodes, 96 bytes kept. Put `.detach()` of it there",),
    ),
    Look(
        "083",
        "explain_backward(lambda: brightness(x).backward(), names=names)",
        (
            "Here NaN or infinity begins: SqrtBackward0 (made by main.py, line 5: return "
            "torch.where(inside > 0, inside.sqrt(), torch.zeros_like(inside))) receives finite "
            "values and sends others. They reach x.",
        ),
    ),
    Look(
        "084",
        "explain_backward(lambda: elu(net(x)).mean().backward(), names=names)",
        (
            "Here NaN or infinity begins: ExpBackward0 (made by main.py, line 6: return "
            "torch.where(a > 0, a, alpha * (torch.exp(a) - 1)))",
            "They reach net.bias, net.weight.",
        ),
    ),
    Look(
        "085",
        "explain_backward(lambda: contrastive(net(left), net(right), torch.tensor([0.0, 1.0, 1.0, "
        "0.0])).backward(), names=names)",
        (
            "Here NaN or infinity begins: SqrtBackward0 (made by main.py, line 6: return "
            "(a - b).pow(2).sum(1).sqrt())",
            "They reach net.bias, net.weight.",
        ),
    ),
    Look(
        "086",
        "explain_backward(lambda: angle_between(rotation(theta), torch.eye(2)).backward(), "
        "names=names)",
        (
            "Here NaN or infinity begins: AcosBackward0 (made by main.py, line 9: return "
            "torch.acos(cos))",
            "They reach theta.",
        ),
    ),
    Look(
        "089",
        "explain_backward(lambda: triplet(net(a), net(a + 0.001), net(a + 50)).backward(), "
        "names=names)",
        (
            "MeanBackward0 (made by main.py, line 9: return hard.mean()) takes the mean of no "
            "values, which is NaN.",
            "The value that is differentiated is not finite itself.",
        ),
    ),
    Look(
        "091",
        "explain_backward(lambda: big_step(chunks), module=net)",
        (
            "Before passes 2, 3 and 4 .grad was cleared, and no optimizer step had used what an "
            "earlier pass had left there.",
        ),
    ),
    Look(
        "093",
        "explain_backward(lambda: epoch(torch.randn(10, 4, 2), every=4), module=net)",
        (
            "10 backward passes, 2 optimizer steps.",
            "After the last optimizer step came 2 more passes: no step has used their gradients.",
        ),
        ("10 backward passes, 3 optimizer steps.",),
    ),
    Look(
        "095",
        "explain_backward(lambda: accumulate([(x[:2], labels[:2]), (x[2:], labels[2:])]), "
        "module=net)",
        (
            "Passes 1 and 2 were added up. Each takes a mean (NllLossBackward0, main.py, line 8: ",
            "over 2 and over 12 values, of which one counts 0.25 and 0.04167: the sum is not the "
            "gradient of the mean over all of them.",
        ),
    ),
    Look(
        "098",
        "show(graph_of(penalty(real)))",
        ("It does not require a gradient: nothing was recorded for it.",),
        ("TanhBackwardBackward0",),
    ),
    Look(
        "113",
        "explain_backward(lambda: train_step(net, torch.randn(5, 4), torch.randint(0, 3, (5,)), "
        "torch.rand(5)), module=net)",
        (
            "The pass starts from 5 values, of MulBackward0 (made by main.py, line 7: return w * "
            'F.cross_entropy(logits, y, reduction="none")). Only a single value needs no gradient '
            "to start with",
            "it raised: grad can be implicitly created only for scalar outputs",
        ),
    ),
]
# Controls look like the cases above and are right.
CONTROLS = [
    Look(
        "208",
        "explain_backward(lambda: [step(torch.randn(8, 4)) for _ in range(3)], module=net)",
        ("3 backward passes, 3 optimizer steps.",),
    ),
    Look(
        "221",
        "explain_backward(lambda: attend(x, q, k, ok[:, :, None] & ok[:, None, :])[ok].pow(2)"
        ".mean().backward(), names=names)",
        ("SoftmaxBackward0", "sends NaN or infinity, and no leaf receives any of it."),
    ),
]
ALARMS = (
    "raised",
    "ran before",
    "freed since then",
    "backward will raise",
    "returns None",
    "sums it",
    "begins",
    "not finite",
    "mean of no values",
    "was cleared",
    "no step has used",
    "were added up",
    "Only a single value",
    "nothing was recorded",
    "holds a graph",
)


def test_every_case_of_these_chapters_whose_tool_is_about_graphs_is_looked_at():
    tools = ("graph_viewer", "backward_stepper")
    found = [r for r in RECORDS.values() if r["tool"] in tools and r["chapter"] in (3, 4)]
    assert {look.case for look in LOOKS + CONTROLS} == {record["id"] for record in found}
    healthy = {record["id"] for record in found if record["cause_kind"] == "healthy"}
    assert {look.case for look in CONTROLS} == healthy


@pytest.mark.parametrize("look", LOOKS + CONTROLS, ids=name_of)
def test_one_call_on_the_script_says_what_is_there(look):
    check(look)


@pytest.mark.parametrize("look", LOOKS, ids=name_of)
def test_the_call_on_the_twin_says_the_opposite(look):
    check_twin(look, ALARMS if look.call.startswith("explain_backward") else ())


@pytest.mark.parametrize("look", CONTROLS, ids=name_of)
def test_a_control_raises_no_alarm(look):
    check_control(look, ALARMS)


@pytest.mark.parametrize("alarm", ALARMS)
def test_an_alarm_is_raised_by_some_case(alarm):
    assert any(alarm in words for look in LOOKS for words in look.says)


def test_a_leaf_says_that_torch_refuses_a_write_to_it():
    text = said(Look("037", "show(graph_of(p))", (), inside="sgd"))
    assert "It is a leaf: while recording is on, torch refuses a write to it in place." in text
