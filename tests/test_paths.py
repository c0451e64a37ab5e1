"""path_of says what torch does: its keys are those at which logging kernels run, in that order."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ET

import pytest
import torch
import torch.nn.functional as F
from logged_operators import Log, Watching, subclass, tracing
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode

from insidetorch import DispatchExplorer, count, path_of, show
from insidetorch.observe import private_dispatch
from insidetorch.observe.operator_names import operator_name_of
from insidetorch.observe.path_presets import MODES as PRESET_MODES
from insidetorch.observe.path_presets import OPERATORS, TENSORS, preset_path
from insidetorch.records import DispatchPath
from insidetorch.records.dispatch import AUTOGRAD, DEFAULT, FALLBACK, FALLTHROUGH, KERNEL, MISSING

pytestmark = pytest.mark.filterwarnings("ignore")  # layouts in beta, batching sample by sample

a, b = torch.ones(2, 2, 2)
mask, single = torch.tensor([True, False]), torch.ones(())
images, filters = torch.ones(1, 1, 4, 4), torch.ones(1, 1, 2, 2)


@pytest.fixture(scope="module")
def log():
    log = Log()
    yield log
    log.library._destroy()


def inference_tensor():
    with torch.inference_mode():
        return torch.ones(2, 2)


def conj():
    return torch.ones(2, 2, dtype=torch.complex64).conj()


KINDS = {
    "plain": lambda _: torch.ones(2, 2),
    "requires grad": lambda _: torch.ones(2, 2, requires_grad=True),
    "parameter": lambda _: torch.nn.Parameter(torch.ones(2, 2)),
    "int64": lambda _: torch.ones(2, 2, dtype=torch.int64),
    "conj": lambda _: conj(),
    "neg": lambda _: conj().imag,
    "sparse": lambda _: a.to_sparse(),
    "csr": lambda _: a.to_sparse_csr(),
    "meta": lambda _: a.to("meta"),
    "inference": lambda _: inference_tensor(),
    "quantised": lambda _: torch.quantize_per_tensor(a, 0.1, 1, torch.qint8),
    "nested": lambda _: torch.nested.nested_tensor([a, a]),
    "subclass": subclass,
}


def under(*modes):
    """Call a function under modes, from the outermost in; each is made from the log."""

    def run(fn, x, log):
        with contextlib.ExitStack() as stack:
            for mode in modes:
                stack.enter_context(mode(log))
            fn(x)

    return run


def inside(transform):
    """Call a function where a transform of torch.func calls its own."""

    def run(fn, x, _log):
        def transformed(y):
            fn(y)
            return y.sum()

        transform(transformed)(x)

    return run


def around(mode, run):
    """Call a function inside a transform that is called under a mode."""
    return lambda fn, x, log: under(mode)(lambda y: run(fn, y, log), x, log)


def autocast(_log):
    return torch.autocast("cpu", dtype=torch.bfloat16)


def jvp(fn):
    return lambda x: torch.func.jvp(fn, (x,), (x,))


vmap, grad = torch.vmap, torch.func.grad
MODES = {
    "no mode": under(),
    "no_grad": under(lambda _: torch.no_grad()),
    "inference_mode": under(lambda _: torch.inference_mode()),
    "autocast": under(autocast),
    "dispatch mode": under(Watching),
    "autocast and dispatch mode": under(autocast, Watching),
    "dispatch mode and inference_mode": under(Watching, lambda _: torch.inference_mode()),
    "tracing": under(lambda _: tracing()),
    "vmap": inside(vmap),
    "grad": inside(grad),
    "vmap of grad": inside(lambda fn: vmap(grad(fn))),
    "grad of vmap": inside(lambda fn: grad(lambda x: vmap(fn)(x).sum())),
    "grad of grad": inside(lambda fn: grad(lambda x: grad(fn)(x).sum())),
    "jvp": inside(jvp),
    "functionalize": inside(torch.func.functionalize),
    "functionalize in vmap": inside(lambda fn: vmap(torch.func.functionalize(fn))),
    "autocast around vmap": around(autocast, inside(vmap)),
    "autocast around grad": around(autocast, inside(grad)),
    "vmap in functionalize": inside(lambda fn: torch.func.functionalize(vmap(fn))),
}
CALLS = {
    "one": lambda ask, x: ask("one", x),
    "two": lambda ask, x: ask("two", x, x),
    "two, the other plain": lambda ask, x: ask("two", a, x),
    "list": lambda ask, x: ask("listed", [x, a]),
    "empty list": lambda ask, x: ask("listed", []),
    "optional": lambda ask, x: ask("maybe", 1, None, y=x),
    "optional, left out": lambda ask, x: ask("maybe", 1),
    "in place": lambda ask, x: ask("write_", x),
    "out": lambda ask, x: ask("into", x, out=x),
    "factory": lambda ask, x: ask("make", 1),
    "factory, meta": lambda ask, x: ask("make", 1, device="meta"),
    "factory, sparse": lambda ask, x: ask("make", 1, layout=torch.sparse_coo),
    "composite": lambda ask, x: ask("composite", x),
    "one kernel for all": lambda ask, x: ask("anywhere", x),
    "no kernel": lambda ask, x: ask("nowhere", x),
}


def logged_path(name, *args, **kwargs):
    return path_of(getattr(torch.ops.logged, name), *args, **kwargs)


def compare_in(mode, make, log):
    """For each call, what path_of said and what ran, asked and run in the same place."""
    found = {}

    def both(x):
        for name, call in CALLS.items():
            path = call(logged_path, x)
            with contextlib.suppress(Exception):  # what ran before the call failed counts too
                call(log.run, x)
            found[name] = path, list(log.keys)

    with contextlib.suppress(
        RuntimeError, ValueError
    ):  # of the transform, which may not take the tensor
        mode(both, make(log), log)
    return found


@pytest.mark.parametrize("mode", MODES)
def test_the_keys_that_run_are_those_at_which_logging_kernels_run(mode, log):
    compared = 0
    for kind, make in KINDS.items():
        for name, (path, ran) in compare_in(MODES[mode], make, log).items():
            # A fallback is torch's own code and logs nothing, but the mode's and the subclass's.
            said = [
                s.key for s in path.steps if s.runs and (s.holds != FALLBACK or s.key == "Python")
            ]
            if path.steps[-1].holds == FALLBACK and path.steps[-1].key != "Python":
                # It calls the operator again, for each sample or without wrappers: another path.
                ran = ran[: len(said)]
            assert said == ran, (kind, name, str(path))
            compared += 1
    assert compared >= 3 * len(CALLS)


class Seeing(TorchDispatchMode):
    """Notes the operators that reach it."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        self.seen.append(str(op))
        return op(*args, **(kwargs or {}))


