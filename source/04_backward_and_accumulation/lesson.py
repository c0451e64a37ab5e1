# %% [markdown]
# # 4 · Backward and accumulation
#
# Chapter 3 read the graph. This one lets the engine run through it, one node at a time. Then come
# the rules of `.grad`: two different sums that are often told as one, and what a training loop does
# with them.
#
# **Afterwards you can**
# - say in which order the engine runs, what a node waits for, and what it sends;
# - tell the sum inside one backward pass from the sum across passes;
# - put `zero_grad`, `backward` and `step` in an order that trains, and say why another does not;
# - accumulate over small batches so that the gradient is that of the large one;
# - say when a graph can be run twice, and take derivatives of derivatives;
# - test a gradient against numbers.
#
# **Time** 75 minutes. **Before this** [chapter 3](03_dynamic_graph.ipynb): nodes, edges, leaves,
# saved tensors.

# %%
import torch
from torch import nn

from insidetorch import BackwardStepper, expect_error, graph_of, predict, record_backward, show

# %% [markdown]
# Two questions about the chapters before.

# %%
ways = {"a.t()": torch.t, "a[:, 1]": lambda a: a[:, 1], "a[[0, 1]]": lambda a: a[[0, 1]]}

# %%
predict(
    "4.1",
    "`a` is a 4 × 4 tensor. Which of these copies values: `a.t()`, `a[:, 1]`, `a[[0, 1]]`?",
    {
        "a.t()": "It only swaps the strides.",
        "a[:, 1]": "A slice is another offset and other sizes over the same memory.",
        "a[[0, 1]]": "A list of indices can name any rows, which strides cannot say: it copies.",
    },
    reveal=lambda: next(name for name, fn in ways.items() if not fn(torch.ones(4, 4))._is_view()),
)

# %%
predict(
    "4.2",
    "Which tensor does the node of `x.exp()` keep for its formula?",
    {
        "its input": "The derivative of exp is exp itself, so the result is what is needed.",
        "its result": "The derivative of exp is exp itself.",
        "nothing": "The derivative depends on x, so something must be kept.",
    },
    reveal=lambda: {"result": "its result", "self": "its input"}[
        graph_of(torch.ones(1, requires_grad=True).exp()).nodes[0].saved[0].name
    ],
)

# %% [markdown]
# ## The same cell twice
#
# Here is a weight, a loss and a backward pass, and then the same pass again. Run the second cell
# once more, as one does in a notebook, and the gradient grows once more.

# %%
w = torch.tensor([1.0, 2.0], requires_grad=True)
(w * 3).sum().backward()
print(w.grad.tolist())

# %%
(w * 3).sum().backward()
print(w.grad.tolist())

# %% [markdown]
# Nothing about the loss has changed, and the gradient has doubled. And here is a training loop in
# which one line stands in the wrong place.


# %%
def train(order):
    w = nn.Parameter(torch.tensor([4.0]))
    optimizer = torch.optim.SGD([w], lr=0.1)
    calls = {"zero": optimizer.zero_grad, "step": optimizer.step}
    for _ in range(5):
        loss = w.pow(2).sum()
        for name in order:
            calls.get(name, loss.backward)()
    return round(w.item(), 4)


# %%
predict(
    "4.3",
    "The loop runs `backward`, then `zero_grad`, then `step`, five times. The weight begins at 4. "
    "What is it at the end?",
    {
        "smaller than 4": "step() has no gradient to work with: it was cleared just before.",
        "exactly 4": "The gradient is cleared between backward and step. There is no error.",
        "an error": "step() skips a parameter without a gradient, and says nothing.",
    },
    reveal=lambda: "exactly 4" if train(["backward", "zero", "step"]) == 4 else "smaller than 4",
)

# %%
for order in (["zero", "backward", "step"], ["backward", "zero", "step"]):
    print(" → ".join(order), "| the weight after five steps:", train(order))

