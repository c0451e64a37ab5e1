# %% [markdown]
# # 3 · The dynamic graph
#
# While your code computes values, torch writes down how they were made. That record is the graph,
# and `backward` runs through it. Where nothing was written down, no gradient can pass. So you will
# learn to read the record itself.
#
# **Afterwards you can**
# - look at the graph behind any tensor, and find the place where it ends too early;
# - say of a result whether it requires a gradient, and under which mode;
# - say what each node keeps, and how many bytes a training step keeps, line by line;
# - tell what `detach`, `no_grad` and `inference_mode` cut, and what they do not;
# - read a gradient in the middle of the graph;
# - say why a graph is still alive, and who holds it.
#
# **Time** 75 minutes. **Before this** [chapter 2](02_views.ipynb): views, writes in place, version
# counters.

# %%
import torch
from torch import nn

from insidetorch import GraphExplorer, expect_error, graph_of, layout_of, predict, relation, show

# %% [markdown]
# Two questions about the chapters before.

# %%
predict(
    "3.1",
    "`a` is a 3 × 4 tensor made by `torch.zeros`. What is the storage offset of `a[1:, 2:]`?",
    {
        6: "One row of four and two more: the offset counts elements.",
        24: "That would be bytes. Offsets count elements.",
        3: "One row is four elements here, not one.",
    },
    reveal=lambda: torch.zeros(3, 4)[1:, 2:].storage_offset(),
)

# %%
predict(
    "3.2",
    "`x = torch.ones(3)`, `y = x.detach()`, `y.mul_(2)`. What is the version of `x`?",
    {
        0: "detach() shares the memory and the version counter. The write is counted for both.",
        1: "x and its detach() share one counter, so the write through y is seen.",
    },
    reveal=lambda: (x := torch.ones(3), x.detach().mul_(2), layout_of(x).version)[2],
)

# %% [markdown]
# ## A weight that works and does not learn
#
# Here is a small network with a gate: `middle` decides how much of each feature passes.


# %%
class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.middle, self.last = nn.Linear(2, 3), nn.Linear(3, 3), nn.Linear(3, 1)

    def forward(self, x):
        features = self.first(x)
        gate = torch.sigmoid(self.middle(features)).detach()
        return self.last(features * gate)


torch.manual_seed(0)
net, batch = Gated(), torch.tensor([[1.0, 2.0], [3.0, -1.0]])

# %%
before = net(batch)
with torch.no_grad():
    net.middle.weight += 1
print("the output changes with the middle weight:", not torch.equal(before, net(batch)))

# %%
net(batch).sum().backward()


def without_gradient():
    missing = [name for name, p in net.named_parameters() if p.grad is None]
    return ", ".join(sorted(missing)) or "none"


# %%
predict(
    "3.3",
    "The output depends on all three layers. Which parameters have no gradient after `backward()`?",
    {
        "none": "Read forward again: `.detach()` ends the record of how the gate was computed.",
        "middle.bias, middle.weight": "The gate is computed from them, and detach() drops the "
        "record of how.",
        "first.bias, first.weight, middle.bias, middle.weight": "first has two ways to the "
        "loss: through the gate, which is cut, and through features, which is not.",
    },
    reveal=without_gradient,
)

# %% tags=["claim:1"]
cut = {name for name, p in net.named_parameters() if p.grad is None}

assert cut == {"middle.weight", "middle.bias"}
assert not torch.equal(before, net(batch))  # and yet the output depends on them
print("changes the output, and .grad is None:", *sorted(cut))

# %% [markdown]
# There was no error, and no sign. This chapter's tool shows what was recorded. Each box is a
# **node**; a box with a dotted border is a **leaf** that requires a gradient: there it ends. Point
# at a node, and the line below the picture says which line of your code made it. Write `middle`
# into the field *mark*: no leaf lights up. Then mark `first`: two do.

# %%
from insidetorch import ForwardRecorder

with ForwardRecorder(net) as forward:
    loss = net(batch).sum()
GraphExplorer(loss, module=net, forward=forward)