def new(*sizes, dtype=torch.float32):
    return torch.ones(*(sizes or (2, 2)), dtype=dtype)


# Functions of torch and methods, as they are called; what they call is seen by a dispatch mode.
FUNCTIONS = {
    "add": lambda call: call(torch.add, a, a),
    "add a number": lambda call: call(torch.add, a, 2),
    "add out": lambda call: call(torch.add, a, a, out=b),
    "add by keyword": lambda call: call(torch.add, input=a, other=a, alpha=2),
    "add_": lambda call: call(torch.Tensor.add_, b, a),
    "a bound method": lambda call: call(a.add, a),
    "__add__": lambda call: call(torch.Tensor.__add__, a, a),
    "__iadd__": lambda call: call(torch.Tensor.__iadd__, b, a),
    "__radd__": lambda call: call(torch.Tensor.__radd__, a, 2),
    "__truediv__": lambda call: call(torch.Tensor.__truediv__, a, a),
    "__eq__": lambda call: call(torch.Tensor.__eq__, a, a),
    "sum": lambda call: call(torch.sum, a),
    "sum of a dimension": lambda call: call(torch.sum, a, 0),
    "sum along an axis": lambda call: call(torch.sum, a, axis=0, keepdims=True),
    "max": lambda call: call(torch.max, a),
    "max of a dimension": lambda call: call(torch.max, a, 0),
    "max of two": lambda call: call(torch.max, a, a),
    "any of a dimension": lambda call: call(torch.any, a, 0),
    "view, sizes one by one": lambda call: call(torch.Tensor.view, a, 4, 1),
    "view, one size": lambda call: call(torch.Tensor.view, a, 4),
    "view, sizes in a tuple": lambda call: call(torch.Tensor.view, a, (4, 1)),
    "view as a dtype": lambda call: call(torch.Tensor.view, a, torch.int32),
    "permute": lambda call: call(torch.Tensor.permute, a, 1, 0),
    "expand": lambda call: call(torch.Tensor.expand, a, 3, 2, 2),
    "transpose": lambda call: call(torch.transpose, a, 0, 1),
    "cat": lambda call: call(torch.cat, [a, a]),
    "where": lambda call: call(torch.where, mask, a, a),
    "clamp": lambda call: call(torch.clamp, a, 0, 1),
    "mm": lambda call: call(torch.mm, a, a),
    "addmm": lambda call: call(torch.addmm, a, a, a),
    "gelu": lambda call: call(F.gelu, a),
    "softmax, below": lambda call: call(torch._softmax, a, 0, False),
    "fft": lambda call: call(torch._C._VariableFunctions._fft_r2c, a, [1], 0, True),
    "an operator": lambda call: call(torch.ops.aten.mul.Tensor, a, a),
    "an operator without overload": lambda call: call(torch.ops.aten.mul, a, 3),
    "arange": lambda call: call(torch.arange, 3),
    "full": lambda call: call(torch.full, (2, 2), 1.0),
    "zeros, sizes one by one": lambda call: call(torch.zeros, 2, 2),
    "empty": lambda call: call(torch.empty, 2, requires_grad=True),
    "zeros_like": lambda call: call(torch.zeros_like, a),
    "clone": lambda call: call(torch.clone, a),
    "detach": lambda call: call(torch.Tensor.detach, a),
    "fill_": lambda call: call(torch.Tensor.fill_, b, 3),
    "nonzero": lambda call: call(torch.nonzero, a),
    "item, below": lambda call: call(torch.ops.aten._local_scalar_dense, single),
    "reshape": lambda call: call(torch.reshape, a, (4,)),
    "matmul": lambda call: call(torch.matmul, a, a),
    "linear": lambda call: call(F.linear, a, a),
    "square": lambda call: call(torch.square, a),
    "conv2d": lambda call: call(F.conv2d, images, filters),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_operator_is_the_one_that_a_dispatch_mode_sees(name):
    with Seeing() as mode:
        path = FUNCTIONS[name](path_of)
        assert mode.seen == []
        FUNCTIONS[name](lambda fn, *args, **kwargs: fn(*args, **kwargs))
    if "Python" in path.ran:
        assert mode.seen[0] == path.operator
    else:  # made of others, which the mode sees in its place
        assert path.steps[-1].holds == "composite kernel" and path.operator not in mode.seen


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        (("meta",), {}),
        ((torch.device("meta"),), {}),
        ((), {"device": "meta"}),
        (("meta", None, False, True), {}),
        (("meta",), {"copy": True, "memory_format": torch.preserve_format}),
        ((torch.float64,), {}),
        (("cpu", torch.float64), {}),
        (("cpu",), {"dtype": torch.float64, "copy": True}),
        ((b.double(),), {}),
        ((b.double(), False, True), {}),
        ((), {"dtype": torch.float64}),
    ],
)
def test_of_the_overloads_of_to_the_dispatched_one_is_taken(args, kwargs):
    graph = make_fx(lambda x: x.to(*args, **kwargs), pre_dispatch=True)(a).graph
    (called,) = [str(node.target) for node in graph.nodes if node.op == "call_function"]
    path = path_of(torch.Tensor.to, a, *args, **kwargs)
    assert path.operator == called and path.steps[-1].holds == "composite kernel"