# %% [markdown]
# Both come from one fact: `.grad` is a place that outlives the pass. `backward` adds to it, and
# only `zero_grad` clears it. Before we come to that, look at one pass.
#
# ## One backward pass, node by node
#
# `BackwardStepper` runs the real engine, records what every node receives and sends, and lets you
# step through the record. (It does run `backward`: `.grad` is filled, and the graph is used up.)
# Below is a small loss in which `h` is used three times. Move the slider, and watch for
# 1. which node runs first, and which of two that are *ready* runs next;
# 2. what the node of `h`, the `MulBackward0` above the leaves, *waits for*, and what it receives;
# 3. when a leaf's `.grad` is filled.

# %%
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([3.0, 1.0], requires_grad=True)
h = x * w
loss = (h.relu() + h * h).sum()

BackwardStepper(loss, names={"x": x, "w": w})

# %% [markdown]
# A node gets the gradient of its operator's output and computes those of its inputs. What do
# textbooks call this?
#
# > **What is often said.** "Each node multiplies the incoming gradient with its local Jacobian."
#
# The Jacobian of `y = f(x)` has a row for each value of y and a column for each value of x. For an
# elementwise operator on a million values it would have 10¹² entries, nearly all zero. No node
# builds one. A node has a formula for the **vector-Jacobian product**: the row vector that arrives,
# times the Jacobian, computed directly.

# %% tags=["claim:33"]
x = torch.tensor([0.5, 1.0, 2.0], requires_grad=True)
y = x.exp()
v = torch.tensor([1.0, 10.0, 100.0])
jacobian = torch.autograd.functional.jacobian(torch.exp, x.detach())
y.backward(v)
kept = [saved.sizes for saved in graph_of(x.exp()).nodes[0].saved]

assert torch.allclose(x.grad, v @ jacobian)  # the product is right
assert kept == [(3,)] and jacobian.shape == (3, 3)  # and nothing of the Jacobian's size was there
print("equal to v @ J:", torch.allclose(x.grad, v @ jacobian), "| kept:", kept, "for a J of 3 × 3")

# %% [markdown]
# `y.backward(v)` is how one starts from something else than a single number: you say which vector
# arrives at the start. A loss of one value needs none, since it starts from 1.