# %% [markdown]
# The output depends on `middle` in its values. The graph does not reach it. These are two different
# things. Keep them apart whenever a gradient is missing.
#
# ## Two lines of work
#
# Values are computed from values. Beside that, and only if asked, torch records how. `detach()`
# changes nothing about the first and everything about the second.

# %% tags=["claim:3"]
x = torch.ones(3, requires_grad=True)
y = x * 2
cut = y.detach()

assert cut.data_ptr() == y.data_ptr() and torch.equal(cut, y)  # one value, in the same bytes
assert y.grad_fn is not None and cut.grad_fn is None  # and two different records
print(relation(y, cut).words, "| recorded:", y.grad_fn.name(), "and", cut.grad_fn)

# %% [markdown]
# `grad_fn` is where a tensor's record begins: the node that was made together with it. `None` means
# that no recorded operator made the tensor.
#
# ## Nodes, edges, leaves

# %% tags=["claim:23"]
x = torch.tensor([2.0], requires_grad=True)
y = x**2
z = y * 3

assert (x.grad_fn, y.grad_fn.name(), z.grad_fn.name()) == (None, "PowBackward0", "MulBackward0")
print("x:", x.grad_fn, " y:", y.grad_fn.name(), " z:", z.grad_fn.name())

# %%
show(graph_of(z, names={"x": x}))

# %% [markdown]
# Nodes are named after the operator that made the value, with `Backward` and a digit that tells
# variants of one operator apart: each knows how to turn the gradient of the operator's output into
# those of its inputs. Below a name stand the sizes of the gradient that the node receives. A node
# has an **edge** for each input of its operator: it leads to the node that made that input, and
# says where the gradient goes. (*no gradient* in the text form stands for an input that needs
# none.) So the graph is read from the result to the leaves, against the order in which the code
# ran.
#
# > **What is often said.** "Every tensor that needs a gradient has a `grad_fn`", and "from `z` you
# > find `y`, and then `x`".

# %% tags=["claim:22"]
from torch.autograd.graph import get_gradient_edge

node = get_gradient_edge(x).node

assert x.requires_grad and x.grad_fn is None  # it needs a gradient, and has no grad_fn
assert node.name() == "torch::autograd::AccumulateGrad" and node.variable is x
print("grad_fn of x:", x.grad_fn, "| the node that fills x.grad:", node.name())

# %% [markdown]
# No operator made `x`: it is a leaf. Its node is `AccumulateGrad`, whose only work is to put what
# arrives into `x.grad`.

# %% [markdown]
# And `y`? From `z` you find the *node* of `y`, and whether you find the tensor depends on what
# nodes keep, the next question but one. First: how many nodes does one line make?

# %%
layer = nn.Linear(2, 3)

# %%
predict(
    "3.4",
    "How many nodes does `layer(batch)` leave, the leaves' own included? (A linear layer has a "
    "weight and a bias.)",
    {
        1: "One call, one node? linear transposes the weight, then multiplies and adds. And each "
        "leaf has a node too.",
        3: "That is one node and two leaves. The weight is transposed first, with its own node.",
        4: "AddmmBackward0, TBackward0 for the transposed weight, and two leaves.",
    },
    reveal=lambda: len(graph_of(layer(batch)).nodes),
)

# %% tags=["claim:21"]
of_linear = [n.name for n in graph_of(layer(batch)).nodes if not n.is_leaf]
x = torch.ones(3, requires_grad=True)
y = x * 2

assert sorted(of_linear) == ["AddmmBackward0", "TBackward0"]  # one call, two nodes
assert not graph_of(y.detach()).nodes and not graph_of(y.argmax()).nodes  # two calls, none
print("layer(batch):", ", ".join(of_linear), "| detach(), argmax(): no node")

# %% [markdown]
# > **Where the common account is imprecise.** The graph is built as the code runs, but not with one
# > node for each line or each call. Nodes belong to the operators that a call consists of.
#
# ## What a node keeps, and why
#
# The gradient of `exp(x)` is `exp(x)` times what arrives, so the node keeps its *result*. The
# gradient of `x ** 2` is `2 * x` times what arrives, so it keeps its *input*. That of `x + 1` needs
# neither.


