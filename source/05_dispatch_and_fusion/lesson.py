# %% [markdown]
# # 5 · Dispatch and fusion
#
# The chapters before looked at tensors and at graphs. This one goes into a single call: what
# happens between `torch.add(a, b)` in Python and the loop that adds, and why ten such calls can be
# slower than one that does the same.
#
# **Afterwards you can**
# - follow a call through the dispatcher to its kernel, and say what chooses it and what does not;
# - say why an operator "does not run" on a device, for a layout or for a dtype;
# - count the bytes that an expression moves, and predict from them which way is faster;
# - tell what `torch.compile` makes of a function: graphs, breaks, recompiles, kernels;
# - write an operator of your own with its gradient, and test it.
#
# **Time** 90 minutes, 70 without the sections marked *extra*. **Before this** [chapter
# 4](04_backward_and_accumulation.ipynb): nodes, saved tensors, `gradcheck`.

# %%
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend as set_up

from insidetorch import copies, count, expect_error, graph_of, path_of, predict, show, trace

# %% [markdown]
# Later you will make a device of your own. The engine of chapter 4 makes a queue for each device
# when it starts, so the device has to be there before the first backward pass. (The underscore says
# that this is private: it may change.)

# %%
if not hasattr(torch, "mine"):  # once in a session
    set_up("mine")
    torch.mine.get_rng_state = lambda *device: torch.get_rng_state()  # asked of every device
    torch.mine.set_rng_state = lambda state, *device: None

# %% [markdown]
# Two questions about the chapters before.


# %%
def nodes_of_linear():
    layer, x = nn.Linear(3, 2), torch.ones(4, 3)
    return tuple(sorted(node.name for node in graph_of(layer(x)).nodes if not node.is_leaf))


def raises_after_a_write(fn):
    y = fn(torch.ones(2, requires_grad=True))
    y.mul_(2)
    try:
        y.sum().backward()
    except RuntimeError:
        return True
    return False


# %%
predict(
    "5.1",
    "`layer = nn.Linear(3, 2)` and `x` is a batch of four rows. Which nodes does the one line "
    "`layer(x)` leave in the graph, besides the leaves?",
    {
        ("AddmmBackward0", "TBackward0"): "One call, two operators with a derivative.",
        ("LinearBackward0",): "linear is made of other operators, and they are recorded.",
        ("AddBackward0", "MmBackward0"): "Product and bias are one operator here, addmm.",
    },
    reveal=nodes_of_linear,
)

# %%
predict(
    "5.2",
    "`y = f(x)`, then `y.mul_(2)`, then `y.sum().backward()`. For which `f` is there an error?",
    {
        "exp": "exp keeps its result for backward, and the write changes it.",
        "sin": "sin keeps its input, which the write does not touch.",
        "both": "sin keeps its input, which the write does not touch.",
    },
    reveal=lambda: " ".join(f for f in ("exp", "sin") if raises_after_a_write(getattr(torch, f))),
)

# %% [markdown]
# ## Eight numbers, and a million
#
# An addition of two float32 tensors reads both and writes the result. How does its time depend on
# the number of elements? Make a guess before you look: what does an addition of 8 elements take,
# beside one of 800?

# %% tags=["measured"]
from insidetorch import operator_costs

operator_costs()

# %% [markdown]
# On the left the line is flat. Whatever those calls spend their time on, it is not the eight
# additions: it is the way to them. On the right the line rises with the elements, and there it is
# the elements that cost. The second line is six cheap operators in a row,
# `(((a + b) * b - b) * a).abs() + b`: about six times as long, at both ends. (Each time is the
# shortest of many. If other work keeps your machine busy, the lines are rough all the same: run the
# cell again.)
#
# So there are two costs, and this chapter is about both: **what one call costs**, whatever it
# computes, and **how many bytes it moves**. First the call.
#
# ## From the call to the kernel
#
# A **kernel** is the function that does the work of an operator for one kind of tensor: there is
# one that adds on the CPU, one that adds on a GPU, one that adds sparse tensors. `torch.add` is
# none of them. It hands the call to the **dispatcher**, which looks at the arguments and chooses.
#
# It chooses by a set of **dispatch keys**. Every tensor carries some, the thread adds some and
# leaves some out, and every operator has a table that says what stands at each key. All keys have
# one fixed order, and the highest in the set is tried first. `path_of` reads sets and table from
# the running torch.

# %%
a, b = torch.ones(2), torch.ones(2)
show(path_of(torch.add, a, b))

# %% [markdown]
# Read it from the top. *AutogradCPU* runs first: not a kernel that adds, but one that looks whether
# a gradient is wanted, records a node if so, and **redispatches**: it makes the same call again
# with the keys that are left. Two keys *fall through*: they are in the set, and for this operator
# have nothing to do. The key *CPU* is the kernel that adds. And autocast is left out, since it is
# not on.
#
# > **What is often said.** "The dispatcher chooses a kernel by device, dtype, and whether a
# > gradient is required."

# %%
three = [a, torch.ones(2, requires_grad=True), torch.ones(2, dtype=torch.int64)]