# %%
with expect_error(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
    torch.ones(3, requires_grad=True).exp().backward()

# %% [markdown]
# ### When does a node run?
#
# When a value is used twice, two gradients come back to its node.

# %%
a = torch.tensor([1.0], requires_grad=True)
shared = a * 1
loss = (shared * 2 + shared * 3).sum()


def arrivals():
    seen = []
    shared.grad_fn.register_prehook(lambda arrived: seen.append(arrived[0].item()))
    loss.backward(retain_graph=True)
    return tuple(seen)


# %%
predict(
    "4.4",
    "`shared` is used in `shared * 2 + shared * 3`. A hook on its node notes what arrives, each "
    "time the node runs. What does it note in one backward pass?",
    {
        (2.0, 3.0): "That would be one run for each path. The engine waits, adds, and runs once.",
        (5.0,): "Both gradients are merged before the node runs, once.",
        (3.0, 2.0): "A node does not run once for each path.",
    },
    reveal=arrivals,
)

# %% tags=["claim:34"]
b = torch.tensor([1.0], requires_grad=True)
record = record_backward(((h := b * 1) * 2 + h * 3).sum(), names={"b": b})
runs = [step for step in record.steps if record.graph.nodes[step.node].name == "MulBackward0"]
last = runs[-1]  # the node of h, the oldest of the three products

assert len(runs) == 3 and [step.received[0].values for step in runs[:2]] == [(1.0,), (1.0,)]
assert last.received[0].values == (5.0,)
print("the node of h ran once, and received", last.received[0].values)

# %% [markdown]
# ### In which order?
#
# > **What is often said.** "`backward` sorts the graph topologically and then walks it."
#
# The order is topological: no node runs before those that send to it. But nothing is sorted. The
# engine counts, for each node, how many edges lead to it. When a node has run, it counts down for
# its targets, and a target whose count is 0 is put into the **ready queue**. Which of
# several ready nodes is next?


# %%
def first_to_run():
    x = torch.ones(1, requires_grad=True)
    first, second = x.exp(), x.sin()
    record = record_backward((first + second).sum())
    return next(
        record.graph.nodes[s.node].name
        for s in record.steps
        if record.graph.nodes[s.node].name in ("ExpBackward0", "SinBackward0")
    )


# %%
predict(
    "4.5",
    "`first = x.exp()` ran before `second = x.sin()`, and the loss is `first + second`. Both nodes "
    "become ready at the same time. Which one runs first in backward?",
    {
        "ExpBackward0": "It was made first. The engine takes the youngest ready node.",
        "SinBackward0": "It was made last. Among ready nodes the youngest runs first.",
    },
    reveal=first_to_run,
)

# %% [markdown]
# The node that was *made last* comes first, and a leaf's `AccumulateGrad` before all others. (Nodes
# are numbered as they are made, in each thread by itself.) That is the whole rule, and it fits into
# a small model: dependency counts and a queue. Let it predict the order of two hundred random
# graphs, and compare with what the engine really did.

# %% tags=["claim:32"]
from random import Random


def random_loss(random):
    values = [torch.ones(1, requires_grad=True) for _ in range(3)]
    for _ in range(random.randint(3, 20)):
        fn = random.choice([torch.mul, torch.add, torch.atan2])
        values.append(fn(random.choice(values), random.choice(values)))
    return sum(value.sum() for value in values[3:])


records = [record_backward(random_loss(Random(seed))) for seed in range(200)]
assert all(record.as_modelled for record in records)  # counts and a queue give the order
made_first = [record.graph.nodes[record.steps[1].node].age == 0 for record in records]
assert not any(made_first)  # and it is not the order in which the code ran
print(sum(r.as_modelled for r in records), "of", len(records), "random graphs: model = engine")

# %% [markdown]
# > **Where the common account is imprecise.** The result is a topological order, but no *order* is
# > made before the pass: edges are only counted. (By its source code, the engine has a queue for
# > each device.)
#
# The same counting lets you ask for a part of the graph: with `inputs=`, only nodes on the way to
# these leaves run.

# %%
x, z = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
loss = (x * 2 + z.exp()).sum()
record = record_backward(loss, inputs=[x])
print("ran:", [record.graph.nodes[step.node].name for step in record.steps], "| z.grad:", z.grad)

# %% [markdown]
# And what if the edges led in a circle? Then no count on it would ever be 0.
#
# > **What is often said.** "A cycle in the graph would break backward."

# %% tags=["claim:35"]
y = torch.tensor([2.0], requires_grad=True) * 1
old = y.grad_fn
y.mul_(y)
targets = [node for node, _ in y.grad_fn.next_functions]

assert y.grad_fn is not old  # a write in place made another node
assert targets == [old, old]  # that points back at the old one, twice, and not at itself
print("y.mul_(y): the new node", y.grad_fn.name(), "points twice at the old one,", old.name())

# %% [markdown]
# No circle can be built: a new node only ever gets edges to nodes that are there already.
#
# ## Two sums
#
# > **What is often said.** "Gradients of several paths are summed, and that is why `backward()`
# > accumulates into `.grad`."
#
# The first half is mathematics: the merge *inside* one pass, before a node runs. The second half is
# a decision about an attribute: what `AccumulateGrad` does with a `.grad` that is already there.
# Neither needs the other.

# %% tags=["claim:36"]
a = torch.tensor([1.0], requires_grad=True)
passes = [record_backward((a * 2 + a * 3).sum(), names={"a": a}) for _ in range(2)]
ends = [p.steps[-1] for p in passes]
runs = [sum(s.after is not None for s in p.steps) for p in passes]

assert runs == [1, 1]  # two paths, and AccumulateGrad ran once in each pass
assert [end.received[0].values for end in ends] == [(5.0,), (5.0,)]  # merged before it ran
assert ends[1].before.values == (5.0,) and ends[1].after.values == (10.0,)  # the other sum
print("merged in a pass:", ends[1].received[0].values, "| .grad across passes:", a.grad.tolist())

# %% [markdown]
# `torch.autograd.grad` runs the same engine and returns the gradients.

# %%
x = torch.tensor([1.0], requires_grad=True)

# %%
predict(
    "4.6",
    "`g, = torch.autograd.grad((x * 2 + x * 3).sum(), x)`. What is `x.grad` afterwards?",
    {
        None: "grad() returns what backward() would add. It adds nothing.",
        5.0: "That is what it returns. x.grad is not touched.",
    },
    reveal=lambda: (torch.autograd.grad((x * 2 + x * 3).sum(), x), x.grad)[1],
)

# %% [markdown]
# So it has a part in the first sum, and none in the second. `.grad` itself is *one tensor object*
# that later passes write into, until `zero_grad()` puts None in its place. A reference to it is not
# a copy of its value.

# %%
x = torch.tensor([2.0], requires_grad=True)
(x * x).sum().backward()
old = x.grad
(x * x).sum().backward()
print("kept from the first pass:", old.tolist(), "| the same object:", old is x.grad)

# %% [markdown]
# Now the snippet that most texts show. `y` is a result, so it needs `retain_grad`.

# %% tags=["claim:31"]
x = torch.tensor([2.0], requires_grad=True)
y = x**2
y.retain_grad()
(3 * y).sum().backward()

assert y.grad.tolist() == [3.0] and x.grad.tolist() == [12.0]
print("y.grad:", y.grad.tolist(), " x.grad:", x.grad.tolist())

# %% [markdown]
# ## The three lines of a training loop
#
# > **What is often said.** "`zero_grad` must come before `backward`, and `step` after it."
#
# The true rule is about gaps. Between `backward` and `step`, `.grad` must hold this step's
# gradient, and nothing else. So it must be cleared somewhere between a `step` and the next
# `backward`.

# %% tags=["claim:38"]
orders = [["zero", "backward", "step"], ["backward", "step", "zero"]]
fitting = {" ".join(order): train(order) for order in orders}
between = train(["backward", "zero", "step"])

assert set(fitting.values()) == {train(orders[0])} and len(fitting) == 2  # both places are right
assert between == 4.0 != train(orders[0])  # and only one place does harm
for order, weight in {**fitting, "backward zero step": between}.items():
    print(f"{order:20} weight {weight}")

# %% [markdown]
# > **What is often said.** "Without `zero_grad` the steps grow, and the loss explodes."


# %%
def without_zero_grad(loss_of, steps):
    w = nn.Parameter(torch.tensor([3.0]))
    optimizer = torch.optim.SGD([w], lr=0.1)
    found = []
    for _ in range(steps):
        loss_of(w).backward()
        optimizer.step()
        found.append(round(w.item(), 3))
    return found


# %% tags=["claim:37"]
line = without_zero_grad(lambda w: w.sum(), 5)
bowl = without_zero_grad(lambda w: w.pow(2).sum(), 300)
steps = [round(a - b, 3) for a, b in zip([3.0, *line], line, strict=False)]
assert steps == [0.1, 0.2, 0.3, 0.4, 0.5]  # the steps grow while the slope keeps its sign
assert max(map(abs, bowl)) < 3.5 and min(bowl) < 0 < max(bowl[100:])  # and swing, where it turns
print("on a slope, steps of", steps, "| in a bowl, between", min(bowl), "and", max(bowl))

# %% [markdown]
# The sum of all gradients so far acts like a speed without friction. In a bowl the weight swings
# and does not settle. With plain SGD it does not explode either, as long as rate × curvature is
# below 4, and that is what makes the bug hard to see.
#
# `zero_grad()` sets `.grad` to None. Is that the same as zeros?


# %%
def second_step(set_to_none):
    w = nn.Parameter(torch.tensor([1.0]))
    optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    w.sum().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=set_to_none)
    before = w.item()
    optimizer.step()
    return round(w.item() - before, 4)