# %%
def kept_by(fn, *others):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    [root, *_] = graph_of(fn(x * 1, *others)).nodes
    return " and ".join(saved.name for saved in root.saved if saved.is_tensor) or "nothing"


# %%
predict(
    "3.5",
    "What does the node of `x * torch.ones(2)` keep, if x requires a gradient and the ones do not? "
    "(Its two inputs are called `self` and `other`.)",
    {
        "other and self": "Both would be kept if both needed a gradient. That of x needs only the "
        "other factor.",
        "other": "The gradient of x is what arrives, times the other factor.",
        "self": "The gradient of x does not depend on x.",
    },
    reveal=lambda: kept_by(lambda x: x * torch.ones(2)),
)

# %%
for name, fn in {
    "x + 1": lambda x: x + 1,
    "x.exp()": torch.exp,
    "x ** 2": lambda x: x**2,
    "x.sin()": torch.sin,
    "x.tanh()": torch.tanh,
    "x.relu()": torch.relu,
    "x * x": lambda x: x * x,
}.items():
    print(f"{name:8} keeps {kept_by(fn)}")

# %% [markdown]
# So from a result you find nodes, and a tensor in between only where a node kept it. (A node's
# attribute `_saved_self` gives what it keeps under the name `self`.)

# %% tags=["claim:24"]
doubled = torch.tensor([2.0], requires_grad=True) * 2
w = torch.ones(1, requires_grad=True)
product = doubled * w
leaf_node = product.grad_fn.next_functions[0][0].next_functions[0][0]

assert z.grad_fn._saved_self is None  # of y * 3 one finds the node of y, and not y
assert product.grad_fn._saved_self is doubled  # but the gradient of w needs the other factor
assert leaf_node.variable.item() == 2.0  # and a leaf is found through its AccumulateGrad
print("z = y * 3 keeps no y; doubled * w keeps doubled, since the gradient of w needs it")

# %% [markdown]
# **Where it lives in PyTorch.** The formulas come with your installation. Where a formula needs the
# values of `self`, the node keeps the input, and of `result` the output. (`self.sym_sizes()` and
# its like ask for facts only, which are noted without the tensor.) `grad` is what arrives.

# %%
from pathlib import Path

import torchgen

book = Path(torchgen.__file__).parent / "packaged" / "autograd" / "derivatives.yaml"
rules = book.read_text(encoding="utf-8")
for start in ("exp(", "pow.Tensor_Scalar(", "sin(", "tanh(", "relu(", "sum("):
    _, _, rule = rules.partition(f"- name: {start}")
    formula = next(x for x in rule.splitlines() if x.strip().startswith("self:"))
    print(f"{start[:-1]:18} {formula.strip()}")

# %% [markdown]
# This has two uses. The first: you can tell which writes in place are harmful. Whoever writes into
# a tensor that a node keeps makes the formula wrong, and torch refuses to run it (chapter 6 reads
# that error). You need not try: `relu` keeps its result, so a write into its *input* does no harm.


# %%
def write_to(which):
    x = torch.ones(2, requires_grad=True) * 2
    y = x.relu()
    (x if which == "input" else y).add_(1)
    y.sum().backward()


write_to("input")
with expect_error(RuntimeError, match="modified by an inplace operation"):
    write_to("result")

# %% [markdown]
# The second use: what is kept is what a training step needs memory for. `ledger` runs a step and
# lists the bytes, line by line. Here is the same activation function twice, as one operator and
# written by hand.


# %%
def by_hand(x):
    cube = 0.044715 * x**3
    inner = 0.7978845608 * (x + cube)
    return 0.5 * x * (1 + torch.tanh(inner))


values = torch.linspace(-2, 2, 128, requires_grad=True)
gelu = nn.GELU(approximate="tanh")
print("largest difference below 1e-6:", bool((gelu(values) - by_hand(values)).abs().max() < 1e-6))

# %%
from insidetorch import ledger

