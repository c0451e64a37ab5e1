"""The dispatcher of MiniTorch goes through the layers that torch goes through, call by call."""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from enum import IntEnum
from functools import partial, wraps
from itertools import product
from random import Random
from typing import NamedTuple

import pytest
import torch
from test_mini_tape import TORCHS, check_mode, check_programs, close, leaf, twin_of
from torch.utils._python_dispatch import TorchDispatchMode

from insidetorch import mini
from insidetorch.mini import (
    Dispatcher,
    Fallthrough,
    GradMode,
    Key,
    Op,
    Tensor,
    assemble,
    call,
    exclude,
    keys_of,
    new,
    record,
    redispatch,
    register,
)
from insidetorch.mini.assembly import PIECES

pytestmark = pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True")

TORCH_KEYS = {
    "CPU": torch._C.DispatchKey.CPU,
    "Python": torch._C.DispatchKey.Python,
    "ADInplaceOrView": torch._C.DispatchKey.ADInplaceOrView,
    "Autograd": torch._C.DispatchKey.AutogradCPU,
}


def torch_set(*names):
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.Undefined)
    for name in names:
        keys = keys | torch._C.DispatchKeySet(TORCH_KEYS[name])
    return keys


def without_layer(name):
    """What takes one of our layers out in torch."""
    if name == "Autograd":
        return torch._C._AutoDispatchBelowAutograd()
    return torch._C._ExcludeDispatchKeyGuard(torch_set(name))


class Log(TorchDispatchMode):
    """Notes each operator that reaches the mode, by `note(its name)`."""

    def __init__(self, note):
        super().__init__()
        self.note = note

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        self.note(op._schema.name.removeprefix("aten::"))
        return op(*args, **(kwargs or {}))


# --- which layers run, on operators that have kernels for some of them

LAYERED = list(product((False, True), repeat=2))  # has one for ADInplaceOrView, for Autograd


def name_of(layers):
    return "layered" + "".join(str(int(there)) for there in layers)


@pytest.fixture(scope="module")
def torchs_layers():
    """Operators of torch that write down which of their kernels run, and that list."""
    seen, after = [], {"ADInplaceOrView": torch._C._after_ADInplaceOrView_keyset}
    after["Autograd"] = torch._C._after_autograd_keyset
    library = torch.library.Library("minitorch_twin", "DEF")
    operators = {}

    def compute(inside, x):
        seen.append("CPU")
        return inside(x) if inside else x.clone()

    def go_on(name, key, keys, x):
        seen.append(key)
        with without_layer(key) if key == "Autograd" else nullcontext():
            return operators[name].redispatch(keys & after[key], x)

    def define(name, layers, inside=None):
        library.define(f"{name}(Tensor x) -> Tensor")
        library.impl(name, partial(compute, inside), "CPU")
        for key, there in zip(after, layers, strict=True):
            if there:
                library.impl(name, partial(go_on, name, key), key, with_keyset=True)
        operators[name] = getattr(torch.ops.minitorch_twin, name).default

    for layers in LAYERED:
        define(name_of(layers), layers)
    define("nesting", (True, True), inside=operators[name_of((True, True))])
    yield operators, seen
    library._destroy()


def watched(m, name, seen):
    """Let the kernels of an operator write down in which layer they stand."""

    def noting(key, kernel):
        def run(op, keys, *args):
            seen.append(key.name)
            return kernel(op, keys, *args)

        return run

    kernels = m.Dispatcher.kernels[name]
    kernels.update({key: noting(key, kernel) for key, kernel in kernels.items()})


def mini_layers(m):
    """The same operators in MiniTorch, and the list."""
    seen = []
    clone = m.pointwise(lambda value: value)
    for layers in LAYERED:
        formula = (lambda g: (g,)) if layers[1] else None
        m.register(name_of(layers), clone, formula, kind="view" if layers[0] else "")
        watched(m, name_of(layers), seen)
    inside = name_of((True, True))
    m.register("nesting", lambda t: m.call(inside, t), lambda g: (g,), kind="write")
    watched(m, "nesting", seen)
    return seen