def test_an_overload_of_torchscript_that_is_asked_for_has_no_path():
    with pytest.raises(ValueError, match=r"to\.prim_Device was asked.*TorchScript"):
        path_of(torch.ops.aten.to.prim_Device, a, "meta")


@pytest.mark.parametrize("name", ["add", "mm", "sum", "softmax, below", "gelu"])
def test_neither_dtype_nor_requires_grad_chooses_a_key(name):
    def path(x):
        return FUNCTIONS[name](lambda fn, *args: path_of(fn, *(x if t is a else t for t in args)))

    kinds = (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool, torch.complex64)
    paths = {path(new(dtype=dtype)) for dtype in kinds}
    paths |= {path(new().requires_grad_()), path(torch.nn.Parameter(new()))}
    assert len(paths) == 1


def test_no_grad_changes_nothing_and_inference_mode_leaves_autograd_out():
    w = torch.ones(2, 2, requires_grad=True)
    plain = path_of(torch.mm, w, w)
    with torch.no_grad():
        assert path_of(torch.mm, w, w) == plain
    with torch.inference_mode():
        assert path_of(torch.mm, w, w).ran == ("CPU",)
        assert "AutogradCPU" in path_of(torch.mm, w, w).excluded
    assert plain["AutogradCPU"].holds == AUTOGRAD and plain["CPU"].holds == KERNEL
    t = inference_tensor()
    assert "ADInplaceOrView" not in path_of(torch.mm, t, t).argument_keys