# %%
predict(
    "4.7",
    "SGD with rate 0.1 and momentum 0.9 has made one step, with the gradient 1. Then come "
    "`zero_grad()` and `step()`, without a backward pass. By how much does the weight move?",
    {
        0.0: "The gradient is None, so the optimizer leaves the parameter out, momentum and all.",
        -0.09: "That is what zeros would give, by zero_grad(set_to_none=False): momentum goes on.",
        -0.1: "That would be a plain step with the old gradient, and it was cleared.",
    },
    reveal=lambda: second_step(True),
)

# %%
print("after None:", second_step(True), "| after zeros:", second_step(False))

# %% [markdown]
# An optimizer leaves out a parameter whose `.grad` is None. With zeros, momentum goes on. This
# matters where only some parameters take part in a step: experts that were not chosen, a head that
# is trained every second time. With None they stand still, with zeros they drift.
#
# ## A large batch in small parts
#
# If the memory holds no large batch, run parts of it, and let `.grad` add up. When is the sum the
# gradient of the large batch?
#
# > **What is often said.** "Divide each loss by the number of parts, and the result is the same."


# %%
samples = torch.arange(10.0)


def accumulated(sizes, weigh):
    w = torch.zeros(1, requires_grad=True)
    for part in samples.split(sizes):
        (weigh(part, sizes) * (w * part).mean()).backward()
    return round(w.grad.item(), 4)