@contextmanager
def logged(m, seen):
    def note(op, keys, *args):
        seen.append("Python")
        return log(op, keys, *args)

    with m.log_mode():
        log = m.Dispatcher.fallbacks[m.Key.Python]
        m.Dispatcher.fallbacks[m.Key.Python] = note
        yield


def torch_modes(seen):
    return {
        "no mode": nullcontext,
        "no_grad": torch.no_grad,
        "inference": torch.inference_mode,
        "without Autograd": partial(without_layer, "Autograd"),
        "without ADInplaceOrView": partial(without_layer, "ADInplaceOrView"),
        "logged": lambda: Log(lambda name: seen.append("Python")),
    }


def mini_modes(m, seen):
    return {
        "no mode": nullcontext,
        "no_grad": lambda: m.grad_mode(False),
        "inference": lambda: m.exclude(m.Key.Autograd),
        "without Autograd": lambda: m.exclude(m.Key.Autograd),
        "without ADInplaceOrView": lambda: m.exclude(m.Key.ADInplaceOrView),
        "logged": lambda: logged(m, seen),
    }


def layers_run(modes, chosen, seen, run):
    """What `run` writes down inside these modes."""
    seen.clear()
    with ExitStack() as stack:
        for mode in chosen:
            stack.enter_context(modes[mode]())
        run()
    return list(seen)


CHOSEN = [
    *((mode,) for mode in torch_modes([])),
    ("no_grad", "logged"),
    ("inference", "logged"),
    ("logged", "without Autograd"),
    ("without Autograd", "without ADInplaceOrView"),
    ("without ADInplaceOrView", "without Autograd", "no_grad"),
    ("without Autograd", "without Autograd", "logged"),
]


def check_layers(m, torchs):
    """Through which layers does a call go, for which operator, in which mode?"""
    operators, expected = torchs
    seen = mini_layers(m)
    assert {*m.Dispatcher.kernels} >= {*operators}
    modes, torchs_modes = mini_modes(m, seen), torch_modes(expected)
    for name, chosen, flag in product(operators, CHOSEN, (False, True)):
        t, twin = m.new([1, 2], (2,)), torch.ones(2, requires_grad=flag)
        t.requires_grad = flag
        found = layers_run(modes, chosen, seen, partial(m.call, name, t))
        run = partial(operators[name], twin)
        assert found == layers_run(torchs_modes, chosen, expected, run), (name, chosen, flag)


def check_redispatch(m, torchs):
    """The keys that it is given are the ones that count, whatever the modes exclude.

    They are keys that the operator has kernels for: torch takes out the others before it comes to
    this, and is broken where one of them is given. What the kernels of the twin call themselves is
    left out of the comparison: no mode watches them.
    """
    operators, expected = torchs
    seen = mini_layers(m)
    modes, torchs_modes = mini_modes(m, seen), torch_modes(expected)
    unwatched = [chosen for chosen in CHOSEN if "logged" not in chosen]
    for (view, autograd), chosen in product(LAYERED, unwatched):
        for some in product((False, view), (False, autograd)):
            layers = zip(("ADInplaceOrView", "Autograd"), some, strict=True)
            keys = ["CPU", *(key for key, there in layers if there)]
            name, given = name_of((view, autograd)), {m.Key[key] for key in keys}
            found = layers_run(modes, chosen, seen, partial(m.redispatch, name, given, leaf(m)))
            run = partial(operators[name].redispatch, torch_set(*keys), torch.ones(()))
            assert found == layers_run(torchs_modes, chosen, expected, run), (name, keys, chosen)
            assert given == {m.Key[key] for key in keys}


