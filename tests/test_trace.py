"""A trace names every operator, and counts the bytes that it has to read and write."""

from __future__ import annotations

import re
from html import unescape
from itertools import pairwise, product

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from insidetorch import OperatorTrace, copies, count, show, trace
from insidetorch.draw.theme import CHAR_WIDTH, SMALL_CHAR_WIDTH
from insidetorch.observe.aliases import relation
from insidetorch.observe.steps import memory_steps
from insidetorch.records import OperatorCount
from insidetorch.widgets.show import picture_of


def tensors():
    base = torch.arange(96, dtype=torch.float32)
    return {
        "a": base[:48].view(6, 8),
        "b": base[48:].view(6, 8),
        "c": torch.ones(6, 8),
        "row": torch.ones(8),
        "wide": torch.ones(1, 8).expand(6, 8),
        "half": torch.ones(6, 16)[:, ::2],
        "windows": torch.arange(20.0).unfold(0, 5, 3),
        "ids": torch.tensor([3, 1, 3]),
        "mask": torch.arange(48).view(6, 8) % 3 == 0,
        "double": torch.ones(6, 8, dtype=torch.float64),
    }


EXPRESSIONS = [
    "a * b + c",
    "torch.addcmul(c, a, b)",
    "a * a",
    "a + a.t().reshape(6, 8)",
    "a.add_(b)",
    "a[:3].mul_(b[3:])",
    "a[0:4] + a[2:6]",
    "torch.add(a, b, out=c)",
    "torch.mul(a, a, out=a)",
    "a + row",
    "a + wide",
    "wide.sum()",
    "wide + wide",
    "half.exp()",
    "half * half.t().t()",
    "windows.sum(0)",
    "windows * 2",
    "c.copy_(a)",
    "c.zero_()",
    "c.fill_(3)",
    "a.t().contiguous()",
    "a.double() + double",
    "a > b",
    "torch.where(mask, a, b)",
    "torch.cat([a, b, a])",
    "a @ b.t()",
    "a.softmax(-1)",
    "torch.relu_(a)",
    "a.sum() / a.numel()",
    "(a * b).tanh().mul_(c).sum(1)",
    "a.view(8, 6).t()[1:]",
    "torch.zeros(4, 4)",
    "torch.add(a, b, out=a)",
    "a + a.view(torch.int32)",
    "torch.cat([a[:3], a[2:5], a[1:4]])",
    "torch.stack(a.unbind(1)).sum()",
]


VIEWS = (
    "lift_fresh",
    "t",
    "view",
    "expand",
    "slice",
    "detach",
    "unfold",
    "_unsafe_view",
    "transpose",
    "unbind",
)


class Addresses(TorchDispatchMode):
    """What each operator has to read, by listing every byte of its arguments."""

    def __init__(self):
        super().__init__()
        self.read = []

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        fills = op.__name__.split(".")[0] in ("copy_", "zero_", "fill_")
        values = [*args[fills:], *(value for name, value in kwargs.items() if name != "out")]
        given = [t for v in values for t in (v if isinstance(v, list | tuple) else [v])]
        given = [t for t in given if isinstance(t, torch.Tensor)]
        read = set()
        for t in given:
            read |= addresses(t)
        result = op(*args, **kwargs)
        name = op.__name__.split(".")[0]
        if name not in VIEWS:
            self.read.append((name, len(read)))
        return result


def addresses(t):
    start = t.data_ptr()
    return {
        start + sum(i * s for i, s in zip(index, t.stride(), strict=True)) * t.element_size() + byte
        for index in product(*map(range, t.shape))
        for byte in range(t.element_size())
    }


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_bytes_read_are_the_distinct_addresses(expression):
    with Addresses() as brute:
        eval(expression, {"torch": torch, **tensors()})
    found = trace(lambda: eval(expression, {"torch": torch, **tensors()}))
    names = [one.operator.removeprefix("aten.") for one in found.found]
    # The tensors are made anew inside the run: their own operators come first and are left out.
    moved = [
        (name, one.read)
        for name, one in zip(names, found.found, strict=True)
        if one.read or one.written
    ]
    assert moved[-len(brute.read) :] == brute.read


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_bytes_made_are_what_torch_allocates(expression):
    names = {"torch": torch, **tensors()}
    with torch.autograd.profiler.profile(profile_memory=True) as profile:
        kept = eval(expression, names)
    allocated = sum(event.self_cpu_memory_usage for event in profile.function_events)
    names = {"torch": torch, **tensors()}
    found = trace(lambda: eval(expression, names))
    made = {one.made: one for one in found.found if one.made}
    total = sum(one.written for one in made.values())
    # The profiler sees what is left at the end: what is gone was made and freed.
    assert total - sum(found.intermediates) == allocated
    assert kept is not None


