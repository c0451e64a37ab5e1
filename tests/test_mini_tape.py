"""The tape and the engine of MiniTorch do what those of torch do, program by program."""

from __future__ import annotations

import gc
import re
import weakref
from collections import Counter
from contextlib import contextmanager
from itertools import count
from math import prod
from random import Random

import pytest
import torch
from test_mini import opened

from insidetorch import mini
from insidetorch.mini import (
    AccumulateGrad,
    Edge,
    GradMode,
    Node,
    Saved,
    Tensor,
    alias,
    assemble,
    call,
    edge_of,
    grad_mode,
    new,
    reduce_to,
)
from insidetorch.mini.assembly import PIECES

pytestmark = pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True")

NAMES = {
    "add": "AddBackward0",
    "mul": "MulBackward0",
    "exp": "ExpBackward0",
    "clone": "CloneBackward0",
    "sum": "SumBackward1",
    "expand": "ExpandBackward0",
    "permute": "PermuteBackward0",
    "view": "ViewBackward0",
    "AccumulateGrad": "torch::autograd::AccumulateGrad",
}
TORCHS = {
    "add": torch.add,
    "mul": torch.mul,
    "exp": torch.exp,
    "clone": torch.clone,
    "sum": lambda t, dims: t.sum(dims, keepdim=True) if dims else t.sum(()),
    "expand": torch.Tensor.expand,
    "permute": torch.Tensor.permute,
    "view": torch.Tensor.view,
}
VIEWS = ("expand", "permute", "view")
SHAPES = ((2, 3), (3,), (2, 1), (1, 3), (1,), ())

# In a graph that a backward has recorded: one letter for what both compute, since torch writes a
# copying reshape as two nodes, and the undoing of a broadcast as a sum and at times a view.
LETTERS = {
    "clone": "c",
    "CloneBackward0": "c",
    "torch::autograd::CopyBackwards": "c",
    "sum": "S",
    "sum_to": "S",
    "SumBackward0": "S",
    "SumBackward1": "S",
    "view": "V",
    "reshape": "V",
    "ViewBackward0": "V",
    "ReshapeAliasBackward0": "V",
    "UnsafeViewBackward0": "U",
    "add": "a",
    "AddBackward0": "a",
    "mul": "m",
    "MulBackward0": "m",
    "exp": "e",
    "ExpBackward0": "e",
    "expand": "x",
    "ExpandBackward0": "x",
    "permute": "p",
    "PermuteBackward0": "p",
    "AccumulateGrad": ".",
    "torch::autograd::AccumulateGrad": ".",
}


def letters(names):
    return re.sub("V+S", "S", "".join(LETTERS[name] for name in names).replace("Uc", "V"))


def numbers(m, sizes, random):
    return m.new([random.uniform(-0.9, 0.9) for _ in range(prod(sizes))], sizes)


def twin_of(t):
    return opened(t).clone()


def close(t, twin):
    """Same sizes, and the same values up to the last digits."""
    assert t.sizes == tuple(twin.shape)
    assert torch.allclose(opened(t), twin.detach(), rtol=1e-12, atol=1e-12)


def nodes_of(root):
    """The nodes behind a tensor of torch."""
    first = torch.autograd.graph.get_gradient_edge(root).node
    waiting, found = [first], {first}
    while waiting:
        for node, _ in waiting.pop().next_functions:
            if node is not None and node not in found:
                found.add(node)
                waiting.append(node)
    return found


def order_of(root, run):
    """In which order do the nodes behind a tensor of torch run?"""
    order, nodes = [], nodes_of(root)

    def watch(node):
        return node.register_prehook(lambda grads: order.append(node.name()))

    hooks = [watch(node) for node in nodes]
    run()
    for hook in hooks:
        hook.remove()
    return order