def check_keys(m, torchs):
    """Every tensor has the same keys, whatever its dtype and its flag; modes add and leave out."""
    with_flag = leaf(m)
    twin = torch.ones((), requires_grad=True)
    tensors = [(with_flag, twin), (m.detach(with_flag), twin.detach())]
    tensors += [(m.call("exp", with_flag), twin.exp())]
    tensors += [(m.new([1], (), "i"), torch.ones((), dtype=torch.int32))]

    def same(t, twin, outside=()):
        included = torch._C._dispatch_tls_local_include_set()
        excluded = torch._C._dispatch_tls_local_exclude_set()
        found = (torch._C._dispatch_keys(twin) | included) - excluded
        expected = {name for name, key in TORCH_KEYS.items() if found.has(key)} - set(outside)
        assert {key.name for key in m.keys_of((t,))} == expected
        assert m.keys_of((3, t)) == m.keys_of((t, t, [1])) == m.keys_of((t,))
        assert type(m.keys_of((t,))) is set

    for t, twin in tensors:
        same(t, twin)
        with m.grad_mode(False), torch.no_grad():
            same(t, twin)
        with m.exclude(m.Key.ADInplaceOrView):
            with m.exclude(m.Key.Autograd), without_layer("Autograd"):
                same(t, twin, ["ADInplaceOrView", "Autograd"])
            same(t, twin, ["ADInplaceOrView"])
            with pytest.raises(ZeroDivisionError), m.exclude(*m.Key):
                assert m.keys_of((t,)) == set()
                raise ZeroDivisionError
            same(t, twin, ["ADInplaceOrView"])
        same(t, twin)
        with m.log_mode():
            assert m.Key.Python in m.keys_of((t,))
    assert m.keys_of((3, [1])) == {m.Key.ADInplaceOrView}
    assert [key.name for key in sorted(m.Key)] == list(TORCH_KEYS)


def check_programs_and_modes(m, torchs):
    check_programs(m, 30)
    assert m.Dispatcher.excluded == frozenset()


def check_nodes(m, torchs):
    """One node for an operator, whatever its kernel calls; none without a formula."""
    x = leaf(m, (0.1, 0.2), (2,))
    m.register("square_exp", lambda t: m.call("exp", m.call("mul", t, t)), lambda g: (g,))
    out = m.call("square_exp", x)
    assert out.grad_fn.name == "square_exp"
    assert [edge.node.name for edge in out.grad_fn.edges] == ["AccumulateGrad"]
    with m.log_mode() as seen:
        m.call("square_exp", x)
    assert seen == ["square_exp"]
    untracked = m.pointwise(lambda value: value)
    m.register("untracked", untracked)
    assert not m.call("untracked", x).requires_grad and m.call("untracked", x).grad_fn is None
    assert m.Dispatcher.ops["untracked"].kernel is untracked


def check_missing(m, torchs):
    """As in torch, a call without a kernel is refused: without tensors, and without a backend."""
    operators, _ = torchs
    undefined = torch_set()
    with pytest.raises(NotImplementedError):
        operators["layered00"].redispatch(undefined, torch.ones(1))
    for run in (
        lambda: m.call("add", 1, 2),
        lambda: m.redispatch("add", set(), m.new([1], ()), m.new([1], ())),
        lambda: m.redispatch("view", {m.Key.Autograd, m.Key.ADInplaceOrView}, leaf(m), (1,)),
    ):
        with pytest.raises(NotImplementedError):
            run()
    assert m.Dispatcher.excluded == frozenset()
    del m.Dispatcher.kernels["exp"][m.Key.CPU]
    with pytest.raises(NotImplementedError):
        m.call("exp", leaf(m))
    del m.Dispatcher.fallbacks[m.Key.ADInplaceOrView]  # a layer that knows of no operator
    with pytest.raises(NotImplementedError):
        m.call("clone", leaf(m))


def check_fallbacks(m, torchs):
    """An operator's own kernel comes first, then the fallback of the layer, which gets its name."""
    seen = []

    def fallback(op, keys, *args):
        seen.append(("fallback", op, sorted(key.name for key in keys)))
        return m.redispatch(op, keys, *args)

    def own(op, keys, *args):
        seen.append(("own", op, sorted(key.name for key in keys)))
        return m.call("clone", *args)

    with m.log_mode():
        m.Dispatcher.fallbacks[m.Key.Python] = fallback
        m.Dispatcher.kernels["exp"][m.Key.Python] = own
        assert list(m.call("exp", leaf(m))) == [0.5]
    assert seen == [("own", "exp", ["CPU"]), ("fallback", "clone", ["CPU"])]
    m.Dispatcher.fallbacks[m.Key.Autograd] = fallback
    m.Dispatcher.fallbacks[m.Key.ADInplaceOrView] = fallback
    m.register("bare", m.pointwise(lambda value: -value))
    seen.clear()
    assert list(m.call("bare", leaf(m))) == [-0.5]
    below = ["ADInplaceOrView", "CPU"]
    assert seen == [("fallback", "bare", below), ("fallback", "bare", ["CPU"])]