# %%
predict(
    "5.3",
    "Three tensors: `torch.ones(2)`, the same with `requires_grad=True`, and one of int64. How "
    "many different sets of dispatch keys do they have?",
    {
        1: "Neither dtype nor requires_grad is a key.",
        2: "The integer tensor cannot require a gradient, and has the autograd key all the same.",
        3: "Neither dtype nor requires_grad is a key.",
    },
    reveal=lambda: len({path_of(torch.neg, t).argument_keys for t in three}),
)

# %% tags=["claim:44"]
dtypes = [torch.float32, torch.float64, torch.int64, torch.bool, torch.complex64]
sets = {path_of(torch.add, t, t).argument_keys for t in (torch.ones(2, dtype=d) for d in dtypes)}
tracked = path_of(torch.add, a, torch.ones(2, requires_grad=True)).argument_keys
others = [torch.ones(2, device="meta"), torch.eye(2).to_sparse()]

assert sets == {tracked}  # five dtypes, with and without requires_grad: one set of keys
assert not any(path_of(torch.neg, t).argument_keys in sets for t in others)  # these do count
print("float, int, bool, complex, requires_grad:", len(sets), "set of keys")
for t in others:
    print(f"{t.device.type}, {t.layout}:", path_of(torch.neg, t).argument_keys[-1])

# %% [markdown]
# Device and layout are keys. dtype is not: the CPU kernel itself looks at the dtype and picks one
# of its loops. (A quantised tensor has a key of its own.) And the autograd key is in the set of
# *every* ordinary tensor. Its kernel asks whether a gradient is wanted.
#
# > **What is often said.** "For an addition that takes part in autograd, an AddBackward node is
# > registered."
#
# It is, in the kernel at *AutogradCPU*. `no_grad` does not take that kernel out of the way. It sets
# a flag that the kernel reads. `inference_mode` takes it out.

# %% tags=["claim:45"]
x = torch.ones(2, requires_grad=True)
recorded = (x + 1).grad_fn.name()
with torch.no_grad():
    under_no_grad, node = path_of(torch.add, x, 1).ran, (x + 1).grad_fn
with torch.inference_mode():
    under_inference_mode = path_of(torch.add, x, 1).ran

assert recorded == "AddBackward0" and node is None
assert under_no_grad == path_of(torch.add, x, 1).ran == ("AutogradCPU", "CPU")
assert under_inference_mode == ("CPU",)
print(recorded, "| no_grad runs", under_no_grad, "| inference_mode runs", under_inference_mode)

# %% [markdown]
# Now try other operators, tensors and modes. Find
# 1. an operator that runs something at *ADInplaceOrView* (it counts writes and ties views);
# 2. what autocast changes for `torch.mm`, and what for `torch.add`;
# 3. a tensor for which the call ends with an error, before any kernel of a backend has run;
# 4. what `vmap` does to the path. (It runs a function for all samples of a batch at once.)

# %%
from insidetorch import DispatchExplorer

DispatchExplorer()

# %% [markdown]
# 1: `add_`, `view` and a call with `out=`. 2: a kernel at *AutocastCPU* for `mm`; for `add` it
# falls through. 3: `view` of a sparse tensor, for one. 4: `vmap` puts keys of its own on top. The
# kernel at *FuncTorchBatched* calls operators for the whole batch, and each of them takes a path of
# its own down to CPU.
#
# Two things are worth a closer look.
#
# **Autocast** is a key like others. What does its kernel do?


# %%
def casts():
    x, w = torch.ones(3, 3), nn.Parameter(torch.ones(3, 3))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        seen = [count(lambda: x @ w), count(lambda: x @ w), count(lambda: x + w)]
    return tuple(found["aten._to_copy.default"] for found in seen)


# %%
predict(
    "5.4",
    "Under `autocast`, `x @ w` runs twice and then `x + w` once; `w` is a parameter. How many "
    "casts does each of the three run?",
    {
        (2, 2, 2): "The cast weight is kept, and an addition is left as it is.",
        (2, 1, 0): "x and w; then only x, since the cast w is kept; an addition casts nothing.",
        (2, 1, 1): "Autocast has no kernel for an addition: it falls through.",
    },
    reveal=casts,
)

# %% [markdown]
# Its kernel for `mm` casts the arguments and calls `mm` again; for `add` it falls through. A weight
# that needs a gradient is cast once and kept until the outermost `autocast` block ends.
#
# **A composite operator** is one that is made of others. For ordinary tensors it has no kernel of
# its own. What stands in its table does nothing but call other operators, and each of *them* is
# dispatched from the start. That is why chapter 3 found no node of `linear`. (A **default backend
# kernel** also serves every backend by calling other operators, but below autograd: the operator
# keeps a node of its own.)

# %%
show(path_of(F.linear, torch.ones(2, 4, 3), torch.ones(2, 3), torch.ones(2)))

# %%
layer, tokens = nn.Linear(3, 2), torch.ones(2, 4, 3)


def copies_of(batch):
    return copies(lambda: layer(batch)).found


