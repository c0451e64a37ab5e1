"""What torch.compile makes of a function is told as it is, and nothing of the learner's changes."""

from __future__ import annotations

import json
import linecache
import logging
import os
import subprocess
import sys
import warnings
from collections import Counter

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from coursekit.machine import has
from insidetorch import compilation_of, explain_compile
from insidetorch.draw.compilation import compilation_text
from insidetorch.observe import private_compile, private_inductor
from insidetorch.observe.compile_reasons import break_text, guard_text, skipped_text
from insidetorch.records import Compilation, CompiledGraph, Recompile

needs_compiler = pytest.mark.skipif(not has("compiler"), reason="there is no C++ compiler")
x = torch.ones(3)


def by_operators(fn, *calls, **how):
    return compilation_of(fn, *calls, backend="aot_eager", **how)


def text_of(fn, *calls, **how):
    return explain_compile(fn, *calls, backend="aot_eager", **how).text


def smooth(x):
    return (x * 2 + 1).sin()


def told(x):
    y = smooth(x)
    print("here")
    return y.exp()


def told_first(x):
    print("first")
    return x + 1


def branched(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


def drawn(x):
    return x * x.sum().item()


def told_in_a_loop(x):
    for k in range(2):
        x = smooth(x)
        print(k)
    return x


def inner(x):
    y = x.exp()
    print("inside")
    return y + 1


def outer(x):
    return inner(x * 2) * 3


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.pos = 0

    def forward(self, x):
        self.pos += 1
        return x * self.pos


# What each of these graphs holds, and what ended it.
GRAPHS = {
    "no break": (smooth, [("mul add sin", "")]),
    "print": (told, [("mul add sin", "print(...)"), ("exp", "")]),
    "print first": (told_first, [("", "print(...)"), ("add", "")]),
    "branch": (branched, [("sum gt", "a branch on a tensor's value"), ("add", "")]),
    "item": (drawn, [("sum", ".item(), which needs a tensor's value"), ("mul", "")]),
    "one that breaks is called": (
        outer,
        [("mul", "print(...)"), ("exp", "print(...)"), ("add", ""), ("mul", "")],
    ),
    "one operator": (lambda x: x @ x, [("dot", "")]),
    "views": (lambda x: x.view(1, 3).t() + 1, [("view t add", "")]),
    "a choice by a mask": (
        lambda x: x[x > 0].sum(),
        [("gt", "a result whose size depends on a tensor's values"), ("sum", "")],
    ),
    "no tensor": (lambda x: 3, []),
    "a torch function": (torch.sin, [("sin", "")]),
    "a module": (torch.nn.Linear(3, 2), [("view t addmm view", "")]),
    "a bound method": (Counting().forward, [("mul", "")]),
    "a transformed function": (torch.func.grad(lambda x: x.sin().sum()), None),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_and_what_ended_them(name):
    fn, expected = GRAPHS[name]
    found = by_operators(fn, (x,))
    graphs = [
        (" ".join(graph.operators).replace("aten.", ""), graph.ended_by) for graph in found.graphs
    ]
    if expected is None:
        assert len(graphs) == 1 and "sin" in graphs[0][0] and "cos" in graphs[0][0]
    else:
        assert graphs == expected
    assert all(graph.aten for graph in found.graphs)
    assert found.breaks == tuple(graph for graph in found.graphs if graph.ended_by)


def test_the_operators_are_those_that_run_without_the_compiler():
    class Names(TorchDispatchMode):
        found = ()

        def __torch_dispatch__(self, op, types, args=(), kwargs=None):
            self.found += (f"aten.{op.__name__.split('.')[0]}",)
            return op(*args, **(kwargs or {}))

    block = torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.LayerNorm(8), torch.nn.Dropout(0.5)
    )
    batch = torch.randn(2, 4)
    with Names() as names:
        block(batch)
    [graph] = by_operators(block, (batch,)).graphs
    assert graph.operators == names.found and graph.views == names.found.count("aten.t")


def test_where_the_operators_cannot_be_told_the_names_are_those_of_python(monkeypatch):
    monkeypatch.setattr(private_compile, "sizes_only", None)
    found = by_operators(smooth, (x,))
    assert [(graph.operators, graph.aten) for graph in found.graphs] == [
        (("mul", "add", "sin"), False)
    ]
    assert "graph 1, with Python's names: mul, add, sin" in compilation_text(found)


def test_the_line_of_a_break_is_the_users():
    [graph] = by_operators(told, (x,)).breaks
    assert str(graph.place) == f"test_compilation.py, line {told.__code__.co_firstlineno + 2}: " + (
        'print("here")'
    )
    for graph in by_operators(outer, (x,)).breaks:
        assert graph.place.statement == 'print("inside")'


def test_the_line_of_a_break_in_a_cell_is_named_by_the_cell(tmp_path):
    source = "import torch\ndef step(x):\n    y = x * 2\n    print(1)\n    return y\n"
    name = str(tmp_path / "ipykernel_77" / "123.py")
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names = {}
    exec(compile(source, name, "exec"), names)
    [graph] = by_operators(names["step"], (x,)).breaks
    assert str(graph.place) == "cell 'import torch', line 4: print(1)"


def test_a_function_with_a_break_in_a_loop_runs_as_written():
    [graph, *_] = reversed(by_operators(told_in_a_loop, (x,)).graphs)
    assert graph.eager and graph.ended_by == "print(...)"
    assert "A whole function ran as written, without a graph: print(...)" in text_of(
        told_in_a_loop, (x,)
    )


def test_another_length_compiles_again_and_the_third_does_not():
    found = by_operators(smooth, (x,), (torch.ones(4),), (torch.ones(5),))
    assert found.recompiles == (
        Recompile(2, "tensor 'x' size mismatch at index 0. expected 3, actual 4"),
    )
    assert len(found.graphs) == 2 and not found.gave_up
    assert len(by_operators(smooth, (x,), (torch.ones(4),), dynamic=True).graphs) == 1
    assert len(by_operators(smooth, (x,), (torch.ones(4),), (x[:2],), dynamic=False).graphs) == 3


def test_a_number_that_changes_compiles_again_until_torch_gives_up():
    module = Counting()
    found = by_operators(module, *[(x,)] * 12)
    assert module.pos == 12 and found.calls == 12 and found.gave_up
    assert [(one.call, one.guard) for one in found.recompiles] == [
        (call, f"self.pos == {call - 2}") for call in range(2, 9)
    ]
    assert {one.place.statement for one in found.recompiles} == {"self.pos += 1"}
    assert len(found.graphs) == 8
    assert not by_operators(Counting(), *[(x,)] * 3).gave_up


def test_what_torch_puts_in_for_itself_is_left_out():
    found = by_operators(lambda x, k: x.detach() * k, (x, 1.5), (x, 2.5))
    assert [graph.operators for graph in found.graphs] == [("aten.mul",), ("aten.mul",)]
    assert [one.guard for one in found.recompiles] == ["k == 1.5"]


def test_the_same_is_told_again_and_again():
    calls = (x,), (torch.ones(4),)
    compiled = torch.compile(smooth, backend="eager")
    compiled(torch.ones(7)), compiled(torch.ones(8))  # what torch has learned of the lengths
    first = by_operators(smooth, *calls)
    assert first == by_operators(smooth, *calls) and len(first.graphs) == 2


def test_what_the_learner_has_compiled_stays_compiled():
    seen = []

    def backend(gm, _inputs):
        seen.append(gm)
        return gm.forward

    class Doubling(torch.nn.Module):
        def forward(self, x):
            return x * 2

    class Halving:
        @torch.compile(backend=backend)
        def halved(self, x):
            return x / 2

    compiled = torch.compile(lambda x: x.sin(), backend=backend)
    for mine in (compiled, torch.compile(Doubling(), backend=backend), Halving().halved):
        seen.clear()
        mine(x)
        found = by_operators(mine, (x,), (x.double(),))
        mine(x)
        assert found.was_compiled and len(found.graphs) == 2 and len(seen) == 1
    mine = torch.compile(smooth, backend=backend)
    mine(x)
    seen.clear()
    by_operators(smooth, (x,), (torch.ones(4),), (torch.ones(4).double(),))
    mine(x)
    assert seen == []


def test_a_module_that_was_compiled_in_place_is_looked_at_as_it_was():
    module = Counting()
    module.compile(backend="eager")
    found = by_operators(module, (x,))
    assert found.was_compiled and [graph.operators for graph in found.graphs] == [("aten.mul",)]
    assert module._compiled_call_impl is not None and module.pos == 1
    assert "compiled already" in compilation_text(found)


def test_nothing_of_the_learners_changes():
    import torch._dynamo
    from torch._dynamo import output_graph, pgo, utils

    def state():
        counters = {name: Counter(counter) for name, counter in utils.counters.items() if counter}
        return (
            counters,
            list(utils._compilation_metrics),
            list(output_graph.graph_break_reasons),
            repr(pgo._CODE_STATE),
            torch._dynamo.config.get_config_copy(),
            torch.is_grad_enabled(),
            torch.get_num_threads(),
            warnings.filters[:],
            torch.random.get_rng_state().tolist(),
        )

    torch.compile(drawn, backend="eager")(torch.ones(5))
    before = state()
    with torch.no_grad():
        by_operators(told, (x,), (torch.ones(4),))
    by_operators(drawn, (x,))
    assert state() == before


def test_the_generator_moves_as_the_function_moves_it():
    def noisy(x):
        return x + torch.randn(3)

    torch.manual_seed(0)
    noisy(x)
    expected = torch.random.get_rng_state()
    torch.manual_seed(0)
    by_operators(noisy, (x,))
    assert torch.equal(torch.random.get_rng_state(), expected)


def test_the_function_really_runs_once_for_each_call():
    held = torch.zeros(3)
    assert len(by_operators(lambda t: t.add_(1), (held,), (held,)).graphs) == 1
    assert held.tolist() == [2, 2, 2]
    assert by_operators(lambda: x + 1).calls == 1


def test_no_log_line_appears(capfd, monkeypatch):
    lines = []
    monkeypatch.setattr(logging.StreamHandler, "emit", lambda self, record: lines.append(record))
    by_operators(Counting(), *[(x,)] * 10)
    by_operators(drawn, (x,))
    with pytest.raises(RuntimeError):
        by_operators(lambda x: x @ torch.ones(7), (x,))
    assert [line.getMessage() for line in lines if line.levelno >= logging.WARNING] == []
    assert capfd.readouterr() == ("", "")
    logging.getLogger("torch._dynamo").warning("as before")
    assert "as before" in [line.getMessage() for line in lines]


def test_what_the_function_raises_passes_through_and_all_is_put_back():
    from torch._dynamo import utils

    notes = utils._compilation_metrics

    def fails(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        by_operators(fails, (x,))
    assert utils._compilation_metrics is notes


def test_what_keeps_torch_from_compiling_is_told():
    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, op, types, args=(), kwargs=None):
            return op(*args, **(kwargs or {}))

    with Mode():
        found = compilation_of(smooth, (x,))
    assert found.graphs == () and found.kernels is None
    assert found.skipped.startswith("Nothing was compiled: a dispatch mode is on")
    for stance in ("force_eager", "eager_on_recompile"):
        with torch.compiler.set_stance(stance):
            found = compilation_of(smooth, (x,))
        assert found.graphs == () and f"has chosen {stance!r}" in found.skipped
    assert "torch found no operator to compile" in compilation_of(lambda: 3).skipped


def test_what_torch_does_not_compile_is_in_no_graph():
    def one_by_one(x):
        yield x + 1

    @torch.compiler.disable
    def left_out(x):
        return x + 1

    assert by_operators(one_by_one, (x,)).graphs == ()
    found = by_operators(lambda x: left_out(x * 2) - 1, (x,))
    assert [graph.operators for graph in found.graphs] == [("aten.mul",), ("aten.sub",)]
    assert "disable" in found.breaks[0].ended_by
    assert not by_operators(left_out, (x,)).was_compiled


def test_arguments_may_be_anything():
    def scaled(x, sizes, names):
        return x * sizes["a"] + len(names)

    found = by_operators(scaled, (x, {"a": 2}, {1}), (x, {"a": 3}, {1}))
    assert [one.guard for one in found.recompiles] == ["sizes['a'] == 2"]


def test_what_was_asked_wrongly_is_refused():
    with pytest.raises(TypeError, match=r"A call with a Tensor was asked\. .* Write \(x,\)"):
        compilation_of(smooth, x)
    with pytest.raises(
        TypeError, match=r"The compilation of a Tensor was asked\. It cannot be called\. Give"
    ):
        compilation_of(x)
    with pytest.raises(ValueError, match=r"The backend 'eager' was asked\. .* Use \"inductor\" or"):
        compilation_of(smooth, (x,), backend="eager")


def test_reasons_are_short_and_without_paths_and_numbers_of_objects():
    assert break_text("Attempt to trace X\n  Explanation: long") == "Attempt to trace X"
    assert guard_text("0/1: ___check_type_id(L['k'], 140387476132352), type=<class 'float'>") == (
        "type(k) is float"
    )
    assert guard_text("0/1: ___check_obj_id(L['f'], 140387476132352), type=<x>") == (
        "f is the same object"
    )
    assert guard_text("2/0: not ___dict_contains('k', L['self'].__dict__)  # a.py:3 in f") == (
        "'k' not in self.__dict__"
    )
    assert "raised KeyError. " in skipped_text(KeyError("/tmp/x"))
    assert "/tmp" not in skipped_text(KeyError("/tmp/x"))


def test_the_text_says_what_to_do():
    text = text_of(told, (x,))
    assert text.splitlines()[:4] == [
        "1 call: 2 graphs, 1 graph break, 0 recompiles.",
        "graph 1: aten.mul, aten.add, aten.sin",
        f"  ended by print(...), at {by_operators(told, (x,)).breaks[0].place}",
        "graph 2: aten.exp",
    ]
    assert "Print after the function has returned" in text and "fullgraph=True" in text
    assert "fullgraph=True" not in text_of(smooth, (x,))
    assert "Keep the value in a tensor." in text_of(drawn, (x,))
    assert "torch.where" in text_of(branched, (x,))
    assert "With dynamic=True one graph fits all sizes" in text_of(smooth, (x,), (torch.ones(4),))
    text = text_of(Counting(), *[(x,)] * 10)
    assert "graphs 1 to 8, each: aten.mul" in text and "limit of recompiles was reached" in text
    assert "belongs in a tensor" in text and "nothing to fuse" in text
    assert "nothing to fuse" not in text_of(smooth, (x,))
    assert 'the backend "aot_eager" was asked' in text_of(smooth, (x,))


def test_a_number_that_is_an_argument_becomes_a_variable():
    text = text_of(lambda x, k: x * k, *[(x, k) for k in range(3, 8)])
    assert "2 graphs" in text and "once more, with a variable" in text
    assert "belongs in a tensor" not in text
    text = text_of(lambda x, d: x * len(d), (x, [1]), (x, [1, 2]))
    assert "with a variable" not in text and "belongs in a tensor" not in text


def test_without_dynamic_sizes_a_number_stays_a_constant():
    calls = [(x, k) for k in (3, 4)]
    text = text_of(lambda x, k: x * k, *calls, dynamic=False)
    assert "1 recompile" in text and "belongs in a tensor" in text
    assert "with a variable" not in text
    assert by_operators(lambda x, k: x * k, *calls, dynamic=False).dynamic is False


def test_the_end_of_a_block_is_no_graph_and_no_break():
    def inside(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ x
            print(y.shape)
        return y

    found = by_operators(inside, (torch.ones(2, 2),))
    assert [graph.ended_by for graph in found.graphs] == ["print(...)"]
    assert all(graph.operators for graph in found.graphs)
    assert "before any operator" not in text_of(inside, (torch.ones(2, 2),))


def test_a_break_inside_a_library_is_placed_at_the_users_line():
    def warned(x):
        y = x + 1
        logging.warning("here")
        return y * 2

    [graph, *_] = by_operators(warned, (x,)).breaks
    assert graph.place.statement == 'logging.warning("here")'


def test_long_records_are_cut_in_the_text():
    graphs = [CompiledGraph((f"aten.{k}",) * 40) for k in range(30)]
    recompiles = tuple(Recompile(k, "k == 1") for k in range(30))
    text = compilation_text(Compilation(30, tuple(graphs), recompiles, kernels=3))
    assert "aten.0, and 10 more operators" in text and "and 10 more graphs" in text
    assert "and 18 more recompiles" in text


def test_no_private_name_of_the_compiler_is_missing(monkeypatch):
    assert private_compile.missing() == []
    monkeypatch.setattr(private_inductor, "NAMES", ("torch._inductor.compile_fx.compile_xf",))
    monkeypatch.setattr(private_compile, "NAMES", ("torch._dynamo.nowhere",))
    assert private_compile.missing() == [*private_compile.NAMES, *private_inductor.NAMES]


def run(code, folder, **variables):
    """What a script in a process of its own prints, as JSON; its caches start in `folder`."""
    variables = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(folder / "kernels"), **variables}
    script = folder / "script.py"
    script.write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], env=variables, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_neither_the_package_nor_the_module_loads_the_compiler(tmp_path):
    code = (
        "import json, sys, insidetorch\n"
        "insidetorch.explain_compile\n"
        "print(json.dumps([n for n in ('torch._dynamo', 'torch._inductor') if n in sys.modules]))"
    )
    assert run(code, tmp_path) == []