def same_history(t, twin):
    """Same flag, same node, and the same nodes one step behind it."""
    assert t.requires_grad == twin.requires_grad
    assert (t.grad_fn is None) == (twin.grad_fn is None)
    if t.grad_fn is None:
        return
    assert NAMES[t.grad_fn.name] == twin.grad_fn.name()
    behind = [edge and NAMES[edge.node.name] for edge in t.grad_fn.edges]
    assert behind == [node and node.name() for node, _ in twin.grad_fn.next_functions]
    if t.grad_fn.name == "mul":
        saved = [twin.grad_fn._saved_self, twin.grad_fn._saved_other]
        assert [s is None for s in t.grad_fn.saved] == [s is None for s in saved]


def arguments(name, t, random):
    dims = len(t.sizes)
    if name == "sum":
        return ([d for d in range(dims) if random.random() < 0.5] or [0],) if dims else None
    if name == "permute":
        return (random.sample(range(dims), dims),)
    if name == "expand":
        own = [random.choice((1, 2)) if size == 1 else size for size in t.sizes]
        return (random.choice(([], [1], [2]) if own else ([1], [2])) + own,)
    if name == "view":
        return (random.choice(((1, *t.sizes), (*t.sizes, 1))),)
    return ()


def operate(m, pairs, random, seen):
    """One operator on tensors of both sides, or nothing where the broadcast does not fit."""
    name = random.choice((*TORCHS, "add", "mul", "mul", "exp", "detach"))
    (t, twin), (other, other_twin) = random.choice(pairs), random.choice(pairs)
    # A view that torch makes without recording repeats the flag of its base, and MiniTorch has
    # no bases before piece 6.
    recording = name in VIEWS or random.random() < 0.85
    if name == "detach":
        out, expected = m.detach(t), twin.detach()
        assert out.storage is t.storage and out is not t
    elif name in ("add", "mul"):
        try:
            m.broadcast(t.sizes, other.sizes)
        except ValueError:
            return
        with m.grad_mode(recording), torch.set_grad_enabled(recording):
            out, expected = m.call(name, t, other), TORCHS[name](twin, other_twin)
    else:
        args = arguments(name, t, random)
        if args is None:
            return
        with m.grad_mode(recording), torch.set_grad_enabled(recording):
            out, expected = m.call(name, t, *args), TORCHS[name](twin, *args)
    if expected.numel() > 40 or (expected.numel() and expected.abs().max() > 3):
        return
    close(out, expected)
    same_history(out, expected)
    seen[name] += 1
    pairs.append((out, expected))


def verdict(run):
    """What a backward returns, or None where it is refused."""
    try:
        return run()
    except RuntimeError:
        return None


def same_grads(leaves):
    for t, twin in leaves:
        assert (t.grad is None) == (twin.grad is None)
        if t.grad is not None:
            close(t.grad, twin.grad)
            assert t.grad.requires_grad == twin.grad.requires_grad


def go_back(m, root, leaves, random, seen):
    """A backward on both sides: allowed or refused, the order, the gradients, their identity."""
    t, twin = root
    retain, create = random.random() < 0.3, random.random() < 0.3
    grad = numbers(m, t.sizes, random) if random.random() < 0.5 or prod(t.sizes) != 1 else None
    twin_grad = None if grad is None else twin_of(grad)
    before = [(a.grad, b.grad) for a, b in leaves]
    flags = {"retain_graph": retain or create, "create_graph": create}
    expected = verdict(lambda: order_of(twin, lambda: twin.backward(twin_grad, **flags)))
    ran = verdict(lambda: m.backward(t, grad, retain_graph=retain, create_graph=create))
    assert (ran is None) == (expected is None)
    if ran is not None:
        assert letters(ran) == letters(expected)
        if {*ran} <= {*NAMES}:
            assert [NAMES[name] for name in ran] == expected
            seen["exact order"] += 1
    same_grads(leaves)
    for (a, b), (old, twin_old) in zip(leaves, before, strict=True):
        assert (a.grad is old) == (b.grad is twin_old)
        seen["added in place" if old is not None and a.grad is old else "replaced"] += 1
    seen["refused" if ran is None else f"create_graph={create}"] += 1


