"""explain_dispatch says which operator failed, at which key, and what really makes it run."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import textwrap
import warnings

import pytest
import torch
import torch.nn.functional as F
from hard_tensors import ANSWERED, SHOWN
from torch._subclasses.fake_tensor import FakeTensorMode

from insidetorch import explain_dispatch, show, trace
from insidetorch.observe.explanation import explanation_of
from insidetorch.observe.stand_ins import stand_ins, tensors
from insidetorch.observe.trials import Trials
from insidetorch.records import Change, Explanation, Failure

pytestmark = pytest.mark.filterwarnings("ignore")  # dtypes and layouts that are leaving or in beta

a = torch.ones(3, 3)
half, ints, meta = a.half(), a.long(), a.to("meta")
DTYPES = {str(d).removeprefix("torch."): d for d in (torch.float32, torch.float64, torch.int64)}


def quantised():
    return torch.quantize_per_tensor(a, 0.1, 0, torch.qint8)


def failure_of(fn):
    return explanation_of(fn).failure


def text_of(fn):
    return explain_dispatch(fn).text


# 1. No kernel at a key.

LAYOUTS = {
    "SparseCPU": (a.to_sparse, "to_dense"),
    "SparseCsrCPU": (a.to_sparse_csr, "to_dense"),
    "MkldnnCPU": (a.to_mkldnn, "to_dense"),
    "QuantizedCPU": (quantised, "dequantize"),
}


@pytest.mark.parametrize("key", LAYOUTS)
def test_a_key_without_a_kernel_is_told_with_a_conversion_that_runs(key):
    make, way = LAYOUTS[key]
    x = make()
    failure = failure_of(lambda: torch.nonzero(x))
    assert (failure.operator, failure.key, failure.brought) == (
        "aten.nonzero.default",
        key,
        ("self",),
    )
    assert failure.convert == (way,)
    assert failure.changes == (Change("conversion", ("self",), ("converted",)),)
    assert torch.nonzero(getattr(x, way)()).shape == (9, 2)
    text = text_of(lambda: torch.nonzero(x))
    assert f"The call stops at {key}: nothing is registered there for aten.nonzero.default" in text
    assert "There are kernels for CPU and Meta here." in text
    assert f".{way}() before the call, with which it runs (tried)" in text
    assert f"register a kernel for {key} with torch.library" in text


def test_the_backends_that_are_named_run_the_operator():
    failure = failure_of(lambda: a.to_sparse().exp())
    assert failure.backends == ("CPU", "Meta")
    assert failure_of(a.exp) is None and failure_of(meta.exp) is None
    failure = failure_of(lambda: quantised().tan())
    assert failure.backends == ("CPU", "Meta", "SparseCPU", "SparseCsrCPU")
    for x in (a, meta, a.to_sparse(), a.to_sparse_csr()):
        assert failure_of(x.tan) is None


def test_a_kernel_for_all_backends_that_takes_no_such_layout_is_told():
    x = a.to_sparse_csr()
    failure = failure_of(x.exp)
    assert failure.key == "" and failure.path.steps[-1].key == "SparseCsrCPU"
    assert failure.changes[0].kind == "conversion" and x.to_dense().exp().shape == (3, 3)
    assert "What helps: .to_dense() before the call, with which it runs (tried)." in text_of(x.exp)


def test_only_the_argument_that_brings_the_key_is_named():
    x = a.to_sparse()
    failure = failure_of(lambda: torch.cdist(a, x))
    assert failure.key == "SparseCPU" and len(failure.brought) == 1
    assert failure.arguments[[one.name for one in failure.arguments].index(failure.brought[0])]


def test_a_kernel_that_calls_an_operator_without_one_is_told():
    q = quantised()
    failure = failure_of(lambda: q + q)
    assert (failure.operator, failure.inner) == ("aten.add.Tensor", "aten.add.out")
    assert failure.namesake == "torch.ops.quantized.add"
    assert callable(torch.ops.quantized.add)
    assert failure_of(quantised().sigmoid) is None
    assert failure_of(quantised().tan).namesake == ""


def test_a_conversion_that_does_not_help_is_not_said_to_run():
    x = a.bool().to_sparse()
    failure = failure_of(lambda: torch.nonzero(torch.cat([x, x]).to_sparse_csr()))
    assert failure.convert == ("to_dense",) and failure.changes
    own = torch.library.Library("explained_sparse", "DEF")
    own.define("only_csr(Tensor x) -> Tensor")
    own.impl("only_csr", lambda x: x, "SparseCsrCPU")
    text = text_of(lambda: torch.ops.explained_sparse.only_csr(x))
    assert ".to_dense() before the call; or register a kernel for SparseCPU" in text
    assert "There are kernels for SparseCsrCPU here." in text


def test_no_kernel_for_tensors_without_values_is_told():
    own = torch.library.Library("explained_meta", "DEF")
    own.define("only_cpu(Tensor x) -> Tensor")
    own.impl("only_cpu", lambda x: x.clone(), "CPU")
    text = text_of(lambda: torch.ops.explained_meta.only_cpu(meta))
    assert "The call stops at Meta" in text and "There are kernels for CPU here." in text
    assert "What helps: register one for tensors without values with torch.library.reg" in text
    assert failure_of(lambda: torch.ops.explained_meta.only_cpu(a)) is None


# 2 and 3. What a kernel says of dtypes.

BY_DTYPE = {
    "cdist": lambda: torch.cdist(half, half),
    "and": lambda: a & a,
    "cholesky": lambda: torch.linalg.cholesky(half),
    "inverse": lambda: torch.linalg.inv(ints),
    "mean": lambda: ints.mean(),
    "labels": lambda: F.cross_entropy(a, torch.zeros(3, dtype=torch.int32)),
    "matrices": lambda: a.double() @ a,
    "addmm": lambda: F.linear(a.double(), a, a[0]),
    "loss": lambda: F.binary_cross_entropy(a, a.double()),
    "interpolation": lambda: torch.lerp(a, a.double(), 0.5),
    "convolution": lambda: F.conv2d(ints.view(1, 1, 3, 3), a.view(1, 1, 3, 3)),
    "embedding": lambda: F.embedding(a, a),
    "index": lambda: a[torch.tensor([0.7])],
    "index_add": lambda: a.clone().index_add_(0, torch.ones(3), a),
    "condition": lambda: torch.where(a, a, a),
    "random": lambda: ints.clone().normal_(),
}


@pytest.mark.parametrize("name", BY_DTYPE)
def test_the_dtypes_that_are_told_run_and_the_others_do_not(name):
    found = explanation_of(BY_DTYPE[name])
    failure = found.failure
    assert failure.path.steps[-1].key == "CPU" and not failure.key
    assert failure.changes and all(change.kind == "dtype" for change in failure.changes)
    operator, args, kwargs = _last_call(BY_DTYPE[name])
    for change in failure.changes:
        assert change.runs and not set(change.runs) & set(change.fails)
        for dtype in change.runs:
            _with_dtype(operator, args, kwargs, change.names, dtype)
        for dtype in change.fails:
            with pytest.raises((RuntimeError, NotImplementedError, IndexError)):
                _with_dtype(operator, args, kwargs, change.names, dtype)


def _last_call(fn):
    """The operator that raised and what it was given, by a mode of the test's own."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Last(TorchDispatchMode):
        def __torch_dispatch__(self, op, types, args=(), kwargs=None):
            self.call = op, args, kwargs or {}
            return op(*args, **(kwargs or {}))

    with Last() as last, pytest.raises((RuntimeError, NotImplementedError, IndexError)):
        fn()
    return last.call