def test_autocast_casts_where_the_path_says_so():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for fn, casts in ((torch.mm, True), (torch.add, False)):
            assert (path_of(fn, a, a)["AutocastCPU"].holds == KERNEL) == casts
            assert (count(lambda fn=fn: fn(a, a))["aten._to_copy"] > 0) == casts


@pytest.mark.parametrize(("x", "key"), [(conj(), "Conjugate"), (conj().imag, "Negative")])
def test_a_bit_is_written_out_where_the_path_says_so(x, key):
    assert path_of(torch.add, x, x)[key].holds == FALLBACK
    assert count(lambda: torch.add(x, x))["aten.clone"] > 0
    assert path_of(torch.Tensor.view, x, 4)[key].holds == FALLTHROUGH
    assert count(lambda: x.view(4)).total == 1


def test_views_and_writes_have_a_kernel_for_autograds_bookkeeping():
    for path in (path_of(torch.Tensor.view, a, 4), path_of(torch.add, a, a, out=a)):
        assert path["ADInplaceOrView"].holds == KERNEL
    assert path_of(torch.add, a, a)["ADInplaceOrView"].holds == FALLTHROUGH


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_a_factory_chooses_its_backend_by_the_device(device):
    key = {"cpu": "CPU", "meta": "Meta"}[device]
    path = path_of(torch.empty, 2, device=device)
    assert path.argument_keys == () and path.ran == ("BackendSelect", key)
    with torch.device(device):
        assert path_of(torch.empty, 2).ran == path.ran
        assert torch.empty(2).device.type == device
    assert path_of(torch.empty, 2, layout=torch.sparse_coo).ran[-1] == "SparseCPU"


def test_a_number_beside_a_meta_tensor_is_a_cpu_tensor():
    x = new().to("meta")
    assert path_of(torch.add, x, 2) == path_of(torch.add, x, torch.scalar_tensor(2))
    with torch.inference_mode():
        x = new().to("meta")
        assert path_of(torch.add, x, 2) == path_of(torch.add, x, torch.scalar_tensor(2))


REFUSING = {
    "sparse": (a.to_sparse, "SparseCPU"),
    "csr": (a.to_sparse_csr, "SparseCsrCPU"),
    "quantised": (lambda: torch.quantize_per_tensor(a, 0.1, 1, torch.qint8), "QuantizedCPU"),
    "mkldnn": (a.to_mkldnn, "MkldnnCPU"),
    "meta": (lambda: a.to("meta"), "Meta"),
}
UNARY = (
    *("abs", "acos", "angle", "ceil", "clone", "cos", "cumsum", "diag", "erf", "exp", "floor"),
    *("frac", "isnan", "lgamma", "log", "logsumexp", "median", "mode", "msort", "neg", "nonzero"),
    *("prod", "reciprocal", "relu", "round", "rsqrt", "sigmoid", "sign", "sin", "sort", "sqrt"),
    *("sum", "tan", "tanh", "tril", "trunc", "unique_dim", "var", "view", "_local_scalar_dense"),
)