def go_back_twice(m, leaves, seen):
    """Differentiate what the gradients have recorded."""
    found = [(a.grad, b.grad) for a, b in leaves if b.grad is not None and b.grad.requires_grad]
    for t, twin in leaves:
        t.grad = twin.grad = None
    for t, twin in found:
        same_second_backward(m, m.call("mul", t, t), twin * twin)
        same_grads(leaves)
        seen["second derivative"] += 1


def same_second_backward(m, t, twin):
    ones = m.new([1] * prod(t.sizes), t.sizes)
    expected = verdict(
        lambda: order_of(twin, lambda: twin.backward(twin_of(ones), retain_graph=True))
    )
    ran = verdict(lambda: m.backward(t, ones, retain_graph=True))
    assert (ran is None) == (expected is None)
    assert ran is None or letters(ran) == letters(expected)


def run_program(m, seed, seen):
    random = Random(seed)
    leaves = []
    for _ in range(random.randint(1, 3)):
        t = numbers(m, random.choice(SHAPES), random)
        t.requires_grad = not leaves or random.random() < 0.7
        leaves.append((t, twin_of(t).requires_grad_(t.requires_grad)))
    pairs = list(leaves)
    for _ in range(random.randint(3, 16)):
        operate(m, pairs, random, seen)
    roots = [pair for pair in pairs if pair[1].requires_grad][-3:]
    for _ in range(random.randint(1, 3)):
        go_back(m, random.choice(roots), leaves, random, seen)
    go_back_twice(m, leaves, seen)
    for t, twin in leaves:  # with create_graph a leaf and its gradient hold one another
        t.grad = twin.grad = None


def check_programs(m, programs=80):
    seen = Counter()
    for seed in range(programs):
        run_program(m, seed, seen)
    return seen


def leaf(m, values=(0.5,), sizes=()):
    t = m.new(values, sizes)
    t.requires_grad = True
    return t


def check_lifetimes(m):
    """Without its output a node goes at once, and with the last node the AccumulateGrad."""
    x = leaf(m)
    gc.collect()
    gc.disable()
    try:
        for op in ("exp", "mul"):
            out = m.call(op, *(x, x)[: 1 + (op == "mul")])
            node, accumulator = weakref.ref(out.grad_fn), weakref.ref(m.edge_of(x).node)
            assert node() is not None and accumulator() is m.edge_of(x).node
            assert all(edge.node is accumulator() for edge in out.grad_fn.edges)
            del out
            assert node() is None and accumulator() is None
    finally:
        gc.enable()
    twin = twin_of(x).requires_grad_()
    held = torch.autograd.graph.get_gradient_edge(twin).node
    assert held is torch.autograd.graph.get_gradient_edge(twin).node


def check_long_chain(m, nodes=20_000):
    x = leaf(m)
    t = m.call("clone", x)
    for _ in range(nodes - 1):
        t = m.call("add", t, x)
    ran = m.backward(t)
    assert ran == ["add"] * (nodes - 1) + ["clone", "AccumulateGrad"]
    assert list(x.grad) == [nodes]


def check_mode(m):
    """As in torch: nested, and after an error."""
    found = []
    for mode, on in (
        (m.grad_mode, lambda: m.call("exp", leaf(m)).requires_grad),
        (torch.set_grad_enabled, torch.is_grad_enabled),
    ):
        states = [on()]
        with mode(False):
            states.append(on())
            with pytest.raises(ZeroDivisionError), mode(True):
                states.append(on())
                raise ZeroDivisionError
            states.append(on())
        found.append([*states, on()])
    assert found[0] == found[1] == [True, False, True, False, True]


def check_detach(m):
    x = leaf(m, (0.1, 0.2), (2,))
    out = m.call("exp", x)
    cut = m.detach(out)
    assert cut.storage is out.storage and list(cut) == list(out)
    assert not cut.requires_grad and cut.grad_fn is None
    assert out.requires_grad and out.grad_fn is not None
    assert m.detach(x) is not x and x.requires_grad