def _with_dtype(op, args, kwargs, names, dtype):
    schema = [argument.name for argument in op._schema.arguments]
    given = dict(zip(schema, args, strict=False)) | kwargs
    for name in names:
        value, to = given[name], getattr(torch, dtype)
        given[name] = [t.to(to) for t in value] if isinstance(value, list | tuple) else value.to(to)
    with torch.random.fork_rng():
        return op(**given)


def test_given_dtypes_and_the_line_are_told():
    text = text_of(BY_DTYPE["matrices"])
    assert "test_explain_dispatch.py, line" in text and "a.double() @ a" in text
    assert "It was given self float64 (3, 3); mat2 float32 (3, 3)." in text
    assert "It runs with self as float32, or with mat2 as float64" in text
    assert "No dtype is a dispatch key." in text


def test_large_arguments_are_tried_as_small_ones():
    images, filters = torch.ones(8, 3, 64, 64), torch.ones(16, 3, 5, 5, dtype=torch.float64)
    failure = failure_of(lambda: F.conv2d(images, filters))
    assert failure.stand_ins and {change.runs for change in failure.changes} == {
        ("float64",),
        ("float32",),
    }
    assert "(tried on stand-ins of a few elements)" in text_of(lambda: F.conv2d(images, filters))
    labels = torch.zeros(5000, dtype=torch.int32)
    failure = failure_of(lambda: F.cross_entropy(torch.ones(5000, 30), labels))
    assert failure.stand_ins and failure.changes[0].names == ("target",)


