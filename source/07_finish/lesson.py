# %% [markdown]
# # 7 · The end
#
# Six chapters are behind you. Here you find out what has stayed, and take the tools to your own
# work.
#
# **Afterwards you can**
# - say which chapter to read again, if any;
# - run the doctor on a script of your own, and the course's tools on a model of your own;
# - find, from what you see, the call that shows why.
#
# **Time** 40 minutes: 25 for the quiz, 15 for your own model. **Before this** [chapter
# 6](06_debugging.ipynb).

# %%
import io

import torch
from torch import nn

from insidetorch import copies, graph_cost, ledger, predict, quiz_result, relation, trace

# %% [markdown]
# ## The quiz
#
# Questions on all chapters, mixed, as they will be at work: none says which chapter it is from, and
# most take two. Run both cells of a question, and answer before you try anything else. Your first
# answer counts; *Ask me again* is for practice.


# %%
def mean_square():
    predicted = torch.tensor([[1.0], [2.0], [3.0]])
    target = torch.tensor([1.0, 2.0, 3.0])
    return round((predicted - target).square().mean().item(), 2)


# %%
predict(
    "7.1",
    "`predicted` has sizes (3, 1), `target` has (3,), and both hold 1, 2, 3. What is "
    "`(predicted - target).square().mean()`?",
    {
        0.0: "Value by value they agree. But the sizes broadcast: each is compared with all three.",
        1.33: "The difference has sizes (3, 3). Nothing raises, and the model is taught the mean.",
        "an error": "(3, 1) and (3,) broadcast to (3, 3), which is no error to torch.",
    },
    reveal=mean_square,
)


# %%
def distance_of_neighbours():
    images = torch.zeros(8, 3, 32, 32).contiguous(memory_format=torch.channels_last)
    return images.stride(3) * images.element_size()


# %%
predict(
    "7.2",
    "`images` is a float32 batch of sizes (8, 3, 32, 32) in `channels_last`. How many bytes lie "
    "between the beginnings of two neighbouring pixels of a row, in one channel?",
    {
        4: "That is the contiguous order, where a row of one channel lies together.",
        12: "A pixel's three channels lie together, so the next pixel is three float32 on.",
        3: "Strides count elements. This one is 3, and an element has 4 bytes.",
    },
    reveal=distance_of_neighbours,
)


# %%
def kept_gradient(clear):
    w = nn.Parameter(torch.tensor(1.0))
    optimizer = torch.optim.SGD([w], lr=0.1)
    (w * 2).backward()
    old = w.grad
    if clear:
        optimizer.zero_grad()
    (w * 2).backward()
    return old.item()


# %%
predict(
    "7.3",
    "After a backward pass that gave 2, `old = w.grad` is kept, and a second pass gives 2 again. "
    "What does `old` hold then: without `zero_grad()` in between, and with it?",
    {
        (2.0, 2.0): "This is no copy. The second pass adds to that very tensor, if it is there.",
        (4.0, 4.0): "zero_grad puts None in its place, so the second pass makes a new tensor.",
        (4.0, 2.0): "The first is added to in place; the second was let go before the pass.",
    },
    reveal=lambda: (kept_gradient(False), kept_gradient(True)),
)


# %%
def samples_reached():
    x = torch.zeros(3, 2, requires_grad=True)  # 3 tokens of 2 samples
    samples_first = x.reshape(2, 3)
    (slope,) = torch.autograd.grad(samples_first[0].sum(), x)
    return tuple(slope.any(dim=0).nonzero().flatten().tolist())


# %%
predict(
    "7.4",
    "`x` has 3 tokens of 2 samples: sizes (3, 2). For samples first, somebody writes "
    "`x.reshape(2, 3)`. The loss of its row 0 has a gradient for which samples of `x`?",
    {
        (0,): "For that it takes x.t(). reshape cuts the values anew, in the order they had.",
        (0, 1): "Row 0 holds values of both samples. This is how one finds it: ask the gradient.",
        (1,): "The first value of row 0 is still one of sample 0.",
    },
    reveal=samples_reached,
)

# %%
row = torch.ones(1000)

