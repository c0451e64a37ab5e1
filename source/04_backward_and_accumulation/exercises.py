# %% [markdown]
# # Exercises 4 · Backward and accumulation
#
# Each exercise has a cell for your answer and, folded away below it, a cell that checks it. Run
# both. A check knows three outcomes: not attempted, not yet, right. Where it recognises a mistake,
# it says which.
#
# - `hint("4.2")` in a cell of your own helps in three steps: each run shows one hint more.
# - `progress()` shows how far you are.
# - `python course.py reset 4.2`, typed in a terminal in the course's folder, puts the stub of an
#   exercise back and keeps your old notebook.
#
# *Core* exercises take about an hour together, *extra* ones come on top. In a *complete* exercise
# you write a function, in a *repair* you mend one that is given, and in a *build* you write a piece
# of a small torch of your own, in plain Python.

# %%
import torch
from torch.nn.functional import cross_entropy

from insidetorch import check, hint, progress

# %% tags=["4.1", "about"]
title = "Three backward formulas by hand"
kind = "complete"
core = True
difficulty = 2
minutes = 12
points = 3

# %% [markdown] tags=["4.1", "statement"]
# A node gets `grad`, the gradient of its output, and gives the gradients of its inputs: a
# vector-Jacobian product, without any Jacobian. Write three of them, with operators of torch, but
# without autograd.
#
# - `matmul_backward(a, b, grad)`, of `a @ b`, returns two gradients. Both inputs have two
#   dimensions or more; those before the last two are a batch, and they broadcast.
# - `softmax_backward(x, dim, grad)`, of `x.softmax(dim)`, returns one.
# - `logsumexp_backward(x, dim, grad)`, of `x.logsumexp(dim)`, returns one. The output has
#   one dimension fewer than `x`.
#
# `dim` may be negative. All tensors are float64, and none requires a gradient.
#
# **Done when** sizes and values are those of `torch.autograd.grad`, for batches that broadcast and
# every `dim`. The formulas are your own: no autograd, no derivative of `torch.func`, no operator
# with "backward" in its name, no other thread. No tensor on the way has more values than `x`; for
# matmul, than `a @ b` has, times the length of a row of `a`. What your functions are given is
# unchanged.


# %% tags=["4.1", "answer"]
def matmul_backward(a, b, grad):
    ### BEGIN SOLUTION
    return (grad @ b.mT).sum_to_size(a.shape), (a.mT @ grad).sum_to_size(b.shape)
    ### END SOLUTION


def softmax_backward(x, dim, grad):
    ### BEGIN SOLUTION
    y = x.softmax(dim)
    return y * (grad - (grad * y).sum(dim, keepdim=True))
    ### END SOLUTION


def logsumexp_backward(x, dim, grad):
    ### BEGIN SOLUTION
    return x.softmax(dim) * grad.unsqueeze(dim)
    ### END SOLUTION


# %% tags=["4.1", "check"]
import threading

from torch.overrides import TorchFunctionMode

from insidetorch import count

forwards = {"matmul": torch.matmul, "softmax": torch.softmax, "logsumexp": torch.logsumexp}
backwards = {
    "matmul": matmul_backward,
    "softmax": softmax_backward,
    "logsumexp": logsumexp_backward,
}


def numbers(sizes, start):
    n = torch.Size(sizes).numel()
    return ((torch.arange(n) * 5 + start) % 7 - 3).double().view(sizes)


def inputs_of(name, sizes, other):
    return numbers(sizes, 0), numbers(other, 3) if name == "matmul" else other


class Watch(TorchFunctionMode):
    """Does what runs have a history or carry a tangent, and how large does a tensor get?"""

    def __init__(self):
        super().__init__()
        self.derives, self.most_values = False, 0

    def __torch_function__(self, fn, types, args=(), kwargs=None):
        out = fn(*args, **(kwargs or {}))
        for t in out if isinstance(out, tuple | list) else [out]:
            if isinstance(t, torch.Tensor):
                # Every derivative in forward mode begins with a dual tensor.
                self.derives |= t.requires_grad or "make_dual" in getattr(fn, "__name__", "")
                self.most_values = max(self.most_values, t.numel())
        return out


def described(gradients, *, used=False, thread=False, jacobian=False, unchanged=True):
    values = [[list(g.shape), g.round(decimals=6).tolist(), g.dtype] for g in gradients]
    return {
        "gradients": values,
        "autograd used": used,
        "another thread used": thread,
        "as large as a Jacobian": jacobian,
        "given tensors unchanged": unchanged,
    }


def run_backward(name, sizes, other):
    inputs, threads, found = inputs_of(name, sizes, other), [], []
    grad = numbers(forwards[name](*inputs).shape, 2)
    given = [t for t in (*inputs, grad) if isinstance(t, torch.Tensor)]
    before, profile = [t.tolist() for t in given], threading.getprofile()
    # What runs in another thread is not seen, so that none may run.
    threading.setprofile(lambda *_: threads.append("started"))
    try:
        with Watch() as watch:
            ran = count(lambda: found.append(backwards[name](*inputs, grad)))
    finally:
        threading.setprofile(profile)
    backward = any("backward" in operator for operator, _ in ran.calls)
    most = grad.numel() * sizes[-1] if name == "matmul" else inputs[0].numel()
    return described(
        found[0] if name == "matmul" else found,
        used=watch.derives or backward,
        thread=bool(threads),
        jacobian=watch.most_values > most,
        unchanged=before == [t.tolist() for t in given],
    )


def autograd_says(name, sizes, other):
    inputs = inputs_of(name, sizes, other)
    leaves = [t.requires_grad_() for t in inputs if isinstance(t, torch.Tensor)]
    out = forwards[name](*inputs)
    return described(torch.autograd.grad(out, leaves, numbers(out.shape, 2)))


cases = [("matmul", (2, 3), (3, 4)), ("matmul", (3, 3), (3, 3)), ("matmul", (2, 2, 3), (3, 2))]
cases += [("matmul", (1, 2, 3), (4, 3, 2)), ("matmul", (2, 1, 2, 3), (4, 3, 1))]
for name in ("softmax", "logsumexp"):
    cases += [(name, (3, 3), 0), (name, (3, 3), -1), (name, (2, 3, 2), 1), (name, (2, 3, 2), -3)]

check("4.1", run_backward, cases, torch_says=autograd_says)


# %% tags=["4.1", "wrong"]
# The gradients of matmul have the sizes of the whole batch. An input that was broadcast was used
# several times: sum over these uses, down to its own sizes.
def matmul_backward(a, b, grad):
    return grad @ b.mT, a.mT @ grad


# %% tags=["4.1", "wrong"]
# A batch dimension of size 1 is gone from a gradient of matmul. Sum over it, but keep it: a
# gradient has exactly the sizes of its tensor.
def matmul_backward(a, b, grad):
    def summed(t, sizes):
        padded = [0] * (t.dim() - len(sizes)) + list(sizes)
        dims = [d for d in range(t.dim()) if padded[d] != t.shape[d]]
        return t.sum(dims) if dims else t

    return summed(grad @ b.mT, a.shape), summed(a.mT @ grad, b.shape)


# %% tags=["4.1", "wrong"]
# You take softmax for an elementwise function, as sigmoid is. Each output depends on every input
# along dim, so there is a sum in the formula.
def softmax_backward(x, dim, grad):
    y = x.softmax(dim)
    return grad * y * (1 - y)


# %% tags=["4.1", "wrong"]
# The sum in softmax_backward runs over the last dimension. It belongs along dim.
def softmax_backward(x, dim, grad):
    y = x.softmax(dim)
    return y * (grad - (grad * y).sum(-1, keepdim=True))


# %% tags=["4.1", "wrong"]
# In logsumexp_backward the gradient is broadcast from the right, and so it meets the wrong numbers
# of x. The output has lost dim: put it back into grad, with size 1.
def logsumexp_backward(x, dim, grad):
    return x.softmax(dim) * grad


# %% tags=["4.1", "wrong"]
# The numbers are right, but softmax_backward writes into grad. Another node may be given the same
# tensor: a formula makes new ones.
def softmax_backward(x, dim, grad):
    y = x.softmax(dim)
    return grad.sub_((grad * y).sum(dim, keepdim=True)).mul_(y)


# %% tags=["4.1", "wrong"]
# You let autograd compute them. Here you are the formula that it calls.
def matmul_backward(a, b, grad):
    a, b = a.clone().requires_grad_(), b.clone().requires_grad_()
    return torch.autograd.grad(a @ b, (a, b), grad)


def softmax_backward(x, dim, grad):
    x = x.clone().requires_grad_()
    return torch.autograd.grad(x.softmax(dim), x, grad)[0]


def logsumexp_backward(x, dim, grad):
    x = x.clone().requires_grad_()
    return torch.autograd.grad(x.logsumexp(dim), x, grad)[0]


# %% tags=["4.1", "wrong"]
# You compute all derivatives of softmax and multiply by grad then. For 50,000 words that is a
# matrix with 2.5 billion numbers; a vector-Jacobian product never makes it.
def softmax_backward(x, dim, grad):
    y = x.softmax(dim).movedim(dim, -1)
    jacobian = y.diag_embed() - y.unsqueeze(-1) * y.unsqueeze(-2)
    product = jacobian @ grad.movedim(dim, -1).unsqueeze(-1)
    return product.squeeze(-1).movedim(-1, dim)