# %%
predict(
    "5.5",
    "`layer` is a Linear with a bias. It gets `tokens.transpose(0, 1)`, which is not contiguous. "
    "What does `layer` do that it need not do for a contiguous batch?",
    {
        "copy the values": "Rows of a transposed batch do not merge, so they are copied first.",
        "nothing more": "A product needs the rows of the batch as one matrix. They do not merge.",
        "one more product": "There is one product in both cases.",
    },
    reveal=lambda: "copy the values" if copies_of(tokens.transpose(0, 1)) else "nothing more",
)

# %%
for batch in (tokens, tokens.transpose(0, 1)):
    print(count(lambda batch=batch: layer(batch)))

# %% [markdown]
# The copy is not all. `addmm` needs the view of the contiguous batch; the other way, the bias is
# added by an operator of its own.
#
# `count` says which operators ran. `OperatorTrace` shows them with what they were given and
# returned, in backward under the node that ran them, and the bytes that each has to move. A view
# moves none, and a gradient that repeats one value by stride 0 is read as that one value.

# %%
from insidetorch import OperatorTrace

OperatorTrace(lambda: layer(tokens).relu().sum().backward())

# %% [markdown]
# > **Where it lives in PyTorch.** Each operator is declared in `native_functions.yaml`, which is
# > part of your installation, with its kernels for the backends; autograd, autocast and vmap are
# > registered elsewhere. `relu` has kernels for several backends; `matmul` is composite.

# %%
from pathlib import Path

import torchgen
import yaml

listed = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native" / "native_functions.yaml"
entries = yaml.safe_load(listed.read_text(encoding="utf-8"))
for entry in entries:
    if entry["func"].startswith(("relu(", "matmul(")):
        print(entry["func"].split("(")[0], "|", ", ".join(entry["dispatch"]))

# %% [markdown]
# ## When an operator does not run
#
# Four errors look alike. Two come from the dispatcher, which finds nothing at a key. Two come from
# a kernel, which refuses its arguments. `explain_dispatch` runs a function, and where it fails,
# says how far the call came.
#
# **No kernel at the key.** A sparse tensor has the key *SparseCPU*, and nobody has written `exp`
# for it: zero would not stay zero.

# %%
from insidetorch import explain_dispatch

sparse = torch.eye(2).to_sparse()
explain_dispatch(lambda: sparse.exp())

# %% [markdown]
# **A kernel, but not for this dtype.** The dispatcher does its work, and the kernel says no. No key
# is missing. So the message names a dtype, not a backend.

# %%
half = torch.ones(3, 2, dtype=torch.float16)
explain_dispatch(lambda: torch.cdist(half, half))

# %% [markdown]
# **Arguments that do not fit together.** The kernel is there, takes float32 and takes float64, but
# not one of each.

# %%
explain_dispatch(lambda: torch.mm(torch.ones(2, 2), torch.ones(2, 2, dtype=torch.float64)))

# %% [markdown]
# **Another device.** What is a device to the dispatcher? A key, and the kernels that are registered
# for it. Nothing else. torch reserves the key *PrivateUse1* for devices that it does not know, and
# at the top of this notebook you gave it the name "mine". It keeps its values in CPU tensors. A
# real backend does the same in C++.


# %%
def on_mine(values):
    t = torch._C._acc.create_empty_tensor(values.shape, values.dtype)
    t.values = values  # where this device keeps its values
    return t


# %%
library = torch.library.Library("aten", "IMPL")


def register(name, fn):
    kernel = lambda a, b: on_mine(fn(a.values, b.values))  # noqa: E731
    library.impl(name, kernel, "PrivateUse1")


register("mul.Tensor", torch.mul)

# %% [markdown]
# One kernel for one operator. The device knows nothing of gradients, and does not have to: that is
# the layer above.

# %%
x = on_mine(torch.tensor([1.0, 2.0])).requires_grad_()
w = on_mine(torch.tensor([3.0, 4.0]))
y = x * w
(slope,) = torch.autograd.grad(y, x, on_mine(torch.ones(2)))
print(y.device, y.grad_fn.name(), y.values.tolist(), "| gradient:", slope.values.tolist())
print(path_of(torch.mul, x, w))


# %%
def subtracted(x, w):
    try:
        return "computed on the CPU" if torch.sub(x, w).device.type == "cpu" else "a wrong value"
    except NotImplementedError:
        return "an error"


# %%
predict(
    "5.6",
    "Only `mul` is registered for this device. `x` requires a gradient. What is `torch.sub(x, w)`?",
    {
        "computed on the CPU": "Nobody has registered a fallback to the CPU for this device.",
        "an error": "The general kernel of sub asks for empty memory, and for that there is none.",
        "a wrong value": "Without a kernel nothing is computed.",
    },
    reveal=lambda: subtracted(x, w),
)

# %%
explain_dispatch(lambda: torch.sub(x, w))