# %%
predict(
    "7.5",
    "`row` has 1,000 float32. How many bytes do `row + 1` and `row.add_(1)` read and write?",
    {
        (8000, 8000): "Each reads 4,000 and writes 4,000. In place saves memory, but no traffic.",
        (8000, 4000): "In place, the values are still read, and written back.",
        (4000, 4000): "Reading counts, too.",
    },
    reveal=lambda: (trace(lambda: row + 1).moved, trace(lambda: row.add_(1)).moved),
)


# %%
def gradient_of_positive_part():
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    ((x > 0) * x).sum().backward()
    return x.grad.tolist()


# %%
predict(
    "7.6",
    "x is -1, 2, and the loss is `((x > 0) * x).sum()`. What is `x.grad`?",
    {
        "None": "The comparison has no derivative. The other factor of the product has.",
        (0.0, 1.0): "One path ends at the comparison. The other brings what it multiplies with.",
        (1.0, 1.0): "The derivative of the product by x is the mask, not 1.",
    },
    reveal=lambda: tuple(gradient_of_positive_part()),
)


# %%
def slope_at_zero(fn):
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    fn(x).sum().backward()
    return f"{x.grad[0].item():g}"


def slopes_at_zero():
    masked = slope_at_zero(lambda x: x.sqrt() * (x > 0))
    return f"{masked}, {slope_at_zero(lambda x: x[x > 0].sqrt())}"


# %%
predict(
    "7.7",
    "x is 0, 4. What is the gradient at 0 of `x.sqrt() * (x > 0)`, and of `x[x > 0].sqrt()`?",
    {
        "0, 0": "A mask by product sends 0 to the root, whose slope at 0 is infinite.",
        "nan, 0": "The root divides 0 by its result, 0. The second has no root of 0.",
        "nan, nan": "The second chooses before the root, so 0 does not reach it.",
    },
    reveal=slopes_at_zero,
)


# %%
def sums_after_a_loop():
    first, second = torch.ones(2, 2), torch.ones(2, 2)
    for row in first:
        row *= 2
    for row in second:
        row = row * 2
    return first.sum().item(), second.sum().item()


# %%
predict(
    "7.8",
    "Two 2 × 2 tensors of ones. Over the rows of the first runs `row *= 2`, over those of the "
    "second `row = row * 2`. What are the two sums afterwards?",
    {
        (8.0, 4.0): "A row is a view. One line writes through it, the other rebinds a name.",
        (4.0, 4.0): "The loop variable is no copy. It reads the tensor's memory.",
        (8.0, 8.0): "The second line makes a new tensor, and nobody keeps it.",
    },
    reveal=sums_after_a_loop,
)

# %%
predict(
    "7.9",
    "`t = torch.arange(12).view(3, 4).t()[1:]`. What is `t[0, 2]`?",
    {
        9: "Offset 1, strides (1, 4): element 1 + 0 · 1 + 2 · 4.",
        8: "The slice has moved the beginning: the offset is 1.",
        6: "That is row 1, column 2 of the matrix before it was transposed.",
    },
    reveal=lambda: torch.arange(12).view(3, 4).t()[1:][0, 2].item(),
)


# %%
def started_from(vector):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    try:
        x.square().backward(vector)
    except RuntimeError:
        return "an error"
    return tuple(x.grad.tolist())


# %%
predict(
    "7.10",
    "x is 1, 2 and `y = x.square()`. What is `x.grad` after `y.backward(torch.tensor([1., 10.]))`?",
    {
        (2.0, 4.0): "That is the derivative. It is multiplied with the vector from above.",
        (2.0, 40.0): "Backward computes a product of the vector and the Jacobian.",
        "an error": "Only without a vector: then torch does not know how to weigh two values.",
    },
    reveal=lambda: started_from(torch.tensor([1.0, 10.0])),
)


# %%
def made_under_no_grad():
    with torch.no_grad():
        layer = nn.Linear(2, 1)
    layer(torch.ones(3, 2)).sum().backward()
    return layer.weight.grad is not None


