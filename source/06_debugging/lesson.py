# %% [markdown]
# # 6 · Debugging
#
# A gradient is missing, wrong, or NaN, and no error names the line. This chapter goes from what you
# see to the line that did it, with what the five chapters before have shown.
#
# **Afterwards you can**
# - tell seven symptoms apart before you look for a cause;
# - read the version error: who is named in it, and who has written;
# - say what torch does not notice;
# - say which graphs are alive, and who holds them;
# - tell a `detach` that is a bug from one that is right;
# - choose a tool, and say what it cannot see.
#
# **Time** 90 minutes, and as long as you like in the clinic. **Before this** [chapter
# 5](05_dispatch_and_fusion.ipynb); above all chapters 3 and 4: saved tensors, versions, `.grad`.

# %%
import warnings

import torch
from torch import nn

from insidetorch import expect_error, explain_backward, graph_holders, graph_of, predict, watch

# %% [markdown]
# Two questions about the chapters before.


# %%
def after_a_write_to_the_detached():
    w = torch.tensor([3.0], requires_grad=True)
    w.detach().zero_()
    return w.item(), w._version


# %%
predict(
    "6.1",
    "`w` holds 3.0. Then `w.detach().zero_()` runs. What are the value of `w` and its version?",
    {
        (3.0, 0): "detach makes a new tensor, and not a copy: it reads the same memory.",
        (0.0, 0): "The memory is shared, and so is the version counter.",
        (0.0, 1): "Both are shared, so the write is seen and counted.",
    },
    reveal=after_a_write_to_the_detached,
)


# %%
def frozen_head():
    body, head = nn.Linear(2, 2), nn.Linear(2, 1).requires_grad_(False)
    head(body(torch.ones(1, 2))).sum().backward()
    return body.weight.grad is not None, head.weight.grad is not None


# %%
predict(
    "6.2",
    "`head.requires_grad_(False)`, then `head(body(x)).sum().backward()`. Who has a gradient: "
    "the weight of `body`, the weight of `head`?",
    {
        (True, False): "The gradient goes through the head, since the body wants one.",
        (False, False): "A frozen layer gets no gradient. It does not cut the way to others.",
        (True, True): "The weight of the head does not require a gradient.",
    },
    reveal=frozen_head,
)

# %% [markdown]
# ## Seven losses
#
# Each of these seven functions returns a loss, and each has a different mistake.

# %%
model, x = nn.Linear(2, 1), torch.ones(3, 2)


# %%
def detached():
    return model(x).detach().mean()


def made_of_numbers():
    return torch.tensor([row.item() for row in model(x)]).mean()


# %%
def switched_off():
    torch.set_grad_enabled(False)  # for the validation before, and never on again
    loss = model(x).mean()
    torch.set_grad_enabled(True)  # this line is for the notebook
    return loss


@torch.no_grad()
def decorated():
    return model(x).mean()


# %%
def all_frozen():
    return nn.Linear(2, 1).requires_grad_(False)(x).mean()


def slope_without_a_graph():
    point = torch.ones(1, 2, requires_grad=True)
    (slope,) = torch.autograd.grad(model(point).tanh().sum(), point)
    return slope.norm()


# %%
def slope_of_a_line():
    point = torch.ones(2, requires_grad=True)
    (slope,) = torch.autograd.grad((point * 3).sum(), point, create_graph=True)
    return slope.norm()


# %%
losses = [detached, made_of_numbers, switched_off, decorated]
losses += [all_frozen, slope_without_a_graph, slope_of_a_line]


def message_of(make_loss):
    try:
        make_loss().backward()
    except RuntimeError as error:
        return str(error)


# %%
predict(
    "6.3",
    "`backward()` is called on each of the seven losses. How many different error messages come?",
    {
        7: "The message tells what is, not how it came to be.",
        3: "One for a cut, one for a switch, one for a frozen model? The text tells none apart.",
        1: "They differ in the cause. In all of them the loss has no graph, and that is the text.",
    },
    reveal=lambda: len({message_of(make_loss) for make_loss in losses}),
)

# %%
for make_loss in losses:
    print(f"{make_loss.__name__:22}", end="")
    with expect_error(RuntimeError, match="element 0 of tensors does not require grad"):
        make_loss().backward()

# %% [markdown]
# | function | what is wrong |
# |---|---|
# | `detached` | `detach` cuts what the loss was computed from |
# | `made_of_numbers` | numbers have no graph, and `torch.tensor` makes a new leaf of them |
# | `switched_off` | a switch was set for something before, and stayed |
# | `decorated` | the switch stands in a decorator, away from the line |
# | `all_frozen` | no weight asks for a gradient |
# | `slope_without_a_graph` | a slope has no graph, unless `create_graph=True` records one |
# | `slope_of_a_line` | it was recorded, but the slope of a line does not depend on the point |
#
# The message is about the loss, at the end of the way. The cause is somewhere before. So do not
# search for the message, and do not try remedies. First say exactly what you see.
#
# ## Seven symptoms
#
# "It does not learn" can be seven things, and each has its own causes. What tells them apart is in
# `.grad` and in the weight. The function below is given the gradients of some steps, whether the
# weight has moved, and the gradient of each term of the loss by itself; their sum is what you
# meant.


# %%
def symptom(grads, moved, terms):
    first, right = grads[0], sum(terms)
    if first is None or not first.any():
        return "no gradient" if first is None else "all zero"
    if not first.isfinite().all():
        return "NaN"
    if any(torch.allclose(first, right - term) for term in terms):
        return "one term is missing"
    if not torch.allclose(first, right):
        return "a wrong value"
    grows = grads[-1].norm() > 2 * first.norm()
    return "grows without bound" if grows else "right" if moved else "right, and nothing moves"