def test_intermediates_are_the_storages_that_are_gone_at_the_end():
    a, b, c = torch.ones(3, 1000)
    assert trace(lambda: a * b + c).intermediates == (4000,)
    assert trace(lambda: torch.addcmul(c, a, b)).intermediates == ()
    assert trace(lambda: (a * b).add_(c)).intermediates == ()
    kept = []
    trace_of_kept = trace(lambda: kept.append(a * b) or kept[0] + c)
    assert trace_of_kept.intermediates == () and len(kept) == 1


def test_an_expression_in_place_moves_the_same_and_makes_nothing():
    a, b, c = torch.ones(3, 1000)
    plain, in_place = trace(lambda: a + b), trace(lambda: a.add_(b))
    assert plain.moved == in_place.moved == 12_000
    assert [one.made for one in in_place.found] == [0]
    assert trace(lambda: torch.add(a, b, out=c)).moved == 12_000


def test_what_chooses_reads_what_it_returns_and_its_indices():
    table, ids = torch.ones(1000, 4), torch.tensor([3, 1])
    for fn in (lambda: table[ids], lambda: table.index_select(0, ids)):
        [one] = trace(fn).found
        assert (one.read, one.written) == (32 + 16, 32)


def test_what_only_takes_the_shape_reads_nothing():
    a = torch.ones(1000)
    for fn in (lambda: torch.zeros_like(a), lambda: a.new_ones(1000)):
        [one] = trace(fn).found
        assert (one.read, one.written) == (0, 4000)


@pytest.mark.parametrize(
    ("write", "read", "written"),
    [
        (lambda t, i, row: t.index_add_(0, i, row), 8 + 32 + 32, 32),
        (lambda t, i, row: t.index_copy_(0, i, row), 8 + 32, 32),
        (lambda t, i, row: t.__setitem__(i, row), 8 + 32, 32),
        (lambda t, i, row: t.index_put_((i,), row, accumulate=True), 8 + 32 + 32, 32),
        (lambda t, i, row: t.index_fill_(0, i, 1.0), 8, 32),
        (lambda t, i, row: t.scatter_(0, i.expand(1, 8).clone(), row), 64 + 32, 32),
        (lambda t, i, row: t.scatter_add_(0, i.expand(1, 8).clone(), row), 64 + 32 + 32, 32),
    ],
)
def test_a_write_through_indices_moves_its_places(write, read, written):
    t, i, row = torch.zeros(1000, 8), torch.tensor([3]), torch.ones(1, 8)
    one = trace(lambda: write(t, i, row)).found[-1]
    assert (one.read, one.written) == (read, written)


def test_what_returns_a_number_has_read_all():
    a, b = torch.ones(100), torch.ones(100)
    [equal] = trace(lambda: torch.equal(a, b)).found
    assert (equal.read, equal.written) == (800, 0)
    assert trace(lambda: a[0].item()).found[-1].read == 4


def test_many_views_of_one_storage_are_counted_at_once():
    rows, columns = torch.ones(3000, 2).unbind(0), torch.ones(2, 3000).unbind(1)
    for views in (rows, columns):
        assert trace(lambda views=views: torch.stack(views)).read == 24_000


@pytest.mark.filterwarnings("ignore")  # nested tensors are a prototype
def test_a_nested_tensor_is_traced_as_one_of_many_sizes():
    nested = torch.nested.nested_tensor([torch.ones(3), torch.ones(2)])
    [one] = trace(lambda: nested + 1).found
    assert (one.read, one.written, one.given[0].sizes) == (20, 20, ())


def test_taking_memory_writes_nothing():
    x = torch.ones(8)
    found = trace(lambda: torch.add(x, x, out=torch.empty(8)))
    assert [(one.operator, one.read, one.written) for one in found.found] == [
        ("aten.empty", 0, 0),
        ("aten.add", 32, 32),
    ]
    assert found[0].made == 1 and "a view" not in show(found).svg
    for take in (
        torch.empty_like,
        lambda x: x.new_empty(3),
        lambda x: torch.empty_strided((2,), (1,)),
    ):
        [one] = trace(lambda take=take: take(x)).found
        assert one.moved == 0 and one.made