# %% tags=["4.1", "wrong"]
# torch.func computes the whole Jacobian for you. What is asked for is a formula of your own, which
# gets by without the table of all derivatives.
def softmax_backward(x, dim, grad):
    jacobian = torch.func.jacfwd(lambda t: t.softmax(dim))(x)
    return torch.tensordot(grad, jacobian, grad.dim())


def logsumexp_backward(x, dim, grad):
    jacobian = torch.func.jacfwd(lambda t: t.logsumexp(dim))(x)
    return torch.tensordot(grad, jacobian, grad.dim())


# %% [markdown] tags=["4.1", "hint"]
# A gradient has the sizes of its tensor; that leaves few ways to multiply two matrices.
# `t.sum_to_size(sizes)` undoes a broadcast.

# %% [markdown] tags=["4.1", "hint"]
# Softmax: y_i = e_i / Σ e_j. Its derivative with respect to x_j is y_i (1 − y_j) for i = j and
# −y_i y_j otherwise. Multiply by grad_i and sum over i. Logsumexp: its derivative with respect to
# x_j is y_j.

# %% [markdown] tags=["4.1", "hint"]
# `grad @ b.mT` and `a.mT @ grad`, each summed to size; `y * (grad - (grad * y).sum(dim,
# keepdim=True))`; and `x.softmax(dim) * grad.unsqueeze(dim)`.

# %% [markdown] tags=["4.1", "afterword"]
# For a softmax over 50,000 words the Jacobian would have 2.5 billion numbers for each row. Your
# formula needs the output, and so that is what torch saves for it.

# %% tags=["4.2", "about"]
title = "Six loops and their witnesses"
kind = "repair"
core = False
difficulty = 2
minutes = 12
points = 3
judge = "insidetorch.learn.judges.witnesses_of_loops"

# %% [markdown] tags=["4.2", "statement"]
# Each of the six loops below is to make one step for each number of a batch, along the gradient for
# that number alone. Some of them do something else. `weight` is 0 at first, its `.grad` is None,
# and the optimizer is `SGD([weight], lr=0.25)`.
#
# `wrong_loops()` returns a dict with an entry for each loop that is wrong, and none for a loop that
# is right: its letter, and a pair of
#
# - the loop mended, a function with the same arguments (it may be one of the six),
# - a *witness*: a batch, a list of one to four numbers from −2 to 2, after which the loop as it
#   stands below leaves another weight than a right loop.
#
# **Done when** every wrong loop is found, mended, and convicted by its witness. A loop is mended if
# each step takes the gradient for its number, and the weight is right at the end. There are many
# right answers.


# %% tags=["4.2", "setup"]
def loop_a(weight, optimizer, batch):
    for x in batch:
        optimizer.zero_grad()
        loss = (weight * x - 1) ** 2
        loss.backward()
        optimizer.step()


def loop_b(weight, optimizer, batch):
    optimizer.zero_grad()
    for x in batch:
        loss = (weight * x - 1) ** 2
        loss.backward()
        optimizer.step()


def loop_c(weight, optimizer, batch):
    for x in batch:
        loss = (weight * x - 1) ** 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def loop_d(weight, optimizer, batch):
    for x in batch:
        loss = (weight * x - 1) ** 2
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()


def loop_e(weight, optimizer, batch):
    for x in batch:
        loss = (weight * x - 1) ** 2
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def loop_f(weight, optimizer, batch):
    for x in batch:
        loss = (weight * x - 1) ** 2
        optimizer.step()
        optimizer.zero_grad()
        loss.backward()


# %% tags=["4.2", "answer"]
def wrong_loops():
    ### BEGIN SOLUTION
    return {"b": (loop_a, [1, 1]), "d": (loop_a, [1]), "f": (loop_a, [1])}
    ### END SOLUTION


# %% tags=["4.2", "given"]
def wrong_loops():
    # For example {"a": (a function, [1, 2])}, if loop_a were wrong.
    return {}


# %% tags=["4.2", "check"]
loops = {"a": loop_a, "b": loop_b, "c": loop_c, "d": loop_d, "e": loop_e, "f": loop_f}


def run_loop(loop, batch):
    """The gradients that the steps of a loop take, and the weight that it leaves."""
    weight, steps = torch.zeros((), requires_grad=True), []
    optimizer = torch.optim.SGD([weight], lr=0.25)

    def before_step(*_):
        if weight.grad is not None:  # without a gradient a step does nothing
            steps.append(weight.grad.item())

    optimizer.register_step_pre_hook(before_step)
    loop(weight, optimizer, batch)
    return {"batch": batch, "steps": steps, "weight": weight.item()}


def try_witnesses():
    batches = [[1, 2, -1], [0.5], [1, 1, -2, 1]]
    return {
        letter: {
            "mended": [run_loop(mended, batch) for batch in batches],
            "witness": run_loop(loops[letter], witness),
        }
        for letter, (mended, witness) in wrong_loops().items()
    }


check("4.2", try_witnesses, [()])


# %% tags=["4.2", "wrong"]
# The witness against b has a single step, and its first step is right. Only the second one takes
# the first gradient along.
def wrong_loops():
    return {"b": (loop_a, [1]), "d": (loop_a, [1]), "f": (loop_a, [1])}


# %% tags=["4.2", "wrong"]
# You convict c and e as well, and the witnesses say no. zero_grad may stand anywhere between a step
# and the next backward.
def wrong_loops():
    wrong = {"b": (loop_a, [1, 1]), "d": (loop_a, [1]), "f": (loop_a, [1])}
    return wrong | {"c": (loop_a, [1, 1]), "e": (loop_a, [1, 1])}


# %% tags=["4.2", "wrong"]
# b goes free, though it clears the gradient only once. backward adds to what is there.
def wrong_loops():
    return {"d": (loop_a, [1]), "f": (loop_a, [1])}


# %% tags=["4.2", "wrong"]
# f goes free. Its step takes the gradient of the number before, and the last gradient is never
# used.
def wrong_loops():
    return {"b": (loop_a, [1, 1]), "d": (loop_a, [1])}


# %% tags=["4.2", "wrong"]
# d goes free, though it throws each gradient away before the step.
def wrong_loops():
    return {"b": (loop_a, [1, 1]), "f": (loop_a, [1])}


# %% tags=["4.2", "wrong"]
# The loops are found, but mended is none: with zero_grad and step in these places they are still
# other loops than the right one.
def wrong_loops():
    return {"b": (loop_d, [1, 1]), "d": (loop_b, [1]), "f": (loop_d, [1])}


# %% tags=["4.2", "wrong"]
# Your mended loop leaves the right weight, but it computes it without the optimizer. The loop is to
# be mended: backward gives the gradient, and step takes it.
def wrong_loops():
    def by_hand(weight, optimizer, batch):
        for x in batch:
            weight.data -= 0.25 * 2 * (weight.data * x - 1) * x

    return {"b": (by_hand, [1, 1]), "d": (by_hand, [1]), "f": (by_hand, [1])}


# %% [markdown] tags=["4.2", "hint"]
# Follow `weight.grad` from line to line, over two numbers. What stands in it when `step` reads it?

# %% [markdown] tags=["4.2", "hint"]
# Between `backward` and the next `step` the gradient must stay; between `step` and the next
# `backward` it must go. Three loops do both.

# %% [markdown] tags=["4.2", "hint"]
# b never clears the gradient again, d clears it too early, and f steps before there is one. A
# witness needs a step at which that shows: `[1]` for two of them, two numbers for the third.

# %% [markdown] tags=["4.2", "afterword"]
# "Always call zero_grad first" is a habit, not the rule. The rule is about what `.grad` holds when
# `step` reads it. And none of the wrong loops raised an error.

# %% tags=["4.3", "about"]
title = "Small parts, one big batch"
kind = "repair"
core = True
difficulty = 2
minutes = 10
points = 3

# %% [markdown] tags=["4.3", "statement"]
# `train` adds up the gradients of `size` parts and then makes one step, to get by with little
# memory. `parts` is a list of pairs (inputs, targets). A target of `-100` is ignored by
# `cross_entropy`: its mean is over the other targets. The gradient at a step is to be that of
# `cross_entropy` on the whole group as one big batch. The last group may have fewer than `size`
# parts, and parts may have different lengths. A part may have only targets that are ignored, and
# then it is up to you whether it goes through the model; a group never has only these.
#
# **Done when** every group, the last one too, gets one step with the gradient of the big batch, and
# no more than one part is in memory: each part goes through the model on its own, and backward runs
# before the next one does.


# %% tags=["4.3", "answer"]
def train(model, optimizer, parts, size):
    ### BEGIN SOLUTION
    for start in range(0, len(parts), size):
        group = parts[start : start + size]
        kept = sum((targets != -100).sum() for _, targets in group)
        optimizer.zero_grad()
        for inputs, targets in group:
            loss = cross_entropy(model(inputs), targets, reduction="sum") / kept
            loss.backward()
        optimizer.step()
    ### END SOLUTION


# %% tags=["4.3", "given"]
def train(model, optimizer, parts, size):
    for i, (inputs, targets) in enumerate(parts):
        loss = cross_entropy(model(inputs), targets) / size
        loss.backward()
        if (i + 1) % size == 0:
            optimizer.step()
            optimizer.zero_grad()


# %% tags=["4.3", "check"]
def inputs_for(targets):
    return (torch.arange(2 * len(targets)) * 5 % 7 - 3).double().view(-1, 2)