# %%
predict(
    "7.11",
    "`layer = nn.Linear(2, 1)` is made inside `no_grad` and used outside. Does its weight get a "
    "gradient?",
    {
        True: "no_grad is about what operators record. A parameter is no result of one.",
        False: "It would be so for a result of operators. A parameter requires a gradient anyway.",
    },
    reveal=made_under_no_grad,
)


# %%
def with_another_head():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model[1] = nn.Linear(2, 1)
    before = model[1].weight.detach().clone()
    model(torch.ones(3, 2)).sum().backward()
    optimizer.step()
    return model[1].weight.grad is not None, not torch.equal(before, model[1].weight)


# %%
predict(
    "7.12",
    "An optimizer is made, then the model's head is replaced by a new layer. After `backward` and "
    "`step`: has the new weight a gradient, and has it changed?",
    {
        (True, True): "The optimizer was given tensors, not the model. It holds the old head.",
        (False, False): "The graph is recorded as it runs, with the layer that is there then.",
        (True, False): "Autograd sees the new head. The optimizer still holds the old one.",
    },
    reveal=with_another_head,
)

# %%
means = torch.ones(3)
added = trace(lambda: means.expand(1000, 3) + 1)

# %%
predict(
    "7.13",
    "`means` has 3 float32. How many bytes does `means.expand(1000, 3) + 1` have to read, and how "
    "many to write?",
    {
        (12000, 12000): "The 1,000 rows are one row in memory, read again and again by stride 0.",
        (12, 12): "The sum is a new tensor, with 3,000 elements of its own.",
        (12, 12000): "expand copies nothing, and the sum has no stride 0.",
    },
    reveal=lambda: (added.found[-1].read, added.found[-1].written),
)


# %%
def saved_and_loaded():
    data, file = torch.zeros(10, 2), io.BytesIO()
    torch.save({"train": data[:8], "test": data[8:]}, file)
    file.seek(0)
    loaded = torch.load(file)
    return relation(loaded["train"], loaded["test"]).same_storage


# %%
predict(
    "7.14",
    "`{'train': data[:8], 'test': data[8:]}` is saved and loaded. Do the two loaded tensors share "
    "a storage?",
    {
        True: "A file keeps storages, each once, and for each tensor how it reads one of them.",
        False: "Not the values of each tensor are written, but the storage that both read.",
    },
    reveal=saved_and_loaded,
)


# %%
def written_under_the_graph():
    x = torch.ones(2, 2, requires_grad=True)
    y = x * 1
    first = y[0]
    first.mul_(5)
    y.sum().backward()
    return tuple(x.grad[:, 0].tolist())


# %%
predict(
    "7.15",
    "`y = x * 1` is 2 × 2. `first = y[0]`, then `first.mul_(5)`, then `y.sum().backward()`. What "
    "is the gradient of x, in row 0 and in row 1?",
    {
        (1.0, 1.0): "y was computed before the write. But the write is recorded, and y reads it.",
        (5.0, 1.0): "A write to a view is a write to its base, in the graph as in memory.",
        "an error": "A product with a constant keeps neither y nor x, so nobody is harmed.",
    },
    reveal=written_under_the_graph,
)

# %%
x = torch.ones(1000, requires_grad=True)

# %%
predict(
    "7.16",
    "x has 1,000 float32. How many bytes that it has made does `x.exp().sin().sum()` keep for its "
    "backward pass?",
    {
        8000: "exp keeps its result and sin its input. That is the same tensor.",
        4000: "exp keeps its result, sin keeps its input: one tensor. The sum keeps only sizes.",
        12000: "A node keeps what its formula needs, not all that was computed.",
    },
    reveal=lambda: ledger(lambda: x.exp().sin().sum()).made_bytes,
)


# %%
def operators_run(record):
    a = torch.ones(3, requires_grad=True)
    with torch.set_grad_enabled(record):
        return len(trace(lambda: a * a + a).found)


# %%
predict(
    "7.17",
    "a requires a gradient. How many operators run for `a * a + a`, and how many under `no_grad`?",
    {
        (2, 2): "Recording a node is no operator. no_grad saves the nodes and what they keep.",
        (4, 2): "A node is made in the autograd kernel, on the way to the operator's own.",
        (2, 0): "no_grad computes as ever. It records nothing.",
    },
    reveal=lambda: (operators_run(True), operators_run(False)),
)