def test_what_runs_in_backward_is_told_with_its_node():
    x = torch.ones(8, requires_grad=True)
    found = trace(lambda: (x * 2).exp().sum().backward())
    by_node = {one.operator: one.node for one in found.found if one.node}
    assert by_node["aten.expand"] == "SumBackward0"
    whole = trace(lambda: torch.ones(8, requires_grad=True).sum().backward())  # is expanded
    assert whole.found[-1].node == "AccumulateGrad"
    assert "MulBackward0" in [one.node for one in found.found if one.operator == "aten.mul"]
    assert "" in [one.node for one in found.found if one.operator == "aten.mul"]


def test_the_line_of_each_operator_is_told():
    def step():
        y = torch.ones(3)
        return y * 2

    found = trace(step)
    assert [one.place.statement for one in found.found] == ["y = torch.ones(3)", "return y * 2"]


def test_sparse_and_inference_are_counted_without_an_error():
    sparse = torch.eye(3).to_sparse()
    assert trace(lambda: sparse @ torch.ones(3, 2)).found
    with torch.inference_mode():
        found = trace(lambda: torch.ones(2, 3).reshape(6))
    assert found.found and found.parts_unseen  # reshape arrives whole, and is told


@pytest.mark.filterwarnings("ignore")  # jagged tensors are in beta
def test_a_sparse_tensor_reads_and_writes_its_parts():
    x = torch.eye(4)
    made, doubled, dense = trace(lambda: (x.to_sparse() * 2).to_dense()).found
    parts = 2 * 4 * 8 + 4 * 4  # indices of four elements in int64, their values in float32
    assert (made.read, made.written) == (64, parts)
    assert (doubled.read, doubled.written) == (parts, parts)
    assert (dense.read, dense.written) == (parts, 64)
    assert len({one.made for one in (made, doubled, dense)}) == 3


def test_jagged_tensors_run_as_without_a_trace():
    parts = [torch.ones(2), torch.ones(3)]
    t = torch.nested.nested_tensor(parts, layout=torch.jagged)
    assert [one.operator for one in trace(lambda: t * 2).found] == ["aten.mul"]
    with torch.inference_mode(), pytest.raises(Exception) as plain:
        torch.cdist(t, t)
    with torch.inference_mode(), pytest.raises(type(plain.value)) as traced:
        trace(lambda: torch.cdist(t, t))
    assert str(traced.value) == str(plain.value)


def test_what_the_function_raises_passes_through():
    with pytest.raises(ZeroDivisionError):
        trace(lambda: 1 / 0)


def test_rows_that_use_one_result_light_up_together():
    a, b, c = torch.ones(3, 4)
    found = trace(lambda: a * b + c)
    assert [one.made for one in found.found] == [1, 2]
    assert [t.storage for t in found[1].given] == [1, 0]
    svg = OperatorTrace(lambda: (a * b).view(2, 2).t()).view.svg
    assert set(re.findall('data-link="([^"]*)"', svg)) == {"storage 1"}


def test_text_and_picture_tell_the_same_numbers():
    x = torch.ones(8, requires_grad=True)
    found = trace(lambda: (x * 2).exp().sum().backward())
    text = show(found).text
    assert text.startswith(f"{len(found)} operators read {found.read:,} bytes and wrote")
    assert text.count("; reads ") == len(found) and "in backward, ExpBackward0" in text
    assert show(found).svg.startswith("<svg")


def test_views_are_left_out_by_choice_and_a_run_is_repeated():
    calls = []
    a = torch.ones(4, 4)
    widget = OperatorTrace(lambda: calls.append(1) or a.t().contiguous())
    rows = len(re.findall(r'data-r="\d+" data-c="0"', widget.view.svg))
    widget.views.value = False
    assert len(re.findall(r'data-r="\d+" data-c="0"', widget.view.svg)) == rows - 1 == 1
    widget.again.click()
    assert len(calls) == 2
    assert OperatorTrace(lambda: None).view.status == "No operator ran."


def training_step():
    model = torch.nn.Sequential(
        torch.nn.Conv1d(3, 8, 3), torch.nn.Flatten(), torch.nn.Linear(8 * 14, 4)
    )
    optimizer = torch.optim.SGD(model.parameters(), momentum=0.9)

    def step():
        optimizer.zero_grad()
        model(torch.ones(32, 3, 16)).log_softmax(1).mean().backward()
        optimizer.step()

    return step