def new_model():
    model = torch.nn.Linear(2, 3, bias=False).double()
    model.weight.data = torch.tensor([[1, -2], [0, 1], [2, 0]]).double() / 4
    return model


def rounded(gradient):
    return gradient.round(decimals=6).tolist()


def watch_training(parts, size):
    model, order, gradients = new_model(), [], []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    model.register_forward_pre_hook(lambda _, inputs: order.append(f"forward {len(inputs[0])}"))
    model.weight.register_post_accumulate_grad_hook(lambda _: order.append("backward"))

    def before_step(*_):
        order.append("step")
        gradients.append(rounded(model.weight.grad))

    optimizer.register_step_pre_hook(before_step)
    parts = [(inputs_for(targets), torch.tensor(targets)) for targets in parts]
    train(model, optimizer, parts, size)
    return {"order": without_idle(order), "gradients": gradients}


def without_idle(order):
    """The order without the part of five ignored targets, which may run or not."""
    words = ", ".join(order).replace("forward 5, backward", "").replace("forward 5", "")
    return [word for word in words.split(", ") if word]


def big_batches(parts, size):
    model, order, gradients = new_model(), [], []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for start in range(0, len(parts), size):
        group = parts[start : start + size]
        order += [word for t in group for word in (f"forward {len(t)}", "backward")] + ["step"]
        optimizer.zero_grad()
        inputs = torch.cat([inputs_for(targets) for targets in group])
        cross_entropy(model(inputs), torch.cat([torch.tensor(t) for t in group])).backward()
        gradients.append(rounded(model.weight.grad))
        optimizer.step()
    return {"order": without_idle(order), "gradients": gradients}


batches = [
    ([[0, 1], [2, 0], [1, 1], [0, 2]], 2),
    ([[0, 1, 2], [2, -100, 0], [1]], 2),
    ([[0, -100, -100], [1, 2, 2], [-100, 2], [-100] * 5, [1, 0]], 3),
]
check("4.3", watch_training, batches, torch_says=big_batches)


# %% tags=["4.3", "wrong"]
# The parts are weighted right, but a last group that is not full never gets its step. Its gradient
# would leak into the next epoch.
def train(model, optimizer, parts, size):
    for start in range(0, len(parts) - size + 1, size):
        group = parts[start : start + size]
        kept = sum((targets != -100).sum() for _, targets in group)
        optimizer.zero_grad()
        for inputs, targets in group:
            (cross_entropy(model(inputs), targets, reduction="sum") / kept).backward()
        optimizer.step()


# %% tags=["4.3", "wrong"]
# Every group gets its step, but you average the means of the parts. A target in a short part counts
# for more then. Sum the losses, and divide by the number of targets in the whole group.
def train(model, optimizer, parts, size):
    for start in range(0, len(parts), size):
        group = parts[start : start + size]
        optimizer.zero_grad()
        for inputs, targets in group:
            (cross_entropy(model(inputs), targets) / len(group)).backward()
        optimizer.step()


# %% tags=["4.3", "wrong"]
# You divide by the number of rows of the group. Those with a target of -100 do not count: the mean
# is over the other ones.
def train(model, optimizer, parts, size):
    for start in range(0, len(parts), size):
        group = parts[start : start + size]
        rows = sum(len(targets) for _, targets in group)
        optimizer.zero_grad()
        for inputs, targets in group:
            (cross_entropy(model(inputs), targets, reduction="sum") / rows).backward()
        optimizer.step()


# %% tags=["4.3", "wrong"]
# The gradients are right, but you build the big batch. It is what there is no memory for: one part
# at a time.
def train(model, optimizer, parts, size):
    for start in range(0, len(parts), size):
        group = parts[start : start + size]
        optimizer.zero_grad()
        logits = model(torch.cat([inputs for inputs, _ in group]))
        cross_entropy(logits, torch.cat([targets for _, targets in group])).backward()
        optimizer.step()


# %% tags=["4.3", "wrong"]
# The gradients are right, but the losses are added up before one backward, so the graphs of all
# parts are alive together. Run backward for each part: .grad does the adding.
def train(model, optimizer, parts, size):
    for start in range(0, len(parts), size):
        group = parts[start : start + size]
        kept = sum((targets != -100).sum() for _, targets in group)
        optimizer.zero_grad()
        loss = 0
        for inputs, targets in group:
            loss = loss + cross_entropy(model(inputs), targets, reduction="sum")
        (loss / kept).backward()
        optimizer.step()


# %% tags=["4.3", "wrong"]
# You weight the mean of a part by its rows. Its weight is the number of its targets that count:
# mean times that number is the sum again.
def train(model, optimizer, parts, size):
    for start in range(0, len(parts), size):
        group = parts[start : start + size]
        rows = sum(len(targets) for _, targets in group)
        optimizer.zero_grad()
        for inputs, targets in group:
            (cross_entropy(model(inputs), targets) * len(targets) / rows).backward()
        optimizer.step()


# %% [markdown] tags=["4.3", "hint"]
# The mean of the big batch is a sum divided by one number. Which number, and when is it known?

# %% [markdown] tags=["4.3", "hint"]
# The targets are there before anything runs: cut `parts` into groups first, and count the targets
# of a group that are not `-100`.

# %% [markdown] tags=["4.3", "hint"]
# For each group `parts[start : start + size]`: `cross_entropy(…, reduction="sum") / kept`, a
# backward for each part, and one step.

# %% [markdown] tags=["4.3", "afterword"]
# Widely used training libraries had just this bug until 2024: with sequences of different lengths,
# accumulating gave other losses than the big batch. And the mean of a part without any target is
# 0 / 0, a loss of NaN in the log; a sum has none.

# %% tags=["4.4", "about"]
title = "The Hessian times a vector, without the Hessian"
kind = "complete"
core = False
difficulty = 2
minutes = 10
points = 2

# %% [markdown] tags=["4.4", "statement"]
# `fn(*parameters)` gives a loss of one value. The Hessian H holds its second derivatives with
# respect to every pair of parameters; for a million parameters it does not fit anywhere. Its
# product with a vector does. `vectors` holds one tensor for each parameter, of the same sizes:
# together they are v. Return H v as a list or tuple with one tensor for each parameter, of zeros
# where the loss has no second derivative. `torch.autograd.grad` is all you need.
#
# **Done when** you agree with `torch.autograd.functional.hessian`, `fn` is called once, with the
# parameters themselves, two backward passes reach each parameter at most, no tensor on the way has
# more than twice as many values as all parameters together, and no `.grad` is touched.


# %% tags=["4.4", "answer"]
def hessian_vector_product(fn, parameters, vectors):
    ### BEGIN SOLUTION
    first = torch.autograd.grad(fn(*parameters), parameters, create_graph=True)
    along = sum((g * v).sum() for g, v in zip(first, vectors, strict=True))
    return torch.autograd.grad(along, parameters, materialize_grads=True)
    ### END SOLUTION


# %% tags=["4.4", "check"]
from torch.utils._python_dispatch import TorchDispatchMode

losses = {
    "a³ b": lambda a, b: (a**3 * b).sum(),
    "a² + 3 b": lambda a, b: (a**2).sum() + 3 * b.sum(),
    "(a · b)²": lambda a, b: (a * b).sum() ** 2,
    "neighbours": lambda a: (a[1:] ** 2 * a[:-1]).sum(),
}


def weights_for(sizes):
    n = torch.Size(sizes).numel()
    return (torch.arange(n) % 5 + 1).double().view(sizes).requires_grad_()


def vector_for(parameter):
    n = parameter.numel()
    return (torch.arange(n) * 3 % 7 - 2).double().view(parameter.shape)


class Watch(TorchDispatchMode):
    """How many values has the largest tensor that an operator makes?"""

    most_values = 0

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        out = op(*args, **(kwargs or {}))
        for t in out if isinstance(out, tuple | list) else [out]:
            if isinstance(t, torch.Tensor):
                self.most_values = max(self.most_values, t.numel())
        return out


def watch_product(name, *all_sizes):
    parameters = [weights_for(sizes) for sizes in all_sizes]
    calls, passes = [], [0] * len(parameters)

    def fn(*given):
        pairs = zip(given, parameters, strict=True)
        calls.append(all(a is b for a, b in pairs))
        return losses[name](*given)

    def counter(i):
        def count_one(grad):
            passes[i] += 1

        return count_one

    for i, parameter in enumerate(parameters):
        parameter.register_hook(counter(i))
    vectors = [vector_for(p) for p in parameters]
    with Watch() as watch:
        found = hessian_vector_product(fn, parameters, vectors)
    return {
        "product": [t if t is None else t.tolist() for t in found],
        "fn called with the parameters": calls,
        "two passes at most": max(passes) <= 2,
        "room for a Hessian": watch.most_values > 2 * sum(p.numel() for p in parameters),
        "grad": [p.grad if p.grad is None else p.grad.tolist() for p in parameters],
    }


def whole_hessian(name, *all_sizes):
    parameters = tuple(weights_for(sizes).detach() for sizes in all_sizes)
    blocks = torch.autograd.functional.hessian(losses[name], parameters)
    vectors = [vector_for(p) for p in parameters]
    product = [
        sum(torch.tensordot(block, v, v.dim()) for block, v in zip(row, vectors, strict=True))
        for row in blocks
    ]
    return {
        "product": [t.tolist() for t in product],
        "fn called with the parameters": [True],
        "two passes at most": True,
        "room for a Hessian": False,
        "grad": [None] * len(parameters),
    }