def check_ties(m):
    """Leaves that become ready together get their gradients in the order of the edges."""
    x, y = leaf(m), leaf(m)
    nodes = m.edge_of(x).node, m.edge_of(y).node
    nodes[0].name, nodes[1].name = "x", "y"
    assert m.backward(m.call("mul", x, y)) == ["mul", "x", "y"]


def check_own_gradient(m):
    """Leaves that receive one and the same gradient do not share it, and keep theirs."""
    x, y = leaf(m), leaf(m)
    for _ in range(3):
        kept = x.grad
        m.backward(m.call("add", x, y))
    assert x.grad is kept and x.grad.storage is not y.grad.storage
    assert list(x.grad) == list(y.grad) == [3]


CHECKS = {
    "own gradient": check_own_gradient,
    "ties": check_ties,
    "programs": check_programs,
    "lifetimes": check_lifetimes,
    "long chain": check_long_chain,
    "mode": check_mode,
    "detach": check_detach,
}


@pytest.mark.parametrize("name", [name for name in CHECKS if name != "long chain"])
def test_an_assembled_reference_does_what_torch_does(name):
    CHECKS[name](assemble())


@pytest.mark.parametrize("name", [name for name in CHECKS if name != "programs"])
def test_the_reference_does_what_torch_does(name):
    CHECKS[name](mini)


def test_random_programs_of_operators_and_backwards_run_in_step_with_torch():
    seen = check_programs(mini, 400)
    assert set(seen) == {
        *TORCHS,
        *("detach", "exact order", "added in place", "replaced", "refused", "second derivative"),
        *("create_graph=False", "create_graph=True"),
    }
    assert min(seen.values()) > 50, seen


def test_third_derivatives_agree_with_torch():
    x = leaf(mini, (0.3, -0.7), (2,))
    twin = twin_of(x).requires_grad_()
    t = call("mul", call("exp", call("mul", x, x)), x)
    expected = (twin * twin).exp() * twin
    for _ in range(3):
        x.grad = twin.grad = None
        ones = new([1, 1], (2,))
        mini.backward(t, ones, create_graph=True)
        expected.backward(twin_of(ones), create_graph=True)
        close(x.grad, twin.grad)
        t, expected = x.grad, twin.grad
    x.grad = twin.grad = None


# Wrong pieces. In an assembly the names of MiniTorch mean the assembled ones.
class EdgeToOneValue:
    def __init__(self, node, sizes):
        self.node, self.sizes = node, ()


def piece(base, **methods):
    """A class with the methods of the reference, but for these."""
    kept = {name: vars(base)[name] for name in PIECES[base.__name__]}
    return type(base.__name__, (), kept | methods)


def frees_itself_whole(self):
    def refuse(*args):
        raise RuntimeError

    self.formula = refuse


def frees_nothing(self):
    pass


def all_of_one_age(self, name, formula, edges, saved):
    self.name, self.formula, self.edges, self.saved = name, formula, tuple(edges), tuple(saved)
    self.sequence_nr = 0


def without_history(self, grad):
    unpacked = [s.unpack(self) if isinstance(s, Saved) else s for s in self.saved]
    cut = [alias(s, s.sizes, s.strides) if isinstance(s, Tensor) else s for s in unpacked]
    return self.formula(grad, *cut)


def an_accumulator_for_each_edge(t):
    if t.grad_fn is None and not t.requires_grad:
        return None
    return Edge(t.grad_fn or AccumulateGrad(t), t.sizes)


def an_accumulator_for_ever(t):
    if t.grad_fn is None and t.requires_grad and t.accumulator is None:
        node = AccumulateGrad(t)
        t.accumulator = lambda: node
    if t.grad_fn is None and not t.requires_grad:
        return None
    return Edge(t.grad_fn or t.accumulator(), t.sizes)


def an_edge_for_everybody(t):
    return Edge(t.grad_fn or AccumulateGrad(t), t.sizes)


@contextmanager
def lost_by_an_error(on):
    before, GradMode.enabled = GradMode.enabled, on
    yield
    GradMode.enabled = before


@contextmanager
def always_on_afterwards(on):
    GradMode.enabled = on
    try:
        yield
    finally:
        GradMode.enabled = True