print(ledger(lambda: gelu(values + 0)))
print(ledger(lambda: by_hand(values + 0)))

# %% [markdown]
# One operator keeps its input. Written by hand, the chain keeps four tensors of 512 bytes and three
# numbers of 8 bytes, for the same values. (`values + 0` stands for whatever computed the input; a
# leaf itself would be there anyway.)
#
# Three tools count bytes, and answer three questions. The picture of a graph counts all that nodes
# refer to. `graph_cost`, below, leaves out the parameters, which would be there anyway. `ledger`
# counts what the step itself made.
#
# ## Leaf, or result?
#
# `.grad` is filled for leaves that require a gradient. A **leaf** is a tensor without a history:
# made by you, or by code that recorded nothing. A result is not a leaf, even if you think of it as
# your weight.

# %%
predict(
    "3.6",
    "`w = torch.ones(3, requires_grad=True).to(torch.float64)`. Is `w` a leaf?",
    {
        True: "to() converted it, and a conversion is an operator with a node. The leaf is the "
        "float32 tensor, which has no name any more.",
        False: "The conversion was recorded. `w.grad` will stay None, and the leaf that gets the "
        "gradient has no name.",
    },
    reveal=lambda: torch.ones(3, requires_grad=True).to(torch.float64).is_leaf,
)

# %%
converted = torch.ones(3, requires_grad=True).to(torch.float64)
same = torch.ones(3, requires_grad=True).to(torch.float32)
scaled = torch.ones(3, requires_grad=True) * 0.1
late = (torch.ones(3) * 0.1).requires_grad_()
for name, t in {"converted": converted, "same": same, "scaled": scaled, "late": late}.items():
    made = t.grad_fn.name() if t.grad_fn else "nobody"
    print(f"{name:10} leaf: {t.is_leaf!s:6} requires grad: {t.requires_grad}  made by {made}")

# %% [markdown]
# `same` is a leaf, since `to` had nothing to do and returned the tensor itself. The cure is `late`:
# compute first, then call `requires_grad_()`. Or wrap the values in `nn.Parameter`.
#
# ## Which results require a gradient?
#
# > **What is often said.** "If one input requires a gradient, so does the output."

# %%
predict(
    "3.7",
    "x requires a gradient. What is `(x > 0).float().requires_grad`?",
    {
        True: "The comparison gives booleans, which cannot carry a gradient. Making numbers of "
        "them again does not bring it back.",
        False: "The comparison ended the record. The cast starts from a tensor without one.",
    },
    reveal=lambda: (torch.ones(2, requires_grad=True) > 0).float().requires_grad,
)

# %% tags=["claim:26"]
x = torch.tensor([1.5, -2.0], requires_grad=True)
no_results = {"x > 0": x > 0, "argmax": x.argmax(), "long": x.long(), "detach": x.detach()}
with torch.no_grad():
    no_results["no_grad"] = x * 2

assert (x * 2).requires_grad  # the rule
assert not any(t.requires_grad for t in no_results.values())  # and where it fails
print("an input requires a gradient, the output does not:", ", ".join(no_results))

# %% tags=["claim:27"]
for dtype in (torch.int64, torch.uint8, torch.bool):
    with expect_error(RuntimeError, match="Only Tensors of floating point and complex dtype"):
        torch.ones(2, dtype=dtype, requires_grad=True)

assert torch.ones(2, dtype=torch.complex64, requires_grad=True).requires_grad
print("integers and booleans cannot require a gradient; floating point and complex numbers can")

# %% [markdown]
# `round` is a trap of another kind. It *is* recorded, and its derivative is 0 nearly everywhere: a
# gradient arrives, and it is zero. Remember that **None and zero are different answers**: no
# gradient arrived, or one of zeros.
#
# Now the whole table. Choose an operator and a mode, say what you expect, and let torch answer.
# Find
# 1. the operators whose result never requires a gradient, whatever you do;
# 2. what brings recording back inside `no_grad`, and whether it does so inside `inference_mode`;
# 3. what requires a gradient although everything is switched off;
# 4. which rows change when you take the tick off `x requires grad`: press *Reveal all* again.