def random_expression(m, seed):
    """Operators on tensors of the same sizes, on both sides, some of them not recorded."""
    random = Random(seed)
    pairs = [(leaf(m, [0.1, 0.2], (2,)), torch.tensor([0.1, 0.2], dtype=torch.float64))]
    pairs[0][1].requires_grad_()
    for _ in range(6):
        name = random.choice(("add", "mul", "mul", "exp"))
        chosen = [random.choice(pairs) for _ in range(1 + (name != "exp"))]
        recording = random.random() < 0.8
        with m.grad_mode(recording), torch.set_grad_enabled(recording):
            out = m.call(name, *(t for t, _ in chosen))
            expected = TORCHS[name](*(twin for _, twin in chosen))
        close(out, expected)
        pairs.append((out, expected))
    t, twin = next(pair for pair in reversed(pairs) if pair[1].requires_grad)
    ones = m.new([1, 1], (2,))
    m.backward(t, ones)
    twin.backward(twin_of(ones))
    close(pairs[0][0].grad, pairs[0][1].grad)


def check_logged(m, torchs):
    """A mode sees the operators, forwards and backwards, that a mode of torch sees."""
    total = Counter()
    for seed in range(40):
        expected = []
        with m.log_mode() as seen, Log(expected.append):
            random_expression(m, seed)
        shared = [name.removesuffix("_") for name in expected]
        shared = [name for name in shared if name in ("add", "mul", "exp")]
        assert [name for name in seen if name != "clone"] == shared
        total.update(seen)
    assert min(total.values()) > 30, total
    with m.log_mode() as outer:
        with pytest.raises(ZeroDivisionError), m.log_mode() as inner:
            m.call("exp", leaf(m))
            raise ZeroDivisionError
        m.call("clone", leaf(m))
    m.call("exp", leaf(m))
    assert (inner, outer) == (["exp"], ["clone"])


CHECKS = {
    "layers": check_layers,
    "redispatch": check_redispatch,
    "keys": check_keys,
    "programs": check_programs_and_modes,
    "nodes": check_nodes,
    "missing": check_missing,
    "fallbacks": check_fallbacks,
    "logged": check_logged,
}


@pytest.mark.parametrize("name", CHECKS)
def test_an_assembled_reference_does_what_torch_does(name, torchs_layers):
    CHECKS[name](assemble(), torchs_layers)


@pytest.mark.parametrize("name", ["keys", "programs", "logged"])
def test_the_reference_does_what_torch_does(name, torchs_layers):
    CHECKS[name](mini, torchs_layers)


def test_the_layers_of_an_operator_are_those_of_torchs():
    overloads = {"add": ".Tensor", "mul": ".Tensor", "sum": ".dim_IntList"}
    for name in TORCHS:
        op = f"aten::{name}{overloads.get(name, '')}"
        has = partial(torch._C._dispatch_has_kernel_for_dispatch_key, op)
        kernels = {key.name for key in Dispatcher.kernels[name]}
        assert ("Autograd" in kernels, "ADInplaceOrView" in kernels) == (
            has("Autograd"),
            has("ADInplaceOrView"),
        )
        assert Dispatcher.ops[name].name == name
        assert (Dispatcher.ops[name].kind == "view") == has("ADInplaceOrView")


def test_programs_run_as_before_while_they_are_logged():
    with mini.log_mode() as seen:
        check_programs(mini, 40)
    assert set(seen) >= set(TORCHS)