@contextmanager
def no_mode(on):
    yield


def recorder(*, mode=True, flag=True, wanted=True, cut=True, keep=None, gaps=True):
    """A `record` with one thing wrong: what it heeds, and what it saves of a partner."""

    def record(op, out, args):
        tensors = [a for a in args if isinstance(a, Tensor)]
        if (mode and not GradMode.enabled) or (
            wanted and not any(t.requires_grad for t in tensors)
        ):
            return
        edges = [edge_of(t) for t in tensors]
        saved = {
            "": lambda: [],
            "sizes": lambda: [a.sizes if isinstance(a, Tensor) else a for a in args],
            "output": lambda: [Saved(out, is_output=cut)],
            "partners": lambda: [
                Saved(t) if (keep or right_to_keep)(t, partner) else None
                for t, partner in zip(args, args[::-1], strict=True)
            ],
        }[op.saves]()
        edges = [edge for edge in edges if gaps or edge is not None]
        out.grad_fn = Node(op.name, op.formula, edges, saved)
        out.requires_grad = flag

    return record


def right_to_keep(t, partner):
    return partner.requires_grad


def detach_that_copies(t):
    return new(t, t.sizes, t.dtype)


def detach_that_is_no_new_tensor(t):
    return t


def detach_of_everything(t):
    t.grad_fn, t.requires_grad = None, False
    return alias(t, t.sizes, t.strides)


def accumulate(*, copy=True, in_place=lambda: not GradMode.enabled, add=True):
    def __call__(self, grad):
        have = self.variable.grad
        if have is None or not add:
            self.variable.grad = call("clone", grad) if copy else grad
        elif in_place():
            have.write([a + b for a, b in zip(have, grad, strict=True)])
        else:
            self.variable.grad = call("add", have, grad)
        return ()

    return piece(mini.AccumulateGrad, __call__=__call__)


def runs_late(self, variable):
    self.name, self.edges, self.saved = "AccumulateGrad", (), ()
    self.variable, self.sequence_nr = variable, -1


def youngest(node, turn):
    return (-node.sequence_nr, turn)


def engine(*, first=youngest, reduce=True, free=True, retain=True, create=True, recording=None):
    """An engine with one thing wrong."""

    def backward(root, grad=None, retain_graph=False, create_graph=False):
        start = edge_of(root).node
        missing, waiting, reached = Counter(), [start], {start}
        while waiting:
            for edge in filter(None, waiting.pop().edges):
                missing[edge.node] += 1
                if edge.node not in reached:
                    reached.add(edge.node)
                    waiting.append(edge.node)
        arrived = {start: new([1], root.sizes) if grad is None else grad}
        turns, ran = count(), []
        ready = [(first(start, 0), start)]
        with grad_mode(create_graph if recording is None else recording):
            while ready:
                ready.sort(key=lambda entry: entry[0])
                node = ready.pop(0)[1]
                ran.append(node.name)
                sent = [
                    (edge, reduce_to(g, edge.sizes) if reduce else g)
                    for edge, g in zip(node.edges, node(arrived.pop(node)), strict=True)
                    if edge
                ]
                for edge, g in sent:
                    have = arrived.get(edge.node)
                    arrived[edge.node] = g if have is None else call("add", have, g)
                    missing[edge.node] -= 1
                    if not missing[edge.node]:
                        ready.append((first(edge.node, next(turns)), edge.node))
                if free and not (retain and retain_graph) and not (create and create_graph):
                    node.release()
        return ran

    return backward


def walks_by_recursion(root, grad=None, retain_graph=False, create_graph=False):
    order, seen = [], set()

    def visit(node):
        if node not in seen:
            seen.add(node)
            for edge in filter(None, node.edges):
                visit(edge.node)
            order.append(node)

    visit(edge_of(root).node)
    return [node.name for node in reversed(order)]