@pytest.mark.parametrize(
    "fn",
    [
        lambda: torch.mm(torch.ones(3), a),
        lambda: a + torch.ones(4),
        lambda: a[torch.tensor([7, 1, 2])],
        lambda: a.t().view(9),
        lambda: torch.cat([a, torch.ones(2, 2)]),
        lambda: F.embedding(a, torch.tensor([9])),
    ],
)
def test_an_error_that_is_not_about_dtypes_is_not_said_to_be(fn):
    failure = failure_of(fn)
    assert failure.operator and failure.changes == ()
    assert "No dtype" not in text_of(fn) and "It runs with" not in text_of(fn)
    assert failure.error.split(": ", 1)[1] in _message(fn)


def _message(fn):
    with pytest.raises(Exception) as caught:
        fn()
    return str(caught.value)


def test_an_operator_whose_kernel_is_the_users_is_not_run_again():
    calls = []
    own = torch.library.Library("explained_own", "DEF")
    own.define("f(Tensor x) -> Tensor")

    def kernel(x):
        calls.append(1)
        raise RuntimeError(f'"f" not implemented for {x.dtype}')

    own.impl("f", kernel, "CPU")
    failure = failure_of(lambda: torch.ops.explained_own.f(a))
    assert len(calls) == 1 and failure.changes == ()
    assert failure.operator == "explained_own.f.default"


# 4. Devices.


def test_tensors_of_two_devices_are_told_apart():
    for fn in (lambda: a + meta, lambda: torch.cat([a, meta])):
        failure = failure_of(fn)
        assert [change.kind for change in failure.changes] == ["device"]
        assert set(failure.changes[0].runs) == {"cpu", "meta"}
        text = text_of(fn)
        assert "is on cpu and" in text and "is on meta. An operator takes tensors of one" in text
        assert "With all of them on cpu or meta it runs" in text
    assert failure_of(lambda: meta + torch.tensor(2.0)) is None


def test_a_number_of_the_cpu_beside_another_device_is_no_mismatch():
    number, short = torch.tensor(0.5), torch.ones(4, device="meta")

    def fails():
        return torch.lerp(meta, short, number)

    assert [one.device for one in failure_of(fails).arguments] == ["meta", "meta", "cpu"]
    assert "An operator takes tensors of one device" not in text_of(fails)