# %%
predict(
    "4.8",
    "Ten samples, 0 to 9, and the loss is `(w * part).mean()`. The gradient of the whole batch is "
    "4.5. The parts are of 4, 4 and 2 samples, each loss divided by 3. What is the gradient?",
    {
        4.5: "The last part has two samples and the weight of four. Their mean, 8.5, counts too "
        "much.",
        5.1667: "(1.5 + 5.5 + 8.5) / 3: the last two samples count twice as much as the others.",
        15.5: "That is the sum of the three means: nothing was divided.",
    },
    reveal=lambda: accumulated([4, 4, 2], lambda part, sizes: 1 / len(sizes)),
)

# %% tags=["claim:39"]
by_number = {tuple(s): accumulated(s, lambda p, s: 1 / len(s)) for s in ([5, 5], [4, 4, 2])}
by_share = accumulated([4, 4, 2], lambda part, sizes: len(part) / 10)

assert by_number[5, 5] == 4.5  # equal parts: equal
assert by_number[4, 4, 2] != 4.5 and by_share == 4.5  # a short part: only by its share
print("divided by the number of parts:", by_number, "| by the share of samples:", by_share)

# %% [markdown]
# A mean of means is the overall mean if each is over the same number of values. So weigh each part
# by how many of *what the loss counts* it holds. With `ignore_index`, that is not the number of
# samples. In the lab, find settings that give the gradient of the whole batch
# 1. with four samples a part;
# 2. with ignored targets;
# 3. with BatchNorm. (Is there one?)

# %%
from insidetorch import AccumulationLab

AccumulationLab(4)

# %% tags=["claim:40"]
torch.manual_seed(0)
data = torch.randn(8, 3)
whole, parts = nn.BatchNorm1d(3), nn.BatchNorm1d(3)
at_once = whole(data)
in_parts = torch.cat([parts(part) for part in data.split(4)])

assert not torch.allclose(at_once, in_parts)
assert (whole.num_batches_tracked.item(), parts.num_batches_tracked.item()) == (1, 2)
assert not torch.allclose(whole.running_mean, parts.running_mean)
print("equal outputs:", torch.allclose(at_once, in_parts), "| updates of the statistics: 1 and 2")

# %% [markdown]
# No weighing repairs that: BatchNorm in training mode normalises each part by the part's own mean.
# (In the lab one setting works: ten samples a part, which is no split at all.)
#
# > **What is often said.** "If you forget to divide, the learning rate is higher."


# %%
def sgd(rate):
    return lambda weights: torch.optim.SGD(weights, lr=rate)


def adam(weights):
    return torch.optim.Adam(weights, lr=0.1, eps=1e-15)