@needs_compiler
def test_kernels_are_counted_the_same_with_a_cold_and_a_warm_cache(monkeypatch):
    from torch._inductor.graph import GraphLowering
    from torch._inductor.utils import fresh_cache

    generated = []
    original = GraphLowering.run
    monkeypatch.setattr(
        GraphLowering, "run", lambda self, *args: generated.append(1) or original(self, *args)
    )
    w = torch.ones(4, 4, requires_grad=True)
    with fresh_cache():
        cold = compilation_of(lambda: smooth(w).sum().backward())
        before = len(generated)
        warm = compilation_of(lambda: smooth(w).sum().backward())
    assert before == len(generated) == 2  # forward and backward, the first time
    for found in (cold, warm):
        assert (found.kernels, found.backward_kernels, found.backend) == (1, 1, "inductor")
        assert len(found.code) == 2 and found.skipped == ""
        assert ", 1 kernel and 1 kernel for backward." in compilation_text(found)
    assert cold.code == warm.code


def test_a_kernel_is_a_loop_over_the_data():
    nested = 'extern "C" void kernel() { %s for(int64_t x0) { for(int64_t x1) { f(); } } %s }'
    threads = "for (int tid = 0; tid < 2; tid++) { total += part[tid]; }"
    assert private_inductor.loops_in(nested % ("", "")) == 1
    assert private_inductor.loops_in(nested % (threads, threads)) == 1
    assert private_inductor.loops_in(nested % ("for(int64_t x2) { g(); }", "")) == 2
    assert private_inductor.loops_in('extern "C" void kernel() { out[0] = 1; }') == 1
    assert private_inductor.loops_in("@triton.jit\ndef triton_(x):\n  for r in range(2): f()") == 1


