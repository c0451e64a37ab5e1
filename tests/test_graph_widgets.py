"""The explorers of chapters 3 and 4 show what torch says, on tensors of their own."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from insidetorch import AccumulationLab, BranchExplorer, RequiresGradTable, SecondOrderExplorer
from insidetorch.observe.accumulation import DIVIDE, SAMPLES, ZERO, accumulate
from insidetorch.observe.branches import branch_of
from insidetorch.observe.derivatives import derivative_of
from insidetorch.observe.tracking import MODES, OPERATORS, tracked


def branching(x):
    if x > 0:  # noqa: SIM108
        y = x * 2
    else:
        y = x.exp()
    while y < 10:
        y = y * y + 1
    return y


def test_only_lines_that_ran_leave_nodes():
    for given in (0.5, -1.0, 3.0, 20.0):
        branch = branch_of(branching, given)
        left = {line.text.strip(): line.nodes for line in branch.lines if line.nodes}
        taken = "y = x * 2" if given > 0 else "y = x.exp()"
        assert taken in left and ("y = x.exp()" in left) == (given <= 0)
        y, turns = torch.tensor(given), 0
        y = y * 2 if given > 0 else y.exp()
        while y < 10:
            y, turns = y * y + 1, turns + 1
        assert left.get("y = y * y + 1", ()) == ("MulBackward0", "AddBackward0") * turns
        assert float(branch.result) == pytest.approx(y.item(), rel=1e-3)
        inner = [node for node in branch.graph.nodes if not node.is_leaf]
        assert sum(len(nodes) for nodes in left.values()) == len(inner)


def test_a_branch_leaves_generator_mode_and_input_alone():
    given = torch.tensor([1.0, 2.0])
    torch.manual_seed(3)
    before = torch.get_rng_state()
    with torch.no_grad():
        one, other = (branch_of(lambda x: x * torch.rand(2), given) for _ in range(2))
        assert not torch.is_grad_enabled()
    assert one.result == other.result and one.graph.nodes
    assert torch.equal(torch.get_rng_state(), before) and not given.requires_grad


def test_a_function_without_a_tensor_or_a_source_is_answered():
    with pytest.raises(TypeError, match="It returned a float, and only a tensor has a graph"):
        branch_of(lambda x: x.item(), 1.0)
    made: dict = {}
    exec("def f(x):\n    return x * 2", made)
    assert branch_of(made["f"], 1.0).lines == () and branch_of(made["f"], 1.0).graph.nodes
    with pytest.raises(ValueError, match="Give at least one value"):
        BranchExplorer(branching, [])


def test_the_slider_chooses_the_input():
    explorer = BranchExplorer(branching, [0.5, -1.0])
    assert "x = 0.5 gives 26.0" in explorer.view.status
    explorer.input.value = 1
    assert "x = -1.0" in explorer.view.status and "ExpBackward0" in explorer.view.svg


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("operator", OPERATORS)
def test_each_cell_of_the_table_is_what_torch_says(operator, mode):
    for flags in product((True, False), repeat=2):
        x, w = (torch.tensor([1.5, -2.0], requires_grad=flag) for flag in flags)
        managers = {
            "no mode": [],
            "no_grad": [torch.no_grad()],
            "inference_mode": [torch.inference_mode()],
            "enable_grad inside no_grad": [torch.no_grad(), torch.enable_grad()],
            "enable_grad inside inference_mode": [torch.inference_mode(), torch.enable_grad()],
        }[mode]
        for manager in managers:
            manager.__enter__()
        try:
            result = OPERATORS[operator](x, w)
        finally:
            for manager in reversed(managers):
                manager.__exit__(None, None, None)
        found = tracked(operator, mode, x=flags[0], w=flags[1])
        assert found.requires_grad == result.requires_grad
        assert found.is_leaf == result.is_leaf
        assert found.node == ("" if result.grad_fn is None else result.grad_fn.name())


def test_the_table_is_the_same_under_the_learners_modes():
    with torch.inference_mode():
        assert tracked("x * w", "no mode").requires_grad


def test_a_cell_is_covered_until_it_is_predicted():
    table = RequiresGradTable()
    assert "what do you expect?" in table.view.status and "MulBackward0" not in table.view.svg
    table.expected.value = "it will"
    assert table.view.status.startswith("As you said. x * w") and "MulBackward0" in table.view.svg
    table.mode.value = "no_grad"
    assert table.expected.value == "?" and "what do you expect?" in table.view.status
    table.expected.value = "it will"
    assert table.view.status.startswith("Not as you said.") and 'class="bad' in table.view.svg
    table.mode.value = "no mode"
    assert table.expected.value == "it will" and table.view.status.startswith("As you said.")
    table.w.value = False
    assert "what do you expect?" in table.view.status
    table.reveal.click()
    assert ">?<" not in table.view.svg


def by_autograd(length, divide):
    """The accumulated gradient, written once more."""
    numbers = torch.arange(10, dtype=torch.float64)
    inputs, targets = torch.stack([numbers % 3, numbers % 4 - 1], 1), numbers % 5 - 4
    weight = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    pieces = list(zip(inputs.split(length), targets.split(length), strict=True))
    for x, t in pieces:
        loss = (x @ weight - t).pow(2).mean()
        (loss * {0: 1, 1: 1 / len(pieces), 2: len(x) / 10}[divide]).backward()
    return weight.grad


@pytest.mark.parametrize("divide", range(3))
@pytest.mark.parametrize("length", range(1, SAMPLES + 1))
def test_the_lab_adds_up_what_torch_adds_up(length, divide):
    found = accumulate(length, divide=DIVIDE[divide])
    assert found.parts[-1].after == pytest.approx(by_autograd(length, divide).tolist())
    assert found.whole == pytest.approx(by_autograd(10, 0).tolist())
    assert found.equal == (divide == 2 or length == 10 or (divide == 1 and 10 % length == 0))


def test_only_the_share_of_what_counts_is_right_with_ignored_targets():
    for length, divide in product(range(1, 8), DIVIDE):
        assert accumulate(length, divide=divide, ignore=True).equal == (divide == DIVIDE[3])


def test_adam_takes_no_notice_of_a_common_factor_and_sgd_does():
    undivided = accumulate(5, divide=DIVIDE[0])
    assert not undivided.equal
    assert undivided.same_weights("Adam") and not undivided.same_weights("SGD")
    assert not accumulate(4, divide=DIVIDE[0]).same_weights("Adam")


def test_what_is_cleared_and_when_decides():
    assert not accumulate(5, zero=ZERO[2]).equal and not accumulate(5, zero=ZERO[1]).equal
    last = accumulate(5, zero=ZERO[1]).parts[-1]
    assert last.after == pytest.approx(last.added)


def test_batch_norm_sees_the_parts():
    assert not accumulate(5, normalise=True).equal and accumulate(10, normalise=True).equal
    lab = AccumulationLab(3)
    lab.normalise.value = True
    assert "Expected more than 1 value per channel" in lab.view.status
    with pytest.raises(ValueError, match="Give a length from 1 to 10"):
        accumulate(0)


def test_added_nodes_are_those_that_create_graph_made():
    value, first = (derivative_of(lambda x: x**3, 2.0, k) for k in (0, 1))
    assert (len(value.graph.nodes), len(first.graph.nodes)) == (2, 4)
    kept = [first.graph.nodes[k].name for k in first.kept]
    assert kept == ["AccumulateGrad"]
    shared = derivative_of(lambda x: x.exp(), 1.0, 1)
    assert "ExpBackward0" in [shared.graph.nodes[k].name for k in shared.kept]


def test_derivatives_are_those_of_torch():
    for order, value in enumerate((8.0, 12.0, 12.0, 6.0)):
        assert derivative_of(lambda x: x**3, 2.0, order).value.values == (value,)
    given = [1.0, 2.0]
    hessian = torch.autograd.functional.hessian(lambda x: (x**4).sum(), torch.tensor(given))
    found = derivative_of(lambda x: x**4, given, 2).value.values
    assert found == pytest.approx(hessian.sum(1).tolist())


def test_where_torch_refuses_its_words_are_shown():
    explorer = SecondOrderExplorer(lambda x: x * 3, 2.0)
    assert "cannot be differentiated again" in explorer.view.status
    explorer.order.value = 2
    assert "element 0 of tensors does not require grad" in explorer.view.status
    assert explorer.view.svg == ""
    with pytest.raises(ValueError, match="There is none below 0"):
        derivative_of(lambda x: x, 1.0, -1)


def test_without_create_graph_there_is_no_graph():
    explorer = SecondOrderExplorer(lambda x: x**3, 2.0)
    assert "3 nodes were added" in explorer.view.status
    explorer.create_graph.value = False
    assert "There is no graph behind it" in explorer.view.status


def test_functions_without_a_signature_and_single_inputs_are_taken():
    assert "x = 1.0 gives 0.8415" in BranchExplorer(torch.sin, 1.0).view.status
    assert SecondOrderExplorer(torch.sin, 1.0).derivative.order == 1


def test_what_has_no_derivative_is_refused_in_a_sentence():
    with pytest.raises(TypeError, match="It returned a int, and only a tensor has one"):
        derivative_of(lambda x: 3, 2.0)
    with pytest.raises(ValueError, match="Give 0 or more"):
        SecondOrderExplorer(torch.sin, 2.0, orders=-1)