# %%
def frozen_before_step():
    w = nn.Parameter(torch.tensor(1.0))
    optimizer = torch.optim.SGD([w], lr=0.1)
    w.backward()
    w.requires_grad_(False)
    optimizer.step()
    return round(w.item(), 2)


# %%
predict(
    "7.18",
    "w is 1.0 and its gradient is 1. Then `w.requires_grad_(False)`, then a step of SGD with rate "
    "0.1. What is w?",
    {
        1.0: "The flag says who gets a gradient from now on. The one that is there stays.",
        0.9: "step asks for .grad and for nothing else. Freeze, and set .grad to None.",
        "an error": "An optimizer may hold any leaf. It does not ask whether one is trained.",
    },
    reveal=frozen_before_step,
)


# %%
def kept_after_backward():
    w = torch.ones(1000, requires_grad=True)
    loss = w.exp().sum()
    loss.backward()
    cost = graph_cost(loss)
    return cost.nodes, cost.nbytes


# %%
predict(
    "7.19",
    "w has 1,000 float32, and `loss = w.exp().sum()` is kept in a list, after `loss.backward()`. "
    "What does its graph keep alive: how many nodes, and how many bytes of saved tensors?",
    {
        (3, 4000): "The pass has freed what the nodes had saved.",
        (0, 0): "Nodes are not freed by backward. They live as long as somebody holds them.",
        (3, 0): "The tensors are freed by the pass, the nodes stay. Keep loss.item() instead.",
    },
    reveal=kept_after_backward,
)


# %%
def result_made_a_leaf():
    a = torch.ones(1, requires_grad=True)
    with torch.no_grad():
        start = a * 2
    start.requires_grad_()
    (start * 3).sum().backward()
    return start.is_leaf, a.grad is not None


# %%
predict(
    "7.20",
    "Under `no_grad`, `start = a * 2`. Then `start.requires_grad_()`, then backward from "
    "`start * 3`. Is `start` a leaf, and does `a` get a gradient?",
    {
        (True, False): "No history was recorded, so it is a leaf, and the way ends there.",
        (False, True): "That would be without no_grad. requires_grad_ records nothing afterwards.",
        (False, False): "A tensor without a node is a leaf, whatever it was computed from.",
    },
    reveal=result_made_a_leaf,
)


# %%
def strides_of_gradient():
    w = torch.zeros(3, 2).t().requires_grad_()
    (w * torch.ones(2, 3)).sum().backward()
    return w.grad.stride()


# %%
predict(
    "7.21",
    "`w` is a leaf of sizes (2, 3) and strides (1, 2). It is multiplied with a contiguous tensor. "
    "What are the strides of `w.grad`?",
    {
        (3, 1): "The gradient was computed anew, but it is stored in the order of its leaf.",
        (1, 2): "The first gradient takes the strides of its leaf, so a step reads both alike.",
        (0, 0): "A gradient that is expanded is made a tensor of its own before it is kept.",
    },
    reveal=strides_of_gradient,
)


# %%
def noticed(write):
    y = torch.ones(2, requires_grad=True).exp()
    with torch.no_grad():
        write(y)
    try:
        y.sum().backward()
    except RuntimeError:
        return True
    return False


# %%
predict(
    "7.22",
    "`y = x.exp()`. Under `no_grad`, somebody writes `y[0].zero_()`, or `y.data[0].zero_()`. Which "
    "of the two does the backward pass notice?",
    {
        (True, True): "data has a version counter of its own, so its writes are not counted for y.",
        (True, False): "A view shares the counter of its base, recorded or not; data does not.",
        (False, False): "no_grad stops the record of nodes. Versions are counted all the same.",
    },
    reveal=lambda: (noticed(lambda y: y[0].zero_()), noticed(lambda y: y.data[0].zero_())),
)


# %%
def zero_afterwards(x):
    x.contiguous().zero_()
    return not x.any().item()


def zeros_afterwards():
    return zero_afterwards(torch.ones(2, 3)), zero_afterwards(torch.ones(2, 3).t())