def test_no_grad_runs_the_kernel_of_autograd_and_records_nothing():
    m, seen = assemble(), []
    watched(m, "exp", seen)
    with m.grad_mode(False):
        out = m.call("exp", leaf(m))
    assert seen == ["Autograd", "CPU"]
    assert not out.requires_grad and out.grad_fn is None


def test_without_the_layer_of_autograd_nothing_is_recorded():
    for keys in ((Key.Autograd,), (Key.Autograd, Key.ADInplaceOrView)):
        with exclude(*keys):
            out = call("exp", leaf(mini))
        assert not out.requires_grad and out.grad_fn is None


# --- wrong pieces


def keys_if_a_gradient_is_required(args):
    tensors = [a for a in args if isinstance(a, Tensor)]
    keys = {Key.CPU} if tensors else set()
    keys |= {Key.Autograd} if any(t.requires_grad for t in tensors) else set()
    return (keys | Dispatcher.included) - Dispatcher.excluded


def keys_by_the_mode(args):
    keys = {Key.CPU, Key.Autograd} if any(isinstance(a, Tensor) for a in args) else set()
    keys = (keys | Dispatcher.included) - Dispatcher.excluded
    return keys if GradMode.enabled else keys - {Key.Autograd}


def keys_of_floats_only(args):
    tensors = [a for a in args if isinstance(a, Tensor)]
    keys = {Key.CPU} if tensors else set()
    keys |= {Key.Autograd} if any(t.dtype in "fd" for t in tensors) else set()
    return (keys | Dispatcher.included) - Dispatcher.excluded


def keys_of_the_first(args):
    keys = {Key.CPU, Key.Autograd} if isinstance(args[0], Tensor) else set()
    return (keys | Dispatcher.included) - Dispatcher.excluded


def keys_without_a_tensor(args):
    return ({Key.CPU, Key.Autograd} | Dispatcher.included) - Dispatcher.excluded


def keys_but_no_included(args):
    keys = {Key.CPU, Key.Autograd} if any(isinstance(a, Tensor) for a in args) else set()
    return keys - Dispatcher.excluded


def keys_but_all_excluded(args):
    keys = {Key.CPU, Key.Autograd} if any(isinstance(a, Tensor) for a in args) else set()
    return keys | Dispatcher.included


def included_in_the_end(args):
    keys = {Key.CPU, Key.Autograd} if any(isinstance(a, Tensor) for a in args) else set()
    return (keys - Dispatcher.excluded) | Dispatcher.included


@contextmanager
def excludes_these_alone(*keys):
    before, Dispatcher.excluded = Dispatcher.excluded, frozenset(keys)
    try:
        yield
    finally:
        Dispatcher.excluded = before


@contextmanager
def takes_away_its_own(*keys):
    Dispatcher.excluded |= set(keys)
    try:
        yield
    finally:
        Dispatcher.excluded -= set(keys)


@contextmanager
def excludes_nothing_afterwards(*keys):
    Dispatcher.excluded |= set(keys)
    try:
        yield
    finally:
        Dispatcher.excluded = frozenset()


@contextmanager
def lost_by_an_error(*keys):
    before = Dispatcher.excluded
    Dispatcher.excluded |= set(keys)
    yield
    Dispatcher.excluded = before


def calls_the_kernel(op, *args):
    return Dispatcher.ops[op].kernel(*args)


def calls_what_is_registered(op, *args):
    return redispatch(op, set(Dispatcher.kernels[op]), *args)


def calls_with_what_is_included(op, *args):
    return redispatch(op, keys_of(args) | Dispatcher.included, *args)


def all_below(keys, key):
    return {k for k in keys if k < key}


def redispatcher(
    *,
    highest=True,
    own=True,
    fallback=True,
    skip=False,
    lower=all_below,
    anew=False,
    refuse=True,
):
    """A `redispatch` with one thing wrong."""

    def redispatch(op, keys, *args):
        kernels, left = Dispatcher.kernels[op], keys_of(args) & keys if anew else keys
        for key in sorted(left, reverse=highest):
            fallbacks = Dispatcher.fallbacks if fallback else {}
            first, second = (kernels, fallbacks) if own else (fallbacks, kernels)
            kernel = first.get(key) or second.get(key, Fallthrough if skip else None)
            if kernel is None:
                break
            if kernel is not Fallthrough:
                return kernel(op, lower(left, key), *args)
        if refuse:
            raise NotImplementedError
        return None

    return redispatch