# %% [markdown]
# That is all behind "this operator does not run on my GPU": at some key on the way nothing is
# registered. Here it is not at `sub` itself. Its general kernel, which serves every backend, calls
# `empty`, and the device has none. So the message names an operator that you did not call. The ways
# out: move the tensor, use other operators, or register a kernel.
#
# ## Bytes
#
# Now the other cost. Memory is slow, arithmetic is fast: for cheap elementwise operators on large
# tensors, the bytes that have to be read and written nearly decide the time. Below you see where
# this ends.
#
# `a * b + c` runs two operators. The first reads a and b and writes an **intermediate result**; the
# second reads that and c, and writes. In float32, six values of four bytes: 24 bytes for each
# element.

# %%
a, b, c = torch.ones(3, 100)

# %%
predict(
    "5.7",
    "`torch.addcmul(c, a, b)` computes `c + a * b` in one operator. How many bytes for each "
    "float32 element does it have to read and write?",
    {
        24: "It has no intermediate result to write and to read again.",
        16: "It reads a, b and c and writes the result: four values of 4 bytes.",
        12: "It reads three values and writes one.",
    },
    reveal=lambda: trace(lambda: torch.addcmul(c, a, b)).moved // 100,
)

# %% [markdown]
# > **What is often said.** "`addcmul(c, a, b)` has the same meaning as `a * b + c`, but is fused."

# %% tags=["claim:48"]
a, b, c = torch.rand(3, 1000, generator=torch.Generator().manual_seed(0))
two, one = trace(lambda: a * b + c), trace(lambda: torch.addcmul(c, a, b))

assert (len(two), len(one)) == (2, 1) and len(two.intermediates) == 1 and not one.intermediates
assert torch.allclose(torch.addcmul(c, a, b), a * b + c)  # the same up to rounding
with expect_error(TypeError, match="must be Tensor, not float"):
    torch.addcmul(c, 2.0, b)  # and not the same meaning: 2.0 * b + c is fine
print("bytes:", two.moved, "and", one.moved, "| intermediate results:", two.intermediates)

# %% [markdown]
# A fused operator may round once where two operators round twice, so equal is not the word:
# *equal within rounding*. Which bits differ depends on the processor.
#
# Write your own expressions in the lab: the boxes are the operators that really ran, as wide as the
# bytes that they move. Look for
# 1. an example in which the second way runs as many operators and moves as many bytes, and still
#    saves something (what?);
# 2. one with a factor above 3;
# 3. GELU, which moves nine times fewer bytes as one operator. "Measure" runs both, here and now.
#    Is it nine times as fast?

# %%
from insidetorch import FusionLab

FusionLab()

# %% [markdown]
# Is it true that time goes with bytes? The dotted line below is where a call would lie if every
# byte cost what it costs in `a * b + c`. The points are calls, on a million elements, and each of
# them is the shortest of twenty runs.

# %% tags=["measured"]
from insidetorch import byte_costs

a, b, c = torch.rand(3, 1_000_000)
byte_costs(
    {
        "a * b + c": lambda: a * b + c,
        "addcmul": lambda: torch.addcmul(c, a, b),
        "a.sum()": lambda: a.sum(),
        "((a + 1) * b + c) * a": lambda: ((a + 1) * b + c) * a,
        "a.exp()": lambda: a.exp(),
        "a.tanh()": lambda: a.tanh(),
    }
)

# %% [markdown]
# A call far above the line is not limited by memory: its arithmetic takes longer than its bytes. On
# the machine that drew the stored picture, `exp` is one. So is the `tanh` inside of GELU, and nine
# times fewer bytes are not nine times the speed. What lies on the line is **memory bound**. (On a
# busy machine the points scatter, and the line with them, since it goes through one of them. Trust
# what stays when you run the cell again.)
#
# By this count, a chain in place moves as many bytes as before; it makes no new results on the way.
# It can still be faster: the count leaves out what fresh memory costs, and memory that was just
# used is often still in the cache. Measure it in the lab.

# %%
a = torch.rand(1000)
fresh, in_place = trace(lambda: (a + 1).relu() * 2), trace(lambda: a.add(1).relu_().mul_(2))
print("bytes moved:", fresh.moved, in_place.moved)
print("intermediate results:", len(fresh.intermediates), len(in_place.intermediates))

# %% [markdown]
# And where the tensors are small, count operators, not bytes.
#
# > **What is often said.** "Many small operators in a row are slow, since each has a cost of its
# > own."

# %% tags=["claim:46"]
model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def step(rows):
    optimizer.zero_grad()
    model(torch.ones(rows, 16)).pow(2).mean().backward()
    optimizer.step()


small, large = trace(lambda: step(1)), trace(lambda: step(1000))
assert len(small) == len(large) > 30  # as many operators, whatever the size
print(len(small), "operators in a step | bytes:", f"{small.moved:,} and {large.moved:,}")

# %% [markdown]
# With one row or a thousand, the same calls. At one row, the step is nearly all calls. A larger
# batch costs them once, for more rows: that is the cheapest way to make them count less. The other
# way is to have fewer of them.
#
# ## torch.compile
#
# The compiler takes the operators of a function as one graph and writes code for it: elementwise
# operators become one loop that reads each input once and writes each output once.
# `explain_compile` runs a function through it and tells what it has made. A **backend** of the
# compiler is what turns the graph into something that runs. It has nothing to do with the backends
# above.