@pytest.mark.parametrize("kind", REFUSING)
def test_a_missing_kernel_is_told_as_torch_tells_it(kind):
    make, key = REFUSING[kind]
    refused = 0
    for name in UNARY:
        packet, x = getattr(torch.ops.aten, name), make()
        args = {"cumsum": (x, 0), "logsumexp": (x, [0]), "view": (x, [4]), "unique_dim": (x, 0)}
        call = args.get(name, (x,))
        path, error = path_of(packet, *call), ""
        try:
            packet(*call)
        except (RuntimeError, NotImplementedError) as raised:
            error = str(raised)
        schema = path.operator.replace("aten.", "aten::").removesuffix(".default")
        head = f"Could not run '{schema}' with arguments from the '{key}' backend"
        if kind == "meta":
            head = f"{schema}: attempted to run this operator with Meta tensors"
        assert path.refusal.startswith(head) == error.startswith(head), (name, path.refusal, error)
        refused += bool(path.refusal)
    assert refused


def test_a_missing_kernel_names_the_key_the_backends_and_the_way_out():
    path = path_of(torch.nonzero, a.to_sparse())
    assert path.steps[-1].key == "SparseCPU" and path.steps[-1].holds == MISSING
    assert "It has kernels for CPU, Meta" in path.refusal
    assert "register a kernel for SparseCPU with torch.library" in path.refusal


def test_an_operator_without_fake_kernel_fails_on_meta_tensors(log):
    path = path_of(torch.ops.logged.nowhere, a.to("meta"))
    assert path.refusal.startswith("logged::nowhere: attempted to run this operator with Meta")
    assert "Register one with torch.library.register_fake." in path.refusal
    with pytest.raises(NotImplementedError, match="with Meta tensors"):
        torch.ops.logged.nowhere(a.to("meta"))
    assert "It has no kernel at all." in path_of(torch.ops.logged.nowhere, a).refusal


def test_no_tensor_at_all_leaves_no_backend(log):
    path = path_of(torch.ops.logged.listed, [])
    assert path.steps[-1].key == "Undefined"
    assert "has got no tensor, and no kernel that runs without one" in path.refusal
    with pytest.raises(NotImplementedError, match="no tensor arguments"):
        torch.ops.logged.listed([])
    assert path_of(torch.cat, []).steps[-1].holds == DEFAULT


def test_a_custom_operator_has_a_path():
    @torch.library.custom_op("paths_test::scaled", mutates_args=())
    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    assert path_of(scaled, a) == path_of(torch.ops.paths_test.scaled, a)
    assert path_of(scaled, a).ran == ("AutogradCPU", "CPU")
    assert path_of(scaled, a)["CPU"].holds == DEFAULT


def test_of_two_kernels_at_one_key_the_last_one_runs_and_the_path_has_one_step():
    ran = []
    first = torch.library.Library("paths_twice", "DEF")
    first.define("f(Tensor x) -> Tensor")
    first.impl("f", lambda x: ran.append("first") or x, "CPU")
    before = path_of(torch.ops.paths_twice.f, a)
    second = torch.library.Library("paths_twice", "FRAGMENT")
    second.impl("f", lambda x: ran.append("second") or x, "CPU")
    assert path_of(torch.ops.paths_twice.f, a) == before and before["CPU"].holds == KERNEL
    torch.ops.paths_twice.f(a)
    assert ran == ["second"]
    second._destroy()
    torch.ops.paths_twice.f(a)
    assert ran == ["second", "first"] and path_of(torch.ops.paths_twice.f, a) == before


def test_after_autograd_code_of_ones_own_the_rest_is_a_condition():
    own = torch.library.Library("paths_own", "DEF")
    own.define("f(Tensor x) -> Tensor")
    own.impl("f", lambda x: x.clone(), "AutogradCPU")
    refused = show(path_of(torch.ops.paths_own.f, a)).alt
    assert torch.equal(torch.ops.paths_own.f(a), a)
    assert refused.startswith("paths_own.f.default runs at AutogradCPU. If the code there passes")
    assert "the call on: Could not run 'paths_own::f'" in refused
    own.impl("f", lambda x: x + 1, "CPU")
    path = path_of(torch.ops.paths_own.f, a)
    assert torch.equal(torch.ops.paths_own.f(a), a) and path.ran == ("AutogradCPU", "CPU")
    told = "runs at AutogradCPU, and at CPU if the code there passes the call on"
    assert told in show(path).alt and told in show(path).text
    assert "if the code" not in show(path_of(torch.add, a, a)).alt


class Asking(TorchDispatchMode):
    """Asks for the path of every operator on its way."""

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        self.path = path_of(op, *args, **(kwargs or {}))
        return op(*args, **(kwargs or {}))