OWN_DEVICE = """
    import torch
    from torch.utils.backend_registration import _setup_privateuseone_for_python_backend
    from insidetorch import explain_dispatch

    _setup_privateuseone_for_python_backend("mine")
    x = torch._C._acc.create_empty_tensor((2, 2), torch.float32)
    print(explain_dispatch(lambda: torch.nonzero(x)).text)
    print(explain_dispatch(lambda: x + torch.ones(2, 2)).text)
    print(explain_dispatch(lambda: x.exp()).text)
    print(explain_dispatch(lambda: torch.ones(2, device="mine")).text)
    library = torch.library.Library("aten", "IMPL")
    library.impl("nonzero", lambda x: x, "PrivateUse1")
    print(explain_dispatch(lambda: torch.nonzero(x)).text)
"""


def test_a_device_of_ones_own_without_the_kernel_is_told():
    # In a process of its own: a device is registered for the life of the process.
    code = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(OWN_DEVICE)]
    done = subprocess.run(code, capture_output=True, text=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, done.stderr
    assert "arguments from the 'mine' backend" in done.stdout
    assert "The call stops at PrivateUse1: nothing is registered there" in done.stdout
    assert "register a kernel for PrivateUse1 with torch.library" in done.stdout
    assert ".cpu()" not in done.stdout  # which has no kernel either
    inner = "register a kernel of aten.empty.memory_format for PrivateUse1 with torch.library"
    assert done.stdout.count(inner) == 2 and "for mine" not in done.stdout
    healthy = done.stdout.rpartition("1 operator read")[2]
    assert healthy and "raised" not in healthy


# 5. Everything else.


@pytest.mark.parametrize(
    ("fn", "error"),
    [
        (lambda: F.linear([1], a), "TypeError: linear(): argument 'input' (position 1) must be"),
        (lambda: torch.add([1], 2), "TypeError: add(): argument 'input'"),
        (lambda: {}["lr"], "KeyError: 'lr'"),
        (lambda: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda: torch.matmul(torch.tensor(1.0), a), "RuntimeError: both arguments to matmul need"),
        (lambda: torch.ones(2, requires_grad=True).add_(1), "RuntimeError: a leaf Variable"),
        (lambda: torch.ones(2, requires_grad=True).numpy(), "RuntimeError: Can't call numpy()"),
        (lambda: bool(a), "RuntimeError: Boolean value of Tensor with more than one value"),
        (lambda: torch.nn.LSTM(3, 4)(a.double()), "ValueError: RNN input dtype (torch.float64)"),
    ],
)
def test_an_error_outside_of_operators_is_told_with_its_line(fn, error):
    failure = failure_of(fn)
    assert failure.operator == "" and failure.error.startswith(error)
    assert failure.place.file.endswith("test_explain_dispatch.py")
    assert text_of(fn).startswith(f"It raised {error}")


def test_the_operators_before_an_error_are_told():
    def step():
        x = a * 2
        return x.exp() @ a.double()

    text = text_of(step)
    assert "Before that 3 operators read" in text
    assert "aten.mul: float32 (3, 3) → float32 (3, 3)" in text and "x = a * 2" in text
    assert explain_dispatch(step).alt.startswith("3 operators ran. aten.mm.default raised Runtime")
    assert "Before that no operator ran." in text_of(lambda: a @ a.double().__class__(3, 2, 2))


def test_an_error_that_the_code_handles_is_no_failure():
    def careful():
        try:
            a @ a.double()
        except RuntimeError:
            return a @ a

    assert failure_of(careful) is None
    assert "raised" not in text_of(careful)


def test_an_error_that_is_raised_of_another_one_keeps_the_operator():
    def outer():
        try:
            a @ ints
        except RuntimeError as error:
            raise ValueError("the layer does not fit") from error

    failure = failure_of(outer)
    assert failure.error == "ValueError: the layer does not fit"
    assert failure.operator == "aten.mm.default" and failure.changes
    assert text_of(outer).startswith(
        "It raised ValueError: the layer does not fit, from an error of aten.mm.default, at "
    )

    def missing():
        try:
            a @ ints
        except RuntimeError:
            raise KeyError("the setting is missing") from None

    assert failure_of(missing).operator == ""

    def unrelated():
        with contextlib.suppress(RuntimeError):
            a @ ints
        raise ValueError("later")

    assert failure_of(unrelated).operator == ""


def test_dtypes_that_run_without_others_that_fail():
    mask = torch.ones(3) > 0
    text = text_of(lambda: mask - mask)
    assert "It runs with self and other as " in text and "not as" not in text


def test_the_picture_of_a_failed_call_says_that_it_failed():
    picture = explain_dispatch(lambda: a @ ints)
    told = show(explanation_of(lambda: a @ ints).failure.path)
    assert "aten.mm.default reached CPU, and failed there." in picture.svg
    assert "runs at" not in picture.svg and "runs at" in told.svg


def test_an_operator_that_raises_in_backward_is_told_with_its_node():
    x = a.clone().requires_grad_()
    y = x * 2
    y.register_hook(lambda g: g.double() @ g)
    failure = failure_of(lambda: y.sum().backward())
    assert failure.operator == "aten.mm.default"
    assert "at test_explain_dispatch.py, line" in text_of(lambda: y.sum().backward())


def test_what_ends_a_program_passes_through():
    for kind in (KeyboardInterrupt, SystemExit):

        def ended(kind=kind):
            raise kind

        with pytest.raises(kind):
            explain_dispatch(ended)


def test_what_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match=r"explanation of Tensor was asked.*cannot be called.*lam"):
        explain_dispatch(a + 1)