# %%
def weights_after(make, divide):
    w = nn.Parameter(torch.tensor([2.0], dtype=torch.float64))
    optimizer = make([w])
    for _ in range(4):
        optimizer.zero_grad()
        for _ in range(5):
            (w.pow(2).sum() / divide).backward()
        optimizer.step()
    return w.item()


# %% tags=["claim:61"]
undivided, divided = (weights_after(sgd(0.01), divide) for divide in (1, 5))
by_rate = weights_after(sgd(0.05), 5)
with_adam = [weights_after(adam, divide) for divide in (1, 5)]

assert undivided != divided and abs(undivided - by_rate) < 1e-12  # SGD: five times the rate
assert abs(with_adam[0] - with_adam[1]) < 1e-12  # Adam: the same weights
print("SGD, undivided at rate 0.01:", round(undivided, 6), "| divided at 0.05:", round(by_rate, 6))
print("Adam, undivided:", round(with_adam[0], 6), "| divided:", round(with_adam[1], 6))

# %% [markdown]
# Adam divides by the size of past gradients, and the common factor goes with it, as long as the
# gradients are much larger than its `eps` (very small here). Not so once something else depends on
# the size, such as clipping.
#
# What belongs to the sum comes after the last part: clipping, unscaling a scaled loss, the step.
# Below, two parts give [3, 0] and [0, 4]. Clipped to norm 1 at the end, the direction is kept.


# %%
def clipped(each_time):
    w = nn.Parameter(torch.zeros(2))
    for part in (torch.tensor([3.0, 0.0]), torch.tensor([0.0, 4.0])):
        (w * part).sum().backward()
        if each_time:
            nn.utils.clip_grad_norm_([w], 1.0)
    nn.utils.clip_grad_norm_([w], 1.0)
    return [round(value, 2) for value in w.grad.tolist()]


print("clipped at the end:", clipped(False), "| after each part:", clipped(True))

# %% [markdown]
# And the last group of an epoch may be incomplete. Step it too, or its gradient is lost, or leaks
# into the next epoch.
#
# ## Running a graph twice
#
# A backward pass frees what the nodes keep. The nodes themselves stay.


# %%
def twice(fn):
    x = torch.ones(2, requires_grad=True)
    loss = fn(x).sum()
    loss.backward()
    try:
        loss.backward()
    except RuntimeError:
        return "an error"
    return "works"


# %%
predict(
    "4.9",
    "`loss.backward()` is called twice on one graph. What does the second call give for `x + x`, "
    "and what for `x * 3`?",
    {
        ("works", "works"): "x * 3 keeps the 3 as a tensor. It is freed in the first pass.",
        ("works", "an error"): "x + x keeps nothing, so nothing is missing. x * 3 keeps the 3.",
        ("an error", "an error"): "The nodes are still there. What is freed is what they kept.",
    },
    reveal=lambda: (twice(lambda x: x + x), twice(lambda x: x * 3)),
)

# %%
x = torch.ones(2, requires_grad=True)
loss = (x * x).sum()
loss.backward()
show(graph_of(loss, names={"x": x}))

# %% [markdown]
# Two losses over a shared trunk have the same problem: the first backward pass frees what the trunk
# keeps. There are three answers. **One pass** over the sum of the losses runs the trunk once.
# `retain_graph=True` in the first call keeps the graph for one more pass; the trunk then runs
# twice. And a trunk that should not learn from the second loss is detached.

# %%
trunk = nn.Linear(2, 2)
features = trunk(torch.ones(1, 2)).tanh()
one, other = features.sum(), features.pow(2).sum()
one.backward(retain_graph=True)
other.backward()
in_two = trunk.weight.grad.clone()
trunk.zero_grad()
features = trunk(torch.ones(1, 2)).tanh()
(features.sum() + features.pow(2).sum()).backward()
print("the same gradient by one pass over the sum:", torch.allclose(in_two, trunk.weight.grad))

# %% [markdown]
# `retain_graph=True` is no cure for "backward a second time" where the graph of an *old* step is
# still used, for instance by a recurrent state. There it makes each pass longer, and as soon
# as an optimizer writes in between, another error comes. Chapter 6 shows this.
#
# ## Derivatives of derivatives
#
# The formulas of the nodes are made of torch operators. With `create_graph=True` they are recorded
# while they run, and the gradient has a graph of its own.