# %%
from insidetorch import explain_compile


def scaled(x):
    return (x * 3 + 1).relu() * x


explain_compile(scaled, (torch.ones(1000),), backend="aot_eager")

# %% [markdown]
# Here the backend was `aot_eager`: it takes the graph, and runs its operators one by one. It needs
# no C++ compiler, and it is enough to see what can be captured and what cannot. The default
# backend, `inductor`, generates code. On a CPU it needs a C++ compiler; without one
# `explain_compile` says so, and falls back.
#
# > **What is often said.** "`torch.compile` fuses operators, so that fewer kernels are launched."

# %% tags=["claim:47", "needs:compiler"]
from insidetorch import compilation_of

fused = compilation_of(
    lambda a, b, c: torch.sigmoid(a * b + c).tanh(), torch.ones(3, 1000).unbind()
)
[graph] = fused.graphs

assert len(graph.operators) == 4 and (fused.kernels == 1 or fused.skipped)
print(len(graph.operators), "operators |", fused.skipped or f"generated kernels: {fused.kernels}")

# %% [markdown]
# What it writes is C++: a loop over the elements. It reads three inputs and writes one result, and
# no intermediate one. `print(*fused.code)` shows it all; without a compiler nothing was written,
# and it prints nothing.

# %% tags=["needs:compiler"]
import re

written = "".join(fused.code)
loads, stores = (set(re.findall(mark, written)) for mark in (r"in_ptr\d", r"out_ptr\d"))
print(fused.skipped or f"the kernel names {', '.join(sorted(loads | stores))}")

# %% [markdown]
# ### Breaks
#
# Python that cannot be part of a graph ends it: the graph so far is run, then that Python, then a
# new graph begins. Each end is a place where nothing can be fused across.


# %%
def chatty(x):
    y = x * 2
    print(end="")
    return y.sin() + 1


def choosing(x):
    y = x * 2
    if y.sum() > 0:
        y = y + 1
    return y.sin()


# %%
def graphs_of(fn):
    return len(compilation_of(fn, (torch.ones(3),), backend="aot_eager").captured)


# %%
predict(
    "5.8",
    "Both functions are compiled and run once: one calls `print`, the other has an `if` on a "
    "value of the tensor. How many graphs does each give?",
    {
        (1, 2): "A print is Python too: the graph has to end before it.",
        (2, 2): "Each ends the graph that it stands in, and a second one begins.",
        (2, 1): "Which branch to take depends on values, which a graph in the making lacks.",
    },
    reveal=lambda: (graphs_of(chatty), graphs_of(choosing)),
)

# %%
explain_compile(choosing, (torch.ones(3),), backend="aot_eager")

# %% [markdown]
# The repair is to let a tensor operator choose: `torch.where(y.sum() > 0, y + 1, y)` is one more
# operator, and no break. Move a `print` out of the function. `torch.compile(fn, fullgraph=True)`
# makes an error of every break: use it where you mean to have none.
#
# ### Recompiles (extra)
#
# A graph is made for what was seen: sizes, dtypes, Python numbers, attributes. These become
# **guards**, checked at every call. When none of the graphs fits, the function is compiled again.


# %%
def compiled_for(lengths):
    calls = [(torch.ones(n),) for n in lengths]
    return len(compilation_of(lambda x: (x * 2).sum(), *calls, backend="aot_eager").graphs)


# %%
predict(
    "5.9",
    "A compiled function is called with tensors of lengths 3, 4, 5, 6 and 7. How often is it "
    "compiled?",
    {
        1: "The first graph is made for length 3, as a number.",
        2: "At the second length, torch takes it for a variable. That fits all lengths from 2 up.",
        5: "At the second length, torch takes the length for a variable.",
    },
    reveal=lambda: compiled_for([3, 4, 5, 6, 7]),
)


# %%
class Warm(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.calls


# %%
explain_compile(Warm(), *[(torch.ones(3),)] * 4, backend="aot_eager")

# %% [markdown]
# A Python number that is an attribute of a module is taken for a constant. This module is compiled
# anew at each call, until torch gives up (after 8 graphs) and runs it as written. Kept in a tensor,
# as a buffer, the counter is data like any other.
#
# > **When it bites.** One graph of one elementwise operator usually gains nothing: each call
# > checks its guards, and there is nothing to fuse. And a `TorchDispatchMode`, which the tools of
# > this course use, makes a compiled function run operator by operator while it is on. So
# > `trace`, `count` and `ledger` show you the operators of your code, not those of the compiler.
#
# ### What it keeps (extra)
#
# The compiler also sees the backward pass, and may compute a value again where that is cheaper than
# to keep it.


# %%
def gelu(x):
    return 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x**3)))


from insidetorch import graph_cost