@needs_compiler
@pytest.mark.parametrize(
    ("fn", "sizes", "kernels"),
    [
        (lambda x: x.softmax(-1), (1000,), 3),  # the largest value, the sum, the quotient
        (lambda x: x.softmax(-1), (64, 8), 1),  # row by row
        (lambda x: (x.sum(), x[1:].sin()), (64, 8), 2),  # not fused, though in one function
        (lambda x: x.sum(), (1000, 1000), 1),  # on several threads
    ],
    ids=["softmax of a vector", "softmax of rows", "two that do not fit", "a sum"],
)
def test_kernels_are_the_loops_that_torch_could_not_fuse(fn, sizes, kernels):
    found = compilation_of(fn, (torch.ones(sizes),))
    assert (found.kernels, len(found.code)) == (kernels, 1)


@needs_compiler
def test_a_library_call_generates_no_kernel():
    found = compilation_of(torch.mm, (torch.ones(4, 4), torch.ones(4, 4)))
    assert (found.kernels, found.code, found.skipped) == (0, (), "")
    assert "a library or torch itself has those" in compilation_text(found)


@needs_compiler
def test_the_code_of_the_kernels_and_torchs_own_count_are_as_they_should(monkeypatch, tmp_path):
    from torch._inductor import metrics

    before = metrics.generated_kernel_count
    found = compilation_of(smooth, (torch.ones(1000),))
    assert metrics.generated_kernel_count == before
    assert found.kernels == len(found.code) == 1 and "sin(" in found.code[0]
    assert "1 kernel." in compilation_text(found)


