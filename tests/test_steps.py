"""What operators do with memory, and from which line of the user's code."""

from __future__ import annotations

import linecache
import subprocess
import sys

import pytest
import torch
from torch import nn

from insidetorch import copies, memory_steps, relation
from insidetorch.observe.steps import COPYING

X = torch.arange(24.0).view(2, 3, 4)


@pytest.mark.parametrize(
    ("fn", "effects"),
    [
        (lambda: X.transpose(0, 1), ["view"]),
        (lambda: X[1], ["view"]),
        (lambda: X[[1]], ["copy"]),
        (lambda: X[X > 3], ["new", "copy"]),
        (lambda: X.view(6, 4), ["view"]),
        (lambda: X.reshape(6, 4), ["view"]),
        (lambda: X.transpose(0, 1).reshape(-1), ["view", "copy", "view"]),
        (lambda: X.contiguous(), []),
        (lambda: X.transpose(0, 1).contiguous(), ["view", "copy"]),
        (lambda: X.to(torch.float64), ["copy"]),
        (lambda: X.to(torch.float32), []),
        (lambda: X + 1, ["new"]),
        (lambda: X.clone().add_(1), ["copy", "write"]),
        (lambda: X.repeat(2, 1, 1), ["copy"]),
        (lambda: X.expand(2, 2, 3, 4), ["view"]),
        (lambda: X.split(2, dim=2), ["view"]),
        (lambda: torch.cat([X, X]), ["copy"]),
        (lambda: X.flip(0), ["copy"]),
        (lambda: X.detach(), ["view"]),
    ],
)
def test_an_effect_is_what_memory_shows(fn, effects):
    # lift_fresh belongs to how a list becomes the tensor of indices.
    found = [s.effect for s in memory_steps(fn).found if s.operator != "aten.lift_fresh"]
    assert found == effects
    result = fn()
    last = result[0] if isinstance(result, tuple) else result
    if effects and effects[-1] == "view" and "copy" not in effects:
        assert relation(last, X).same_storage
    if set(effects) & {"copy", "new"}:
        assert not relation(last, X).same_storage


@pytest.mark.parametrize("operator", sorted(COPYING))
def test_operators_that_copy_exist(operator):
    assert hasattr(torch.ops.aten, operator.removeprefix("aten."))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x):
        b, t, c = x.shape
        qkv = self.qkv(x.transpose(0, 1))  # first
        q, k, v = qkv.view(t, b, 3, 4, 8).permute(2, 1, 3, 0, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(b, t, c))  # second


def test_hidden_copies_of_an_attention_block_name_their_lines():
    block, x = Block(), torch.ones(2, 16, 32)
    found = copies(lambda: block(x).sum().backward()).found
    forward = [step for step in found if not step.node]
    assert [step.place.statement.partition("#")[2] for step in forward] == [" first", " second"]
    assert all(step.operator == "aten.clone" for step in forward)
    assert all(step.place.file == __file__ for step in forward)
    assert {step.node for step in found if step.node} == {"UnbindBackward0", "ViewBackward0"}
    assert "copy of 4,096 bytes\n  test_steps.py, line" in str(copies(lambda: block(x)))


def test_copies_are_seen_without_gradients():
    block, x = Block(), torch.ones(2, 16, 32)
    with torch.no_grad():
        found = copies(lambda: block(x))
    assert [s.operator for s in found.found] == ["aten.clone"] * 2 and not found.parts_unseen


def test_in_inference_mode_the_answer_says_what_it_does_not_see():
    block, x = Block(), torch.ones(2, 16, 32)
    with torch.inference_mode():
        inside = copies(lambda: block(x))
    around = copies(lambda: torch.inference_mode()(block)(x))
    for found in (inside, around):
        assert found.parts_unseen and "run this under torch.no_grad() instead" in str(found)


def test_results_are_counted_whole_and_writes_without_a_result_are_seen():
    [split] = memory_steps(lambda: torch.ones(6).split(2)).found[1:]
    assert (split.nbytes, split.sizes) == (24, (2,))
    p = torch.ones(3, requires_grad=True)
    p.grad = torch.ones(3)
    steps = memory_steps(torch.optim.SGD([p], 0.1, foreach=True).step)
    assert "write" in [s.effect for s in steps.found]
    turned = memory_steps(lambda: torch.ones(2, 3).t_()).found[-1]
    assert (turned.operator, turned.effect) == ("aten.t_", "view")
    assert repr(split) and repr(steps) == str(steps)


def test_code_without_source_says_so():
    [step] = copies(lambda: exec("y = x.t().clone()", {"x": torch.ones(2, 2)})).found
    assert str(step.place).startswith("code without source, line 1")


def test_a_copy_of_a_single_value_is_left_out():
    assert len(copies(lambda: torch.ones(()).clone())) == 0
    assert str(copies(lambda: torch.ones(()).clone())) == "none"
    assert copies(lambda: torch.ones(2).clone()).nbytes == 8


def test_a_cell_is_named_by_its_first_statement_and_the_line_in_it(tmp_path):
    source = "# a comment\nx = torch.ones(2, 3)\n\ny = x.t().contiguous()\n"
    name = str(tmp_path / "ipykernel_77" / "123.py")
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    code = compile(source, name, "exec")
    [step] = copies(lambda: exec(code, {"torch": torch})).found
    assert str(step.place) == "cell 'x = torch.ones(2, 3)', line 4: y = x.t().contiguous()"
    assert step.place.file == ""
    name = str(tmp_path / "ipykernel_77" / "456.py")
    line = "x.t().contiguous()\n"
    linecache.cache[name] = (len(line), None, [line], name)
    code = compile(line, name, "exec")
    [step] = copies(lambda: exec(code, {"x": torch.ones(2, 3)})).found
    assert str(step.place) == "cell 'x.t().contiguous()', line 1"  # not said twice


def test_what_the_function_raises_passes_through_and_the_mode_is_left():
    def fails():
        torch.ones(2).clone()
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        copies(fails)
    assert copies(lambda: None).found == ()
    assert sys.exc_info() == (None, None, None)


def test_a_recorded_backward_gives_the_same_gradient():
    block, x = Block(), torch.randn(2, 16, 32)
    block(x).sum().backward()
    expected = [p.grad.clone() for p in block.parameters()]
    block.zero_grad()
    memory_steps(lambda: block(x).sum().backward())
    assert all(map(torch.equal, expected, (p.grad for p in block.parameters())))


def test_tensors_without_a_storage_are_seen_too():
    found = memory_steps(lambda: torch.eye(3).to_sparse().coalesce() * 2).found
    assert [s.effect for s in found if "mul" in s.operator] == ["new"]


def test_counting_does_not_load_the_compiler_and_works_around_it():
    code = """
import sys, warnings, torch
from insidetorch import count, memory_steps
warnings.simplefilter("error")
x = torch.ones(2, 3)
before = count(lambda: x.t().contiguous()).calls
assert "torch._dynamo" not in sys.modules
compiled = torch.compile(lambda t: t.sin() + 1, backend="eager")
around = count(lambda: compiled(x))
again = count(lambda: compiled(x))
assert "torch._dynamo" in sys.modules
assert around["aten.sin"] >= 1 and again["aten.sin"] == 1 and again["aten.add"] == 1
assert count(lambda: x.t().contiguous()).calls == before
assert len(memory_steps(lambda: x + 1)) == 1
"""
    subprocess.run([sys.executable, "-c", code], check=True)