def registrar(
    *,
    excludes=True,
    records=True,
    before=False,
    layers=True,
    tracks=("view", "write"),
    always=False,
    asks=False,
):
    """A `register` with one thing wrong."""

    def register(name, kernel, formula=None, saves="", kind=""):
        op = Dispatcher.ops[name] = Op(name, kernel, formula, saves, kind)

        def autograd(_, keys, *args):
            if asks and not any(t.requires_grad for t in args if isinstance(t, Tensor)):
                return redispatch(name, {Key.CPU}, *args)
            with exclude(*([Key.Autograd] if excludes else [])):
                out = redispatch(name, keys, *args) if layers else kernel(*args)
                if before and records:
                    record(op, out, args)
            if records and not before:
                record(op, out, args)
            return out

        kernels = Dispatcher.kernels[name] = {Key.CPU: lambda _, keys, *args: kernel(*args)}
        if formula is not None or always:
            kernels[Key.Autograd] = autograd
        if kind in tracks:
            kernels[Key.ADInplaceOrView] = lambda _, keys, *args: redispatch(name, keys, *args)

    return register


def registers_the_kernel_only(name, kernel, formula=None, saves="", kind=""):
    Dispatcher.ops[name] = Op(name, kernel, formula, saves, kind)
    Dispatcher.kernels[name] = {Key.CPU: lambda op, keys, *args: kernel(*args)}


class AutogradBelow(IntEnum):
    CPU, Python, Autograd, ADInplaceOrView = range(4)


class LogAbove(IntEnum):
    CPU, ADInplaceOrView, Autograd, Python = range(4)


class FormulaFirst(NamedTuple):
    name: str
    formula: object
    kernel: object
    saves: str = ""
    kind: str = ""


WRONG = {
    "autograd where it is required": ("layers", {"keys_of": keys_if_a_gradient_is_required}),
    "no autograd in no_grad": ("layers", {"keys_of": keys_by_the_mode}),
    "autograd for floats": ("keys", {"keys_of": keys_of_floats_only}),
    "the first argument alone": ("keys", {"keys_of": keys_of_the_first}),
    "keys without a tensor": ("missing", {"keys_of": keys_without_a_tensor}),
    "nothing included": ("layers", {"keys_of": keys_but_no_included}),
    "nothing excluded": ("layers", {"keys_of": keys_but_all_excluded}),
    "included in the end": ("layers", {"keys_of": included_in_the_end}),
    "these excluded alone": ("keys", {"exclude": excludes_these_alone}),
    "an outer exclusion ended": ("keys", {"exclude": takes_away_its_own}),
    "all exclusions ended": ("keys", {"exclude": excludes_nothing_afterwards}),
    "an exclusion after an error": ("keys", {"exclude": lost_by_an_error}),
    "only the kernel": ("programs", {"call": calls_the_kernel}),
    "every layer that is registered": ("layers", {"call": calls_what_is_registered}),
    "included after all": ("layers", {"call": calls_with_what_is_included}),
    "the lowest first": ("programs", {"redispatch": redispatcher(highest=False)}),
    "the fallback first": ("fallbacks", {"redispatch": redispatcher(own=False)}),
    "no fallback": ("layers", {"redispatch": redispatcher(fallback=False, skip=True)}),
    "all keys handed on": ("layers", {"redispatch": redispatcher(lower=lambda keys, key: keys)}),
    "keys above handed on": (
        "fallbacks",
        {"redispatch": redispatcher(lower=lambda keys, key: keys - {key})},
    ),
    "nothing below": ("layers", {"redispatch": redispatcher(lower=lambda keys, key: {Key.CPU})}),
    "the modes asked again": ("redispatch", {"redispatch": redispatcher(anew=True)}),
    "nothing refused": ("missing", {"redispatch": redispatcher(refuse=False)}),
    "a layer without a kernel skipped": ("missing", {"redispatch": redispatcher(skip=True)}),
    "a kernel's calls recorded": ("layers", {"register": registrar(excludes=False)}),
    "never recorded": ("programs", {"register": registrar(records=False)}),
    "layers left out": ("layers", {"register": registrar(layers=False)}),
    "only for those who ask": ("layers", {"register": registrar(asks=True)}),
    "autograd without a formula": ("nodes", {"register": registrar(always=True)}),
    "no layer for views": ("layers", {"register": registrar(tracks=("write",))}),
    "no layer for writes": ("layers", {"register": registrar(tracks=("view",))}),
    "a layer for everything": ("layers", {"register": registrar(tracks=("", "view", "write"))}),
    "no layer but the CPU": ("layers", {"register": registers_the_kernel_only}),
    "autograd below views": ("layers", {"Key": AutogradBelow}),
    "a log above autograd": ("layers", {"Key": LogAbove}),
    "kernel and formula swapped": ("programs", {"Op": FormulaFirst}),
}