cases = [("a³ b", (2,), (2,)), ("a² + 3 b", (2, 2), (3,)), ("(a · b)²", (3,), (3,))]
cases += [("(a · b)²", (2, 2), (1, 2)), ("neighbours", (200,))]
check("4.4", watch_product, cases, torch_says=whole_hessian)


# %% tags=["4.4", "wrong"]
# You build the Hessian row by row: one backward pass for each parameter value. Multiply the first
# gradient by v before you differentiate again.
def hessian_vector_product(fn, parameters, vectors):
    first = torch.autograd.grad(fn(*parameters), parameters, create_graph=True)
    product = [torch.zeros_like(p) for p in parameters]
    for g, v in zip(first, vectors, strict=True):
        for one, factor in zip(g.flatten(), v.flatten(), strict=True):
            if one.requires_grad:
                row = torch.autograd.grad(
                    one, parameters, retain_graph=True, materialize_grads=True
                )
                product = [p + factor * r for p, r in zip(product, row, strict=True)]
    return product


# %% tags=["4.4", "wrong"]
# It is one backward pass, but over a batch of unit vectors: its result is the whole Hessian, as
# large as if it were computed row by row. Multiply the first gradient by v before you
# differentiate again.
def hessian_vector_product(fn, parameters, vectors):
    loss = fn(*parameters) + sum(0 * (p * p).sum() for p in parameters)
    first = torch.autograd.grad(loss, parameters, create_graph=True)
    flat = torch.cat([g.flatten() for g in first])
    units = torch.eye(len(flat), dtype=flat.dtype)
    rows = torch.autograd.grad(flat, parameters, units, is_grads_batched=True)
    v = torch.cat([v.flatten() for v in vectors])
    return [torch.tensordot(v, block, 1) for block in rows]


# %% tags=["4.4", "wrong"]
# The numbers are right, but the .grad of the parameters is filled by your backward. autograd.grad
# returns gradients and leaves .grad alone.
def hessian_vector_product(fn, parameters, vectors):
    first = torch.autograd.grad(fn(*parameters), parameters, create_graph=True)
    sum((g * v).sum() for g, v in zip(first, vectors, strict=True)).backward()
    found = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    return found


# %% tags=["4.4", "wrong"]
# You differentiate each gradient with respect to its own parameter only. The Hessian also has
# blocks between two parameters: sum over all first, then differentiate.
def hessian_vector_product(fn, parameters, vectors):
    first = torch.autograd.grad(fn(*parameters), parameters, create_graph=True)
    return [
        torch.autograd.grad((g * v).sum(), p, retain_graph=True, allow_unused=True)[0]
        if g.requires_grad and g.grad_fn is not None
        else torch.zeros_like(p)
        for g, v, p in zip(first, vectors, parameters, strict=True)
    ]


# %% tags=["4.4", "wrong"]
# v comes too late: you differentiate the sum of the gradients, which multiplies H by ones, and then
# scale the result. v belongs inside, before the second autograd.grad.
def hessian_vector_product(fn, parameters, vectors):
    first = torch.autograd.grad(fn(*parameters), parameters, create_graph=True)
    summed = sum(g.sum() for g in first)
    rows = torch.autograd.grad(summed, parameters, materialize_grads=True)
    return [row * v for row, v in zip(rows, vectors, strict=True)]


# %% tags=["4.4", "wrong"]
# torch.autograd.functional computes it for you, and calls fn with copies of the parameters. Two
# calls of torch.autograd.grad do it, and then you know what it costs.
def hessian_vector_product(fn, parameters, vectors):
    return torch.autograd.functional.vhp(fn, tuple(parameters), tuple(vectors))[1]


# %% tags=["4.4", "wrong"]
# Where the loss has no second derivative you return None. Asked for were zeros.
def hessian_vector_product(fn, parameters, vectors):
    first = torch.autograd.grad(fn(*parameters), parameters, create_graph=True)
    along = sum((g * v).sum() for g, v in zip(first, vectors, strict=True))
    return torch.autograd.grad(along, parameters, allow_unused=True)


# %% [markdown] tags=["4.4", "hint"]
# H v is the gradient of one number: of the first gradient times v, summed up.

# %% [markdown] tags=["4.4", "hint"]
# The first gradient must have a history of its own: `torch.autograd.grad(…, create_graph=True)`.

# %% [markdown] tags=["4.4", "hint"]
# `along = sum((g * v).sum() for g, v in zip(first, vectors))`, then `torch.autograd.grad(along,
# parameters, materialize_grads=True)`.

# %% [markdown] tags=["4.4", "afterword"]
# Two backward passes, whatever the number of parameters. Methods that ask how sharp a minimum is,
# or which training example has changed a prediction, live on this.

# %% tags=["4.5", "about"]
title = "The gradient penalty that trains nothing"
kind = "repair"
core = True
difficulty = 2
minutes = 10
points = 3

# %% [markdown] tags=["4.5", "statement"]
# `penalty` is to keep a critic from being steep: for each image, the norm of the gradient of its
# score with respect to its pixels should be 1. The penalty is the mean over the images of (norm −
# 1)². It is added to the loss, the number is right, and yet the critic trains as if it were not
# there. `critic(images)` gives one score for each image; the first dimension counts the images.
#
# **Done when** the number stays, its gradient reaches the critic's weights, and the call of
# `penalty` leaves nothing behind: every `.grad`, of weights and images, stays as it was, and
# `images` requires a gradient afterwards only if it did before.


# %% tags=["4.5", "answer"]
def penalty(critic, images):
    ### BEGIN SOLUTION
    images = images.detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(images).sum(), images, create_graph=True)
    return ((slopes.flatten(1).norm(dim=1) - 1) ** 2).mean()
    ### END SOLUTION


# %% tags=["4.5", "given"]
def penalty(critic, images):
    images.requires_grad_()
    critic(images).sum().backward()
    norms = images.grad.flatten(1).norm(dim=1)
    return ((norms - 1) ** 2).mean()


# %% tags=["4.5", "check"]
def new_critic():
    critic = torch.nn.Sequential(
        torch.nn.Flatten(),
        torch.nn.Linear(2, 3, bias=False),
        torch.nn.Tanh(),
        torch.nn.Linear(3, 1, bias=False),
    ).double()
    first, last = critic.parameters()
    first.data = torch.tensor([[2, 1], [-1, 3], [1, 1]]).double() / 4
    last.data = torch.tensor([[2, -3, 1]]).double() / 2
    return critic


def small_numbers(gradient):
    return None if gradient is None else gradient.round(decimals=6).tolist()


def watch_penalty(pixels, trained_before, asked_before):
    critic, images = new_critic(), torch.tensor(pixels).double().view(-1, 1, 2)
    if asked_before:
        images.requires_grad_().sum().backward()
    if trained_before:
        critic(images).mean().backward()
    before = [small_numbers(w.grad) for w in critic.parameters()]
    found = penalty(critic, images)
    seen = {
        "penalty": round(found.item(), 6),
        "grad of the weights untouched": [small_numbers(w.grad) for w in critic.parameters()]
        == before,
        "grad of the images": small_numbers(images.grad),
        "images require grad": images.requires_grad,
    }
    critic.zero_grad()
    # With a loss beside it, as in training; nobody notices where the penalty has no history.
    loss = critic(images.detach()).mean() + 10 * found
    loss.backward()
    return seen | {"gradients of the loss": [small_numbers(w.grad) for w in critic.parameters()]}


def by_formula(pixels, trained_before, asked_before):
    critic, images = new_critic(), torch.tensor(pixels).double()
    first, last = critic.parameters()
    slopes = ((1 - (images @ first.t()).tanh() ** 2) * last) @ first
    found = ((slopes**2).sum(1).sqrt() - 1).square().mean()
    (critic(images).mean() + 10 * found).backward()
    return {
        "penalty": round(found.item(), 6),
        "grad of the weights untouched": True,
        "grad of the images": [[[1.0, 1.0]] for _ in pixels] if asked_before else None,
        "images require grad": asked_before,
        "gradients of the loss": [small_numbers(w.grad) for w in critic.parameters()],
    }


cases = [([[1, 2]], False, False), ([[1, 0], [2, -1], [0, 1]], False, False)]
cases += [([[1, 1], [-1, 2]], True, False), ([[1, 1], [0, 2]], False, True)]
check("4.5", watch_penalty, cases, torch_says=by_formula)


# %% tags=["4.5", "wrong"]
# Nothing is left behind, but the penalty still has no history: a gradient is a plain number unless
# create_graph=True records how it was computed. retain_graph=True only keeps the old graph, and
# item(), detach() and .data cut the new one.
def penalty(critic, images):
    images = images.detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(images).sum(), images)
    return ((slopes.flatten(1).norm(dim=1) - 1) ** 2).mean()


# %% tags=["4.5", "wrong"]
# The penalty has a history now, but backward also adds the slopes to the .grad of every weight.
# torch.autograd.grad returns gradients and adds them nowhere.
def penalty(critic, images):
    images = images.detach().requires_grad_()
    critic(images).sum().backward(create_graph=True)
    return ((images.grad.flatten(1).norm(dim=1) - 1) ** 2).mean()