# %% [markdown]
# A small training step, and a function that looks at three of them. The loss has two terms.


# %%
def square(w):
    return w.pow(2).sum()


def train(w, loss, *, held=None, clear=True):
    w.grad = None if clear else w.grad
    loss.backward()
    torch.optim.SGD([w if held is None else held], lr=0.01).step()
    return loss


# %%
def seen(step):
    w = nn.Parameter(torch.tensor([1.0, 2.0]))
    before, grads = w.detach().clone(), []
    terms = [torch.autograd.grad(term(w), w)[0] for term in (square, torch.sum)]
    for _ in range(3):
        step(w)
        grads.append(None if w.grad is None else w.grad.clone())
    return symptom(grads, not torch.equal(w, before), terms)


print(seen(lambda w: train(w, square(w) + w.sum())))

# %% [markdown]
# Now seven steps with a mistake each. Before you run the last of these cells, say what each of them
# will be.

# %%
bias = nn.Parameter(torch.zeros(1))


# %%
def cut(w):
    kept = w.detach()
    return train(w, square(kept) + kept.sum() + bias.sum())


def flat(w):
    low = w.clamp(max=0.5)
    return train(w, square(low) + low.sum())


# %%
def half_cut(w):
    return train(w, square(w) + w.detach().sum())


def written_behind(w):
    y = w * 1
    loss = square(y) + y.sum()
    y.data.mul_(2)
    return train(w, loss)


# %%
def never_cleared(w):
    return train(w, square(w) + w.sum(), clear=False)


def other_branch(w):
    root = torch.where(w > 5, (w - 5).sqrt(), w)
    return train(w, square(root) + root.sum())


def replaced(w):
    return train(w, square(w) + w.sum(), held=nn.Parameter(w.detach().clone()))


# %%
steps = [cut, flat, half_cut, written_behind, never_cleared, other_branch, replaced]
found = {step.__name__: seen(step) for step in steps}
assert len(set(found.values())) == 7
for name, what in found.items():
    print(f"{name:15} {what}")

# %% [markdown]
# None of the seven has raised an error.
#
# | what you see | what that means | ask below |
# |---|---|---|
# | no gradient | no path, no leaf, a backward that gave None, or `.grad` cleared | 3–6, 9 |
# | all zero | a path is there, and a factor on it is 0 | 7, 9 |
# | one term is missing | one of several paths is cut: the others hide it | 4, 6 |
# | a wrong value | a formula got other values than in the forward pass, or is wrong | 8, 9 |
# | grows without bound | gradients add up, a graph becomes longer, or the steps are too large | 3 |
# | NaN | a derivative that is not finite, then often 0 × infinity | 7 |
# | right, and nothing moves | the optimizer holds others, steps elsewhere, or `lr` is 0 | 2, 3 |
#
# These seven are told by the gradient, where nothing raises. For an error begin with its text; for
# wrong *values* with chapters 1 and 2, since a `reshape` in place of a `transpose` leaves every
# gradient in order; for memory that grows see further below.
#
# ## The order of questions
#
# > **What is often said.** "Look first whether `requires_grad` is set, then for `detach` and
# > `no_grad`, then for tensors that are no leaves, and last at the values."
#
# Here is this order as a function.


# %%
def four_questions(w, loss):
    if not w.requires_grad:
        return "requires_grad is not set"
    if loss.grad_fn is None:
        return "the loss has no graph"
    if not w.is_leaf:
        return "it is no leaf"
    return "nothing found" if loss.isfinite() else "the loss is not finite"


# %%
w = nn.Parameter(torch.ones(2))
frozen, off_the_leaf = torch.ones(2), w * 1
answers = [
    four_questions(frozen, square(frozen)),
    four_questions(w, square(w.detach())),
    four_questions(off_the_leaf, square(off_the_leaf)),
    four_questions(w, square(w) / 0),
]
print(answers)

# %% [markdown]
# It finds these four. Now five mistakes that it passes by: a weight that no path reaches, a hook
# that returns zeros, a hand-written backward that returns None, an optimizer that holds another
# weight, a write behind autograd's back.