# Most are seen by what they do, some by an error of their own or by one that does not come.
RAISES = {
    "keys without a tensor": AttributeError,
    "nothing refused": pytest.fail.Exception,
    "a layer without a kernel skipped": pytest.fail.Exception,
    "all keys handed on": RecursionError,
    "kernel and formula swapped": TypeError,
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_piece_is_seen(wrong, torchs_layers):
    check, pieces = WRONG[wrong]
    with pytest.raises(RAISES.get(wrong, AssertionError)):
        CHECKS[check](assemble(**pieces), torchs_layers)


class excludes_by_a_class:
    def __init__(self, *keys):
        self.keys = keys

    def __enter__(self):
        self.before = Dispatcher.excluded
        Dispatcher.excluded = self.before | set(self.keys)

    def __exit__(self, *error):
        Dispatcher.excluded = self.before


RIGHT = {
    "redispatch": {"redispatch": redispatcher()},
    "register": {"register": registrar()},
    "recorded inside": {"register": registrar(before=True)},
    "a class": {"exclude": excludes_by_a_class},
    "the reference": {
        "Key": Key,
        "Op": Op,
        "keys_of": keys_of,
        "exclude": exclude,
        "call": call,
        "redispatch": redispatch,
        "register": register,
    },
}


@pytest.mark.parametrize("right", RIGHT)
def test_another_right_piece_is_accepted(right, torchs_layers):
    for check in CHECKS.values():
        check(assemble(**RIGHT[right]), torchs_layers)


def test_what_the_wrong_pieces_replace_is_every_piece_of_the_dispatcher():
    replaced = {name for _, pieces in WRONG.values() for name in pieces}
    assert replaced == set(list(PIECES)[list(PIECES).index("Key") :])


def test_a_learners_register_fills_the_tables_of_its_own_assembly():
    before = {name: dict(kernels) for name, kernels in Dispatcher.kernels.items()}
    m = assemble(register=registrar())
    assert Dispatcher.kernels == before and set(m.Dispatcher.kernels) == set(before)
    assert all(key in m.Key for kernels in m.Dispatcher.kernels.values() for key in kernels)


def test_a_call_without_a_kernel_says_which_keys_and_which_kernels_there_are():
    message = (
        r"operator mul was asked to run with the keys: ADInplaceOrView\. It has kernels for CPU, "
        r"Autograd, and no other layer computes it\. Call it with a tensor, or register"
    )
    with pytest.raises(NotImplementedError, match=message):
        call("mul", 2, 3)
    with pytest.raises(NotImplementedError, match=r"keys: none\. .* CPU, ADInplaceOrView, Autog"):
        redispatch("view", set(), new([1], ()), ())


def test_an_operator_that_is_not_there_is_refused():
    for run in (lambda: call("relu", leaf(mini)), lambda: redispatch("relu", set())):
        with pytest.raises(KeyError, match="relu"):
            run()


# --- a class in the place of a function, and classes that a learner's functions use


class grad_mode:
    """As a learner may write it, without `contextmanager`."""

    def __init__(self, on):
        self.on = on

    def __enter__(self):
        self.before, GradMode.enabled = GradMode.enabled, self.on

    def __exit__(self, *error):
        GradMode.enabled = self.before


class ModeThatStays(grad_mode):
    def __exit__(self, *error):
        super().__exit__(*error)
        GradMode.enabled = self.on


class ModeWithoutEffect(grad_mode):
    def __enter__(self):
        pass

    def __exit__(self, *error):
        pass


class Switch(AbstractContextManager):
    """A helper with all that a class may hold."""

    __slots__ = ("before", "wanted")

    @classmethod
    def to(cls, on):
        switch = cls()
        switch.before, switch.wanted = GradMode.enabled, on
        return switch

    @staticmethod
    def turn(on):
        GradMode.enabled = on

    @property
    def now(self):
        return GradMode.enabled

    def __enter__(self):
        self.before = self.now
        self.turn(self.wanted)

    def __exit__(self, *error):
        self.turn(self.before)


class SwitchTwice(Switch):
    def __enter__(self):
        super().__enter__()
        self.turn(not self.wanted)
        self.turn(self.wanted)


def mode_by_a_helper(on):
    return Switch.to(on)


def mode_by_a_helper_that_inherits(on):
    def make():
        return SwitchTwice.to(on)

    return make()


def counted_down(on, left=3):
    return counted_down(on, left - 1) if left else Switch.to(on)


@contextmanager
def decorated(on):
    before, GradMode.enabled = GradMode.enabled, on
    try:
        yield
    finally:
        GradMode.enabled = before


def noted(fn):
    @wraps(fn)
    def run(*args):
        return fn(*args)

    return run


@noted
def decorated_by_hand(on):
    return decorated(on)


def mode_by_an_inner_class():
    class Inner(grad_mode):
        def again(self):
            return Inner(self.on)

    def mode(on):
        return Inner(on).again()

    return mode


MODES = {
    "a class": grad_mode,
    "a helper's class": mode_by_a_helper,
    "a helper's class that inherits": mode_by_a_helper_that_inherits,
    "a helper that calls itself": lambda on: counted_down(on),
    "a helper under a decorator": lambda on: decorated(on),
    "a helper under two": lambda on: decorated_by_hand(on),
    "a class inside": mode_by_an_inner_class(),
    "a class that inherits": type("Mode", (grad_mode,), {}),
}


@pytest.mark.parametrize("name", MODES)
def test_a_class_is_judged_like_a_function(name):
    m = assemble(grad_mode=MODES[name])
    with m.grad_mode(False):
        assert not m.GradMode.enabled and GradMode.enabled
    check_mode(m)
    check_programs(m, 30)
    assert m.GradMode.enabled


@pytest.mark.parametrize("mode", [ModeThatStays, ModeWithoutEffect])
def test_a_wrong_class_is_judged_like_a_wrong_function(mode):
    with pytest.raises(AssertionError):
        check_mode(assemble(grad_mode=mode))
    assert GradMode.enabled


def test_the_classes_of_the_notebook_stay_as_they_are():
    before = {cls: dict(vars(cls)) for cls in (grad_mode, Switch, excludes_by_a_class)}
    m = assemble(grad_mode=mode_by_a_helper, exclude=excludes_by_a_class)
    assert m.exclude is not excludes_by_a_class and vars(m.exclude(1)) == {"keys": (1,)}
    assert type(m.grad_mode(True)) is not Switch
    assert {cls: dict(vars(cls)) for cls in before} == before


def test_a_class_that_two_functions_use_is_one_class():
    m = assemble(grad_mode=mode_by_a_helper_that_inherits, detach=mode_by_a_helper)
    assert isinstance(m.grad_mode(True), type(m.detach(True)))


def test_a_class_without_methods_of_the_learners_is_taken_as_it_is():
    m = assemble(Key=LogAbove, Op=FormulaFirst)
    assert m.Key is LogAbove and m.Op is FormulaFirst


def test_what_the_standard_library_puts_around_a_function_keeps_its_globals():
    assert assemble(grad_mode=decorated).grad_mode.__globals__ is contextmanager.__globals__