# %% tags=["4.5", "wrong"]
# The gradients that the weights had before are gone: the call clears them. They belong to somebody
# else's backward.
def penalty(critic, images):
    images = images.detach().requires_grad_()
    critic(images).sum().backward(create_graph=True)
    critic.zero_grad()
    return ((images.grad.flatten(1).norm(dim=1) - 1) ** 2).mean()


# %% tags=["4.5", "wrong"]
# The caller's images require a gradient now. Differentiate with respect to a detached tensor of
# your own.
def penalty(critic, images):
    images.requires_grad_()
    (slopes,) = torch.autograd.grad(critic(images).sum(), images, create_graph=True)
    return ((slopes.flatten(1).norm(dim=1) - 1) ** 2).mean()


# %% tags=["4.5", "wrong"]
# You switch the images' requires_grad off at the end, also for a caller who had it on. With a
# detached tensor of your own there is nothing to switch.
def penalty(critic, images):
    images.requires_grad_()
    (slopes,) = torch.autograd.grad(critic(images).sum(), images, create_graph=True)
    images.requires_grad_(False)
    return ((slopes.flatten(1).norm(dim=1) - 1) ** 2).mean()


# %% tags=["4.5", "wrong"]
# You take one norm over the whole batch. Each image has a slope of its own, and each should be 1.
def penalty(critic, images):
    images = images.detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(images).sum(), images, create_graph=True)
    return (slopes.norm() - 1) ** 2


# %% tags=["4.5", "wrong"]
# You differentiate the mean of the scores, so each slope is divided by the number of images. The
# sum gives each image its own gradient.
def penalty(critic, images):
    images = images.detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(images).mean(), images, create_graph=True)
    return ((slopes.flatten(1).norm(dim=1) - 1) ** 2).mean()


# %% [markdown] tags=["4.5", "hint"]
# Ask the result: has `penalty(critic, images)` a `grad_fn`? What has `images.grad`?

# %% [markdown] tags=["4.5", "hint"]
# `torch.autograd.grad` returns a gradient and touches no `.grad`. What makes it record how it
# computes?

# %% [markdown] tags=["4.5", "hint"]
# `images = images.detach().requires_grad_()`, then `(slopes,) =
# torch.autograd.grad(critic(images).sum(), images, create_graph=True)`, and the same formula with
# `slopes`.

# %% [markdown] tags=["4.5", "afterword"]
# A loss term without a history is silent, since the rest of the loss still has one. In your own
# code `assert term.requires_grad` costs nothing.

# %% tags=["4.6", "about"]
title = "A state that carries its whole past"
kind = "repair"
core = False
difficulty = 2
minutes = 10
points = 2

# %% [markdown] tags=["4.6", "statement"]
# A long sequence is cut into stretches. `walk` runs a recurrent cell along them, one backward for
# each stretch; the gradients add up in `.grad`, and the caller makes the step. Without
# `retain_graph=True` it raised an error, so somebody put that in. Now each backward runs through
# all stretches before it, and the graph grows without end. Repair it: *truncated backpropagation
# through time*.
#
# The gradient of a stretch's loss goes back to the beginning of that stretch and no further. The
# values of the state go on. The first state may be a parameter that learns, in the first stretch.
#
# **Done when** gradients and values are these, no step sees a graph older than its stretch, and the
# state that is returned has no history.


# %% tags=["4.6", "answer"]
def walk(cell, state, stretches):
    ### BEGIN SOLUTION
    for stretch in stretches:
        loss = 0
        for x in stretch:
            state = cell(x, state)
            loss = loss + state.pow(2).sum()
        loss.backward()
        state = state.detach()
    return state
    ### END SOLUTION


# %% tags=["4.6", "given"]
def walk(cell, state, stretches):
    for stretch in stretches:
        loss = 0
        for x in stretch:
            state = cell(x, state)
            loss = loss + state.pow(2).sum()
        loss.backward(retain_graph=True)
    return state