def test_a_path_is_asked_inside_of_a_dispatch_mode_also_while_tracing():
    with Asking() as mode:
        torch.mm(a, a)
    assert mode.path.ran == ("CPU",) and "AutogradCPU" in mode.path.excluded

    def asking(x):
        with Asking() as mode:
            y = torch.mm(x, x)
        assert mode.path.ran == ("CPU",)
        return y * 2

    assert "aten::mm" in str(torch.jit.trace(asking, a, check_trace=False).graph)


OWN_DEVICE = """
    import torch
    from torch.utils.backend_registration import _setup_privateuseone_for_python_backend
    from insidetorch import path_of

    _setup_privateuseone_for_python_backend("mine")
    x = torch._C._acc.create_empty_tensor((2, 2), torch.float32)
    key = "PrivateUse1"
    before = path_of(torch.nonzero, x)
    try:
        torch.nonzero(x)
    except NotImplementedError as error:
        real = str(error)
    print(before.refusal.split(". ")[0] in real or (before.refusal, real[:120]))

    library, ran = torch.library.Library("aten", "IMPL"), []
    library.impl("nonzero", lambda x: ran.append(key) or x, key)
    after = path_of(torch.nonzero, x)
    torch.nonzero(x)
    print(before.ran, after.ran, str(after[key]), ran, repr(after.refusal))
"""


def test_a_device_of_ones_own_runs_what_is_registered_for_it():
    # In a process of its own: a device is registered for the life of the process.
    code = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(OWN_DEVICE)]
    done = subprocess.run(code, capture_output=True, text=True, encoding="utf-8", timeout=300)
    assert done.stdout.splitlines() == [
        "True",
        "('AutogradPrivateUse1',) ('AutogradPrivateUse1', 'PrivateUse1') PrivateUse1: kernel "
        "['PrivateUse1'] ''",
    ], done.stderr


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_has_keys_of_its_own():
    x = torch.ones(2, device="cuda")
    assert path_of(torch.add, x, x).ran == ("AutogradCUDA", "CUDA")
    assert path_of(torch.ones, 2, device="cuda").ran[-1] == "CUDA"


def test_a_torch_function_sees_the_call_first():
    class Named(torch.Tensor):
        pass

    assert "__torch_function__" in path_of(torch.add, a.as_subclass(Named), a).remark
    assert path_of(torch.add, a, a).remark == ""
    assert "hands its argument back" in path_of(torch.Tensor.contiguous, a).remark
    assert path_of(torch.ops.aten.contiguous, a).remark == ""
    assert torch.Tensor.contiguous(a) is a


def test_asking_changes_nothing(log):
    generator, version = torch.get_rng_state(), a._version
    thread = [keys.raw_repr() for keys in private_dispatch.thread_keys()]
    log.keys.clear()
    for call in FUNCTIONS.values():
        call(path_of)
    path_of(torch.bernoulli, a)
    path_of(torch.ops.logged.write_, a)
    own = subclass(log)
    assert path_of(torch.add, own, own, out=own).ran[-1] == "Python"
    with Seeing() as mode, torch.autocast("cpu"):
        inner = [keys.raw_repr() for keys in private_dispatch.thread_keys()]
        path_of(torch.add, a, 2)
        path_of(torch.Tensor.add_, a, 2)
        assert [keys.raw_repr() for keys in private_dispatch.thread_keys()] == inner
    assert mode.seen == [] and log.keys == [] and a._version == version
    assert [keys.raw_repr() for keys in private_dispatch.thread_keys()] == thread
    assert torch.equal(torch.get_rng_state(), generator)