# %%
from insidetorch import RequiresGradTable

RequiresGradTable()

# %% [markdown]
# ## Switching the record off
#
# `torch.no_grad()` stops recording, and so does `torch.set_grad_enabled(False)`.
# `torch.inference_mode()` stops more: the tensors that it makes anew have no version counter, and
# no node will keep one of them, so that a later computation may fail. `torch.enable_grad()`
# switches recording on again inside `no_grad`.

# %%
x = torch.ones(2, requires_grad=True)
with torch.inference_mode():
    mask = torch.ones(2)
print("x + mask is recorded:", (x + mask).requires_grad, "| version:", layout_of(mask).version)
with expect_error(RuntimeError, match="Inference tensors cannot be saved for backward"):
    x * mask
print("with a clone made outside:", (x * mask.clone()).requires_grad)

# %% tags=["claim:28"]
x = torch.ones(2, requires_grad=True)
with torch.no_grad():
    result = x * 2
    layer = nn.Linear(2, 2)
    with torch.enable_grad():
        recorded = x * 2

assert not result.requires_grad  # the rule
assert layer.weight.requires_grad and recorded.requires_grad  # and two ways around it
print("made under no_grad, and trainable:", type(layer).__name__, "and what enable_grad covers")

# %% [markdown]
# A parameter is not computed by an operator, so there is nothing to leave out. A model may be built
# under any mode.
#
# What does switching off save? Not memory as such. It makes no nodes, and where no node is, nobody
# keeps anything.


# %% tags=["claim:60"]
def step():
    return net(batch).sum()


with torch.no_grad():
    off = ledger(step)
on = ledger(step)

assert on.made_bytes > 0 == off.made_bytes and not off.kept
print("recorded:", on.sentence)
print("no_grad: ", off.sentence)

# %% [markdown]
# One thing is not cut. A *view* made under `no_grad` computes no new values, and it still says
# `requires_grad=True`. What is computed from it later is recorded, and its edges lead nowhere: no
# error, and no gradient. So `requires_grad` alone proves little. Ask which leaves the graph
# reaches.

# %%
x = torch.ones(3, requires_grad=True)
with torch.no_grad():
    part = x[:2]
later = (part * 3).sum()
later.backward()
print("requires_grad:", part.requires_grad, later.requires_grad, "| gradient:", x.grad, end=" ")
print("| leaves reached:", len(graph_of(later).leaves))

# %% [markdown]
# The mode is a property of the thread, not of a block of text: another thread has its own.

# %%
from threading import Thread

modes = []
with torch.no_grad():
    other = Thread(target=lambda: modes.append(torch.is_grad_enabled()))
    other.start()
    other.join()
print("recording is on in another thread:", *modes)

# %% [markdown]
# And code that is suspended while it is inside the block leaves the switch where it is. Generators
# do that.


# %%
def evaluated(batches):
    with torch.no_grad():
        for one in batches:
            yield net(one)


# %%
def mode_after_one():
    running = evaluated([batch, batch])
    next(running)
    mode = torch.is_grad_enabled()
    running.close()
    return mode


# %%
predict(
    "3.8",
    "You take one result out of `evaluated(...)` and go on with your own code, outside of the "
    "function. Is recording on there?",
    {
        True: "`with` ends when its block ends. The generator is waiting inside of it.",
        False: "The generator waits inside its with block, and the switch is off for the whole "
        "thread.",
    },
    reveal=mode_after_one,
)


# %%
@torch.no_grad()
def evaluated_decorated(batches):
    for one in batches:
        yield net(one)


running = evaluated_decorated([batch, batch])
next(running)
print("as a decorator, recording outside is on:", torch.is_grad_enabled())
running.close()

# %% [markdown]
# As a decorator of a generator function, `no_grad` switches at each step in and out. Inside a
# generator, put the `with` around the call only, not around the `yield`.
#
# ## `detach` cuts here
#
# > **What is often said.** "After `detach()`, no later operation on the tensor records a gradient."