# %% tags=["4.6", "check"]
class Cell(torch.nn.Module):
    """Notes at each step how many earlier steps stand behind the state that it gets."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([0.5, -0.25], dtype=torch.float64))
        self.behind = []

    def forward(self, x, state):
        self.behind.append(steps_behind(state))
        return (self.weight * state + x).tanh()


def steps_behind(t):
    waiting, found = [t.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is not None and node not in found:
            found.add(node)
            waiting += [after for after, _ in node.next_functions]
    return sum(node.name() == "TanhBackward0" for node in found)


def six_digits(t):
    return None if t is None else t.round(decimals=6).tolist()


def watch_walk(stretches, learns):
    cell, first = Cell(), torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=learns)
    state = walk(cell, first, [torch.tensor(s, dtype=torch.float64) for s in stretches])
    return {
        "gradient of the weight": six_digits(cell.weight.grad),
        "gradient of the first state": six_digits(first.grad),
        "steps behind the state at each step": cell.behind,
        "last state": six_digits(state.detach()),
        "last state has a history": state.grad_fn is not None,
    }


def by_recursion(stretches, learns):
    """The derivatives of each state, carried forwards along a stretch."""
    weight, state = Cell().weight.detach(), torch.tensor([0.5, 1.0], dtype=torch.float64)
    by_weight, by_first, behind = torch.zeros(2).double(), torch.zeros(2).double(), []
    for number, stretch in enumerate(stretches):
        of_weight, of_first = 0, float(number == 0)
        for step, x in enumerate(stretch):
            behind.append(step)
            after = (weight * state + x).tanh()
            slope = 1 - after**2
            of_weight, of_first = slope * (state + weight * of_weight), slope * weight * of_first
            by_weight, by_first = by_weight + 2 * after * of_weight, by_first + 2 * after * of_first
            state = after
    return {
        "gradient of the weight": six_digits(by_weight),
        "gradient of the first state": six_digits(by_first) if learns else None,
        "steps behind the state at each step": behind,
        "last state": six_digits(state),
        "last state has a history": False,
    }


cases = [([[1, -0.5], [0.5, 0.25]], False), ([[0.5, 1], [-1, 0.25, 0.5], [1]], False)]
cases += [([[0.25, -1], [1, 1], [0.5, 0]], True)]
check("4.6", watch_walk, cases, torch_says=by_recursion)


# %% tags=["4.6", "wrong"]
# You detach after every step of the sequence. Nothing learns from an earlier step then: detach
# between two stretches only.
def walk(cell, state, stretches):
    for stretch in stretches:
        loss = 0
        for x in stretch:
            state = cell(x, state)
            loss = loss + state.pow(2).sum()
            state = state.detach()
        loss.backward()
    return state


# %% tags=["4.6", "wrong"]
# Every stretch starts from zeros: the graph is cut, but the state is lost too. detach() keeps its
# values.
def walk(cell, state, stretches):
    for stretch in stretches:
        loss = 0
        for x in stretch:
            state = cell(x, state)
            loss = loss + state.pow(2).sum()
        loss.backward()
        last, state = state.detach(), torch.zeros_like(state)
    return last


# %% tags=["4.6", "wrong"]
# The first state is detached as well, so it gets no gradient, even where it is a parameter. Cut
# after a stretch, not before the first.
def walk(cell, state, stretches):
    for stretch in stretches:
        state = state.detach()
        loss = 0
        for x in stretch:
            state = cell(x, state)
            loss = loss + state.pow(2).sum()
        loss.backward()
    return state.detach()


# %% tags=["4.6", "wrong"]
# You cut at the beginning of each later stretch, and that is right. But what you return still holds
# the graph of the last stretch.
def walk(cell, state, stretches):
    for number, stretch in enumerate(stretches):
        if number > 0:
            state = state.detach().requires_grad_()
        loss = 0
        for x in stretch:
            state = cell(x, state)
            loss = loss + state.pow(2).sum()
        loss.backward()
    return state


# %% tags=["4.6", "wrong"]
# Only what is returned is detached. Between the stretches the graph still grows: clone() copies the
# values and keeps the history, and what cuts is detach().
def walk(cell, state, stretches):
    for stretch in stretches:
        loss = 0
        for x in stretch:
            state = cell(x, state)
            loss = loss + state.pow(2).sum()
        loss.backward(retain_graph=True)
        state = state.clone()
    return state.detach()


# %% [markdown] tags=["4.6", "hint"]
# What leads from the second stretch into the graph of the first one? Only one tensor.

# %% [markdown] tags=["4.6", "hint"]
# `detach()` gives a tensor with the same values and no history. At which moment is that right, and
# for which state must it not happen?

# %% [markdown] tags=["4.6", "hint"]
# `state = state.detach()` after the backward of each stretch. Then nothing is left to be retained.

# %% [markdown] tags=["4.6", "afterword"]
# When an error asks for `retain_graph=True`, ask first why an old graph is still reached. In most
# training loops the answer is a tensor that was carried over.

# %% tags=["4.7", "about"]
title = "A step inside backward"
kind = "complete"
core = False
difficulty = 2
minutes = 10
points = 2

# %% [markdown] tags=["4.7", "statement"]
# An ordinary loop holds the gradients of all parameters at once, as much memory as the weights
# take. A gradient is needed for one step of one parameter, and it can go right after.
#
# `step_in_backward(model, new_optimizer)` arranges that `loss.backward()` steps each parameter as
# soon as its gradient is complete, and frees that gradient. `new_optimizer([parameter])` makes an
# optimizer for one parameter. Use `register_post_accumulate_grad_hook`, and return the list of what
# it returns, one handle for each parameter: whoever removes them has the ordinary model again.
#
# **Done when** the weights are those of the ordinary loop, bit for bit, also with momentum and with
# a layer that is used twice; at most one gradient is alive at any moment; and nothing steps any
# more after the handles are removed.


# %% tags=["4.7", "answer"]
def step_in_backward(model, new_optimizer):
    ### BEGIN SOLUTION
    def install(parameter):
        optimizer = new_optimizer([parameter])

        def step(_):
            optimizer.step()
            optimizer.zero_grad()

        return parameter.register_post_accumulate_grad_hook(step)

    return [install(parameter) for parameter in model.parameters()]
    ### END SOLUTION


# %% tags=["4.7", "check"]
def new_network(twice):
    layers = [torch.nn.Linear(2, 2).double() for _ in range(3)]
    for i, layer in enumerate(layers):
        layer.weight.data = torch.tensor([[1, -2], [3, i]]).double() / 4
        layer.bias.data = torch.tensor([1, -1]).double() / 2
    middle = [layers[1], torch.nn.Tanh()] * (2 if twice else 1)
    return torch.nn.Sequential(layers[0], torch.nn.Tanh(), *middle, layers[2])


def new_optimizer_with(momentum):
    return lambda parameters: torch.optim.SGD(parameters, lr=0.125, momentum=momentum)


inputs, wanted = torch.tensor([[1, 2], [0, -1]]).double(), torch.tensor([[1, 0], [2, 1]]).double()


def alive_in(model):
    return sum(p.grad is not None for p in model.parameters())


def ordinary_loop(model, optimizer):
    for _ in range(3):
        (model(inputs) - wanted).pow(2).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return [p.tolist() for p in model.parameters()]


def watch_steps(momentum, twice):
    model, twin, alive = new_network(twice), new_network(twice), []
    for p in model.parameters():
        p.register_post_accumulate_grad_hook(lambda _: alive.append(alive_in(model)))
    handles = step_in_backward(model, new_optimizer_with(momentum))
    for _ in range(3):
        (model(inputs) - wanted).pow(2).sum().backward()
    weights = [p.tolist() for p in model.parameters()]
    seen = {
        "weights": weights,
        "bit for bit": weights
        == ordinary_loop(twin, new_optimizer_with(momentum)(twin.parameters())),
        "gradients alive": list(alive),
        "gradients afterwards": alive_in(model),
    }
    for handle in handles:
        handle.remove()
    (model(inputs) - wanted).pow(2).sum().backward()
    still = weights == [p.tolist() for p in model.parameters()]
    return seen | {"handles": len(handles), "nothing steps without them": still}


def both_loops(momentum, twice):
    model = new_network(twice)
    weights = ordinary_loop(model, new_optimizer_with(momentum)(model.parameters()))
    return {
        "weights": weights,
        "bit for bit": True,
        "gradients alive": [1] * 18,
        "gradients afterwards": 0,
        "handles": 6,
        "nothing steps without them": True,
    }


cases = [(0, False), (0.5, False), (0.5, True)]
check("4.7", watch_steps, cases, torch_says=both_loops)


# %% tags=["4.7", "wrong"]
# register_hook runs before the gradient is added to .grad, so the step finds none, or the last
# one. register_post_accumulate_grad_hook runs after.
def step_in_backward(model, new_optimizer):
    def install(parameter):
        optimizer = new_optimizer([parameter])

        def step(_):
            optimizer.step()
            optimizer.zero_grad()

        return parameter.register_hook(step)

    return [install(parameter) for parameter in model.parameters()]


# %% tags=["4.7", "wrong"]
# Each parameter is stepped, but no gradient is freed: all stay alive, and the next backward adds to
# them.
def step_in_backward(model, new_optimizer):
    def install(parameter):
        optimizer = new_optimizer([parameter])
        return parameter.register_post_accumulate_grad_hook(lambda _: optimizer.step())

    return [install(parameter) for parameter in model.parameters()]


# %% tags=["4.7", "wrong"]
# Every hook makes a new optimizer, and with it the momentum starts from nothing. Make one for each
# parameter, before the first backward.
def step_in_backward(model, new_optimizer):
    def step(parameter):
        optimizer = new_optimizer([parameter])
        optimizer.step()
        optimizer.zero_grad()

    return [p.register_post_accumulate_grad_hook(step) for p in model.parameters()]


# %% tags=["4.7", "wrong"]
# All hooks step the optimizer of the last parameter: a function that is made in a loop looks its
# names up when it runs. Make each hook in a function of its own.
def step_in_backward(model, new_optimizer):
    handles = []
    for parameter in model.parameters():
        optimizer = new_optimizer([parameter])

        def step(_):
            optimizer.step()  # noqa: B023
            optimizer.zero_grad()  # noqa: B023

        handles.append(parameter.register_post_accumulate_grad_hook(step))
    return handles


# %% tags=["4.7", "wrong"]
# The weights are right, but you wait for the last gradient and step all parameters then. Until that
# moment all gradients are alive.
def step_in_backward(model, new_optimizer):
    parameters = list(model.parameters())
    optimizer = new_optimizer(parameters)

    def step(_):
        if all(p.grad is not None for p in parameters):
            optimizer.step()
            optimizer.zero_grad()

    return [p.register_post_accumulate_grad_hook(step) for p in parameters]


# %% [markdown] tags=["4.7", "hint"]
# The hook is called with the parameter, after its gradient has been added to `.grad`. What are the
# two lines of an ordinary loop that come then?

# %% [markdown] tags=["4.7", "hint"]
# One optimizer for each parameter, made before the first backward: it holds the momentum.

# %% [markdown] tags=["4.7", "hint"]
# A function `install(parameter)` makes the optimizer, defines a hook that calls `step()` and
# `zero_grad()`, and returns `parameter.register_post_accumulate_grad_hook(hook)`.

# %% [markdown] tags=["4.7", "afterword"]
# It works since a parameter's AccumulateGrad runs once, after all uses of the parameter have sent
# their part. What you give up: clipping by the norm of all gradients, and accumulation over several
# batches. Both need all gradients at once.

# %% tags=["4.8", "about"]
title = "MiniTorch 4: the engine"
kind = "build"
core = True
difficulty = 3
minutes = 28
points = 4

# %% [markdown] tags=["4.8", "statement"]
# The fourth piece of your small torch sends gradients back. What is there: `edge_of(t)` gives the
# edge that leads to the node behind `t`; an edge has a `node`, and the `sizes` of the tensor that
# its gradient belongs to. A node has `name`, `edges` (None where nobody needs the gradient),
# `sequence_nr` (higher for a younger node) and `release()`, which frees its saved tensors. Called
# with the gradient of its output, it returns one gradient for each edge. `call("add", a, b)` adds
# two tensors and `call("clone", t)` copies one, both recorded; `new([1], sizes)` makes a tensor
# with one value; `reduce_to(grad, sizes)` undoes a broadcast; `with grad_mode(on):` and
# `GradMode.enabled` are the mode. `list(t)` gives the values of `t`, and `t.write(values)` replaces
# them.
#
# - `AccumulateGrad(variable)` is the node of a leaf: without edges and saved tensors, and with the
#   highest number there is, `2**64 - 1`. Called, it returns `()` and adds to `variable.grad`: the
#   first gradient is cloned; a later one is written into the same tensor or, if the mode is on, a
#   sum takes its place.
# - `dependencies(start)` returns a `Counter`: how many edges lead to each node from the nodes that
#   `start` reaches. A chain of 5,000 nodes is no problem.
# - `backward(root, …)` runs the nodes and returns their names in this order. A node is ready when a
#   gradient has come along each edge that leads to it; these are added up first. Of the ready nodes
#   the one with the highest number runs, of two equal ones that which became ready first. What a
#   node sends is brought to the sizes of its edge. Without `grad`, the root has one value and
#   starts with 1. A node that has run is released, unless `retain_graph` or `create_graph` is set;
#   `create_graph` also decides whether the mode is on.
#
# **Done when** 120 random programs run their nodes in the order of torch, with the gradients of
# torch, also second ones, and are refused where torch refuses to run backward again.

# %% tags=["4.8", "setup"]
from collections import Counter

from insidetorch.mini import GradMode, Node, assemble, call, edge_of, grad_mode, new, reduce_to


# %% tags=["4.8", "answer"]
class AccumulateGrad(Node):
    def __init__(self, variable):
        ### BEGIN SOLUTION
        self.name, self.edges, self.saved = "AccumulateGrad", (), ()
        self.variable, self.sequence_nr = variable, 2**64 - 1
        ### END SOLUTION

    def __call__(self, grad):
        ### BEGIN SOLUTION
        have = self.variable.grad
        if have is None:
            self.variable.grad = call("clone", grad)
        elif GradMode.enabled:
            self.variable.grad = call("add", have, grad)
        else:
            have.write([old + more for old, more in zip(have, grad, strict=True)])
        return ()
        ### END SOLUTION


def dependencies(start):
    ### BEGIN SOLUTION
    missing, waiting = Counter(), [start]
    while waiting:
        for edge in waiting.pop().edges:
            if edge is not None:
                missing[edge.node] += 1
                if missing[edge.node] == 1:
                    waiting.append(edge.node)
    return missing
    ### END SOLUTION


def backward(root, grad=None, retain_graph=False, create_graph=False):
    ### BEGIN SOLUTION
    start = edge_of(root).node
    missing, ready, ran = dependencies(start), [start], []
    arrived = {start: new([1], root.sizes) if grad is None else grad}
    with grad_mode(create_graph):
        while ready:
            node = max(ready, key=lambda one: one.sequence_nr)
            ready.remove(node)
            ran.append(node.name)
            for edge, sent in zip(node.edges, node(arrived.pop(node)), strict=True):
                if edge is None:
                    continue
                sent, have = reduce_to(sent, edge.sizes), arrived.get(edge.node)
                arrived[edge.node] = sent if have is None else call("add", have, sent)
                missing[edge.node] -= 1
                if missing[edge.node] == 0:
                    ready.append(edge.node)
            if not (retain_graph or create_graph):
                node.release()
    return ran
    ### END SOLUTION


# %% tags=["4.8", "check"]
import warnings
from itertools import groupby
from math import prod
from random import Random

torch_operators = {
    "add": torch.add,
    "mul": torch.mul,
    "exp": torch.exp,
    "sum": lambda t, dims: t.sum(dims, keepdim=True),
    "permute": torch.permute,
}


def random_step(random, tensors):
    """An operator, and the numbers of its tensors, the last ones more often than the first."""
    name, i = random.choice(["add", "mul", "mul", "exp", "sum", "permute"]), len(tensors) - 1
    i, j = max(0, i - random.randrange(3)), random.randrange(len(tensors))
    dims = list(range(tensors[i].dim()))
    if name in ("add", "mul"):
        return name, (i, j)
    if name == "exp" or not dims:
        return "exp", (i,)
    return name, (i,), random.sample(dims, 1 if name == "sum" else len(dims))


def random_program(seed):
    """Leaves, operators on them, and backwards from some of the results."""
    random = Random(seed)
    leaves = [random.choice([(2, 3), (3,), (2, 1), ()]) for _ in range(random.randint(1, 3))]
    tensors = [torch.tensor(values_for(sizes)).view(sizes) for sizes in leaves]
    steps = []
    while len(steps) < 7:
        name, at, *more = random_step(random, tensors)
        try:
            out = torch_operators[name](*(tensors[i] for i in at), *more)
        except RuntimeError:
            continue
        if out.abs().max() < 3:
            steps.append((name, at, *more))
            tensors.append(out)
    first = len(tensors) - 3
    backwards = [
        (first + random.randrange(3), random.random() < 0.4, random.random() < 0.25)
        for _ in range(random.randint(1, 3))
    ]
    return leaves, steps, backwards


def values_for(sizes):
    return [(i * 5 % 7 - 2.5) / 4 for i in range(prod(sizes))]


def shortened(name, times):
    return name if times == 1 else f"{name} {times} times"


def watched(attempt, leaves, described):
    """What one backward does: its order and each leaf's gradient, or that it is refused."""
    before = [leaf.grad for leaf in leaves]
    try:
        ran = attempt()
    except NotImplementedError:
        raise
    except RuntimeError:
        return "refused"
    pairs = zip(leaves, before, strict=True)
    return {
        "order": ", ".join(shortened(name, len([*same])) for name, same in groupby(ran)),
        "gradients": [described(leaf.grad) for leaf in leaves],
        "the same tensor": [old is leaf.grad for leaf, old in pairs if old is not None],
    }