def test_a_trace_reads_as_text_and_is_bounded():
    found = trace(training_step())
    assert str(found) == repr(found) == show(found).text and "Traced(" not in repr(found)
    assert repr(found[0]) == "aten.ones: nothing → float32 (32, 3, 16); reads 0, writes 6,144 bytes"
    assert repr(found[0].returned[0]) == "float32 (32, 3, 16)"
    many = trace(lambda: [torch.ones(1) for _ in range(3000)])
    assert len(repr(many)) < 4000 and repr(many).endswith("\nAnd 2,960 more operators.")
    assert repr(trace(lambda: [torch.ones(1) for _ in range(41)])).endswith("And 1 more operator.")
    rows = torch.ones(1000, 2).unbind()
    [wide] = trace(lambda: torch.stack(rows)).found
    assert "float32 (2,) and 992 more → float32 (1000, 2)" in repr(wide) and len(repr(wide)) < 300


def test_a_number_agrees_with_its_noun():
    found = trace(lambda: torch.ones(1, dtype=torch.bool))
    assert str(found[0]).endswith("reads 0, writes 1 byte")
    flags = torch.ones(2, dtype=torch.bool)
    assert "clone: copy of 1 byte\n" in str(memory_steps(lambda: flags[:1].clone()))
    assert relation(flags, flags[:1]).words == "on one storage, with 1 byte in common"
    assert (
        "1 intermediate result of 1 byte is gone"
        in trace(lambda: torch.ones(1, dtype=torch.bool).logical_not()).sentence
    )


def test_a_count_reads_as_text_and_is_bounded():
    found = count(training_step())
    assert repr(found) == str(found) and "aten.convolution_backward.default" in repr(found)
    assert repr(OperatorCount(tuple((f"aten.f{k}", 2) for k in range(50)))).endswith(
        "aten.f39 ×2, and 10 more kinds"
    )


def test_marks_of_the_profiler_are_left_out_of_a_trace():
    step = training_step()
    with torch.profiler.profile() as profile:
        step()
    assert any("Optimizer" in event.key for event in profile.key_averages())
    names = [one.operator for one in trace(step).found]
    assert names and all(name.startswith("aten.") for name in names)
    assert count(step)["profiler._record_function_exit"] == 2  # which is what reaches a mode


def test_a_trace_of_meta_tensors_says_that_they_have_no_memory():
    says = "A tensor on the meta device has no memory"
    assert says in str(trace(lambda: torch.ones(2, device="meta")))
    assert says in show(trace(lambda: torch.ones(2, device="meta"))).svg
    assert says not in str(trace(lambda: torch.ones(2)))


@pytest.mark.parametrize("look", [trace, count, copies, memory_steps, OperatorTrace])
def test_a_result_in_place_of_a_function_is_refused(look):
    asked = r"of Tensor was asked\. It cannot be called, .* Give a function without arguments"
    with pytest.raises(TypeError, match=asked):
        look(torch.ones(2) + 1)


def test_no_text_of_the_table_leaves_its_cell():
    q = torch.ones(2, 4, 8, 16)
    runs = [
        training_step(),
        lambda: torch.nn.functional.scaled_dot_product_attention(q, q, q),
        lambda: torch.stack(torch.ones(1000, 2).unbind()),
        lambda: torch.ones(12345, 1000, device="meta") + torch.ones(12345, 1000, device="meta"),
    ]
    cell = r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"[^>]*/>(.*?)<g class="s">(.*?)</g>'
    for run in runs:
        found = trace(run)
        cells = re.findall(cell, picture_of(found, live=True).svg)
        columns = sorted({(float(x), float(width)) for x, width, *_ in cells})
        assert len(cells) == 4 * len(found) and len(columns) == 4
        for (x, width), (following, _) in pairwise(columns):
            assert x + width < following
        for _, width, value, small in cells:
            for texts, letter in ((value, CHAR_WIDTH), (small, SMALL_CHAR_WIDTH)):
                for text in re.findall(">([^<]+)</text>", texts):
                    assert len(unescape(text)) * letter < float(width), text


def test_a_text_that_is_cut_stands_whole_in_the_sentence_of_its_row():
    rows = torch.ones(9, 2, 3).unbind()
    svg = picture_of(trace(lambda: torch.stack(rows)), live=True).svg
    assert " …</text>" in svg
    assert (
        "float32 (2, 3) and 1 more → float32 (9, 2, 3)" in re.search('data-say="([^"]*)"', svg)[1]
    )