# %%
class Silent(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return None


# %%
def hooked(w):
    y = w * 1
    y.register_hook(torch.zeros_like)
    return y


# %%
def asked(step):
    w = nn.Parameter(torch.tensor([1.0, 2.0]))
    return seen(step), four_questions(w, step(w))


# %% tags=["claim:53"]
missed = {
    "unused": lambda w: train(w, bias.sum() * 2),
    "hook": lambda w: train(w, square(hooked(w)) + hooked(w).sum()),
    "own backward": lambda w: train(w, square(Silent.apply(w)) + Silent.apply(w).sum()),
    "other weight": replaced,
    "write": written_behind,
}
found = {name: asked(step) for name, step in missed.items()}
assert "nothing found" not in answers  # the order finds what it asks for
assert {answer for _, answer in found.values()} == {"nothing found"}  # and none of these
for name, (what, answer) in found.items():
    print(f"{name:13} {what:24} {answer}")

# %% [markdown]
# A sixth mistake lies before all these questions: the model does not know the weight.


# %%
class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.last = [nn.Linear(2, 2), nn.Linear(2, 2)], nn.Linear(2, 1)


# %%
predict(
    "6.4",
    "A module has `self.layers`, a Python list of two Linear layers, and `self.last`, a third one. "
    "How many parameters does `model.parameters()` give, weights and biases?",
    {
        6: "Attributes that are modules are found. A list is not a module: use nn.ModuleList.",
        2: "Only `last` is found. The optimizer never hears of the other two layers.",
        0: "`last` is an attribute, and is found.",
    },
    reveal=lambda: len(list(Stack().parameters())),
)

# %% [markdown]
# So the order has more questions. Ask them from the end of the way to its beginning, each with the
# tool beside it.
#
# 1. Which of the seven symptoms is it? `.grad` and the value, before and after `step`
# 2. Does the optimizer hold *this* tensor? Does the model name it? `optimizer.param_groups` and
#    `model.named_parameters()`, compared with `is`
# 3. What does `.grad` hold when `step` runs, and when is it cleared? `explain_backward(step)`
# 4. Does the loss have a graph, and does each of its terms? `requires_grad`, `graph_of(term)`
# 5. Does a path lead to the weight, and is it a leaf? `GraphExplorer(loss, module=model)`
# 6. Where does the way end: a detach, a switch (`no_grad`, `set_grad_enabled`, a re-entrant
#    `checkpoint` none of whose inputs requires a gradient), numbers or an array, an operator
#    without derivative? `DoctorPanel`
# 7. Where does the gradient become 0 or NaN, with finite numbers arriving? `explain_backward`
# 8. Who has written to a tensor that the graph keeps? `watch`
# 9. Which hooks are there (search the code for `register`)? Which backward was written by hand?
#    `gradcheck`
#
# ## The version error
#
# Chapter 3 had the rule: a node remembers the version of what it keeps, and compares. The error
# comes in `backward`, and the write was before. Whom does the message name?


# %%
def named(fn, write):
    y = fn(torch.ones(2, requires_grad=True))
    loss = (y * y).sum()
    write(y)
    try:
        loss.backward()
    except RuntimeError as error:
        name = str(error).partition("output 0 of ")[2]
        return name.partition(",")[0]


def without_recording(y):
    with torch.no_grad():
        y.add_(1)


# %%
predict(
    "6.5",
    "`y = x / 2`, then `loss = (y * y).sum()`, then `y.add_(1)`, then `loss.backward()`. The "
    "message says that a tensor was changed, 'which is output 0 of …'. Of what?",
    {
        "Div": "y was the output of the division. Since the write it is that of another node.",
        "Add": "y is now the output of the addition: the one who wrote.",
        "Mul": "This node has kept y, and fails. The message does not name it.",
    },
    reveal=lambda: named(lambda x: x / 2, lambda y: y.add_(1)),
)

# %%
writes = {
    "y.add_(1)": lambda y: y.add_(1),
    "y.add_(1) under no_grad": without_recording,
    "y.detach().add_(1)": lambda y: y.detach().add_(1),
    "y[0] = 5": lambda y: y.__setitem__(0, 5),
}
for text, write in writes.items():
    print(f"{text:25} names {named(lambda x: x / 2, write)}")

# %% [markdown]
# The message names the node that the changed tensor has *now*. After a recorded write that is the
# **writer** (a slice is written by `CopySlices`). A write that is not recorded makes no node, and
# the one named is the **producer**, who did nothing wrong. Two more cases: if a node kept its own
# *result*, the saved tensor still belongs to that node, so the producer is named whatever the write
# was. A leaf has no node: the message has no "output of". And if the kept tensor is a **view**,
# torch makes its node anew after the write, and the message says `AsStrided`, which names neither.
# So it is with a linear layer, which keeps the view `weight.t()`.


# %%
def version_message(run):
    with expect_error(RuntimeError, match=r"(which is output 0 of \w+, )?is at version \d+"):
        run()


# %%
def write_to_a_result():
    y = torch.ones(2, requires_grad=True).exp()
    y.add_(1)
    y.sum().backward()


# %%
def step_between():
    w = nn.Parameter(torch.ones(2))
    loss = (w * w).sum()
    with torch.no_grad():
        w.sub_(0.1)  # what an optimizer does
    loss.backward()


def step_between_in_a_layer():
    layer = nn.Linear(2, 1)
    loss = layer(torch.ones(1, 2, requires_grad=True)).sum()
    with torch.no_grad():
        layer.weight.sub_(0.1)
    loss.backward()


# %%
for run in (write_to_a_result, step_between, step_between_in_a_layer):
    version_message(run)

# %% [markdown]
# So the message gives you half at best. Two lines are wanted: the one that *kept* the tensor (the
# victim), and the one that wrote. `watch` has seen both. It records operators, backward passes and
# optimizers while its block runs, and looks for causes; we call it the **gradient doctor**.
# `run.report()` tells what it found.


# %%
def gate(x):
    opened = x.sigmoid()
    opened.relu_()
    return opened.sum()


# %%
inputs = torch.ones(2, requires_grad=True)
with expect_error(RuntimeError, match="which is output 0 of Sigmoid"), watch() as run:
    gate(inputs).backward()

# %%
print(run.report())

# %% [markdown]
# > **Where it lives in PyTorch.** Anomaly mode names the victim's line only. While it is on, each
# > new node gets the stack of its making as `metadata`, and `backward` shows that of the node that
# > fails. So to name the line it must be on in the *forward* pass.

# %%
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # that it is on, and slow
    with torch.autograd.detect_anomaly():
        noted = inputs.exp()
unnoted = inputs.exp()
print(noted.grad_fn.metadata["traceback_"][-1].strip().splitlines()[-1])
print("without it:", list(unnoted.grad_fn.metadata))

# %% [markdown]
# > **What is often said.** "A write in place to a tensor that was used raises an error in
# > backward."


# %%
def with_relu_(fn):
    y = fn(torch.ones(2, 2, requires_grad=True))
    y.relu_()
    try:
        y.sum().backward()
    except RuntimeError:
        return "an error"
    return "works"


# %%
predict(
    "6.6",
    "`y = f(x)`, then `y.relu_()`, then backward. What happens for `f` = sigmoid, for `f` = a "
    "linear layer, and for `f` = a square?",
    {
        ("an error", "works", "works"): "Only sigmoid keeps its result.",
        ("an error", "an error", "an error"): "A write harms only a node that kept that tensor.",
        ("an error", "works", "an error"): "square keeps its argument x, not its result y.",
    },
    reveal=lambda: tuple(with_relu_(f) for f in (torch.sigmoid, nn.Linear(2, 2), torch.square)),
)

# %% tags=["claim:54"]
a = torch.ones(2, requires_grad=True)
y = a * 2
z = y + 1  # uses y, and does not keep it
y.add_(5)
z.sum().backward()
assert a.grad.tolist() == [2.0, 2.0]  # used, written to, and right
print("only used:", a.grad.tolist())

# %% tags=["claim:54"]
y = a * 2
z = y * y  # keeps y
y.add_(5)
version_message(z.sum().backward)

# %% [markdown]
# What counts is the counter, and a tensor shares it with all its views: a write to another row is
# one as well.

# %%
y = a * 2
square_of_first = y[0] * y[0]  # keeps a view of one element
y[1] = 5
version_message(square_of_first.backward)

# %% [markdown]
# ## What the counter does not see
#
# The version is counted by torch's own writes. A write through `.data` goes to the same memory with
# another counter, and NumPy knows of none.


# %%
def gradient_after(write):
    x = torch.ones(2, requires_grad=True)
    y = x * 3
    loss = (y * y).sum()
    write(y)
    loss.backward()
    return x.grad.tolist()


# %% tags=["claim:54"]
left_alone = gradient_after(lambda y: None)
through_data = gradient_after(lambda y: y.data.zero_())
through_numpy = gradient_after(lambda y: y.detach().numpy().fill(0))

assert left_alone == [18.0, 18.0]
assert through_data == through_numpy == [0.0, 0.0]  # wrong, and not a word
print("untouched:", left_alone, "| .data:", through_data, "| numpy:", through_numpy)
version_message(lambda: gradient_after(lambda y: y.detach().zero_()))

# %% [markdown]
# `detach()` shares the counter, and is caught. So write through `detach()` or under `no_grad`, and
# never through `.data`.
#
# A common write of this kind is to exchange the weights for their moving average, evaluate, and put
# them back. What if backward runs before they are put back?


# %%
def slope_with_exchanged_weights():
    w = nn.Parameter(torch.tensor([1.0]))
    loss = w.pow(2).sum()
    w.data = torch.tensor([5.0])
    loss.backward()
    return w.grad.item()


# %%
predict(
    "6.7",
    "`w` is 1.0 and the loss is `w.pow(2).sum()`. Then `w.data = torch.tensor([5.0])`, then "
    "backward. What is `w.grad`?",
    {
        2.0: "pow keeps the tensor w, not the number 1.0.",
        10.0: "The node kept w, and w now holds 5. No version has changed, so nobody complains.",
        "an error": "The version stays the same: nothing was written, the memory was exchanged.",
    },
    reveal=slope_with_exchanged_weights,
)

# %% [markdown]
# Whether it goes wrong depends on what was kept. A linear layer keeps a view of its weight,
# `weight.t()`. After `w.data = …` the view still reads the old memory; after `w.data.copy_(…)` it
# reads the new values.


# %%
def input_gradient(exchange):
    layer, x = nn.Linear(1, 1, bias=False), torch.ones(1, 1, requires_grad=True)
    nn.init.constant_(layer.weight, 1.0)
    loss = layer(x).sum()
    exchange(layer.weight)
    loss.backward()
    return x.grad.item()


# %%
def assigned(w):
    w.data = torch.full((1, 1), 5.0)


print("assigned:", input_gradient(assigned))
print("copied:", input_gradient(lambda w: w.data.copy_(torch.full((1, 1), 5.0))))

# %% [markdown]
# If a write cannot be avoided, there is a mode in which torch copies a saved tensor before it is
# written to. It costs the copy, and the gradient is that of the values before. NumPy goes past this
# mode too.

# %%
from torch.autograd.graph import allow_mutation_on_saved_tensors

with allow_mutation_on_saved_tensors():
    print("a write of torch's:", gradient_after(lambda y: y.zero_()) == left_alone)
    print("NumPy:", gradient_after(lambda y: y.detach().numpy().fill(0)) == left_alone)

# %% [markdown]
# ## Two branches


# %%
def root_or_zero(x):
    return torch.where(x > 0, x.sqrt(), torch.zeros_like(x))


def output_and_slope(fn):
    x = torch.tensor([0.0], requires_grad=True)
    y = fn(x)
    y.sum().backward()
    return y.item(), str(x.grad.item())


# %%
predict(
    "6.8",
    "`y = torch.where(x > 0, x.sqrt(), 0)` at x = 0. What are `y` and `x.grad`?",
    {
        (0.0, "0.0"): "The gradient that sqrt gets is 0. But its derivative is infinite here.",
        (0.0, "nan"): "where sends 0 to the root, which divides it by its result: 0 / 0 is NaN.",
        (0.0, "inf"): "Infinity is multiplied by the 0 that where sends.",
    },
    reveal=lambda: output_and_slope(root_or_zero),
)

# %%
at_zero = torch.tensor([0.0, 4.0], requires_grad=True)
explain_backward(lambda: root_or_zero(at_zero).sum().backward(), names={"at_zero": at_zero})

# %% [markdown]
# `where` chooses between two results, and both were computed: the NaN comes from the branch that
# was not taken. The rule book says what `where` sends to them: the gradient or 0. And what the root
# makes of a 0: it divides it by its result, which is 0.

# %%
from pathlib import Path

import torchgen

book = Path(torchgen.__file__).parent / "packaged" / "autograd" / "derivatives.yaml"
rules = book.read_text(encoding="utf-8")
for start in ("where.self(", "sqrt("):
    lines = rules.partition(f"- name: {start}")[2].splitlines()
    print(f"{start[:-1]:11}", next(x.strip() for x in lines if x.strip().startswith("self")))

# %% [markdown]
# The repair is to make the *argument* harmless where the branch is not taken. The value is the
# same.


# %%
def safe_root_or_zero(x):
    positive = torch.where(x > 0, x, torch.ones_like(x))
    return torch.where(x > 0, positive.sqrt(), torch.zeros_like(x))


print(output_and_slope(root_or_zero), output_and_slope(safe_root_or_zero))

# %% [markdown]
# ## Memory, and who holds a graph
#
# > **What is often said.** "The graph is freed after backward, so backward runs only once."

# %% tags=["claim:55"]
x = torch.ones(2, requires_grad=True)
kept_nothing, kept_x = (x + x).sum(), (x * 3).sum()
kept_nothing.backward()
kept_nothing.backward()
assert x.grad.tolist() == [4.0, 4.0]  # twice, and right
print("after two passes:", x.grad.tolist())

# %% tags=["claim:55"]
nodes = len(graph_of(kept_x).nodes)
kept_x.backward()
assert len(graph_of(kept_x).nodes) == nodes == 3  # the nodes are there after the pass
with expect_error(RuntimeError, match="backward through the graph a second time"):
    kept_x.backward()

# %% [markdown]
# What is freed are the saved tensors. The nodes live as long as somebody holds them, and a loss
# holds them all.


# %%
def nodes_of_a_running_sum():
    w, total, sizes = torch.ones(1, requires_grad=True), 0, []
    for _ in range(3):
        total = total + (w * 2).sum()
        sizes.append(len(graph_of(total).nodes))
    return tuple(sizes)


# %%
predict(
    "6.9",
    "Three times `total = total + loss`, where each `loss` has three nodes, with the leaf `w`. How "
    "many nodes are behind `total` after each step?",
    {
        (4, 4, 4): "A number would be added like this. total is a tensor with a graph.",
        (4, 7, 10): "One addition and two new nodes each time; the old ones stay.",
        (3, 3, 3): "The addition has a node too, and its graph goes on behind it.",
    },
    reveal=nodes_of_a_running_sum,
)

# %% [markdown]
# `GraphMemory` runs a small loop and looks after each step. Find
# 1. the loops in which nothing grows;
# 2. one whose graphs pile up with nodes and no bytes;
# 3. one in which a single name holds the graphs of all steps, and how;
# 4. what `retain_graph=True` does when nothing is kept;
# 5. what `backward(create_graph=True)` leaves in `.grad`.

# %%
from insidetorch import GraphMemory

GraphMemory()

# %% [markdown]
# 1: the healthy one, and every loop that keeps the graph of its last step at most. 2: losses kept
# after `backward`. 3: `total += loss`, and a hidden state that is carried on: the newest graph
# leads to all older ones. 4: nothing. 5: a gradient with a graph, which holds the weight that holds
# it.
#
# A graph can also hold itself. Nobody else holds the result below, and still it is alive until
# Python looks for such cycles, which it calls garbage. `graph_memory` counts them, then collects
# them; `graph_holders`, which you meet next, collects them before it looks.


# %%
class KeepsItself(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = x.exp()  # its own result; ctx.save_for_backward would make no cycle
        return ctx.y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.y


# %%
from insidetorch import graph_memory

w = torch.ones(2, requires_grad=True)
looks = graph_memory(lambda: KeepsItself.apply(w).sum().backward(), steps=3).after
print("collected after each step:", [look.collected for look in looks])

# %% [markdown]
# > **What is often said.** "`retain_graph=True` keeps the memory until it is freed by hand."

# %%
weight, kept = torch.ones(1000, requires_grad=True), []


def retain(keep):
    loss = weight.exp().sum()
    loss.backward(retain_graph=True)
    kept.extend([loss] if keep else [])


# %% tags=["claim:56"]
dropped = [after.nbytes for after in graph_memory(lambda: retain(False), steps=3).after]
held = [after.nbytes for after in graph_memory(lambda: retain(True), steps=3).after]
assert dropped == [0, 0, 0]  # retained, and freed with the last reference
assert held == [4000, 8000, 12000]  # what keeps it is the list
print("losses dropped:", dropped, "| losses kept:", held)

# %% tags=["claim:56"]
loss = kept[0]
loss.backward()  # without the option: this pass frees
with expect_error(RuntimeError, match="backward through the graph a second time"):
    loss.backward()

# %% [markdown]
# The option holds for the one call. And if you do not know who holds a graph, ask. (The cells above
# have left names with a graph behind them, and a watched run keeps tensors alive. They go first.)

# %%
del loss, y, z, square_of_first, kept_nothing, kept_x, noted, unnoted, off_the_leaf, run
graph_holders()

# %% [markdown]
# The repair is to keep the number: `loss.item()`, or `loss.detach()`.
#
# ## `retain_graph=True` as a false cure
#
# A recurrent state is carried from batch to batch. The second backward pass runs into the graph of
# the first batch, and the message recommends `retain_graph=True`.


# %%
def read(*, retain=False, detach=False, batches=3):
    torch.manual_seed(0)
    cell, state = nn.RNNCell(2, 2), torch.zeros(1, 2)
    optimizer, nodes = torch.optim.SGD(cell.parameters(), lr=0.1), []
    for _ in range(batches):
        state = cell(torch.ones(1, 2), state.detach() if detach else state)
        loss = state.pow(2).sum()
        nodes.append(len(graph_of(loss).nodes))
        loss.backward(retain_graph=retain)
        optimizer.step()
        optimizer.zero_grad()
    return nodes


# %%
with expect_error(RuntimeError, match="Specify retain_graph=True"):
    read()
with expect_error(RuntimeError, match="modified by an inplace operation"):
    read(retain=True)
print("nodes behind each loss, detached:", read(detach=True, batches=5))

# %% [markdown]
# With the option, the pass goes on into the old graph and meets weights that the optimizer has
# changed since. The version error is right: the pass would put new weights into formulas that
# belong to the old ones. The repair is to say where a batch ends.
#
# And where no optimizer steps in between, there is no error at all. Each graph is longer than the
# one before, and the weight gets another gradient:


# %%
def passes(detach):
    w, state, nodes = torch.ones(1, requires_grad=True), torch.ones(1), []
    for _ in range(4):
        state = (state.detach() if detach else state) * w
        nodes.append(len(graph_of(state).nodes))
        state.sum().backward(retain_graph=True)
    return nodes, w.grad.item()


print("carried on:", *passes(detach=False), "| detached:", *passes(detach=True))

# %% [markdown]
# > **What is often said.** "Adversarial training needs `retain_graph=True`, since it runs backward
# > for the input and then for the weights."


# %%
def attack(model, x, y):
    x = x.clone().requires_grad_()
    loss = nn.functional.mse_loss(model(x), y)
    (slope,) = torch.autograd.grad(loss, x)  # a graph of its own, used once
    return (x + 0.1 * slope.sign()).detach()


# %%
def adversarial(*, retain, steps=3):
    torch.manual_seed(0)
    model, x, y = nn.Linear(2, 1), torch.randn(8, 2), torch.randn(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        loss = nn.functional.mse_loss(model(attack(model, x, y)), y)
        optimizer.zero_grad()
        loss.backward(retain_graph=retain)
        optimizer.step()
    return model.weight.detach()


# %% tags=["claim:58"]
without, with_it = adversarial(retain=False), adversarial(retain=True)
assert torch.equal(without, with_it)  # it trains without, and nothing differs
print("the same weights:", torch.equal(without, with_it))

# %% tags=["claim:58"]
x, y, net = torch.randn(8, 2), torch.randn(8, 1), nn.Linear(2, 1)
attacked = attack(net, x, y)
loss = nn.functional.mse_loss(net(attacked), y)
assert not attacked.requires_grad  # the second graph does not lead to the first
leaves = [node.leaf for node in graph_of(loss, module=net).nodes if node.leaf]
print("leaves behind the second loss:", *leaves)

# %% [markdown]
# There are two forward passes, so there are two graphs, and each is used once. If you want both
# gradients of *one* loss, one pass gives them:

# %%
x = torch.randn(8, 2, requires_grad=True)
nn.functional.mse_loss(net(x), y).backward()
print("x has a gradient:", x.grad is not None, "| the weight too:", net.weight.grad is not None)

# %% [markdown]
# ## A detach that is right
#
# The word `detach` alone is no sign of a bug. Each of these is as it should be.


# %%
def straight_through(w):
    return (w + (w.round() - w).detach()).sum()  # the value of round, the gradient of w


def target(w):
    return (w - (0.9 * w).detach()).pow(2).sum()  # learn towards a value, which stands still


def log(w):
    loss = w.pow(2).sum()
    history.append(loss.detach())  # the number, without its graph
    return loss


# %%
history = []
for fn in (straight_through, target, log):
    w = nn.Parameter(torch.tensor([0.7, 2.2]))
    with watch() as run:
        fn(w).backward()
    grads = [round(g, 4) for g in w.grad.tolist()]
    problems = [one for one in run.findings if one.severity == "problem"]
    print(f"{fn.__name__:17} {grads!s:15} problems:", len(problems))

# %% [markdown]
# What tells a bug from these? Write down the derivative that you mean. If it goes through the
# detached value, a term of it is missing, even where another path brings a gradient, as in
# `half_cut` above.
#
# ## The tools, and what they do not see
#
# Five mistakes. For each: does plain torch raise, does anomaly mode, does `gradcheck` refuse, and
# what does the doctor find?


# %%
class Tripled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 3  # wrong


# %%
def written(x, through=lambda y: y):
    y = x * 1
    z = y * y
    through(y).add_(1)
    return z


# %%
bugs = {
    "write": written,
    "write by .data": lambda x: written(x, lambda y: y.data),
    "other branch": lambda x: torch.where(x > 5, (x - 5).sqrt(), x),
    "cut": lambda x: x.detach() * x,
    "own backward": Tripled.apply,
}


# %%
def raises(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call()
        except Exception:
            return True
    return False


# %%
def with_anomaly_mode(call):
    with torch.autograd.detect_anomaly():
        call()


# %%
def kinds_found(call):
    run = None
    try:
        with watch() as run:
            call()
    except RuntimeError:
        pass
    return [one.kind for one in run.findings]


# %%
def told_by(fn):
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    plain = raises(lambda: fn(x).sum().backward())
    anomaly = raises(lambda: with_anomaly_mode(lambda: fn(x).sum().backward()))
    refused = raises(lambda: torch.autograd.gradcheck(fn, x))
    return plain, anomaly, refused, ", ".join(kinds_found(lambda: fn(x).sum().backward())) or "-"


# %%
print(f"{'':15} plain  anomaly gradcheck doctor")
for name, fn in bugs.items():
    plain, anomaly, refused, kinds = told_by(fn)
    print(f"{name:15} {plain!s:6} {anomaly!s:7} {refused!s:9} {kinds}")

# %% [markdown]
# Read it by columns. **Anomaly mode** adds NaN to what raises, and the forward line of the node. It
# says nothing of a wrong number, nor of an infinite one. **gradcheck** compares with numbers and
# refuses all five, the first with torch's own error. But it needs a function and float64, and it
# sees nothing of the loop around: the optimizer, the order of the lines, `.grad`. A **hook** tells
# what arrives, and is silent where nothing does:

# %%
w = nn.Parameter(torch.ones(2))
w.register_hook(lambda grad: print("the hook of w:", grad.tolist()))
(w.detach().sum() + bias.sum()).backward()
print("w.grad:", w.grad)

# %% [markdown]
# And gradcheck may refuse a function that is right. At a kink the numbers on both sides differ, and
# in float32 they are too coarse.

# %%
at_the_kink = torch.zeros(1, dtype=torch.float64, requires_grad=True)
single = torch.tensor([0.5, 1.0, 1.5], requires_grad=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it warns of float32
    for fn, points in ((torch.relu, at_the_kink), (torch.sin, single)):
        print(fn.__name__, torch.autograd.gradcheck(fn, points, raise_exception=False))

# %% [markdown]
# The **doctor** watches operators, optimizers and passes. It has no numbers to compare with, so it
# is silent on a wrong backward, on a hook that returns zeros, and on the detached factor of a
# product, which could be meant. And
# it cannot see what ran before it came: it then calls a layer unused that was used and detached.

# %%
layer = nn.Linear(2, 1)
hidden = layer(torch.ones(3, 2)).detach()
with watch(layer) as run:
    (hidden.mean() + bias.sum()).backward()
print(run.explain(layer.weight).findings[0].kind)

# %% [markdown]
# ## Your own step
#
# `DoctorPanel` runs a step once and shows its lines from top to bottom: where values went, and on
# which lines the gradient came back. Choose the finding, and see its line and what to do.

# %%
from insidetorch import DoctorPanel

# %%
encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
batch = torch.ones(8, 4)


# %%
def step():
    features = encoder(batch)
    scores = head(features.detach())
    loss = scores.square().mean()
    loss.backward()


DoctorPanel(step, model=nn.ModuleDict({"encoder": encoder, "head": head}))

# %% [markdown]
# ## The clinic
#
# Here are bugs rebuilt from public reports. For each: read it, run it, look inside, choose a line
# and a cause. First one together.

# %%
from insidetorch import clinic_case

case = clinic_case("013")
case

# %% [markdown]
# The symptom is *no gradient*, for one weight of two. So there is a graph, and somewhere the way to
# `enc` ends. Run it, and look which leaves the graph of its loss has.

# %%
case.run()
print([node.leaf for node in graph_of(case.loss, names=case.names).nodes if node.leaf])

# %% [markdown]
# Nothing before `head`. What stands between `enc` and `head` is `smooth`, and its first line leaves
# torch.

# %%
case.answer("mod_013_filters.py", 7, "item_roundtrip")

# %% [markdown]
# Now you: press *Draw another*. It offers another cause than the one that you solved last, while
# there is one.

# %%
from insidetorch import Clinic

Clinic()

# %% [markdown]
# ## When it bites


# %%
def recorded_in_eval():
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5)).eval()
    return model(torch.ones(1, 2)).requires_grad


# %%
predict(
    "6.10",
    "`model.eval()`, then `model(x)` without `no_grad`. Does the result require a gradient?",
    {
        True: "eval() tells dropout and BatchNorm how to compute. Recording goes on.",
        False: "That is no_grad. A validation loop wants both.",
    },
    reveal=recorded_in_eval,
)

# %% [markdown]
# **Four things that are not the same.** `eval()` changes what layers compute, `no_grad` whether it
# is recorded, `requires_grad_(False)` who gets a gradient, and a buffer is never asked for one.

# %%
x, norm, drop = torch.ones(4, 2), nn.BatchNorm1d(2), nn.Dropout(0.5)
with torch.no_grad():
    print("no_grad: dropout still drops:", bool((drop(torch.ones(1000)) == 0).any()))
    norm(x)
    print("no_grad: the statistics still move:", norm.num_batches_tracked.item() == 1)
norm.requires_grad_(False)(x)
print("frozen: the statistics still move:", norm.num_batches_tracked.item() == 2)
print("a buffer is no parameter:", "running_mean" not in dict(norm.named_parameters()))

# %% [markdown]
# **The notebook holds it.** A loss as the last line of a cell is kept by the notebook, in `Out`.

# %%
last = torch.ones(2, requires_grad=True).exp().sum()
last

# %%
from IPython import get_ipython

del last
shown = [t for t in get_ipython().user_ns["Out"].values() if isinstance(t, torch.Tensor)]
print("a tensor with a graph in Out, after del:", any(t.grad_fn is not None for t in shown))

# %% [markdown]
# `print(last.item())` would have kept nothing.
#
# **A border has a gradient too.** At a kink there is no derivative. torch takes a number between
# the slopes of the two sides: relu the left one, clamp the right one, abs the middle.

# %%
border = torch.zeros(1, requires_grad=True)
for fn in (torch.relu, lambda x: x.clamp(min=0), torch.abs):
    print(torch.autograd.grad(fn(border).sum(), border)[0].item())

# %% [markdown]
# **Allocated and reserved.** On a GPU torch does not give freed memory back at once. It keeps it
# for the next tensor. What your tensors use is *allocated*; that and what torch keeps is
# *reserved*. A tool outside of Python, such as `nvidia-smi`, cannot tell the two apart.

# %% tags=["needs:gpu"]
if torch.cuda.is_available():
    big = torch.empty(2**28, dtype=torch.uint8, device="cuda")
    used = torch.cuda.memory_allocated()
    del big
    print("freed:", used - torch.cuda.memory_allocated() >= 2**28)
    reserved = torch.cuda.memory_reserved()
    print("and still reserved:", reserved - torch.cuda.memory_allocated() >= 2**28)
    torch.cuda.empty_cache()
    print("given back by empty_cache:", reserved - torch.cuda.memory_reserved() >= 2**28)
else:
    print("no GPU here")

# %% [markdown]
# ## Values or graph?
#
# > **What is often said.** "Odd gradients have their cause in how the graph was built, not in the
# > values."
#
# Count over the clinic: how many causes cut the graph, or never let it begin? How many are writes,
# a graph used twice or kept, values, the loop around, or only memory, sizes and dtypes? (This reads
# the kinds of all cases, and prints nothing but counts.)

# %%
from collections import Counter

from insidetorch.learn.clinic_data import clinic_data

written = {"inplace_version", "inplace_leaf", "inplace_view", "inplace_silent", "data"}
kept = {"freed_graph", "graph_leak"}
by_hand = {"custom_function", "custom_op", "non_scalar"}
values = {"flat_op", "nan_where", "nan_edge", "nan_masked", "nan_empty"}
loop = {"zero_grad_missing", "zero_grad_misplaced", "step_order", "accum_scale", "accum_tail"}
loop |= {"unregistered", "stale_optimizer"}
memory = {"storage_shared", "copy_not_view", "overlap_write", "scrambled_view"}
memory |= {"view_incompatible", "broadcast", "dtype_mismatch"}

# %% tags=["claim:4"]
kinds = Counter(clinic_case(case_id).kind for case_id in clinic_data()["cases"])
groups = {"written": written, "used twice or kept": kept, "by hand": by_hand, "values": values}
groups |= {"the loop": loop, "memory and sizes": memory}
counts = {name: sum(kinds[kind] for kind in group) for name, group in groups.items()}
counts = {"cut": sum(kinds.values()) - sum(counts.values()), **counts}

assert counts["cut"] > 0 and counts["values"] > 0  # the graph is a cause, and not the only one
assert counts["cut"] < sum(counts.values()) / 2  # it is not even behind half of them
print(counts)

# %% [markdown]
# A cut is the cause of fewer than half. And three gradients that are odd by their values alone: a
# path leads to `x` in each.

# %% tags=["claim:4"]
x = torch.tensor([0.0], requires_grad=True)
born_of_values = [(-x - 1).relu(), x.clamp(min=1), x.sqrt() * 0]
paths = ["x" in [n.leaf for n in graph_of(y, names={"x": x}).nodes] for y in born_of_values]
grads = [torch.autograd.grad(y.sum(), x)[0].item() for y in born_of_values]

assert all(paths) and grads[:2] == [0.0, 0.0] and grads[2] != grads[2]  # 0, 0, NaN
print("a path to x in each:", paths, "| gradients:", *[abs(grad) for grad in grads])

# %% [markdown]
# ## What the common account says, and what holds
#
# The claims of this chapter, each shown by a cell above.

# %% [markdown] tags=["claims"]
# *(claims table)*

# %% [markdown]
# ## Key points
#
# - One message has many causes. Say first which of the seven symptoms it is.
# - The version error names the node that the changed tensor has now: the writer, if the write was
#   recorded, else the producer; of a view, `AsStrided`.
# - A write raises an error only if a node kept a tensor that shares its version counter. A write
#   through `.data` or NumPy is not counted.
# - `where` computes both branches. Make the argument harmless, not the result.
# - A graph lives as long as somebody holds it. `retain_graph` keeps saved tensors no longer than
#   that, and cures nothing that belongs to an older step.
# - Each tool is blind to something. Know to what.
#
# ## Symptoms of this chapter

# %% [markdown] tags=["symptoms"]
# *(symptom table)*

# %% [markdown]
# ## Monday card
#
# `python -m insidetorch.doctor train.py` runs your script as it is, and tells which line has cut or
# spoiled a gradient, or keeps a graph. Here it is run on a script of ten lines.

# %%
import subprocess
import sys
from tempfile import TemporaryDirectory

# %%
SCRIPT = """\
import torch
from torch import nn
encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
for _ in range(3):
    features = encoder(torch.ones(8, 4)).detach()
    loss = head(features).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

# %%
with TemporaryDirectory() as folder:
    Path(folder, "train.py").write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, "-m", "insidetorch.doctor", "train.py"]
    print(subprocess.run(command, cwd=folder, capture_output=True, text=True).stderr)

# %% [markdown]
# ## The same three ideas elsewhere
#
# Memory read through strides, a record of what was computed, a table that chooses a kernel: they
# are not torch's alone. NumPy has the first. Its strides count bytes, and `.base` says whose memory
# a view reads.

# %%
import numpy as np

table = np.zeros((3, 4), dtype=np.float32)
print("NumPy:", table.T.strides, "bytes | torch:", torch.zeros(3, 4).t().stride(), "elements")
print("the base of the view is the array:", table.T.base is table)
print("a table of kernels, by the dtypes they take and give:", np.add.types[:3], "…")

# %% [markdown]
# NumPy has the third too: `np.add` looks for a kernel by the dtypes. It records nothing. JAX has
# the second in another form: `jax.grad` takes a *function* and returns the function of its
# gradient, as `torch.func.grad` of chapter 4 does. When you meet the next framework, ask three
# things. How does it lay out values in memory? What does it record, and when? How does it choose
# the code that runs?
#
# **Next.** The [exercises of this chapter](../exercises/06_debugging.ipynb), then [the
# end](07_finish.ipynb): a quiz over all six chapters, and the tools on a model of your own.
