"""MiniTorch counts writes as torch does, and gives what was written the history that torch does."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from contextlib import nullcontext
from functools import partial
from random import Random

import pytest
import torch
from test_mini_dispatch import Log, without_layer
from test_mini_tape import RIGHT as RIGHT_BEFORE
from test_mini_tape import TORCHS, check_lifetimes, close, leaf, numbers, same_grads, twin_of
from test_mini_views import layout

from insidetorch import mini
from insidetorch.mini import (
    GradMode,
    Saved,
    VersionCounter,
    alias,
    assemble,
    bump,
    call,
    check_write,
    grad_mode,
    join,
    new,
    redispatch,
    track_view,
)
from insidetorch.mini.assembly import PIECES

pytestmark = pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True")

VIEWS = {
    "view": torch.Tensor.view,
    "permute": torch.Tensor.permute,
    "narrow": torch.Tensor.narrow,
    "expand": torch.Tensor.expand,
}
WRITES = {
    "add_": torch.Tensor.add_,
    "mul_": torch.Tensor.mul_,
    "copy_": torch.Tensor.copy_,
}
SHAPES = ((2, 3), (3,), (2, 1), (1, 3), ())

# Why torch and MiniTorch refuse a backward or a write: what the text of the error holds.
REASONS = {
    "version": ("modified by an inplace operation", "A write in place has since made"),
    "freed": ("backward through the graph a second time", "An earlier backward has freed"),
    "view of a leaf": ("a view of a leaf Variable that requires grad", "It is a view of a leaf"),
    "leaf": ("a leaf Variable that requires grad", "It is a leaf that requires"),
    "unrecorded view": ("A view was created in no_grad mode", "It is a view that was made in"),
    "kernel": (
        "more than one element of the written-to",
        "stands at several indices",
        "doesn't match the broadcast shape",
        "must match",
        "The expanded size of the tensor",
        "the number of sizes provided",
        "A write does not change its sizes",
        "two of them differ and neither is 1",
    ),
}


def verdict(run):
    """Why is this refused? "done" if it is not."""
    try:
        run()
    except (RuntimeError, ValueError) as error:
        texts = ((why, text) for why, both in REASONS.items() for text in both)
        return next((why for why, text in texts if text in str(error)), str(error))
    return "done"


def overlaps(t):
    return any(size > 1 and stride == 0 for size, stride in zip(t.sizes, t.strides, strict=True))


def root_of(t):
    return t if t.base is None else t.base


def belongs_to_a_leaf(t):
    return root_of(t).requires_grad and root_of(t).grad_fn is None


class Program:
    """A random program that runs on both sides, compared after each of its steps.

    `pairs` are tensors of both sides; `aside` are views that were made while nothing was recorded.
    torch lets these be written, or refuses, and lets nobody else use them once they are.
    """

    def __init__(self, m, seed, seen):
        self.m, self.random, self.seen = m, Random(seed), seen
        self.pairs, self.aside = [], []
        for _ in range(self.random.randint(2, 4)):
            t = numbers(m, self.random.choice(SHAPES), self.random)
            t.requires_grad = not self.pairs or self.random.random() < 0.4
            self.pairs.append((t, twin_of(t).requires_grad_(t.requires_grad)))
        self.leaves = [pair for pair in self.pairs if pair[1].requires_grad]

    def run(self):
        steps = [self.operate, self.look, self.look, self.write, self.write, self.go_back]
        for _ in range(self.random.randint(4, 14)):
            self.random.choice(steps)()
            self.compare()
        for _ in range(2):
            self.go_back()
            self.compare()
        self.go_back_twice()
        for t, twin in self.leaves:  # with create_graph a leaf and its gradient hold one another
            t.grad = twin.grad = None

    def compare(self):
        for t, twin in self.pairs:
            close(t, twin)
            assert t.version.value == twin._version
            assert t.requires_grad == twin.requires_grad
            assert (t.grad_fn is None) == (twin.grad_fn is None)
            assert (t.base is None) == (twin._base is None)
        for t, twin in self.aside:
            close(t, twin)
            assert t.version.value == twin._version
        same_grads(self.leaves)

    def both(self, recording, run, torchs_run):
        """What both sides return, each in its mode."""
        with self.m.grad_mode(recording), torch.set_grad_enabled(recording):
            return run(), torchs_run()

    def keep(self, name, found, pairs):
        t, twin = found
        if twin.numel() <= 24 and twin.detach().abs().max() < 4:
            self.seen[name] += 1
            pairs.append((t, twin))

    def operate(self):
        """A tensor with a storage of its own."""
        name = self.random.choice(("add", "mul", "mul", "exp", "clone", "sum"))
        (t, twin), (other, other_twin) = (self.random.choice(self.pairs) for _ in range(2))
        args, torchs_args = (t,), (twin,)
        if name in ("add", "mul"):
            args, torchs_args = (t, other), (twin, other_twin)
            if verdict(lambda: torch.broadcast_shapes(t.sizes, other.sizes)) != "done":
                return
        if name == "sum":
            args, torchs_args = (t, (0,)[: len(t.sizes)]), (twin, (0,)[: len(t.sizes)])
        found = self.both(
            self.random.random() < 0.8,
            lambda: self.m.call(name, *args),
            lambda: TORCHS[name](*torchs_args),
        )
        self.keep(name, found, self.pairs)

    def look(self):
        """A view, or what is detached."""
        t, twin = self.random.choice(self.pairs)
        name = self.random.choice(("detach", "view", "permute", "narrow", "narrow", "expand"))
        if name == "detach":
            self.keep(name, (self.m.detach(t), twin.detach()), self.pairs)
            return
        args = self.arguments(name, t)
        if args is None:
            return
        recording = self.random.random() < 0.8
        found = self.both(
            recording, lambda: self.m.call(name, t, *args), lambda: VIEWS[name](twin, *args)
        )
        self.keep(name if recording else "aside", found, self.pairs if recording else self.aside)

    def arguments(self, name, t):
        if name == "permute":
            return (self.random.sample(range(len(t.sizes)), len(t.sizes)),)
        if name == "view":
            return (self.random.choice(((1, *t.sizes), (*t.sizes, 1))),)
        if name == "expand":
            own = [self.random.choice((size, 2)) if size == 1 else size for size in t.sizes]
            return (self.random.choice(([], [1], [2]) if own else ([1], [2])) + own,)
        if not t.sizes:
            return None
        dim = self.random.randrange(len(t.sizes))
        start = self.random.randrange(t.sizes[dim])
        return dim, start, self.random.randint(1, t.sizes[dim] - start)

    def write(self):
        """A write in place: done by both, or refused by both for one reason."""
        name = self.random.choice(tuple(WRITES))
        t, twin = self.target()
        fitting = [pair for pair in self.pairs if self.fits(pair[0], t)]
        other, other_twin = self.random.choice(
            (self.random.random() < 0.9 and fitting) or self.pairs
        )
        if self.unclear((t, twin), (other, other_twin)) or self.too_large(name, twin, other_twin):
            return
        recording = self.random.random() < 0.7
        with_gradient = root_of(t).requires_grad
        found, expected = self.both(
            recording,
            lambda: verdict(lambda: self.m.call(name, t, other)),
            lambda: verdict(lambda: WRITES[name](twin, other_twin)),
        )
        assert found == expected, (name, found, expected)
        self.seen[found if found != "done" else name] += 1
        if found == "done" and (not recording or root_of(t).requires_grad):
            kind = "unrecorded" if not recording else ("more" if with_gradient else "first")
            self.seen[kind, "base" if t.base is None else "view"] += 1

    def target(self):
        """What to write to: often a view, and seldom what belongs to a leaf, which is refused."""
        free = [pair for pair in self.pairs if not belongs_to_a_leaf(pair[0])]
        views = [pair for pair in free if pair[0].base is not None]
        return self.random.choice(
            self.random.choice((free, free, views, views, self.pairs, self.aside)) or self.pairs
        )

    def fits(self, other, t):
        try:
            return self.m.broadcast(other.sizes, t.sizes) == t.sizes
        except ValueError:
            return False

    @staticmethod
    def unclear(written, read):
        """Is memory read that is written in part? Does the base overlap itself?

        torch refuses most of the first, and a backward through the second, where MiniTorch does
        not. It does not even begin to copy a tensor to itself.
        """
        (t, twin), (other, other_twin) = written, read
        if t.storage is other.storage and (layout(twin) != layout(other_twin) or overlaps(t)):
            return True
        return t.base is not None and overlaps(t.base) and not overlaps(t)

    @staticmethod
    def too_large(name, twin, other):
        try:
            found = TORCHS[name.removesuffix("_")](twin.detach(), other.detach())
        except (KeyError, RuntimeError):
            return False
        return bool(found.abs().max() >= 4)

    def go_back(self):
        """A backward on both sides: done, or refused for one reason."""
        roots = [pair for pair in self.pairs if pair[1].requires_grad][-4:]
        t, twin = self.random.choice(roots)
        retain, create = self.random.random() < 0.5, self.random.random() < 0.3
        self.same_backward(t, twin, retain_graph=retain or create, create_graph=create)

    def same_backward(self, t, twin, **flags):
        grad = numbers(self.m, t.sizes, self.random)
        expected = verdict(lambda: twin.backward(twin_of(grad), **flags))
        found = verdict(lambda: self.m.backward(t, grad, **flags))
        assert found == expected, (found, expected)
        self.seen["backward", found] += 1
        if found != "done":  # how far it came depends on the ages of nodes
            for pair in self.leaves:
                pair[0].grad = pair[1].grad = None

    def go_back_twice(self):
        """Differentiate what the gradients have recorded."""
        grads = [(a.grad, b.grad) for a, b in self.leaves if b.grad is not None]
        for t, twin in self.leaves:
            t.grad = twin.grad = None
        for t, twin in grads:
            if twin.requires_grad:
                self.seen["second derivative"] += 1
                self.same_backward(self.m.call("mul", t, t), twin * twin, retain_graph=True)
                self.compare()


def check_programs(m, programs=50):
    seen = Counter()
    for seed in range(programs):
        Program(m, seed, seen).run()
    return seen


def check_counts(m):
    """Whose version moves, and whose does not, in which layers and modes?"""
    t = m.new(range(6), (2, 3))
    twin = twin_of(t)
    family = [(t, twin), (m.detach(t), twin.detach()), (m.call("clone", t), twin.clone())]
    with m.grad_mode(False), torch.no_grad():
        family += [(m.call("view", t, (6,)), twin.view(6))]
    family += [(m.call("permute", a, (1, 0)), b.permute(1, 0)) for a, b in family[:3]]
    family += [(m.call("narrow", a, 0, 0, 1), b.narrow(0, 0, 1)) for a, b in family[4:]]
    family += [(m.detach(a), b.detach()) for a, b in family[3:]]
    modes = [
        (nullcontext, nullcontext),
        (lambda: m.grad_mode(False), torch.no_grad),
        (lambda: m.exclude(m.Key.Autograd), lambda: without_layer("Autograd")),
        (lambda: m.exclude(m.Key.ADInplaceOrView), lambda: without_layer("ADInplaceOrView")),
    ]
    one, too_long = m.new([1], ()), m.new(range(5), (5,))
    for mode, torchs_mode in modes:
        for a, b in family:
            with mode(), torchs_mode():
                assert m.call("mul_", a, one) is a
                b.mul_(twin_of(one))
                a.write(a)
                assert verdict(partial(m.call, "add_", a, too_long)) == "kernel"
                assert verdict(partial(b.add_, twin_of(too_long))) == "kernel"
            assert [x.version.value for x, _ in family] == [y._version for _, y in family]
    assert {a.version for a, _ in family} == {t.version, family[2][0].version}


def check_same_values(m):
    """A write is a write, also of the values that are there."""
    for op, args in (("mul", 2), ("exp", 1)):
        x = leaf(m, (0.1, 0.2), (2,))
        y = m.call("clone", x)
        out = m.call(op, *(y, y)[:args])
        written = y if op == "mul" else out
        m.call("copy_", written, m.call("clone", m.detach(written)))
        assert verdict(partial(m.backward, out, m.new([1, 1], (2,)))) == "version"


def check_saved_again(m):
    """An output that a recorded backward saves once more has its history and its version still."""
    x, grad = leaf(m, (0.1, 0.2), (2,)), leaf(m, (1, 2), (2,))
    leaves = [(t, twin_of(t).requires_grad_()) for t in (x, grad)]
    (_, twin), (_, twin_grad) = leaves
    out, expected = m.call("exp", x), twin.exp()
    m.backward(out, grad, create_graph=True)
    expected.backward(twin_grad, create_graph=True)
    first, torchs_first = x.grad, twin.grad
    one, ones = m.new([1], ()), m.new([1, 1], (2,))
    for why in ("done", "version"):
        for t, its_twin in leaves:
            t.grad = its_twin.grad = None
        assert verdict(partial(m.backward, first, ones, retain_graph=True)) == why
        assert verdict(partial(torchs_first.backward, twin_of(ones), retain_graph=True)) == why
        same_grads(leaves)
        assert (x.grad is None) == (why == "version")
        m.call("add_", out, one)
        expected.add_(twin_of(one))


def check_written_lifetimes(m):
    """Without the tensors that were written, the nodes of the writes go at once."""
    check_lifetimes(m)
    x = leaf(m, (0.1, 0.2), (2,))
    gc.collect()
    gc.disable()
    try:
        base = m.call("exp", x)
        part, other = m.call("narrow", base, 0, 0, 1), m.call("view", base, (2, 1))
        m.call("mul_", part, m.call("exp", m.call("narrow", x, 0, 1, 1)))
        nodes = [weakref.ref(t.grad_fn) for t in (base, part, other)]
        assert None not in [node() for node in nodes]
        gone = weakref.ref(other)
        del other
        assert gone() is None
        del base, part
        assert [node() for node in nodes] == [None] * 3
    finally:
        gc.enable()


CHECKS = {
    "programs": check_programs,
    "counts": check_counts,
    "same values": check_same_values,
    "saved again": check_saved_again,
    "lifetimes": check_written_lifetimes,
}


@pytest.mark.parametrize("name", CHECKS)
def test_an_assembled_reference_does_what_torch_does(name):
    CHECKS[name](assemble())


@pytest.mark.parametrize("name", [name for name in CHECKS if name != "programs"])
def test_the_reference_does_what_torch_does(name):
    CHECKS[name](mini)


def test_random_programs_of_views_writes_and_backwards_run_in_step_with_torch():
    seen = check_programs(mini, 500)
    assert set(seen) == {
        *("add", "mul", "exp", "clone", "sum", "detach", "aside", "second derivative"),
        *VIEWS,
        *WRITES,
        *(REASONS.keys() - {"version", "freed"}),
        *(("backward", why) for why in ("done", "version", "freed")),
        *((kind, of) for kind in ("first", "more", "unrecorded") for of in ("base", "view")),
    }
    assert min(seen.values()) > 10 and seen["backward", "version"] > 50, seen


# Wrong pieces. In an assembly the names of MiniTorch mean the assembled ones.
class OneForAll:
    only = None

    def __new__(cls):
        if cls.only is None:
            cls.only = super().__new__(cls)
            cls.only.value = 0
        return cls.only


def saver(*, checks=(True, False), at_saving=False, history=True, share=True, cut=True, by=None):
    """A `Saved` with one thing wrong: for which `is_output` it checks, and what it compares."""

    class Saved:
        def __init__(self, t, is_output=False):
            self.tensor = alias(t, t.sizes, t.strides) if is_output and cut else t
            self.is_output, self.version = is_output, t.version
            self.expected = by(t) if by else t.version.value
            if at_saving:
                self.check(None)

        def check(self, node):
            found = by(self.tensor) if by else self.version.value
            if found != self.expected and self.is_output in checks:
                raise RuntimeError("A write in place has since made")

        def unpack(self, node):
            if self.tensor is None:
                raise RuntimeError("An earlier backward has freed")
            if not at_saving:
                self.check(node)
            if not (self.is_output and history):
                return self.tensor
            t = alias(self.tensor, self.tensor.sizes, self.tensor.strides)
            t.requires_grad, t.grad_fn = True, node
            if share:
                t.version = self.version
            return t

    return Saved


def saves_a_copy(self, t, is_output=False):
    self.tensor, self.is_output = call("clone", t), is_output
    self.version, self.expected = self.tensor.version, 0


def tracker(*, share=True, belong=True):
    """A `track_view` with one thing wrong."""

    def track_view(op, keys, t, *args):
        out = redispatch(op, keys, t, *args)
        if share:
            out.version = t.version
        if belong:
            join(out, t, op, args)
        return out

    return track_view


def copies_the_counter(op, keys, t, *args):
    out = redispatch(op, keys, t, *args)
    out.version.value = t.version.value
    join(out, t, op, args)
    return out


def joins_the_view(op, keys, t, *args):
    out = redispatch(op, keys, t, *args)
    out.version = t.version
    join(out, t, op, args)
    out.base = t
    return out


def bumper(*, when=lambda t: True, before=False, anew=False):
    """A `bump` with one thing wrong."""

    def bump(op, keys, t, *args):
        def count():
            if anew:
                t.version, old = VersionCounter(), t.version.value
                t.version.value = old + 1
            elif when(t):
                t.version.value += 1

        if before:
            count()
        out = redispatch(op, keys, t, *args)
        if not before:
            count()
        return out

    return bump


def checker(*, mode=True, leaves=True, of_views=True, unrecorded=True, every=False, bumps=False):
    """A `check_write` with one thing wrong."""

    def check_write(t):
        if mode and not GradMode.enabled:
            return
        if bumps:
            t.version.value += 1
        if unrecorded and t.steps is None:
            raise RuntimeError("It is a view that was made in")
        root = t if t.base is None else t.base
        if root.requires_grad and (every or root.grad_fn is None):
            if root is t and leaves:
                raise RuntimeError("It is a leaf that requires")
            if root is not t and of_views:
                raise RuntimeError("It is a view of a leaf")

    return check_write


WRONG = {
    "one counter for all": ("counts", {"VersionCounter": OneForAll}),
    "checked at saving": ("programs", {"Saved": saver(at_saving=True)}),
    "outputs unchecked": ("same values", {"Saved": saver(checks=(False,))}),
    "inputs unchecked": ("programs", {"Saved": saver(checks=(True,))}),
    "an output without its history": ("saved again", {"Saved": saver(history=False)}),
    "an output at a version of its own": ("saved again", {"Saved": saver(share=False)}),
    "an output that holds its node": ("lifetimes", {"Saved": saver(cut=False)}),
    "values compared": ("same values", {"Saved": saver(by=list)}),
    "a copy saved": (
        "programs",
        {"Saved": type("Saved", (), {"__init__": saves_a_copy, "unpack": Saved.unpack})},
    ),
    "a counter for each view": ("programs", {"track_view": tracker(share=False)}),
    "a counter for each view, copied": ("programs", {"track_view": copies_the_counter}),
    "views without a base": ("programs", {"track_view": tracker(belong=False)}),
    "a view as a base": ("programs", {"track_view": joins_the_view}),
    "only while recording": ("programs", {"bump": bumper(when=lambda t: GradMode.enabled)}),
    "only where a gradient is required": (
        "programs",
        {"bump": bumper(when=lambda t: t.requires_grad)},
    ),
    "counted before the kernel": ("counts", {"bump": bumper(before=True)}),
    "never counted": ("programs", {"bump": bumper(when=lambda t: False)}),
    "counted anew": ("programs", {"bump": bumper(anew=True)}),
    "counted before it is refused": ("programs", {"check_write": checker(bumps=True)}),
    "refused in no_grad": ("programs", {"check_write": checker(mode=False)}),
    "leaves written": ("programs", {"check_write": checker(leaves=False)}),
    "views of leaves written": ("programs", {"check_write": checker(of_views=False)}),
    "unrecorded views written": ("programs", {"check_write": checker(unrecorded=False)}),
    "all that require a gradient refused": ("programs", {"check_write": checker(every=True)}),
}
RIGHT = {
    "Saved": {"Saved": saver()},
    "track_view": {"track_view": tracker()},
    "bump": {"bump": bumper()},
    "check_write": {"check_write": checker()},
    "the reference": {
        "VersionCounter": VersionCounter,
        "Saved": Saved,
        "track_view": track_view,
        "bump": bump,
        "check_write": check_write,
    },
    **RIGHT_BEFORE,
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_piece_is_seen(wrong):
    check, pieces = WRONG[wrong]
    with pytest.raises(AssertionError):
        CHECKS[check](assemble(**pieces))


@pytest.mark.parametrize("name", RIGHT)
def test_another_right_piece_is_accepted(name):
    m = assemble(**RIGHT[name])
    for check in CHECKS.values():
        check(m)


def test_what_the_wrong_pieces_replace_is_every_piece_of_versions():
    replaced = {name for _, pieces in WRONG.values() for name in pieces}
    assert replaced == set(RIGHT["the reference"]) and replaced <= set(PIECES)


def test_a_gradient_that_a_backward_adds_to_is_at_a_new_version():
    x = leaf(mini, (0.1, 0.2), (2,))
    twin, ones = twin_of(x).requires_grad_(), new([1, 1], (2,))
    mini.backward(call("mul", x, x), ones)
    (twin * twin).backward(twin_of(ones))
    of_grad, expected = call("mul", x.grad, x), twin.grad * twin
    mini.backward(call("mul", x, x), ones)
    (twin * twin).backward(twin_of(ones))
    assert verdict(lambda: expected.backward(twin_of(ones))) == "version"
    assert verdict(lambda: mini.backward(of_grad, ones)) == "version"


def test_a_write_to_a_view_gives_the_base_and_its_other_views_a_new_history():
    x, ones = leaf(mini, (0.1, 0.2), (2,)), new([1, 1], (2,))
    base = mini.new([3, 4], (2,))
    part, other = call("narrow", base, 0, 0, 1), call("view", base, (2, 1))
    assert call("mul_", part, call("narrow", x, 0, 1, 1)) is part
    assert [t.grad_fn.name for t in (base, part, other)] == ["CopySlices", "narrow", "view"]
    assert [edge and edge.node.name for edge in base.grad_fn.edges] == [None, "narrow"]
    assert mini.backward(other, call("view", ones, (2, 1)))[:2] == ["view", "CopySlices"]
    assert list(x.grad) == [0, 3]


@pytest.mark.parametrize("recording", [True, False])
def test_a_mode_sees_the_writes_that_a_mode_of_torch_sees(recording):
    expected = []
    x, y = leaf(mini, (0.1, 0.2), (2,)), new([1, 2], (2,))
    twin, other = twin_of(x).requires_grad_(), twin_of(y)
    with mini.grad_mode(recording), mini.log_mode() as seen:
        for name in WRITES:
            call(name, call("view", y, (1, 2)), x)
    with torch.set_grad_enabled(recording), Log(expected.append):
        for write in WRITES.values():
            write(other.view(1, 2), twin)
    assert seen == expected and seen.count("clone") == recording


def test_what_the_kernel_of_a_write_calls_is_not_recorded():
    m, seen = assemble(), []
    m.Dispatcher.kernels["add_"][m.Key.CPU] = lambda op, keys, *args: seen.append(
        m.call("exp", args[1]).requires_grad
    )
    m.call("add_", m.new([1], ()), leaf(m))
    assert seen == [False]


def test_a_write_that_a_kernel_refuses_leaves_the_history_as_it_was():
    x, y = leaf(mini, (0.1, 0.2), (2,)), new([1, 2], (2,))
    with pytest.raises(ValueError):
        call("add_", y, call("view", x, (2, 1)))
    assert y.grad_fn is None and not y.requires_grad and list(y) == [1, 2]


def test_third_derivatives_go_through_writes():
    x = leaf(mini, (0.3, -0.7), (2,))
    twin, ones = twin_of(x).requires_grad_(), new([1, 1], (2,))
    t, expected = call("mul", call("exp", x), x), twin.exp() * twin
    call("mul_", call("narrow", t, 0, 0, 1), call("narrow", x, 0, 1, 1))
    expected[:1].mul_(twin[1:])
    for _ in range(3):
        x.grad = twin.grad = None
        mini.backward(t, ones, create_graph=True)
        expected.backward(twin_of(ones), create_graph=True)
        close(x.grad, twin.grad)
        t, expected = x.grad, twin.grad
    x.grad = twin.grad = None


def test_a_saved_tensor_that_was_written_is_refused_by_the_node_that_needs_it():
    x = leaf(mini)
    y = call("clone", x)
    out = call("mul", y, y)
    call("add_", mini.detach(y), x)
    call("mul_", y, x)
    message = (
        r"node mul was asked for a tensor that it had saved at version 0\. A write in place has "
        r"since made that version 2\. Write to a clone, or after the backward\."
    )
    with pytest.raises(RuntimeError, match=message):
        mini.backward(out)
    assert GradMode.enabled and x.grad is None


def test_a_leaf_that_requires_a_gradient_is_not_written():
    x = leaf(mini, (1, 2), (2,))
    message = r"asked for on Tensor.*\. It is {} that requires a gradient, .*\. Write in grad_mode"
    for t, what in ((x, "a leaf"), (call("narrow", x, 0, 0, 1), "a view of a leaf")):
        with pytest.raises(RuntimeError, match=message.format(what)):
            call("add_", t, new([1], ()))
        with grad_mode(False):
            call("add_", t, new([1], ()))
    assert list(x) == [3, 3] and x.version.value == 2 and x.grad_fn is None


def test_a_view_that_was_not_recorded_is_not_written_while_recording():
    x = call("clone", leaf(mini, (1, 2), (2,)))
    with grad_mode(False):
        view = call("view", x, (2, 1))
    message = r"It is a view that was made in grad_mode\(False\), so its base .*\. Make the view"
    for t in (view, call("narrow", view, 0, 0, 1)):
        with pytest.raises(RuntimeError, match=message):
            call("add_", t, new([1], ()))
    assert x.version.value == 0


def test_a_write_does_not_change_sizes():
    message = r"sizes \(2,\) was asked .* sizes \(3, 1\)\. A write does not .*\. Give one that"
    with pytest.raises(ValueError, match=message):
        call("copy_", new([1, 2], (2,)), new([1, 2, 3], (3, 1)))


def test_an_element_that_stands_at_several_indices_is_not_written():
    rows = call("expand", new([1, 2], (2,)), (3, 2))
    message = r"sizes \(3, 2\) and strides \(0, 1\) .*written\. An element .*\. Write to a clone"
    with pytest.raises(ValueError, match=message):
        call("add_", rows, new([1], ()))
    assert rows.version.value == 0
    call("add_", call("expand", new([], (0, 1)), (0, 3)), new([1], ()))


def test_a_write_to_a_view_is_freed_whole_after_a_backward():
    t = call("clone", leaf(mini, (1, 2), (2,)))
    call("add_", call("narrow", t, 0, 0, 1), new([1], ()))
    ones = new([1, 1], (2,))
    mini.backward(t, ones)
    message = r"node CopySlices was asked .* has freed the write .*\. Let .* retain_graph=True"
    with pytest.raises(RuntimeError, match=message):
        mini.backward(t, ones)