class Unprintable(Exception):
    def __str__(self):
        raise ValueError("no words")


class Equal(Exception):
    def __eq__(self, other):
        raise ValueError("not comparable")

    __hash__ = None


@pytest.mark.parametrize("kind", [Unprintable, Equal])
def test_an_error_that_raises_itself_is_told(kind):
    def fails():
        raise kind

    assert text_of(fails).startswith(f"It raised {kind.__name__}")


def test_addresses_are_left_out_and_long_texts_cut():
    def fails():
        raise ValueError(f"object at 0x7f12ab34cd {'long ' * 200}. And more")

    assert "0x…" in failure_of(fails).error and len(failure_of(fails).error) > 100
    assert "And more" not in failure_of(fails).error


# Custom operators.


@torch.library.custom_op("explained::plain", mutates_args=())
def plain(x: torch.Tensor, factor: float) -> torch.Tensor:
    return x * factor


@torch.library.custom_op("explained::short", mutates_args=())
def short(x: torch.Tensor, factor: float, shift: float) -> torch.Tensor:
    return x * factor + shift


short.register_autograd(lambda ctx, g: (g, None), setup_context=lambda ctx, inputs, output: None)


def test_a_custom_operator_without_a_formula_is_told_with_its_call():
    def step():
        y = plain(a.clone().requires_grad_(), 2.0)
        return y.sum().backward()

    failure = failure_of(step)
    assert failure.backward_of == "explained.plain" and failure.needed == 0
    assert "y = plain(a" in failure.called.statement
    assert "without a backward function" in text_of(step) and "register_autograd" in text_of(step)


def test_a_formula_with_too_few_gradients_is_told_with_the_right_numbers():
    def step():
        return short(a.clone().requires_grad_(), 2.0, 1.0).sum().backward()

    failure = failure_of(step)
    assert (failure.backward_of, failure.needed, failure.returned) == ("explained.short", 3, 2)
    assert "returned 2 gradients; the operator has 3 arguments" in text_of(step)