x = torch.ones(1000, requires_grad=True)
for name, fn in {"as written": gelu, "compiled": torch.compile(gelu, backend="aot_eager")}.items():
    print(f"{name:10} {graph_cost(fn(x))}")

# %% [markdown]
# ## An operator of your own
#
# Sometimes an operator is missing, or you know a better formula for it. There are three ways.
#
# > **What is often said.** "There are two ways to a custom operator: `autograd.Function`, and a
# > C++ or CUDA extension."
#
# The third is `torch.library`: an operator in Python, which the dispatcher and the compiler know.
# Begin with the first.

# %%
from torch.autograd import gradcheck, gradgradcheck
from torch.autograd.gradcheck import GradcheckError


class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x > 0)


# %% tags=["claim:51"]
points = torch.tensor([-2.0, -1.0, 1.0, 2.0], dtype=torch.float64, requires_grad=True)
checked = gradcheck(MyReLU.apply, points), gradgradcheck(MyReLU.apply, points)

assert checked == (True, True)
assert torch.equal(MyReLU.apply(points), points.relu())
print("gradcheck, gradgradcheck:", *checked)

# %% [markdown]
# `forward` runs without recording anything, and `backward` is the formula of the node.
#
# ### What backward must return
#
# > **What is often said.** "As many gradients as forward has inputs, in their order; None for
# > inputs that need none. Else it fails, or is silently wrong."
#
# Which of them fail, and which are silent? Below, the backward of one function
# returns eight different things.


# %%
def outcome(returned, needs=(True, True)):
    class Scaled(torch.autograd.Function):
        forward = staticmethod(lambda ctx, a, b, k: a * b * k)
        backward = staticmethod(lambda ctx, grad: returned)

    a, b = (torch.tensor([v], requires_grad=n) for v, n in zip((3.0, 5.0), needs, strict=True))
    try:
        Scaled.apply(a, b, 2).sum().backward()
    except RuntimeError:
        return "error"
    return tuple(t.grad and t.grad.item() for t in (a, b))


# %%
of_a, of_b = torch.tensor([10.0]), torch.tensor([6.0])  # what is right for a = 3, b = 5, k = 2
outcomes = {
    "right": outcome((of_a, of_b, None)),
    "one too few": outcome((of_a, of_b)),
    "a gradient for the number": outcome((of_a, of_b, of_a)),
    "one None too many": outcome((of_a, of_b, None, None)),
    "b needs none, gets one": outcome((of_a, of_b, None), needs=(True, False)),
    "other sizes": outcome((of_a.expand(2, 1), of_b, None)),
    "None for a": outcome((None, of_b, None)),
    "swapped": outcome((of_b, of_a, None)),
}

# %% tags=["claim:50"]
assert outcomes["one too few"] == outcomes["a gradient for the number"] == "error"
accepted = outcomes["one None too many"], outcomes["b needs none, gets one"]
assert accepted == ((10.0, 6.0), (10.0, None))  # more than was asked for, and right
assert outcomes["swapped"] == (6.0, 10.0) and outcomes["None for a"] == (None, 6.0)  # silent
for name, found in outcomes.items():
    print(f"{name:26} {found}")

# %% [markdown]
# Three of these are silently wrong: swapped gradients of equal sizes, None where one is needed, and
# sizes that can be summed. `gradcheck` finds all three. `ctx.needs_input_grad` tells `backward`
# which gradients somebody needs, so that it can leave the others out.
#
# ### Where to keep what
#
# > **What is often said.** "`save_for_backward` is safer than an attribute of `ctx`."


# %%
def exp_that_reads(by_attribute):
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x.exp()
            ctx.save_for_backward(out)
            ctx.out = out
            return out

        @staticmethod
        def backward(ctx, grad):
            return grad * (ctx.out if by_attribute else ctx.saved_tensors[0])

    return Exp.apply


# %%
def gradient_after_a_write(fn):
    x = torch.ones(2, requires_grad=True)
    y = fn(x)
    y.detach().zero_()
    try:
        y.sum().backward()
    except RuntimeError as error:
        return str(error).partition(":")[0]
    return x.grad.tolist()


# %% tags=["claim:52"]
saved, attribute = (gradient_after_a_write(exp_that_reads(where)) for where in (False, True))

assert "modified by an inplace operation" in saved  # the version counter moved
assert attribute == [0.0, 0.0]  # and here it is not: e was right
print("saved:", saved)
print("attribute: no error, and the gradient is", attribute)

# %% [markdown]
# > **What is often said.** "`save_for_backward` keeps the intermediate results that backward
# > needs."
#
# That is an easy mistake, and `gradcheck` does not see it. What
# `forward` computes on its way has no history: nothing is recorded in there. Kept for `backward`,
# it counts as a constant, and the *second* derivative lacks a term.


# %%
def cube(keep_square):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            square = x * x
            ctx.save_for_backward(x, square)
            return square * x

        @staticmethod
        def backward(ctx, grad):
            x, square = ctx.saved_tensors
            return grad * (square + 2 * x * x if keep_square else 3 * x * x)

    return Cube.apply