# %% tags=["claim:41"]
x = torch.tensor([2.0], requires_grad=True)
(slope,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
(curve,) = torch.autograd.grad(slope.sum(), x)

assert curve.item() == 12.0  # the value is right
assert str(curve) == "tensor([12.])" != "12.0"  # and it prints as a tensor of the shape of x
print(curve)

# %%
from insidetorch import SecondOrderExplorer

SecondOrderExplorer(lambda x: x.exp() * x, 1.0)

# %% [markdown]
# Move the slider and see which nodes are new and which were there before. Then take the tick off
# `create_graph`, which concerns the last pass: the derivative is there, and has no graph.

# %% tags=["claim:43"]
x = torch.tensor([2.0], requires_grad=True)
value = x**3
(slope,) = torch.autograd.grad(value, x, torch.ones(1), create_graph=True)
sizes = len(graph_of(value).nodes), len(graph_of(slope).nodes)

assert sizes == (2, 4)
print("nodes behind the value and behind the derivative:", *sizes)

# %% [markdown]
# > **What is often said.** "For higher orders, pass `create_graph=True` to `backward()`."
#
# That puts a gradient *with a graph* into `.grad`, and the graph holds the parameter: a cycle
# through C++, which Python's garbage collector does not see. It stays until you set `w.grad =
# None`. torch warns of it. `autograd.grad` gives the same and stores nothing.

# %%
import warnings

torch.set_warn_always(True)  # else torch gives this warning once in a session

# %% tags=["claim:42"]
w = nn.Parameter(torch.tensor([2.0]))
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    w.pow(3).sum().backward(create_graph=True)
    by_backward, w.grad = w.grad, None
    (by_grad,) = torch.autograd.grad(w.pow(3).sum(), w, create_graph=True)

assert torch.equal(by_backward, by_grad) and by_grad.grad_fn is not None  # the same gradient
assert len(told) == 1 and "reference cycle" in str(told[0].message)  # and one of them warns
torch.set_warn_always(False)
print("equal:", torch.equal(by_backward, by_grad), "| warnings:", len(told), "of backward()")

# %%
import gc
import weakref


class Token:
    pass


# %%
def alive_after_del(clear):
    w, token = nn.Parameter(torch.tensor([2.0])), Token()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        w.pow(3).sum().backward(create_graph=True)
    w.grad.grad_fn.metadata["token"], alive = token, weakref.ref(token)
    if clear:
        w.grad = None
    del w, token
    gc.collect()
    return alive() is not None


# %% tags=["claim:42"]
assert alive_after_del(clear=False) and not alive_after_del(clear=True)
print(
    "alive after del and gc.collect():", alive_after_del(False), "| with .grad = None before: False"
)

# %% [markdown]
# Without `create_graph`, a gradient is a plain tensor. A penalty on it trains nothing:

# %%
critic = nn.Linear(2, 1, bias=False)
point = torch.ones(1, 2, requires_grad=True)
for create in (False, True):
    (slope,) = torch.autograd.grad(critic(point).sum(), point, create_graph=create)
    penalty = (slope.norm() - 1) ** 2
    print(f"create_graph={create!s:5} the penalty requires a gradient: {penalty.requires_grad}")

# %% [markdown]
# ## Is this gradient right?
#
# `gradcheck` compares the gradients of a function with differences of its values, in float64.
# `gradgradcheck` does it for second derivatives. Use them for each formula of your own. Here is one
# with a mistake.


# %%
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return (grad * 2).expand(2, 2)  # wrong: one gradient too many


def gradient_of_double():
    x = torch.ones(2, requires_grad=True)
    Double.apply(x).sum().backward()
    return tuple(x.grad.tolist())


# %%
predict(
    "4.10",
    "x has size (2,). The backward above returns a gradient of size (2, 2) with all values 2. What "
    "is `x.grad` after `Double.apply(x).sum().backward()`?",
    {
        "an error": "Sizes that could come from broadcasting are summed, without a word.",
        (2.0, 2.0): "That would be right. The engine sums the two rows.",
        (4.0, 4.0): "The engine sums the rows, since (2,) could have been broadcast to (2, 2).",
    },
    reveal=gradient_of_double,
)

# %%
from torch.autograd import gradcheck

points = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
print("torch.sin:", gradcheck(torch.sin, points))
try:
    gradcheck(Double.apply, points)
except Exception as error:
    print("Double:", type(error).__name__)

# %% [markdown]
# ## When it bites
#
# **Gradients that nobody needs any more.** A training step keeps every `.grad` until `zero_grad`. A
# hook that runs right after a leaf's `.grad` is filled can take the step there and then, and free
# it: at most one `.grad` is filled at a time. (This does not go with accumulation, nor with
# clipping by the norm of all gradients.)

# %%
model = nn.Sequential(*[nn.Linear(4, 4) for _ in range(8)])
parameters, alive = list(model.parameters()), []


def step_and_free(parameter):
    alive.append(sum(p.grad is not None for p in parameters))
    with torch.no_grad():
        parameter -= 0.1 * parameter.grad
    parameter.grad = None


# %%
hooks = [p.register_post_accumulate_grad_hook(step_and_free) for p in parameters]
model(torch.ones(1, 4)).sum().backward()
print(len(parameters), "parameters, filled at a time at most:", max(alive))
for hook in hooks:
    hook.remove()

# %% [markdown]
# **A hook that changes what it only wanted to see.** What a tensor hook returns replaces the
# gradient. `print` returns None; an expression does not.

# %%
x = torch.ones(1, requires_grad=True)
y = x * 2
y.register_hook(lambda gradient: gradient * 10)
y.sum().backward()
print("2 without the hook, and with it:", x.grad.item())

# %% [markdown]
# **The other way of asking.** `torch.func.grad` turns a function into the function of its gradient.
# No `.grad`, no accumulation, no `requires_grad`: all of this chapter's bookkeeping is inside of
# it.

# %%
slope_of = torch.func.grad(lambda w: (w**3).sum())
curve_of = torch.func.grad(lambda w: slope_of(w).sum())
print(slope_of(torch.tensor([2.0])).tolist(), curve_of(torch.tensor([2.0])).tolist())

# %% [markdown]
# ## What the common account says, and what holds
#
# The claims of this chapter, each shown by a cell above.

# %% [markdown] tags=["claims"]
# *(claims table)*

# %% [markdown]
# ## Key points
#
# - A node waits until all has arrived, sums it, and runs once. Among ready nodes the youngest runs
#   first, and a leaf before all others.
# - A node computes a vector-Jacobian product. The Jacobian is never built.
# - Paths are summed inside a pass; passes are summed in `.grad`. These are two sums.
# - Clear `.grad` anywhere between `step` and the next `backward`. None is not zero.
# - Weigh each part of a batch by what its loss counts. BatchNorm in training cannot be split.
# - A pass frees what nodes keep. `create_graph` records the pass; use `autograd.grad` for it.
#
# ## Symptoms of this chapter

# %% [markdown] tags=["symptoms"]
# *(symptom table)*

# %% [markdown]
# ## Monday card
#
# In your own script, run one backward pass under the recorder instead of `loss.backward()`: which
# parameters receive something, and how large is it?


# %%
def what_arrives(model, loss):
    record = record_backward(loss, module=model)
    for step in record.steps:
        leaf = record.graph.nodes[step.node].leaf
        if leaf:
            print(f"{leaf:12} gradient of norm {step.after.norm:.4g}")


net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
for parameter in net.parameters():
    nn.init.ones_(parameter)
what_arrives(net, net(torch.ones(1, 2)).sum())

# %% [markdown]
# **Next.** The [exercises of this chapter](../exercises/04_backward_and_accumulation.ipynb), then
# [chapter 5](05_dispatch_and_fusion.ipynb): what happens inside one call.