@torch.library.custom_op("explained::sized", mutates_args=())
def sized(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def under_fake_tensors():
    with FakeTensorMode():
        return sized(torch.ones(3))


@pytest.mark.parametrize("fn", [lambda: sized(meta), under_fake_tensors])
def test_a_custom_operator_that_knows_no_sizes_is_told_to_register_them(fn):
    text = text_of(fn)
    assert failure_of(fn).without_fake == "explained.sized"
    assert "without values, as a meta tensor and torch.compile need it" in text
    assert "What helps: its register_fake." in text
    assert "works out sizes, strides and dtype" not in text  # which is just what fails


def test_a_registered_fake_helps():
    @torch.library.custom_op("explained::sized_too", mutates_args=())
    def sized_too(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    sized_too.register_fake(torch.empty_like)
    assert failure_of(lambda: sized_too(meta)) is None


def test_an_operator_registered_twice_is_told():
    own = torch.library.Library("explained_twice", "DEF")
    own.define("f(Tensor x) -> Tensor")
    text = text_of(lambda: own.define("f(Tensor x) -> Tensor"))
    assert "RuntimeError: Tried to register an operator (explained_twice::f" in text


# Surprises without an error.

BINS, ONES = torch.tensor([0, 2, 2, 2, 3, 3]), torch.ones(6)
REPEATED = {
    "+=": lambda t: t.__setitem__(BINS, t[BINS] + 1),
    "index_put": lambda t: t.index_put((BINS,), ONES),
    "negative": lambda t: t.__setitem__(torch.tensor([0, 2, 2, 2, 3, -1]), ONES),
    "rows": lambda t: t.view(4, 1).__setitem__(BINS, torch.ones(6, 1)),
    "pairs": lambda t: t.view(2, 2).__setitem__((BINS // 2, BINS % 2), ONES),
    "scatter_": lambda t: t.scatter_(0, BINS, ONES),
    "scatter": lambda t: t.scatter(0, BINS, ONES),
    "index_copy_": lambda t: t.index_copy_(0, BINS, ONES),
}


@pytest.mark.parametrize("name", REPEATED)
def test_a_place_that_is_written_twice_is_told(name):
    t = torch.zeros(4)
    remarks = [one.remark for one in trace(lambda: REPEATED[name](t)).found if one.remark]
    assert len(remarks) == 1
    assert remarks[0].startswith("6 indices name 3 places: where one is named more than once, one")
    text = text_of(lambda: REPEATED[name](torch.zeros(4)))
    assert remarks[0] in text and "raised" not in text
    svg = show(trace(lambda: REPEATED[name](torch.zeros(4)))).svg
    assert "6 indices name 3 places" in svg


def test_scatter_counts_places_in_two_dimensions():
    index = torch.tensor([[0, 0, 0], [1, 0, 1]])
    found = trace(lambda: torch.zeros(4, 3).scatter_(0, index, torch.ones(2, 3)))
    assert [one.remark[:28] for one in found.found if one.remark] == [
        "6 indices name 5 places: whe"
    ]


ONCE = {
    "added up": lambda t: t.index_add_(0, BINS, ONES),
    "accumulated": lambda t: t.index_put_((BINS,), ONES, accumulate=True),
    "scatter_add_": lambda t: t.scatter_add_(0, BINS, ONES),
    "reduced": lambda t: t.scatter_(0, BINS, ONES, reduce="add"),
    "one value": lambda t: t.__setitem__(BINS, 7),
    "each once": lambda t: t.__setitem__(torch.tensor([3, 0, 1]), torch.ones(3)),
    "a mask": lambda t: t.__setitem__(torch.tensor([True, False, True, True]), torch.ones(3)),
    "a slice": lambda t: t.__setitem__(slice(1, 3), torch.ones(2)),
    "read only": lambda t: t[BINS],
    "pairs once": lambda t: t.view(2, 2).__setitem__(
        (torch.tensor([0, 0, 1]), torch.tensor([0, 1, 0])), torch.ones(3)
    ),
    "scattered once": lambda t: t.view(2, 2).scatter_(
        1, torch.tensor([[1, 0], [1, 0]]), t[:2].expand(2, 2).clone()
    ),
    "too many to count": lambda t: t.__setitem__(BINS.repeat(20_000), torch.ones(120_000)),
    "backward": lambda t: t.clone().requires_grad_()[BINS].sum().backward(),
}


@pytest.mark.parametrize("name", ONCE)
def test_a_place_that_is_written_once_or_added_to_raises_no_alarm(name):
    found = trace(lambda: ONCE[name](torch.zeros(4)))
    assert len(found) and not any(one.remark for one in found.found)


# A healthy call, hard tensors, and what looking leaves behind.


def test_a_healthy_call_is_told_as_a_trace():
    picture = explain_dispatch(lambda: a * a + a)
    assert picture.text.startswith("2 operators read")
    assert "raised" not in picture.text and picture.svg.startswith("<svg")


def test_a_failure_shows_the_way_of_the_call():
    picture = explain_dispatch(lambda: torch.nonzero(a.to_sparse()))
    assert ">SparseCPU<" in picture.svg and 'class="bad"' in picture.svg
    assert "There are kernels for" in picture._repr_html_()
    assert explain_dispatch(lambda: 1 / 0).svg == ""


HARD = {**SHOWN, **{name: make for name, (make, _) in ANSWERED.items()}}


@pytest.mark.parametrize("name", HARD)
def test_a_hard_tensor_raises_from_no_display(name):
    t = HARD[name]()
    for call in (
        lambda: t.bitwise_left_shift(t).cholesky(),
        lambda: torch.cdist(t, t),
        lambda: torch.mm(t, a.double()),
    ):
        picture = explain_dispatch(call)
        assert picture.alt and picture.text and picture._repr_html_() is not None


def test_what_was_raised_is_said_of_every_hard_tensor():
    for name, make in HARD.items():
        t = make()
        try:
            torch.cdist(t, t)
        except Exception as error:
            kind = type(error).__name__
            assert f"raised {kind}" in text_of(lambda t=t: torch.cdist(t, t)), name


def test_looking_changes_nothing():
    generator = torch.Generator().manual_seed(3)
    x, w = ints.clone(), a.clone().requires_grad_()
    before = torch.get_rng_state(), generator.get_state(), x._version, w._version
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for fn in (
            lambda: x.normal_(),
            lambda: x.bernoulli_(0.5, generator=generator).normal_(generator=generator),
            lambda: w @ w.double(),
            lambda: x[torch.tensor([0.5])],
        )[0::2]:
            assert failure_of(fn)
        assert failure_of(lambda: x.normal_(generator=generator))
    assert torch.equal(before[0], torch.get_rng_state())
    assert torch.equal(before[1], generator.get_state())
    assert (x._version, w._version) == before[2:] and w.grad is None
    assert warned == []
    assert torch.is_grad_enabled() and torch.equal(x, ints)


def test_trials_print_no_warning_of_torchs():
    code = (
        "import torch; from insidetorch import explain_dispatch\n"
        "print(explain_dispatch(lambda: torch.ones(3)[torch.tensor([0.7])]).text)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", timeout=300
    )
    assert "as int64 or int32" in done.stdout and done.stderr == ""


def test_the_function_runs_once_and_under_the_modes_around():
    calls = []
    with torch.no_grad():
        explain_dispatch(lambda: calls.append(torch.is_grad_enabled()))
    assert calls == [False]
    with torch.inference_mode():
        assert failure_of(lambda: torch.mm(a, a.double())).operator == "aten.mm.default"
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert failure_of(lambda: torch.mm(a, half)) is None
    assert failure_of(lambda: torch.mm(a, half)).changes
    failure = failure_of(lambda: torch.vmap(lambda x: torch.mm(x, a.double()))(a[None]))
    assert failure.error.startswith("RuntimeError: expected")


def test_stand_ins_are_never_large():
    wide = torch.zeros(1, dtype=torch.int64).expand([2] * 24)
    assert stand_ins({"self": wide}) is None
    assert stand_ins({"self": torch.zeros(0, 900, 900, 900)})
    small = stand_ins({"self": torch.zeros(50, 700), "other": [torch.zeros(700, 1, 50).int()]})
    assert [t.shape for t in tensors(small)] == [(5, 6), (6, 1, 5)]
    assert small["other"][0].dtype == torch.int32
    same = stand_ins({"self": a.t(), "generator": torch.Generator(), "dim": 2})
    assert same["self"].stride() == (1, 3) and same["self"] is not a and same["dim"] == 2


def test_a_missing_kernel_is_told_of_a_subclass_and_nothing_tried():
    class Kept(torch.Tensor):
        pass

    x = quantised().as_subclass(Kept)
    failure = failure_of(lambda: torch.nonzero(x))
    assert (failure.key, failure.convert) == ("QuantizedCPU", ("dequantize",))
    assert failure.changes == ()
    assert ".dequantize() before the call; or register" in text_of(lambda: torch.nonzero(x))


def test_trials_are_only_made_of_what_fails_in_the_same_way():
    add = torch.ops.aten.add.Tensor
    assert not Trials(add, {"self": a, "other": a}, RuntimeError("another")).usable
    assert Trials(add, {"self": a, "other": a}, RuntimeError("another")).dtypes() == []
    mm, given = torch.ops.aten.mm.default, {"self": a, "mat2": a.double()}
    assert not Trials(mm, given, RuntimeError("another")).usable
    assert Trials(mm, given, RuntimeError(_message(lambda: mm(**given)))).usable


def test_a_record_of_no_failure_and_one_of_nothing_are_shown():
    assert show(Explanation(trace(lambda: None))).text == "No operator ran."
    bare = Explanation(trace(lambda: None), Failure("ValueError"))
    assert show(bare).text == "It raised ValueError\nBefore that no operator ran."


USERS_KERNEL = """
    import torch
    import torch.nn.functional as F
    from insidetorch import explain_dispatch

    ran = []

    def own(*args, **kwargs):
        ran.append(1)
        raise RuntimeError("inner")

    library = torch.library.Library("aten", "IMPL")
    library.impl("addmm", own, "CPU", allow_override=True)
    x = torch.ones(4, 4)
    with torch.inference_mode():
        print("raised RuntimeError: inner" in explain_dispatch(lambda: F.linear(x, x, x[0])).text)
    print(len(ran))
"""


def test_a_kernel_of_the_users_inside_of_an_operator_is_not_tried_again():
    # In a process of its own: the kernel of an operator is replaced.
    code = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(USERS_KERNEL)]
    done = subprocess.run(code, capture_output=True, text=True, encoding="utf-8", timeout=300)
    assert done.stdout.split() == ["True", "1"], done.stderr


def test_an_inner_operator_is_told_with_the_key_of_the_outer_one():
    with torch.library._scoped_library("test_inner", "DEF") as library:
        library.define("boxed(Tensor x) -> Tensor")
        library.impl("boxed", lambda x: x.to_sparse().exp(), "CompositeExplicitAutograd")
        text = text_of(lambda: torch.ops.test_inner.boxed(torch.ones(2, 2)))
    assert "Its kernel for CPU calls aten.exp" in text and "at SparseCPU" in text


def test_of_many_arguments_the_first_and_the_odd_ones_are_told():
    rows = [torch.ones(2) for _ in range(255)]
    text = text_of(lambda: torch.stack([*rows, torch.ones(3)]))
    [given] = [line for line in text.splitlines() if "It was given" in line]
    assert given.count("float32 (2,)") == 6 and "tensors[255] float32 (3,)" in given
    assert given.endswith("; and 249 more.")


def test_the_text_of_a_users_error_is_not_taken_for_torchs():
    def step():
        raise RuntimeError("Trying to backward through foo.bar.default but no autograd formula")

    assert "custom operator" not in text_of(step)