BLOCKED = """
import json, torch
from insidetorch import compilation_of
found = compilation_of(lambda x: (x * 2).sin(), (torch.ones(3),))
told = [found.backend, found.kernels, found.code, found.graphs[0].operators]
print(json.dumps([told, found.skipped]))
"""


@pytest.mark.skipif(os.name == "nt", reason="a script stands for the compiler")
@pytest.mark.parametrize("works", [False, True], ids=["none there", "fails"])
def test_without_a_compiler_that_works_the_operators_run_one_by_one(tmp_path, works):
    blocked = tmp_path / "bin"
    blocked.mkdir()
    if works:  # it tells its version, and fails on each program
        compiler = blocked / "g++"
        compiler.write_text('#!/bin/sh\n[ "$1" = --version ] && echo g++ 12 && exit 0\nexit 1\n')
        compiler.chmod(0o755)
    found, skipped = run(BLOCKED, tmp_path, PATH=str(blocked), CXX="g++")
    assert found == ["aot_eager", None, [], ["aten.mul", "aten.sin"]]
    why = "the C++ compiler failed" if works else "no C++ compiler was found that works"
    assert skipped.startswith(f"No kernels were generated: {why}. The operators of each graph")


def test_a_compiler_that_is_switched_off_is_named():
    from torch._dynamo import config

    with config.patch(disable=True):
        found = compilation_of(lambda x: x * 2, (torch.ones(3),), backend="aot_eager")
    assert "torch._dynamo.config.disable has switched the compiler off" in found.skipped


def test_only_a_break_in_a_loop_is_told_as_one():
    sparse = torch.eye(4).to_sparse()
    [refused] = compilation_of(lambda x: x.coalesce(), (sparse,), backend="aot_eager").graphs
    assert refused.eager and not refused.in_loop
    assert "stands in" not in compilation_text(Compilation(1, (refused,)))

    def looping(x):
        for _ in range(2):
            print(end="")
        return x * 2

    found = compilation_of(looping, (torch.ones(3),), backend="aot_eager")
    [broken] = found.graphs
    assert broken.eager and broken.in_loop and "stands in a loop" in compilation_text(found)