def run_program(leaves, steps, backwards, operator, attempt, described):
    """Run a program on one of the two sides, and differentiate its first gradient once more."""
    tensors, seen = list(leaves), {}
    for name, at, *more in chain if steps == "a long chain" else steps:
        tensors.append(operator(name, *(tensors[i] for i in at), *more))
    for number, (root, *flags) in enumerate(backwards):
        one = tensors[root]
        found = watched(lambda one=one, flags=flags: attempt(one, *flags), leaves, described)
        seen[f"backward {number + 1}"] = found
    gradient = leaves[0].grad
    for leaf in leaves:
        leaf.grad = None
    if gradient is not None and gradient.requires_grad:
        square = operator("mul", gradient, gradient)
        second = watched(lambda: attempt(square, True, False), leaves, described)
        # Which operators a formula is made of differs, so their order does too.
        seen["second gradients"] = second if second == "refused" else second["gradients"]
    return seen


def run_mini(leaves, steps, backwards):
    mini = assemble(AccumulateGrad=AccumulateGrad, backward=backward)

    def attempt(root, retain, create):
        n = prod(root.sizes)
        grad = None if n == 1 else mini.new([i + 1 for i in range(n)], root.sizes)
        return mini.backward(root, grad, retain_graph=retain, create_graph=create)

    def described(t):
        return None if t is None else [list(t.sizes), [round(value, 6) for value in t]]

    tensors = [mini.new(values_for(sizes), sizes) for sizes in leaves]
    for t in tensors:
        t.requires_grad = True
    return run_program(tensors, steps, backwards, mini.call, attempt, described)


def run_torch(leaves, steps, backwards):
    def attempt(root, retain, create):
        order, hooks, waiting, found = [], [], [root.grad_fn], set()
        while waiting:
            node = waiting.pop()
            if node is not None and node not in found:
                found.add(node)
                waiting += [after for after, _ in node.next_functions]
                short = node.name().rpartition("::")[2].partition("Backward")[0]
                name = short if short == "AccumulateGrad" else short.lower()
                hooks.append(node.register_prehook(lambda _, name=name: order.append(name)))
        n = root.numel()
        grad = None if n == 1 else (torch.arange(n) + 1.0).double().view(root.shape)
        try:
            root.backward(grad, retain_graph=retain or create, create_graph=create)
        finally:
            for hook in hooks:
                hook.remove()
        return order

    def described(t):
        return None if t is None else [list(t.shape), t.round(decimals=6).flatten().tolist()]

    def operator(name, *arguments):
        return torch_operators[name](*arguments)

    tensors = [torch.tensor(values_for(sizes)).double().view(sizes) for sizes in leaves]
    for t in tensors:
        t.requires_grad = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # create_graph makes a circle of a leaf and its gradient
        return run_program(tensors, steps, backwards, operator, attempt, described)


chain = [("exp", (0,)), *(("add", (i, 0)) for i in range(1, 5000))]
programs = [random_program(seed) for seed in range(120)]
programs.append(([()], "a long chain", [(5000, False, False)]))
given = [GradMode, Node, call, edge_of, grad_mode, new, reduce_to]
check(
    "4.8",
    run_mini,
    programs,
    torch_says=run_torch,
    by_hand=(AccumulateGrad, dependencies, backward),
    allowed=given,
)


# %% tags=["4.8", "wrong"]
# The ready nodes run in the order in which they became ready. In torch the youngest one runs
# first, that with the highest number.
def backward(root, grad=None, retain_graph=False, create_graph=False):
    start = edge_of(root).node
    missing, ready, ran = dependencies(start), [start], []
    arrived = {start: new([1], root.sizes) if grad is None else grad}
    with grad_mode(create_graph):
        while ready:
            node = ready.pop(0)
            ran.append(node.name)
            for edge, sent in zip(node.edges, node(arrived.pop(node)), strict=True):
                if edge is None:
                    continue
                sent, have = reduce_to(sent, edge.sizes), arrived.get(edge.node)
                arrived[edge.node] = sent if have is None else call("add", have, sent)
                missing[edge.node] -= 1
                if missing[edge.node] == 0:
                    ready.append(edge.node)
            if not (retain_graph or create_graph):
                node.release()
    return ran


# %% tags=["4.8", "wrong"]
# The oldest ready node runs first. It is the youngest one that does, that with the highest number.
def backward(root, grad=None, retain_graph=False, create_graph=False):
    start = edge_of(root).node
    missing, ready, ran = dependencies(start), [start], []
    arrived = {start: new([1], root.sizes) if grad is None else grad}
    with grad_mode(create_graph):
        while ready:
            node = min(ready, key=lambda one: one.sequence_nr)
            ready.remove(node)
            ran.append(node.name)
            for edge, sent in zip(node.edges, node(arrived.pop(node)), strict=True):
                if edge is None:
                    continue
                sent, have = reduce_to(sent, edge.sizes), arrived.get(edge.node)
                arrived[edge.node] = sent if have is None else call("add", have, sent)
                missing[edge.node] -= 1
                if missing[edge.node] == 0:
                    ready.append(edge.node)
            if not (retain_graph or create_graph):
                node.release()
    return ran


# %% tags=["4.8", "wrong"]
# You sort the nodes in advance, by a walk in depth that is then reversed. Each node does run after
# all that lead to it, but in another order than in torch: there the youngest of the ready nodes
# runs.
def backward(root, grad=None, retain_graph=False, create_graph=False):
    start, found = edge_of(root).node, []

    def visit(node):
        if node not in found:
            for edge in node.edges:
                if edge is not None:
                    visit(edge.node)
            found.append(node)

    visit(start)
    arrived = {start: new([1], root.sizes) if grad is None else grad}
    with grad_mode(create_graph):
        for node in reversed(found):
            for edge, sent in zip(node.edges, node(arrived.pop(node)), strict=True):
                if edge is not None:
                    sent, have = reduce_to(sent, edge.sizes), arrived.get(edge.node)
                    arrived[edge.node] = sent if have is None else call("add", have, sent)
            if not (retain_graph or create_graph):
                node.release()
    return [node.name for node in reversed(found)]