# %%
x, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)

# %%
predict(
    "3.9",
    "x and v require a gradient. What is `((x * 2).detach() * v).requires_grad`?",
    {
        True: "The product is recorded for v. x is on the other side of the cut.",
        False: "detach() gives one tensor without a history. An operation that mixes it with v is "
        "recorded, for v.",
    },
    reveal=lambda: ((x * 2).detach() * v).requires_grad,
)

# %% tags=["claim:2"]
mixed = (x * 2).detach() * v
mixed.sum().backward()

assert mixed.requires_grad and v.grad.tolist() == [2.0, 2.0]  # recorded, and right
assert x.grad is None  # cut at that one place
print("gradient of v:", v.grad.tolist(), " of x:", x.grad)

# %% tags=["claim:25"]
x = torch.ones(2, requires_grad=True)
y = x * 2
after = y.detach() * v
names = [node.name for node in graph_of(after).nodes]

assert y.detach().grad_fn is None and relation(y, y.detach()).one_counter
assert names == ["MulBackward0", "AccumulateGrad"]  # one node, and v: no edge to the nodes of y
print("behind the product:", ", ".join(names))

# %% [markdown]
# `detach` gives a new tensor and leaves the old one as it was: `y.detach()` alone on a line does
# nothing. And most uses of it are right: a target network, a metric, a baseline. So when you look
# for a cut, do not look for the word. Look at which leaves the graph reaches.
#
# ## Another input, another graph
#
# Nobody declares a graph. It is what your code left behind in this one run. So `if` and `for` need
# no counterpart in torch: the branch that ran has nodes, the other has none. Move the slider: which
# x gives the most nodes, and which lines leave none?


# %%
def settle(x):
    if x > 0:
        y = x * 2
    else:
        y = x.exp()
        y = y + 1
    while y < 10:
        y = y * y + 1
    return y


# %%
from insidetorch import BranchExplorer

BranchExplorer(settle, [0.5, 2.0, 6.0, -1.0, -4.0])

# %% tags=["claim:59"]
from insidetorch.observe.branches import branch_of

runs = {given: branch_of(settle, given) for given in (6.0, 0.5, -1.0)}
names = {given: [node.name for node in run.graph.nodes] for given, run in runs.items()}

assert names[6.0] == ["MulBackward0", "AccumulateGrad"]
assert names[0.5].count("AddBackward0") == 3 and "ExpBackward0" not in names[0.5]
assert "ExpBackward0" in names[-1.0] and names[-1.0] != names[0.5]
print({given: len(found) for given, found in names.items()}, "nodes")

# %% [markdown]
# Note what this means for the gradient. The condition `x > 0` left no node: it chose the branch,
# and a choice has no derivative.
#
# ## A write rewrites the graph
#
# With recording on, an operation in place gives the *same tensor* a new node, which points at the
# old one. No cycle comes about: the old node is still there, for the old value. Under `no_grad` the
# values change and the record does not.

# %%
b = torch.ones(4, requires_grad=True) * 2
first_node = b.grad_fn
b.mul_(3)
print("new node:", b.grad_fn.name(), "| it points at the old one:", end=" ")
print(b.grad_fn.next_functions[0][0] is first_node)

# %% [markdown]
# A write through a *view* changes the values of its base, so it must change the record of the base
# too. torch puts in a node, `CopySlices`, which knows which elements were written.

# %%
b = torch.ones(4, requires_grad=True) * 2
view = b[:2]
view.mul_(10)
print("base:", b.grad_fn.name().removeprefix("torch::autograd::"), "| view:", view.grad_fn.name())
show(graph_of(b.sum()))

# %% [markdown]
# The view has a new record too: it now reads from the rewritten base. So you may fill a tensor
# piece by piece and the gradient is right, as long as nobody keeps what you overwrite. Not allowed
# is a write into a leaf that requires a gradient, or into a view of one: it would be a result then,
# and no longer the leaf whose `.grad` is filled.

# %%
weight = torch.ones(3, requires_grad=True)
with expect_error(RuntimeError, match="a leaf Variable that requires grad is being used in an in"):
    weight -= 0.1