@pytest.mark.parametrize(
    ("fn", "args", "error", "words"),
    [
        (F.relu, (a,), TypeError, r"of relu was asked.*in Python.*Ask for one.*aten\.relu"),
        (lambda x: x, (a,), TypeError, r"in Python.*count\(lambda"),
        (torch.add, (), TypeError, r"aten::add\(\) was asked.*print\(torch.ops.aten.add.Tensor._"),
        (
            torch.nn.Linear(3, 3),
            (a,),
            TypeError,
            r"of a Linear was asked.*module.*count\(lambda: m",
        ),
        (len, (a,), TypeError, r"len was asked.*neither an operator.*Give one"),
        (torch.Tensor.T, (), TypeError, r"of T was asked.*neither an operator.*Give one"),
        (torch.Tensor, (2,), TypeError, r"Tensor was asked.*neither an operator.*Give one"),
        (3, (), TypeError, r"of int was asked.*neither an operator.*Give one"),
        (torch.tensor, (3,), ValueError, r"tensor was asked.*no operator of its name.*Ask for one"),
        (torch.Tensor.numel, (a,), ValueError, r"numel was asked.*no operator of its name"),
        (torch.ops.higher_order.cond, (a,), ValueError, r"cond was asked.*takes functions.*Ask"),
        (torch.ops.aten.tensor.float, (3.0,), ValueError, r"float was asked.*TorchScript.*Ask"),
        (torch.add, ("x", 2), TypeError, r"aten::add\(str, int\).*aten.add.Tensor, aten.add.Scal"),
        (
            torch.ops.aten.add.Tensor,
            (a,),
            TypeError,
            r"aten::add\(Tensor\).*takes these.*; print\(torch.ops.aten.add.Tensor._schema\) shows",
        ),
        (
            torch.ops.aten.add.out,
            (a, a),
            TypeError,
            r"add.out was asked with self, other.*It takes.*torch.ops.aten.add.out._schema",
        ),
    ],
)
def test_what_has_no_path_is_told_with_the_way_out(fn, args, error, words):
    with pytest.raises(error, match=words):
        path_of(fn, *args)


def test_functions_that_answer_without_an_operator_are_known():
    profile = torch.autograd.profiler.profile
    for name in ("numel", "dim", "size", "stride", "is_contiguous", "get_device", "is_neg"):
        with profile() as found:
            getattr(torch.Tensor, name)(a)
        assert not found.function_events
        with pytest.raises(ValueError, match="calls no operator of its name"):
            path_of(getattr(torch.Tensor, name), a)


def test_special_methods_are_named_after_their_operators():
    names = (
        "add",
        "__add__",
        "__iadd__",
        "__idiv__",
        "__rmul__",
        "__matmul__",
        "__call__",
        "size_",
    )
    found = ["add", "add", "add_", "div_", "mul", "matmul", "", ""]
    assert [operator_name_of(name) for name in names] == found


def test_a_path_is_read_by_key():
    path = path_of(torch.add, a, a)
    assert str(path) == "aten.add.Tensor: AutogradCPU: autograd kernel → CPU: kernel"
    with pytest.raises(KeyError, match="CUDA"):
        path["CUDA"]


def test_the_text_and_the_picture_hold_every_key():
    path = preset_path("torch.mm(x, x)", "plain", "vmap of grad")
    picture = show(path)
    for step in path.steps:
        assert step.key in picture.text and step.says in picture.text
        assert f">{step.key}<" in picture.svg and f">{step.holds}<" in picture.svg
    assert "inside grad" in picture.text and "Inside vmap" in picture.svg
    assert picture.svg == show(path).svg and len(picture.svg) < 110_000
    ET.fromstring(picture.svg)


def test_rows_that_let_the_call_through_are_dotted_and_missing_ones_dashed():
    svg = show(path_of(torch.nonzero, a.to_sparse())).svg
    assert svg.count('class="free"') == svg.count('class="bad"') == svg.count('class="used"') == 1
    assert "× SparseCPU" in show(path_of(torch.nonzero, a.to_sparse())).text
    assert 'class="bad"' not in show(path_of(torch.nonzero, a)).svg


def test_a_refusal_without_steps_is_shown_as_a_sentence():
    path = preset_path("torch.add(x, x)", "int64", "torch.func.grad")
    assert path.steps == () and path.refusal.startswith("torch refuses. ")
    assert path.refusal in show(path).text and "arguments" not in show(path).text


def test_what_a_transform_refuses_afterwards_does_not_hide_the_path():
    path = preset_path("torch.add(x, x)", "complex64", "torch.func.grad")
    assert path.refusal == "" and path.steps[0].key == "FuncTorchDynamicLayerFrontMode"
    with pytest.raises(RuntimeError):
        torch.func.grad(torch.sum)(torch.ones(2, 2, dtype=torch.complex64))