# %%
predict(
    "7.23",
    "`x.contiguous().zero_()` runs, once for `x = torch.ones(2, 3)`, once for "
    "`x = torch.ones(2, 3).t()`. Is x all zero afterwards?",
    {
        (False, False): "contiguous copies only where it has to. Else it returns x itself.",
        (True, True): "The transposed one has to be copied, and the copy is written to.",
        (True, False): "The same line writes to x or to a copy, depending on strides.",
    },
    reveal=zeros_afterwards,
)

# %%
square = torch.ones(10, 10)

# %%
predict(
    "7.24",
    "`square` is 10 × 10. How many tensors does `square.t() + square` copy before it adds?",
    {
        1: "An elementwise kernel walks each argument by its own strides. It needs no copy.",
        0: "The kernel reads both as they lie. Matrix products may need a copy; a sum does not.",
        2: "Neither is copied: t() changes strides, and the kernel can read them.",
    },
    reveal=lambda: len(copies(lambda: square.t() + square).found),
)


# %%
def length_of_step(make, gradient):
    w = nn.Parameter(torch.tensor(0.0))
    optimizer = make([w], lr=0.1)
    (w * gradient).backward()
    optimizer.step()
    return abs(w.item())


def longer_by(make):
    return round(length_of_step(make, 4) / length_of_step(make, 1), 2)


# %%
predict(
    "7.25",
    "Four micro-batches are accumulated, and nobody divides by four: the gradient is four times as "
    "large. How many times as long is the first step of SGD, and that of Adam?",
    {
        (4.0, 4.0): "Adam divides the gradient by its own size, so a factor cancels.",
        (4.0, 1.0): "The same mistake is a higher rate for SGD, and next to nothing for Adam.",
        (1.0, 1.0): "SGD multiplies the gradient with the rate. Four times is four times.",
    },
    reveal=lambda: (longer_by(torch.optim.SGD), longer_by(torch.optim.Adam)),
)


# %%
def slope_of_product():
    w = torch.tensor(3.0, requires_grad=True)
    (w * w.detach()).backward()
    return w.grad.item()


# %%
predict(
    "7.26",
    "w is 3, and the loss is `w * w.detach()`. What is `w.grad`?",
    {
        6.0: "That is the derivative of the square. One of its two factors is a constant here.",
        3.0: "The gradient comes by the other factor alone. Half is missing, and nobody says so.",
        0.0: "detach cuts its own path. The first factor still leads to w.",
    },
    reveal=slope_of_product,
)

# %% [markdown]
# ## What has stayed
#
# For each chapter: how many of your first answers were right, and where to go back to.

# %%
quiz_result(
    {
        "01_storage_and_stride": ["7.2", "7.9", "7.14", "7.21"],
        "02_views": ["7.1", "7.4", "7.8", "7.15", "7.23"],
        "03_dynamic_graph": ["7.6", "7.11", "7.16", "7.20", "7.26"],
        "04_backward_and_accumulation": ["7.3", "7.10", "7.18", "7.25"],
        "05_dispatch_and_fusion": ["7.5", "7.13", "7.17", "7.24"],
        "06_debugging": ["7.7", "7.12", "7.19", "7.22"],
    }
)

# %% [markdown]
# ## Take it home
#
# The package is yours. In the folder of this course, with your project's environment active,
# `pip install .` puts it there ([README](../README.md)). It needs a torch of the versions that
# [pyproject.toml](../pyproject.toml) names, and pip replaces any other. Then it can be imported
# from any folder, and does not load torch before you use it:

# %%
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

# %%
LOOK = "import insidetorch, sys; print('torch is loaded:', 'torch' in sys.modules)"

with TemporaryDirectory() as elsewhere:
    command = [sys.executable, "-c", LOOK]
    print(subprocess.run(command, cwd=elsewhere, capture_output=True, text=True).stdout)

# %% [markdown]
# ### A script of your own
#
# The doctor runs a script as it is. This one trains, and prints what you would like to see.

# %%
SCRIPT = """\
import torch
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model[1] = torch.nn.Linear(8, 1)  # one output will do
for _ in range(3):
    loss = model(torch.ones(8, 4)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("trained for 3 steps")
"""