# %% tags=["claim:57"]
def second_derivative(fn):
    x = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(fn(x).sum(), x, create_graph=True)
    return slope.item(), torch.autograd.grad(slope.sum(), x)[0].item()


assert gradcheck(cube(True), points) and gradcheck(cube(False), points)  # both look right
assert second_derivative(cube(False)) == second_derivative(lambda x: x**3) == (12.0, 12.0)
assert second_derivative(cube(True)) == (12.0, 8.0)  # the intermediate result was a constant
with expect_error(GradcheckError, match="Jacobian mismatch"):
    gradgradcheck(cube(True), points)
print("x³ at 2, first and second derivative:", *second_derivative(cube(False)))
print("with an intermediate result kept:    ", *second_derivative(cube(True)))

# %% [markdown]
# Keep inputs and outputs, and compute the rest again in `backward`, with torch operators. (Or
# return the intermediate result as a second output.) And test with `gradgradcheck`.
#
# > **What is often said.** "A custom Function needs `forward` and `backward`, both written by
# > hand."
#
# Both, yes. For `torch.func`, there is a third method: `setup_context` takes over what concerns
# `ctx`, so that `forward` is a plain function. `generate_vmap_rule` lets torch derive how `vmap`
# runs it.


# %%
class Sine(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0].cos()


# %%
class WithoutBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sin()


# %% tags=["claim:5"]
rows = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
with expect_error(NotImplementedError, match="must implement either the backward or vjp"):
    WithoutBackward.apply(points).sum().backward()
with expect_error(RuntimeError, match="must override the setup_context staticmethod"):
    torch.vmap(MyReLU.apply)(rows)
mapped = torch.vmap(torch.func.grad(lambda row: Sine.apply(row).sum()))(rows)
assert torch.allclose(mapped, rows.cos())
print("the gradient of each row, by vmap:", mapped.shape)

# %% [markdown]
# ### An operator that the dispatcher knows
#
# A `Function` is a node for autograd. To the dispatcher it is nothing: the operators inside are
# what it sees, and the compiler traces into it. With `torch.library.custom_op` you register an
# *operator*: with a name, a **schema** (the types of its arguments and results, and which arguments
# it writes to), kernels, a gradient, and a **fake kernel** that only tells sizes and dtype, which
# is what the compiler and the meta device need.


# %%
@torch.library.custom_op("chapter5::cube", mutates_args=())
def cube_op(x: torch.Tensor) -> torch.Tensor:
    return x**3


@cube_op.register_fake
def _(x):
    return torch.empty_like(x)