with torch.no_grad():
    weight -= 0.1
print("under no_grad, as an optimizer does it: still a leaf,", weight.is_leaf)

# %% [markdown]
# And the repair that people try first: `weight = weight - 0.1`. It runs, and the name `weight` is
# then a result. Its `.grad` stays None from the second step on.
#
# ## A gradient on the way
#
# > **What is often said.** "The gradients of tensors in between are computed and then released."

# %%
x = torch.tensor([2.0], requires_grad=True)
y = x**2
y.retain_grad()
y.mul_(3)
y.sum().backward()

# %%
predict(
    "3.10",
    "`y = x ** 2`, then `y.retain_grad()`, then `y.mul_(3)`, then `y.sum().backward()`. What is "
    "`y.grad`?",
    {
        1.0: "y was written to after retain_grad(), and retain_grad follows the tensor to its "
        "newest version. The gradient of a sum is 1.",
        3.0: "That is the gradient of the value before mul_(3), an older version of y.",
        12.0: "That is the gradient of x.",
    },
    reveal=lambda: y.grad.item(),
)

# %% tags=["claim:30"]
seen = []
x = torch.tensor([2.0], requires_grad=True)
y, kept = x**2, x * 5
kept.retain_grad()
y.register_hook(lambda gradient: seen.append(gradient.item()))
loss = (y * 3 + kept).sum()
loss.backward()
y.retain_grad()  # too late

assert kept.grad.tolist() == [1.0] and seen == [3.0]  # asked for before: kept, and seen
assert y.grad is None  # it passed through and was never put into .grad
print("hook saw", seen, "| retain_grad before:", kept.grad.tolist(), "| after:", y.grad)

# %% [markdown]
# A **hook** is a function that is called with the gradient of a tensor when it is there. It stays
# with the version at which it was set; `retain_grad` follows the tensor. A hook can also replace
# the gradient by returning another one; returning nothing changes nothing.
#
# If you only need the place in the graph and not the values, keep a `GradientEdge`. The tensor can
# be freed, and the gradient can still be asked for.

# %%
x = torch.tensor([2.0], requires_grad=True)
y = x + 1
edge = get_gradient_edge(y)
loss = (y * 3).sum()
del y
print("gradient of what has no name any more:", torch.autograd.grad(loss, edge)[0].tolist())

# %% [markdown]
# ## How long a graph lives
#
# A tensor holds its node, and a node holds the nodes behind it and what they keep. A graph lives as
# long as something holds one of its nodes: a tensor, the node itself (`y.grad_fn` in a variable),
# or a `GradientEdge`. When the last of them goes, what only it reached goes too.
#
# > **What is often said.** "Validation without `no_grad` makes memory climb until it runs out."
#
# Four validation steps below, with recording on. A token in the metadata of each graph's first node
# tells whether the graph is still alive.

# %%
import weakref


class Token:
    pass


def graphs_alive(keep):
    tokens, kept = weakref.WeakSet(), []
    for _ in range(4):
        loss = net(batch).sum()
        loss.grad_fn.metadata["token"] = token = Token()
        tokens.add(token)
        kept.append(keep(loss))
    del loss, token
    return len(tokens)


# %% tags=["claim:29"]
ways = {
    "nothing is kept": lambda loss: None,
    "loss.item()": lambda loss: loss.item(),
    "loss.detach()": lambda loss: loss.detach(),
    "the loss itself": lambda loss: loss,
}
alive = {way: graphs_alive(keep) for way, keep in ways.items()}

assert alive["nothing is kept"] == alive["loss.item()"] == alive["loss.detach()"] == 0
assert alive["the loss itself"] == 4
for way, count in alive.items():
    print(f"{way:18} {count} of 4 graphs alive")

# %% [markdown]
# Recording during validation costs time, and the memory of *one* graph (of two for a moment, while
# `loss` still names the last one and the next is computed). It climbs only where something is kept:
# a list of losses, an attribute, or a total.