# %% [markdown]
# Run it alone and under the doctor. Its output and its exit status are its own. The report goes to
# stderr, and with `--json` to a file, too.


# %%
def run(folder, *before):
    command = [sys.executable, *before, "train.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


# %%
with TemporaryDirectory() as folder:
    Path(folder, "train.py").write_text(SCRIPT, encoding="utf-8")
    *alone, _ = run(folder)
    *watched, report = run(folder, "-m", "insidetorch.doctor", "--json", "found.json")
    found = json.loads(Path(folder, "found.json").read_text(encoding="utf-8"))["findings"]
assert alone == watched
print("exit status and output, both times:", *alone)
print([(one["kind"], one["line"]) for one in found])

# %%
print(report)

# %% [markdown]
# Now yours: `python -m insidetorch.doctor your_script.py`, with its own arguments behind it. The
# [README](../README.md) says what it sees and what it cannot see.
#
# ### A model of your own
#
# Put your model, your loss and a `batch`, the tensor that the model is given, in place of these,
# and run the cells below.

# %%
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
batch = torch.arange(48.0).view(12, 4)[::2]


def loss_of():
    return model(batch).square().mean()


# %% [markdown]
# Where do the values of the batch lie, and whose memory is it?

# %%
from insidetorch import GraphExplorer, GraphMemory, TensorXRay

TensorXRay(batch)

# %% [markdown]
# Every other row of a larger tensor: half of what is in memory is read. Next, the graph behind the
# loss. Does it reach every parameter?

# %%
GraphExplorer(loss_of(), module=model)

# %% [markdown]
# Which lines keep memory for the backward pass? (The graph above counts the values of what is
# saved, the ledger the memory behind it: the batch has 96 bytes of values in 192 bytes of memory.)

# %%
ledger(loss_of, module=model)

# %% [markdown]
# Which graphs are alive after each step? Here a list holds the losses. Make it `loss.item()`, and
# run it again.

# %%
history = []


def step():
    loss = loss_of()
    loss.backward()
    history.append(loss)


GraphMemory(step, steps=4)

# %% [markdown]
# ### All Monday cards
#
# - [Chapter 1](01_storage_and_stride.ipynb): how much memory does my batch hold?
#   `layout_of(batch)`
# - [Chapter 2](02_views.ipynb): which lines copy without being asked? `copies(fn)`
# - [Chapter 3](03_dynamic_graph.ipynb): what does a step keep? `ledger(fn, module=model)`
# - [Chapter 4](04_backward_and_accumulation.ipynb): what arrives at each parameter?
#   `record_backward(loss, module=model)`
# - [Chapter 5](05_dispatch_and_fusion.ipynb): what runs, and how many bytes does it move?
#   `trace(step)`
# - [Chapter 6](06_debugging.ipynb): what has cut or spoiled a gradient? `watch(model)`, or
#   `python -m insidetorch.doctor train.py`

# %%
from insidetorch import layout_of, record_backward, watch

# %%
held, copied, kept = layout_of(batch), copies(loss_of), ledger(loss_of, module=model)
passed = record_backward(loss_of(), module=model)
with watch(model) as watched_step:
    loss_of().backward()
reached = [name for name in (passed.graph.nodes[s.node].leaf for s in passed.steps) if name]
print(f"1  {held.nbytes} bytes of values hold {held.storage_bytes}")
print(f"2  {len(copied.found)} copies")
print(f"3  {kept.made_bytes} bytes kept for backward")
print("4  gradients arrive at", *reached)
print(f"5  {len(trace(loss_of).found)} operators move {trace(loss_of).moved} bytes")
print(f"6  {len(watched_step.findings)} findings")

# %% [markdown]
# ### On the wall
#
# [All symptoms on one page](symptom_table.html): what you see, what to ask first, the call that
# answers. It prints on one sheet.
#
# ### Where to ask, and how to help
#
# Something is wrong, unclear, or missing? The [README](../README.md) says what was tested and what
# was not. [CONTRIBUTING.md](../CONTRIBUTING.md) says how to change a sentence and how to add an
# exercise, a case for the clinic, a cause for the doctor. Every claim that the course has checked
# stands in [the list of claims](../source/claims.toml).