def setup_context(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


# %%
def formula(ctx, grad):
    (x,) = ctx.saved_tensors
    return grad * 3 * x * x


cube_op.register_autograd(formula, setup_context=setup_context)
show(path_of(cube_op, points))

# %% tags=["claim:49"]
told = torch.library.opcheck(cube_op, (points,))
graphs = compilation_of(lambda x: cube_op(x) + 1, (torch.ones(3),), backend="aot_eager").graphs

assert set(told.values()) == {"SUCCESS"} and gradcheck(cube_op, points)
assert len(graphs) == 1 and "chapter5.cube" in graphs[0].operators  # whole, in the compiler's graph
assert issubclass(Sine, torch.autograd.Function) and not isinstance(cube_op, type)  # a third way
print(*told, sep=", ")
print("in the graph:", graphs[0].operators)

# %% [markdown]
# `opcheck` tests what is easy to get wrong: the schema (does it write to an argument that the
# schema does not name?), the registration of the gradient, the fake kernel, and the compiler with
# all of it. It does not test whether the gradient is right. `gradcheck` does.

# %% [markdown]
# ### In C++ (extra)
#
# The other old way, for where Python is too slow. What you register is the same: a name, a schema,
# kernels.
# This is optional: it takes a C++ compiler and ninja (`%pip install ninja` in a cell), and about a
# minute. Set `BUILD` to True to run it.

# %%
BUILD = False

SOURCE = """
#include <ATen/TensorOperators.h>
#include <torch/library.h>

at::Tensor cube(const at::Tensor& x) { return x * x * x; }

TORCH_LIBRARY(chapter5_cpp, library) { library.def("cube(Tensor x) -> Tensor", &cube); }
"""

# %%
if BUILD:
    import os
    import sys
    from shutil import which

    from torch.utils.cpp_extension import get_cxx_compiler, load_inline

    os.environ["PATH"] += os.pathsep + str(Path(sys.executable).parent)  # where %pip puts ninja
    if absent := [tool for tool in (get_cxx_compiler(), "ninja") if not which(tool)]:
        BUILD = False
        print("This machine lacks", *absent)

# %%
if BUILD:
    load_inline("chapter5_cpp", SOURCE, is_python_module=False, no_implicit_headers=True)
    print(path_of(torch.ops.chapter5_cpp.cube, points))
    print("gradcheck:", gradcheck(torch.ops.chapter5_cpp.cube, points))
else:
    print("Not built.")

# %% [markdown]
# It is registered as a composite operator, so it needs no formula: its parts have theirs. A kernel
# that reads `data_ptr` in a loop of its own is registered for CPU, and then needs one: without it,
# backward warns, and the gradient is None.
#
# ## When it bites
#
# **Export.** To export a model is to trace its forward pass into a graph of operators.
#
# > **What is often said.** "The structure of the autograd graph decides whether a model can be
# > exported."


# %%
class Choosing(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


class Traceable(nn.Module):
    def forward(self, x):
        return torch.where(x.sum() > 0, x, -x)


# %%
import logging
from contextlib import redirect_stderr
from io import StringIO

logging.getLogger("torch.fx.experimental.symbolic_shapes").setLevel(logging.ERROR)


def export(model):
    with redirect_stderr(StringIO()):  # on a failure torch prints the graph so far
        return torch.export.export(model, (torch.ones(3),))


# %% tags=["claim:7"]
with torch.no_grad():  # no autograd graph at all
    exported = export(Traceable())
calls = [node.target for node in exported.graph.nodes if node.op == "call_function"]
with expect_error(Exception, match="data-dependent"):
    export(Choosing())

assert (
    Choosing()(torch.ones(3, requires_grad=True))
).requires_grad  # autograd has no trouble with it
assert len(calls) == 4
print("exported under no_grad:", *(call.__name__ for call in calls))

# %% [markdown]
# **A default device is only a default.** What does `with torch.device("meta"):` reach?


# %%
def made_under_meta():
    x = torch.ones(2)
    with torch.device("meta"):
        return torch.ones(2).device.type, torch.ones_like(x).device.type


# %%
predict(
    "5.10",
    "`x` is on the CPU. Inside `with torch.device('meta'):`, on which devices are `torch.ones(2)` "
    "and `torch.ones_like(x)`?",
    {
        ("meta", "meta"): "ones_like has a tensor to look at, and stays where that is.",
        ("meta", "cpu"): "The context counts where no tensor says otherwise.",
        ("cpu", "cpu"): "torch.ones(2) takes its device from the context.",
    },
    reveal=made_under_meta,
)

# %% [markdown]
# It is a mode that gives a device to the functions that make a tensor without being given one.
#
# **A launch is not the work.** On a GPU a call puts a kernel into a queue and returns. A clock
# around it measures the queue. Wait first: `torch.cuda.synchronize()`. And an error of a kernel
# comes up at some later call.

# %% tags=["needs:gpu"]
from time import perf_counter

if torch.cuda.is_available():
    x = torch.ones(8192, 8192, device="cuda")
    (x @ x).sum().item()
    start = perf_counter()
    x @ x
    launched = perf_counter() - start
    torch.cuda.synchronize()
    print("the call returned before the work was done:", launched < (perf_counter() - start) / 2)
else:
    print("no GPU here")

# %% [markdown]
# **Repeated places.** A write through indices is one read, one addition, one write. Where a place
# is named twice, one of the values is lost.

# %%
bins, counts = torch.tensor([0, 2, 2, 2]), torch.zeros(3)


def tally():
    counts[bins] += 1


told = explain_dispatch(tally)
print(counts.tolist())
told

# %% [markdown]
# ## What the common account says, and what holds
#
# The claims of this chapter, each shown by a cell above.

# %% [markdown] tags=["claims"]
# *(claims table)*

# %% [markdown]
# ## Key points
#
# - A call tries the highest of its dispatch keys first; what stands there computes, redispatches,
#   or lets it through.
# - Device and layout are keys. dtype and requires_grad are not: the kernels look at them.
# - Under `no_grad` the autograd kernel still runs; under `inference_mode` it does not.
# - "Could not run" names a key without a kernel; "not implemented for" means a kernel that lacks
#   this dtype.
# - Small tensors: count operators. Large tensors and cheap arithmetic: count bytes. Only a clock
#   shows whether the arithmetic is cheap.
# - The compiler fuses within a graph. A break cuts it; a guard that fails compiles it again.
# - In a Function of your own, keep inputs and outputs. What lies between is a constant for the
#   second derivative.
#
# ## Symptoms of this chapter

# %% [markdown] tags=["symptoms"]
# *(symptom table)*

# %% [markdown]
# ## Monday card
#
# Run one training step of your own under `trace`: which operators move the most bytes, and how many
# of them are copies? Then ask `path_of` for the one that is called most often.


# %%
def most_bytes(step, rows=4):
    moved, calls = {}, {}
    for one in trace(step).found:
        moved[one.operator] = moved.get(one.operator, 0) + one.moved
        calls[one.operator] = calls.get(one.operator, 0) + 1
    for operator in sorted(moved, key=moved.get, reverse=True)[:rows]:
        print(f"{operator:24} ×{calls[operator]:<3} {moved[operator]:9,} bytes")


most_bytes(lambda: step(256))
print("hidden copies:", len(copies(lambda: step(256)).found))

# %% [markdown]
# **Next.** The [exercises of this chapter](../exercises/05_dispatch_and_fusion.ipynb), then
# [chapter 6](06_debugging.ipynb), on finding the line that broke a gradient.