# %%
from insidetorch import graph_cost

total = 0
for number in range(3):
    total = total + net(batch).sum()
    print(f"after step {number + 1}:", graph_cost(total))

# %% [markdown]
# `total` looks like a number. It is a tensor with the graphs of all steps behind it. Write `total
# += loss.item()`. And who holds a graph that you know nothing of? `graph_holders` looks. What one
# container holds it counts together.

# %%
from insidetorch import graph_holders

losses = [net(batch).sum() for _ in range(3)]
found = str(graph_holders()).splitlines()
print("\n".join(found[:2]))
print("… and more: every result of this notebook that still has a name")

# %% [markdown]
# Call `graph_holders()` in a cell of your own to see them all. In a notebook there are holders that
# you did not write. The value of a cell's last line is kept in `Out` and in `_`, unless a `;` ends
# it: so is the explorer of this chapter's beginning, with its graph. And an error keeps the
# variables of the function that failed, until the next one.
#
# ## When it bites
#
# **A list becomes a tensor, and a new leaf.** `torch.tensor` copies numbers. Where they came from,
# it does not know. torch warns of it once, and the warning is soon lost in a log. `torch.stack` is
# an operator, and it is recorded.

# %%
import warnings

parts = [net(batch).sum(), net(batch).mean()]
with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)
    rebuilt = torch.tensor(parts)
print("torch.tensor:", rebuilt.requires_grad, "| torch.stack:", torch.stack(parts).requires_grad)

# %% [markdown]
# **The total hides a dead term.** With two terms, one of them without a record, `backward` raises
# nothing: the other one is enough. Ask each term, and which leaves it reaches.

# %%
alive_term = net(batch).mean()
dead_term = (net(batch).argmax() == 0).float()
total = alive_term + dead_term
total.backward()
print("total:", total.requires_grad, "| terms:", alive_term.requires_grad, dead_term.requires_grad)

# %% [markdown]
# **`eval()` is not `no_grad()`, and neither is freezing.** `eval()` changes what dropout and batch
# normalisation compute. `requires_grad_(False)` makes a leaf that gets no gradient, and lets
# gradients through to what lies before it. `no_grad` records nothing at all.

# %%
body, head = nn.Linear(2, 2), nn.Linear(2, 1).requires_grad_(False)
head(body(batch)).sum().backward()
print("frozen head:", head.weight.grad, "| the body learns:", body.weight.grad is not None)
print("in eval mode a result requires a gradient:", body.eval()(batch).requires_grad)

# %% [markdown]
# ## What the common account says, and what holds
#
# The claims of this chapter, each shown by a cell above.

# %% [markdown] tags=["claims"]
# *(claims table)*

# %% [markdown]
# ## Key points
#
# - Values and record are two things. A weight can change the output and be on no path of the graph.
# - The graph consists of nodes; a leaf has `AccumulateGrad`. It is what this run left behind.
# - A node keeps what its formula needs: its input, its result, or nothing.
# - Comparisons, argmax, integers, `detach` and `no_grad` end the record. `round` keeps it and gives
#   zeros.
# - `detach` cuts at one place. `no_grad` switches a thread, and a waiting generator leaves it off.
# - A graph lives as long as somebody holds a tensor, or a node, in front of it.
#
# ## Symptoms of this chapter

# %% [markdown] tags=["symptoms"]
# *(symptom table)*

# %% [markdown]
# ## Monday card
#
# In your own script: which lines of your training step keep the memory, and does the loss reach
# every parameter?


# %%
def look_at(model, loss_of):
    print(ledger(loss_of, module=model))
    reached = {leaf.leaf for leaf in graph_of(loss_of(), module=model).leaves}
    missing = [name for name, _ in model.named_parameters() if name not in reached]
    print("not reached from the loss:", ", ".join(missing) or "none")


look_at(net, lambda: net(batch).sum())

# %% [markdown]
# **Next.** The [exercises of this chapter](../exercises/03_dynamic_graph.ipynb), then
# [chapter 4](04_backward_and_accumulation.ipynb): what `backward` does with the graph.