@pytest.mark.parametrize("mode", PRESET_MODES)
def test_every_choice_of_the_explorer_has_a_sentence(mode):
    assert max(map(len, (OPERATORS, TENSORS, PRESET_MODES))) <= 12
    for operator in OPERATORS:
        for tensor in TENSORS:
            path = preset_path(operator, tensor, mode)
            assert isinstance(path, DispatchPath) and (path.steps or path.refusal)


def test_the_explorer_follows_its_controls():
    explorer = DispatchExplorer()
    assert explorer.path == path_of(torch.add, a, a)
    explorer.tensor.value = "conj bit"
    assert 'data-link="Conjugate"' in explorer.view.svg
    explorer.mode.value = "inference_mode"
    assert 'data-link="AutogradCPU"' not in explorer.view.svg and explorer.view.rev == 3
    explorer.operator.value = "x.view(4)"
    assert "aten.view.default runs at ADInplaceOrView and CPU;" in explorer.view.svg


def test_the_explorer_says_its_headline_once_and_counts_the_keys():
    explorer = DispatchExplorer()
    path = explorer.path
    assert "aten.add.Tensor runs at AutogradCPU and CPU" in explorer.view.svg
    tried, ran = len(path.steps), len(path.ran)
    assert explorer.view.status == f"Keys tried: {tried}; keys at which something runs: {ran}."
    explorer.operator.value, explorer.tensor.value = "x.view(4)", "sparse"
    assert explorer.path.refusal
    assert explorer.view.status.endswith("at the last of them the call fails.")


def test_the_explorer_says_so_where_a_choice_has_no_part_in_the_call():
    explorer = DispatchExplorer()
    explorer.operator.value = "torch.ones(2, 2)"
    before = explorer.view.svg
    explorer.tensor.value = "meta"
    assert explorer.view.svg == before
    assert "The call gets no tensor, so what x is changes nothing." in explorer.view.status
    explorer.tensor.value, explorer.mode.value = "int64", "torch.func.grad"
    assert explorer.view.status == "No key is drawn: the call never gets to the dispatcher."
    assert "torch refuses" in explorer.view.svg


def test_modes_around_the_explorer_do_not_reach_it():
    with torch.inference_mode(), torch.device("meta"), Seeing() as mode:
        assert DispatchExplorer().path.ran == ("AutogradCPU", "CPU")
    assert mode.seen == []


def test_a_saved_explorer_is_the_same_each_time_and_has_a_picture():
    first, second = DispatchExplorer()._repr_mimebundle_(), DispatchExplorer()._repr_mimebundle_()
    assert first["text/plain"] == second["text/plain"]
    assert first["text/html"] == second["text/html"] and "<img" in first["text/html"]


@pytest.mark.parametrize("name", ["matmul", "linear", "add", "relu", "softmax"])
def test_a_nested_tensor_passes_autograd_once(name):
    rows = torch.nested.nested_tensor([torch.ones(3, 4), torch.ones(2, 4)])
    columns = torch.nested.nested_tensor([torch.ones(4, 3), torch.ones(4, 2)])
    op, args = {
        "matmul": (torch.matmul, (rows, columns)),
        "linear": (F.linear, (rows, torch.ones(2, 4))),
        "add": (torch.add, (rows, rows)),
        "relu": (torch.relu, (rows,)),
        "softmax": (torch.softmax, (rows, -1)),
    }[name]
    path = path_of(op, *args)
    whole = path.operator in dict(count(lambda: op(*args)).calls)
    assert whole == (name != "softmax")
    nested = ("AutogradNestedTensor",)
    assert path.ran == ((*nested, "NestedTensorCPU") if whole else nested)


def test_a_path_as_the_value_of_a_cell_is_one_line():
    found = path_of(torch.add, a, b)
    assert (
        repr(found) == str(found) == "aten.add.Tensor: AutogradCPU: autograd kernel → CPU: kernel"
    )
    assert repr(found["CPU"]) == "CPU: kernel"
    refused = path_of(torch.exp, torch.eye(2).to_sparse())
    assert "AutogradCPU: autograd kernel. Could not run 'aten::exp'" in repr(refused)


def test_an_explorer_of_a_call_is_refused():
    with pytest.raises(TypeError, match=r"of mm was asked\. It has calls .* show\(path_of\("):
        DispatchExplorer(torch.mm)