# %% tags=["4.8", "wrong"]
# A node runs once for each path that leads to it. It waits until a gradient has come along every
# edge, and runs once, with their sum.
def backward(root, grad=None, retain_graph=False, create_graph=False):
    start = edge_of(root).node
    ready, ran = [(start, new([1], root.sizes) if grad is None else grad)], []
    with grad_mode(create_graph):
        while ready:
            node, arrived = max(ready, key=lambda pair: pair[0].sequence_nr)
            ready.remove((node, arrived))
            ran.append(node.name)
            for edge, sent in zip(node.edges, node(arrived), strict=True):
                if edge is not None:
                    ready.append((edge.node, reduce_to(sent, edge.sizes)))
    for node in [start, *dependencies(start)]:
        if not (retain_graph or create_graph):
            node.release()
    return ran


# %% tags=["4.8", "wrong"]
# A gradient that comes second takes the place of the first. What arrives at one node is added up.
def backward(root, grad=None, retain_graph=False, create_graph=False):
    start = edge_of(root).node
    missing, ready, ran = dependencies(start), [start], []
    arrived = {start: new([1], root.sizes) if grad is None else grad}
    with grad_mode(create_graph):
        while ready:
            node = max(ready, key=lambda one: one.sequence_nr)
            ready.remove(node)
            ran.append(node.name)
            for edge, sent in zip(node.edges, node(arrived.pop(node)), strict=True):
                if edge is None:
                    continue
                sent = reduce_to(sent, edge.sizes)
                arrived[edge.node] = sent
                missing[edge.node] -= 1
                if missing[edge.node] == 0:
                    ready.append(edge.node)
            if not (retain_graph or create_graph):
                node.release()
    return ran


# %% tags=["4.8", "wrong"]
# No broadcast is undone. A gradient has the sizes of its tensor, which stand in the edge.
def backward(root, grad=None, retain_graph=False, create_graph=False):
    start = edge_of(root).node
    missing, ready, ran = dependencies(start), [start], []
    arrived = {start: new([1], root.sizes) if grad is None else grad}
    with grad_mode(create_graph):
        while ready:
            node = max(ready, key=lambda one: one.sequence_nr)
            ready.remove(node)
            ran.append(node.name)
            for edge, sent in zip(node.edges, node(arrived.pop(node)), strict=True):
                if edge is None:
                    continue
                have = arrived.get(edge.node)
                arrived[edge.node] = sent if have is None else call("add", have, sent)
                missing[edge.node] -= 1
                if missing[edge.node] == 0:
                    ready.append(edge.node)
            if not (retain_graph or create_graph):
                node.release()
    return ran


# %% tags=["4.8", "wrong"]
# Every node is released, whatever retain_graph says. So a second backward is refused that torch
# allows.
def backward(root, grad=None, retain_graph=False, create_graph=False):
    start = edge_of(root).node
    missing, ready, ran = dependencies(start), [start], []
    arrived = {start: new([1], root.sizes) if grad is None else grad}
    with grad_mode(create_graph):
        while ready:
            node = max(ready, key=lambda one: one.sequence_nr)
            ready.remove(node)
            ran.append(node.name)
            for edge, sent in zip(node.edges, node(arrived.pop(node)), strict=True):
                if edge is None:
                    continue
                sent, have = reduce_to(sent, edge.sizes), arrived.get(edge.node)
                arrived[edge.node] = sent if have is None else call("add", have, sent)
                missing[edge.node] -= 1
                if missing[edge.node] == 0:
                    ready.append(edge.node)
            if not create_graph:
                node.release()
    return ran


# %% tags=["4.8", "wrong"]
# No node is ever released. So a second backward runs that torch refuses, and the memory is kept.
def backward(root, grad=None, retain_graph=False, create_graph=False):
    start = edge_of(root).node
    missing, ready, ran = dependencies(start), [start], []
    arrived = {start: new([1], root.sizes) if grad is None else grad}
    with grad_mode(create_graph):
        while ready:
            node = max(ready, key=lambda one: one.sequence_nr)
            ready.remove(node)
            ran.append(node.name)
            for edge, sent in zip(node.edges, node(arrived.pop(node)), strict=True):
                if edge is None:
                    continue
                sent, have = reduce_to(sent, edge.sizes), arrived.get(edge.node)
                arrived[edge.node] = sent if have is None else call("add", have, sent)
                missing[edge.node] -= 1
                if missing[edge.node] == 0:
                    ready.append(edge.node)
    return ran


# %% tags=["4.8", "wrong"]
# Nothing is recorded while the gradients are computed. With create_graph the mode is on, so that
# gradients have a history of their own.
def backward(root, grad=None, retain_graph=False, create_graph=False):
    start = edge_of(root).node
    missing, ready, ran = dependencies(start), [start], []
    arrived = {start: new([1], root.sizes) if grad is None else grad}
    with grad_mode(False):
        while ready:
            node = max(ready, key=lambda one: one.sequence_nr)
            ready.remove(node)
            ran.append(node.name)
            for edge, sent in zip(node.edges, node(arrived.pop(node)), strict=True):
                if edge is None:
                    continue
                sent, have = reduce_to(sent, edge.sizes), arrived.get(edge.node)
                arrived[edge.node] = sent if have is None else call("add", have, sent)
                missing[edge.node] -= 1
                if missing[edge.node] == 0:
                    ready.append(edge.node)
            if not (retain_graph or create_graph):
                node.release()
    return ran


# %% tags=["4.8", "wrong"]
# A new gradient takes the place of the one that was there. From one backward to the next .grad adds
# up.
class AccumulateGrad(Node):
    def __init__(self, variable):
        self.name, self.edges, self.saved = "AccumulateGrad", (), ()
        self.variable, self.sequence_nr = variable, 2**64 - 1

    def __call__(self, grad):
        self.variable.grad = call("clone", grad)
        return ()


# %% tags=["4.8", "wrong"]
# The first gradient is kept as it comes. Two leaves may get the same tensor, and what is added in
# place for one of them is then added for both. Clone it.
class AccumulateGrad(Node):
    def __init__(self, variable):
        self.name, self.edges, self.saved = "AccumulateGrad", (), ()
        self.variable, self.sequence_nr = variable, 2**64 - 1

    def __call__(self, grad):
        have = self.variable.grad
        if have is None:
            self.variable.grad = grad
        elif GradMode.enabled:
            self.variable.grad = call("add", have, grad)
        else:
            have.write([old + more for old, more in zip(have, grad, strict=True)])
        return ()


# %% tags=["4.8", "wrong"]
# Each sum is a new tensor. With the mode off, a later gradient is written into the tensor that is
# there, so that whoever holds .grad sees it.
class AccumulateGrad(Node):
    def __init__(self, variable):
        self.name, self.edges, self.saved = "AccumulateGrad", (), ()
        self.variable, self.sequence_nr = variable, 2**64 - 1

    def __call__(self, grad):
        have = self.variable.grad
        if have is None:
            self.variable.grad = call("clone", grad)
        else:
            self.variable.grad = call("add", have, grad)
        return ()


# %% tags=["4.8", "wrong"]
# AccumulateGrad has a low number, and so it runs when nothing else is ready. It has the highest one
# and runs at once.
class AccumulateGrad(Node):
    def __init__(self, variable):
        self.name, self.edges, self.saved = "AccumulateGrad", (), ()
        self.variable, self.sequence_nr = variable, -1

    def __call__(self, grad):
        have = self.variable.grad
        if have is None:
            self.variable.grad = call("clone", grad)
        elif GradMode.enabled:
            self.variable.grad = call("add", have, grad)
        else:
            have.write([old + more for old, more in zip(have, grad, strict=True)])
        return ()


# %% tags=["4.8", "wrong"]
# You count each node once that leads to another one. What counts are edges: x · x has two that lead
# to the node of x, and sends two gradients.
def dependencies(start):
    missing, waiting = Counter(), [start]
    while waiting:
        for node in {edge.node for edge in waiting.pop().edges if edge is not None}:
            missing[node] += 1
            if missing[node] == 1:
                waiting.append(node)
    return missing


# %% tags=["4.8", "wrong"]
# Your dependencies call themselves for each edge. A chain of 5,000 nodes is too deep for that: keep
# a list of nodes that wait.
def dependencies(start):
    missing = Counter()

    def visit(node):
        for edge in node.edges:
            if edge is not None:
                missing[edge.node] += 1
                if missing[edge.node] == 1:
                    visit(edge.node)

    visit(start)
    return missing


# %% [markdown] tags=["4.8", "hint"]
# Begin with AccumulateGrad: a node like any other, with its own `__init__`. Then `dependencies`: a
# list of nodes to visit, and each edge counts, also the second one to the same node.

# %% [markdown] tags=["4.8", "hint"]
# The engine has three things: how many gradients each node still misses, what has arrived for a
# node so far, and which nodes are ready. At first only the root is ready, and its gradient is
# there.

# %% [markdown] tags=["4.8", "hint"]
# Take `max(ready, key=…)` by its number, call it with what has arrived for it, and for each edge
# that is not None: reduce, add to what has arrived there, miss one less, and append the node to
# `ready` at 0. All of it inside `with grad_mode(create_graph):`.

# %% [markdown] tags=["4.8", "afterword"]
# These are `compute_dependencies` and `evaluate_function` of torch's engine in C++, but for
# threads, devices and hooks. Two sums stand in yours, and they are not the same: `arrived` adds up
# within one backward, `.grad` from one to the next.