WRONG = {
    "sizes lost": ("programs", {"Edge": EdgeToOneValue}),
    "sizes are freed too": ("programs", {"Node": piece(mini.Node, release=frees_itself_whole)}),
    "nothing is freed": ("programs", {"Node": piece(mini.Node, release=frees_nothing)}),
    "no node is younger": ("programs", {"Node": piece(mini.Node, __init__=all_of_one_age)}),
    "saved without history": ("programs", {"Node": piece(mini.Node, __call__=without_history)}),
    "several accumulators": ("programs", {"edge_of": an_accumulator_for_each_edge}),
    "a leaf holds its accumulator": ("lifetimes", {"edge_of": an_accumulator_for_ever}),
    "an edge for everybody": ("programs", {"edge_of": an_edge_for_everybody}),
    "a mode lost by an error": ("mode", {"grad_mode": lost_by_an_error}),
    "a mode on afterwards": ("mode", {"grad_mode": always_on_afterwards}),
    "no mode": ("programs", {"grad_mode": no_mode}),
    "recorded in any mode": ("programs", {"record": recorder(mode=False)}),
    "recorded for nobody": ("programs", {"record": recorder(wanted=False)}),
    "no flag": ("programs", {"record": recorder(flag=False)}),
    "an output that holds itself": ("lifetimes", {"record": recorder(cut=False)}),
    "both operands saved": ("programs", {"record": recorder(keep=lambda t, partner: True)}),
    "an operand saved for itself": (
        "programs",
        {"record": recorder(keep=lambda t, partner: t.requires_grad)},
    ),
    "no gap for an argument without gradient": ("programs", {"record": recorder(gaps=False)}),
    "a detached copy": ("detach", {"detach": detach_that_copies}),
    "nothing detached": ("detach", {"detach": detach_that_is_no_new_tensor}),
    "detached everywhere": ("detach", {"detach": detach_of_everything}),
    "the first gradient not copied": ("own gradient", {"AccumulateGrad": accumulate(copy=False)}),
    "never in place": ("programs", {"AccumulateGrad": accumulate(in_place=lambda: False)}),
    "always in place": ("programs", {"AccumulateGrad": accumulate(in_place=lambda: True)}),
    "replaced": ("programs", {"AccumulateGrad": accumulate(add=False)}),
    "accumulated late": (
        "programs",
        {"AccumulateGrad": piece(mini.AccumulateGrad, __init__=runs_late)},
    ),
    "oldest first": ("programs", {"backward": engine(first=lambda n, turn: (n.sequence_nr, turn))}),
    "first come first": ("programs", {"backward": engine(first=lambda node, turn: turn)}),
    "last come first": ("programs", {"backward": engine(first=lambda node, turn: -turn)}),
    "last of equals first": (
        "ties",
        {"backward": engine(first=lambda node, turn: (-node.sequence_nr, -turn))},
    ),
    "broadcasts stay": ("programs", {"backward": engine(reduce=False)}),
    "all is kept": ("programs", {"backward": engine(free=False)}),
    "retain_graph unheeded": ("programs", {"backward": engine(retain=False)}),
    "create_graph frees": ("programs", {"backward": engine(create=False)}),
    "always recorded": ("programs", {"backward": engine(recording=True)}),
    "never recorded": ("programs", {"backward": engine(recording=False)}),
    "recursion": ("long chain", {"backward": walks_by_recursion}),
}
# The two pieces that the wrong ones are made of are right where nothing is wrong.
RIGHT = {
    "record": {"record": recorder()},
    "AccumulateGrad": {"AccumulateGrad": accumulate()},
    "backward": {"backward": engine()},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_piece_is_seen(wrong):
    check, pieces = WRONG[wrong]
    with pytest.raises(RecursionError if wrong == "recursion" else AssertionError):
        CHECKS[check](assemble(**pieces))


@pytest.mark.parametrize("name", RIGHT)
def test_another_right_piece_is_accepted(name):
    m = assemble(**RIGHT[name])
    check_programs(m, 40)
    check_lifetimes(m)


def test_what_the_wrong_pieces_replace_is_every_piece_of_the_tape_and_the_engine():
    replaced = {name for _, pieces in WRONG.values() for name in pieces}
    names = list(PIECES)
    assert replaced == set(names[names.index("Edge") : names.index("backward") + 1])


@contextmanager
def under_a_decorator(on):
    before, GradMode.enabled = GradMode.enabled, on
    try:
        yield
    finally:
        GradMode.enabled = before


def test_a_function_under_a_decorator_sees_the_assembled_names():
    m = assemble(grad_mode=under_a_decorator)
    with m.grad_mode(False):
        assert not m.GradMode.enabled and mini.GradMode.enabled
    check_mode(m)


def test_a_learners_function_may_hold_one_that_calls_itself():
    def clones(sizes):
        return (*clones(sizes[1:]), call("clone", new([len(sizes)], ()))) if sizes else ()

    m = assemble(detach=lambda sizes: clones(sizes))
    assert [type(t) for t in m.detach((2, 3))] == [m.Tensor] * 2


def test_a_learners_function_may_hold_a_name_without_a_value():
    def unfinished(t):
        return later

    m = assemble(detach=unfinished)
    with pytest.raises(NameError):
        m.detach(None)
    later = "now"
    assert m.detach(None) == later


def test_a_tape_meets_the_accumulator_of_its_own_assembly():
    m = assemble()
    node = m.edge_of(leaf(m)).node
    assert type(node) is m.AccumulateGrad is not mini.AccumulateGrad


def test_no_backward_starts_where_nothing_requires_a_gradient():
    message = (
        r"backward was asked for from Tensor.*\. It requires no gradient, .*\. Set requires_grad"
    )
    for t in (new([1], ()), mini.detach(leaf(mini)), call("exp", new([1], ()))):
        with pytest.raises(RuntimeError, match=message):
            mini.backward(t)


@pytest.mark.parametrize("sizes", [(2,), (0,)])
def test_a_backward_of_several_values_needs_a_gradient(sizes):
    t = leaf(mini, [1] * prod(sizes), sizes)
    message = r"from Tensor.* without a gradient\. Only for one value is it 1\. Give a grad"
    with pytest.raises(RuntimeError, match=message):
        mini.backward(t)
    mini.backward(t, new([3] * prod(sizes), sizes))
    assert list(t.grad) == [3] * prod(sizes)


def test_one_value_in_many_dimensions_needs_no_gradient():
    t = leaf(mini, [1], (1, 1))
    mini.backward(t)
    assert t.grad.sizes == (1, 1) and list(t.grad) == [1]


def test_a_gradient_of_other_sizes_is_refused():
    message = r"gradient of sizes \(1, 2\)\. A gradient has the sizes .*\. Give one with those of"
    with pytest.raises(ValueError, match=message):
        mini.backward(leaf(mini, (1, 2), (2,)), new([1, 2], (1, 2)))


def test_a_node_whose_tensors_are_freed_is_refused_and_the_mode_is_restored():
    x = leaf(mini)
    t = call("mul", x, x)
    mini.backward(t)
    message = r"The node mul was asked to run\. An earlier .* freed .*\. Let .* retain_graph=True"
    with pytest.raises(RuntimeError, match=message):
        mini.backward(t)
    assert GradMode.enabled and list(x.grad) == [1]


def test_a_sum_of_a_leaf_with_itself_runs_twice():
    x = leaf(mini)
    t = call("add", x, x)
    assert mini.backward(t) == mini.backward(t) == ["add", "AccumulateGrad"]
    assert list(x.grad) == [4]


def test_an_operator_that_is_not_there_is_refused():
    with pytest.raises(KeyError, match="relu"):
        call("relu", leaf(mini))


def test_a_helper_with_the_name_of_something_given_stays_the_learners():
    space: dict[str, object] = {}
    code = "def broadcast(a, b): return (a, b)\n"
    code += "def view_strides(sizes, strides, wanted): return broadcast(0, 1)\n"
    exec(code, space)
    m = mini.assemble(view_strides=space["view_strides"])
    assert m.view_strides((2,), (1,), (2,)) == (0, 1)
