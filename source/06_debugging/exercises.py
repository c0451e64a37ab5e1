# %% [markdown]
# # Exercises 6 · Debugging
#
# Each exercise has a cell for your answer and, folded away below it, a cell that checks it. Run
# both. A check knows three outcomes: not attempted, not yet, right. Where it recognises a mistake,
# it says which.
#
# - `hint("6.2")` in a cell of your own helps in three steps: each run shows one hint more.
# - `progress()` shows how far you are.
# - `python course.py reset 6.2`, typed in a terminal in the course's folder, puts the stub of an
#   exercise back and keeps your old notebook.
#
# *Core* exercises take about an hour together, *extra* ones come on top.
#
# In 6.1 to 6.10 you get a broken script, made from a real report, and do two things.
#
# 1. Write a **probe**: a function that says with `assert` what must be so. It fails on the broken
#    script (an error counts as well), and holds on a repaired one and on healthy ones that look
#    like it. A probe looks at what the script does, so it may run it on inputs of its own. The
#    check also tries yours on versions that you do not see: healthy ones, and sometimes one that
#    was cured in a wrong way.
# 2. Then repair the script. Any repair counts that does what the statement says.
#
# 6.11 and 6.12 are repairs without a probe, 6.13 is the last piece of your small torch, and in 6.14
# you write a doctor.

# %%
import torch
import torch.nn.functional as F
from torch import nn

from insidetorch import check, hint, progress
from insidetorch.learn.project import project

# %% tags=["6.1", "about"]
title = "The validation that never came back"
kind = "repair"
core = True
difficulty = 1
minutes = 9
points = 3

# %% [markdown] tags=["6.1", "statement"]
# `train` makes one step for each batch, and validates after each. One day it raises `element 0 of
# tensors does not require grad and does not have a grad_fn`, and nobody has touched the model.
#
# - `validate(model, batches, limit)` returns the mean loss of the batches. As soon as the sum of
#   the losses is above `limit` it gives up and returns infinity.
# - `train(model, batches, validation, limit)` returns the list of the losses before each step and
#   the list of what the validations said.
#
# **Probe** `probe(validate, train)` gets the two functions of a script. Among the healthy ones is
# one that gives up in the middle as well. Among the broken ones is one whose `validate` switches
# gradients on, whoever had them off.
#
# **Repair** so that training goes on after a validation that gave up. Who calls `validate` while
# gradients are switched off finds them off afterwards, and no forward pass in it records a graph.
#
# **Done when** your probe tells the versions apart; the losses and the weights are right; and
# whether gradients are recorded is the same before and after `validate`, also when a batch raises
# an error.


# %% tags=["6.1", "answer"]
import torch


def validate(model, batches, limit):
    ### BEGIN SOLUTION
    total = 0.0
    with torch.no_grad():
        for x, y in batches:
            total += (model(x) - y).pow(2).mean().item()
            if total > limit:
                return float("inf")
    return total / len(batches)
    ### END SOLUTION


def train(model, batches, validation, limit):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.125)
    losses, validations = [], []
    for x, y in batches:
        loss = (model(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        validations.append(validate(model, validation, limit))
    return losses, validations


def probe(validate, train):
    ### BEGIN SOLUTION
    batches = [(torch.ones(1, 1), torch.zeros(1, 1))] * 2
    for on in (True, False):
        with torch.set_grad_enabled(on):
            validate(nn.Linear(1, 1), batches, limit=-1.0)
            assert torch.is_grad_enabled() == on
    ### END SOLUTION


# %% tags=["6.1", "given"]
import torch


def validate(model, batches, limit):
    torch.set_grad_enabled(False)
    total = 0.0
    for x, y in batches:
        total += (model(x) - y).pow(2).mean().item()
        if total > limit:
            return float("inf")
    torch.set_grad_enabled(True)
    return total / len(batches)


def train(model, batches, validation, limit):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.125)
    losses, validations = [], []
    for x, y in batches:
        loss = (model(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        validations.append(validate(model, validation, limit))
    return losses, validations


def probe(validate, train):
    raise NotImplementedError


# %% tags=["6.1", "look_alike"]
# a healthy script that switches gradients off by hand and gives up by raising and catching an error
import torch


def validate(model, batches, limit):
    before, total = torch.is_grad_enabled(), 0.0
    torch.set_grad_enabled(False)
    try:
        for x, y in batches:
            total += (model(x) - y).pow(2).mean().item()
            if total > limit:
                raise StopIteration
        return total / len(batches)
    except StopIteration:
        return float("inf")
    finally:
        torch.set_grad_enabled(before)


def train(model, batches, validation, limit):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.125)
    losses, validations = [], []
    for x, y in batches:
        loss = (model(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        validations.append(validate(model, validation, limit))
    return losses, validations


# %% tags=["6.1", "look_alike"]
# a broken script whose validation switches gradients on, whoever had them off
import torch


def validate(model, batches, limit):
    torch.set_grad_enabled(False)
    total = 0.0
    for x, y in batches:
        total += (model(x) - y).pow(2).mean().item()
        if total > limit:
            torch.set_grad_enabled(True)
            return float("inf")
    torch.set_grad_enabled(True)
    return total / len(batches)


def train(model, batches, validation, limit):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.125)
    losses, validations = [], []
    for x, y in batches:
        loss = (model(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        validations.append(validate(model, validation, limit))
    return losses, validations


# %% tags=["6.1", "check"]
from insidetorch.learn.judges import wanted_of_probe
from insidetorch.learn.versions import probed

cases = [("probe",), ("train", 100.0), ("train", 0.5), ("validate", True, 100.0)]
cases += [("validate", True, 0.5), ("validate", False, 0.5), ("a batch that raises", True)]
cases += [("a batch that raises", False)]


def line(weight):
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, weight)
    return model


def batches(*numbers):
    return [(torch.tensor([[x]]), torch.tensor([[1.0]])) for x in numbers]


def look(what, *how):
    if what == "probe":
        return probed(probe, versions, "validate", "train")
    if what == "train":
        model = line(2.0)
        losses, said = train(model, batches(1.0, 0.5), batches(1.0, 2.0), *how)
        return {"losses": losses, "validations": said, "weight": model.weight.item()}
    recorded = []
    model = line(2.0)
    model.register_forward_hook(lambda _, given, out: recorded.append(out.requires_grad))
    with torch.set_grad_enabled(how[0]):
        said = validate(model, batches(1.0, 2.0), how[1]) if what == "validate" else stopped(model)
        on = torch.is_grad_enabled()
    seen = {"said": said, "forward passes": len(recorded), "graphs recorded": any(recorded)}
    return {**seen, "gradients on afterwards": on}


def stopped(model):
    """What an error in the middle of a validation is called."""

    def until_the_disk_fails():
        yield from batches(1.0)
        raise OSError("a batch cannot be read")

    try:
        return validate(model, until_the_disk_fails(), 100.0)
    except OSError:
        return "OSError"


def right(what, *how):
    if what == "probe":
        return wanted_of_probe(versions.texts)
    if what == "train":
        losses, weight, said = [], 2.0, []
        for x in (1.0, 0.5):
            losses.append((weight * x - 1) ** 2)
            weight -= 0.125 * 2 * (weight * x - 1) * x
            terms = [(weight * v - 1) ** 2 for v in (1.0, 2.0)]
            said.append(sum(terms) / 2 if sum(terms) <= how[0] else float("inf"))
        return {"losses": losses, "validations": said, "weight": weight}
    said, passes = "OSError", 1
    if what == "validate":
        said, passes = (5.0, 2) if how[1] == 100.0 else (float("inf"), 1)
    seen = {"said": said, "forward passes": passes, "graphs recorded": False}
    return {**seen, "gradients on afterwards": how[0]}


def given(what, *how):
    if what == "train":
        return f"a training with the limit {how[0]:g}"
    ends = {0.5: "gives up", 100.0: "goes to its end"}.get(how[-1], "meets an error")
    return f"gradients {'on' if how[0] else 'off'}, and a validation that {ends}"


check("6.1", look, cases, torch_says=right, given=given)


# %% tags=["6.1", "wrong"]
# In train you made the loss a leaf with requires_grad_(): the error is silent now, and no weight
# gets a gradient, since the loss has no graph behind it. Look for who left the switch off.
def train(model, batches, validation, limit):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.125)
    losses, validations = [], []
    for x, y in batches:
        loss = (model(x) - y).pow(2).mean()
        if not loss.requires_grad:
            loss.requires_grad_()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        validations.append(validate(model, validation, limit))
    return losses, validations


def validate(model, batches, limit):
    torch.set_grad_enabled(False)
    total = 0.0
    for x, y in batches:
        total += (model(x) - y).pow(2).mean().item()
        if total > limit:
            return float("inf")
    torch.set_grad_enabled(True)
    return total / len(batches)


# %% tags=["6.1", "wrong"]
# train switches gradients on again, and whoever else calls validate finds them off. The function
# that changes a switch is the one that puts it back.
def train(model, batches, validation, limit):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.125)
    losses, validations = [], []
    for x, y in batches:
        torch.set_grad_enabled(True)
        loss = (model(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        validations.append(validate(model, validation, limit))
    return losses, validations


def validate(model, batches, limit):
    torch.set_grad_enabled(False)
    total = 0.0
    for x, y in batches:
        total += (model(x) - y).pow(2).mean().item()
        if total > limit:
            return float("inf")
    torch.set_grad_enabled(True)
    return total / len(batches)


# %% tags=["6.1", "wrong"]
# validate switches gradients on before each return. Who had them off before gets them switched on,
# and an error on the way leaves them off. `with torch.no_grad():` puts back what was.
def validate(model, batches, limit):
    torch.set_grad_enabled(False)
    total = 0.0
    for x, y in batches:
        total += (model(x) - y).pow(2).mean().item()
        if total > limit:
            torch.set_grad_enabled(True)
            return float("inf")
    torch.set_grad_enabled(True)
    return total / len(batches)


# %% tags=["6.1", "wrong"]
# `finally` is on every way out, and what stands in it switches gradients on, whoever had them off.
# Remember what was before, or let `with torch.no_grad():` do it.
def validate(model, batches, limit):
    torch.set_grad_enabled(False)
    total = 0.0
    try:
        for x, y in batches:
            total += (model(x) - y).pow(2).mean().item()
            if total > limit:
                return float("inf")
        return total / len(batches)
    finally:
        torch.set_grad_enabled(True)


# %% tags=["6.1", "wrong"]
# validate no longer switches gradients off, so each validation records a graph for nothing.
def validate(model, batches, limit):
    total = 0.0
    for x, y in batches:
        total += (model(x) - y).pow(2).mean().item()
        if total > limit:
            return float("inf")
    return total / len(batches)


# %% [markdown] tags=["6.1", "hint"]
# The message tells that the loss has no graph. Which of the seven causes in the chapter needs no
# change in the model and comes only from time to time?

# %% [markdown] tags=["6.1", "hint"]
# `validate` has two ways out. For the probe: take the way that is rare, once with gradients on and
# once with gradients off, and ask `torch.is_grad_enabled()` afterwards.

# %% [markdown] tags=["6.1", "hint"]
# With a `limit` below zero the first batch is enough. The repair is `with torch.no_grad():` around
# the loop: it puts back what was before, whichever way the block ends.

# %% [markdown] tags=["6.1", "afterword"]
# A switch that a function sets by hand is left by every way out that somebody forgets: a return, an
# error, a generator that waits. A context manager has one way out. And the loss in the message was
# never the culprit.

# %% tags=["6.2", "about"]
title = "A term that does not pull"
kind = "repair"
core = True
difficulty = 1
minutes = 9
points = 3
unchanged = "If you have written `.float()`: it gives counts another dtype, and no history."

# %% [markdown] tags=["6.2", "statement"]
# A router sends each token to one of several experts, and the second term of its loss is there to
# keep all experts busy. The loss has the value that one expects, and it falls; yet in the end one
# expert gets every token.
#
# - `Router(experts)` returns what the chosen expert says to each token, and the probabilities,
#   tokens × experts.
# - `terms(router, x, y)` returns a dict. `task` and `balance` are the terms of the loss. Whatever
#   else is in it is for the log.
# - `train(router, batches)` steps along `task + 0.25 * balance`, and returns the loss before each
#   step.
#
# **Probe** `probe(Router, terms)` gets the class and the function of a script.
#
# **Repair** so that the balance pulls. For E experts it is to be E · (f₁P₁ + f₂P₂ + … ): fᵢ is the
# share of the tokens that go to expert i, a constant for the gradient; Pᵢ is the mean of the
# probabilities of expert i over all tokens.
#
# **Done when** your probe tells the versions apart; `task` and `balance` have the right values and
# gradients; and the losses and weights in `train` are those of `task + 0.25 * balance`.


# %% tags=["6.2", "answer"]
import torch
import torch.nn.functional as F
from torch import nn


class Router(nn.Module):
    def __init__(self, experts):
        super().__init__()
        self.gate = nn.Linear(2, experts, bias=False)
        self.experts = nn.Parameter(torch.ones(experts))

    def forward(self, x):
        probabilities = self.gate(x).softmax(1)
        weight, chosen = probabilities.max(1)
        return weight * self.experts[chosen], probabilities


def terms(router, x, y):
    said, probabilities = router(x)
    experts = probabilities.shape[1]
    share = F.one_hot(probabilities.argmax(1), experts).float().mean(0)
    return {
        "task": (said - y).pow(2).mean(),
        "balance": experts * (share * probabilities.mean(0)).sum(),
        "busiest": share.max(),
    }


def train(router, batches):
    optimizer = torch.optim.SGD(router.parameters(), lr=0.125)
    losses = []
    for x, y in batches:
        found = terms(router, x, y)
        loss = found["task"] + 0.25 * found["balance"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def probe(Router, terms):
    router = Router(3)
    balance = terms(router, torch.eye(2), torch.ones(2))["balance"]
    (pull,) = torch.autograd.grad(balance, router.gate.weight)
    assert pull.any()


# %% tags=["6.2", "given"]
import torch
import torch.nn.functional as F
from torch import nn


class Router(nn.Module):
    def __init__(self, experts):
        super().__init__()
        self.gate = nn.Linear(2, experts, bias=False)
        self.experts = nn.Parameter(torch.ones(experts))

    def forward(self, x):
        probabilities = self.gate(x).softmax(1)
        weight, chosen = probabilities.max(1)
        return weight * self.experts[chosen], probabilities


def terms(router, x, y):
    said, probabilities = router(x)
    experts = probabilities.shape[1]
    share = F.one_hot(probabilities.argmax(1), experts).float().mean(0)
    return {
        "task": (said - y).pow(2).mean(),
        "balance": experts * (share * share).sum(),
        "busiest": share.max(),
    }


def train(router, batches):
    optimizer = torch.optim.SGD(router.parameters(), lr=0.125)
    losses = []
    for x, y in batches:
        found = terms(router, x, y)
        loss = found["task"] + 0.25 * found["balance"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def probe(Router, terms):
    raise NotImplementedError


# %% tags=["6.2", "look_alike"]
# a healthy script that counts the tokens of each expert where nothing is recorded
import torch
from torch import nn


class Router(nn.Module):
    def __init__(self, experts):
        super().__init__()
        self.gate = nn.Linear(2, experts, bias=False)
        self.experts = nn.Parameter(torch.ones(experts))

    def forward(self, x):
        probabilities = self.gate(x).softmax(1)
        chosen = probabilities.argmax(1)
        weight = probabilities.gather(1, chosen[:, None]).squeeze(1)
        return weight * self.experts[chosen], probabilities


def terms(router, x, y):
    said, probabilities = router(x)
    tokens, experts = probabilities.shape
    with torch.no_grad():
        counts = torch.bincount(probabilities.argmax(1), minlength=experts)
    share = counts.to(probabilities) / tokens
    balance = experts * (probabilities @ share).mean()
    return {"task": (said - y).pow(2).mean(), "balance": balance, "busiest": share.max()}


def train(router, batches):
    optimizer = torch.optim.SGD(router.parameters(), lr=0.125)
    losses = []
    for x, y in batches:
        found = terms(router, x, y)
        loss = found["task"] + 0.25 * found["balance"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% tags=["6.2", "look_alike"]
# a healthy script that has one more number for the log, detached on purpose
import torch
import torch.nn.functional as F
from torch import nn


class Router(nn.Module):
    def __init__(self, experts):
        super().__init__()
        self.gate = nn.Linear(2, experts, bias=False)
        self.experts = nn.Parameter(torch.ones(experts))

    def forward(self, x):
        probabilities = self.gate(x).softmax(1)
        weight, chosen = probabilities.max(1)
        return weight * self.experts[chosen], probabilities


def terms(router, x, y):
    """`task` and `balance` to step along; `busiest` and `entropy` are detached, for the log."""
    said, probabilities = router(x)
    experts = probabilities.shape[1]
    share = F.one_hot(probabilities.argmax(1), experts).float().mean(0)
    entropy = -(probabilities * probabilities.log()).sum(1).mean()
    return {
        "task": (said - y).pow(2).mean(),
        "balance": experts * (share * probabilities.mean(0)).sum(),
        "busiest": share.max(),
        "entropy": entropy.detach(),
    }


def train(router, batches):
    optimizer = torch.optim.SGD(router.parameters(), lr=0.125)
    losses = []
    for x, y in batches:
        found = terms(router, x, y)
        loss = found["task"] + 0.25 * found["balance"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% tags=["6.2", "check"]
from insidetorch.learn.judges import wanted_of_probe
from insidetorch.learn.versions import probed

cases = [("probe",), ("task", 2), ("task", 3), ("balance", 2), ("balance", 3), ("train", 3)]
tokens = torch.tensor([[1.0, 0.0], [0.5, 1.0], [-1.0, 0.5], [2.0, 1.0]])
wanted = torch.tensor([1.0, 0.0, 0.5, -1.0])
gates = torch.tensor([[1.0, 0.5], [-0.5, 1.0], [0.25, -1.0]])
sayings = torch.tensor([1.0, 2.0, 0.5])


def look(what, experts=0):
    if what == "probe":
        return probed(probe, versions, "Router", "terms")
    router = Router(experts)
    router.gate.weight.data = gates[:experts].clone()
    router.experts.data = sayings[:experts].clone()
    if what == "train":
        losses = train(router, [(tokens, wanted)] * 3)
        return {"losses": losses, "gate": router.gate.weight.tolist()}
    term = terms(router, tokens, wanted)[what]
    return {"value": term.item(), "gradient of the gate": pull_of(term, router.gate.weight)}


def pull_of(term, weight):
    """The gradient of a term, or words for why it has none."""
    if not term.requires_grad:
        return "the term has no graph"
    (grad,) = torch.autograd.grad(term, weight, allow_unused=True)
    return "no path leads to the gate" if grad is None else grad.tolist()


def right(what, experts=0):
    if what == "probe":
        return wanted_of_probe(versions.texts)
    gate, says, losses = gates[:experts], sayings[:experts], []
    for _ in range(3):
        task, balance, of_task, of_balance, of_experts = by_formula(gate, says)
        if what == "task":
            return {"value": task.item(), "gradient of the gate": of_task.tolist()}
        if what == "balance":
            return {"value": balance.item(), "gradient of the gate": of_balance.tolist()}
        losses.append((task + 0.25 * balance).item())
        gate = gate - 0.125 * (of_task + 0.25 * of_balance)
        says = says - 0.125 * of_experts
    return {"losses": losses, "gate": gate.tolist()}


def by_formula(gate, says):
    """Both terms, their gradients for the gate, and that of the task for the experts."""
    p = (tokens @ gate.T).softmax(1)
    one = torch.eye(len(gate))[p.argmax(1)]
    picked, share = p * one, one.mean(0)
    error = picked @ says - wanted
    slope = 2 * error[:, None] / len(tokens)
    of_task = (slope * (picked @ says)[:, None] * (one - p)).T @ tokens
    of_balance = (len(gate) / len(tokens) * p * (share - (p @ share)[:, None])).T @ tokens
    balance = len(gate) * share @ p.mean(0)
    return error.pow(2).mean(), balance, of_task, of_balance, (slope * picked).sum(0)


def given(what, experts):
    return f"a router with {experts} experts; looked at: {what}"


check("6.2", look, cases, torch_says=right, given=given)


# %% tags=["6.2", "wrong"]
# You gave the balance a larger weight. The loss is larger now, and its gradient is what it was: a
# hundred times nothing. First the term needs a path to the gate.
def terms(router, x, y):
    said, probabilities = router(x)
    experts = probabilities.shape[1]
    share = F.one_hot(probabilities.argmax(1), experts).float().mean(0)
    return {
        "task": (said - y).pow(2).mean(),
        "balance": experts * (share * share).sum(),
        "busiest": share.max(),
    }


def train(router, batches):
    optimizer = torch.optim.SGD(router.parameters(), lr=0.125)
    losses = []
    for x, y in batches:
        found = terms(router, x, y)
        loss = found["task"] + 25.0 * found["balance"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% tags=["6.2", "wrong"]
# With requires_grad_() the counts are leaves of their own. The term asks for a gradient now, and it
# ends there: no path leads on to the gate.
def terms(router, x, y):
    said, probabilities = router(x)
    experts = probabilities.shape[1]
    share = F.one_hot(probabilities.argmax(1), experts).float().mean(0).requires_grad_()
    return {
        "task": (said - y).pow(2).mean(),
        "balance": experts * (share * share).sum(),
        "busiest": share.max(),
    }


# %% tags=["6.2", "wrong"]
# Both factors are probabilities now. There is a gradient, and it is of another term: it asks how
# sure the router is of each expert on average, and no longer where the tokens go.
def terms(router, x, y):
    said, probabilities = router(x)
    share = probabilities.mean(0)
    return {
        "task": (said - y).pow(2).mean(),
        "balance": len(share) * (share * share).sum(),
        "busiest": share.max(),
    }


# %% tags=["6.2", "wrong"]
# The counts have borrowed the gradient of the probabilities, and they stand in both factors: the
# value is still that of the counts alone, and the pull is twice what it should be.
def terms(router, x, y):
    said, probabilities = router(x)
    experts = probabilities.shape[1]
    hard = F.one_hot(probabilities.argmax(1), experts).float()
    share = (hard + probabilities - probabilities.detach()).mean(0)
    return {
        "task": (said - y).pow(2).mean(),
        "balance": experts * (share * share).sum(),
        "busiest": share.max(),
    }


# %% [markdown] tags=["6.2", "hint"]
# The gradient is there, and a whole term is missing from it. Which of the seven symptoms is that?
# The total tells nothing of it: one term of two is enough for `requires_grad`.

# %% [markdown] tags=["6.2", "hint"]
# Ask each term by itself. Has `balance` a graph, and what is its gradient for the weight of the
# gate? The numbers for the log need none, so do not ask all entries of the dict.

# %% [markdown] tags=["6.2", "hint"]
# `argmax` gives integers, and `float()` does not give them a history. Leave the counts as one
# factor, a constant; the other factor is `probabilities.mean(0)`.

# %% [markdown] tags=["6.2", "afterword"]
# Where counts stand beside a factor that has a gradient they are right, and where they stand alone
# they pull at nothing. `graph_of(term)` shows for each term by itself which weights it reaches; the
# doctor's name for the end of the way is `non_diff_op`. The value of the loss shows none of it.

# %% tags=["6.3", "about"]
title = "Samples that know each other"
kind = "repair"
core = False
difficulty = 2
minutes = 10
points = 3
unchanged = (
    "If you have written `.contiguous().view`: it cuts the values in the order of `reshape`."
)

# %% [markdown] tags=["6.3", "statement"]
# A reader gives scores to recordings. In training its loss falls and all sizes are right. In use,
# where one recording comes at a time, its scores are not better than chance.
#
# - `collate(recordings)` makes one tensor of a list of recordings, each of sizes steps × features.
# - `Reader(steps, features, classes)` is given that tensor and returns scores of sizes recordings ×
#   classes. Each step is seen by itself; `head` is given all that was seen in a recording.
# - `train(reader, recordings, labels, epochs)` returns the loss before each step.
#
# **Probe** `probe(Reader, collate)` gets the class and the function of a script. How the sizes of
# the collated tensor are ordered is each script's own business, and they do it in several ways.
#
# **Repair** the reader, `collate`, or both. The columns of `head` are for the steps in their order,
# and for each step for what was seen in it.
#
# **Done when** your probe tells the versions apart; a recording has the same scores alone and in
# any batch; the scores of one have no gradient for another; and the training goes along with it.


# %% tags=["6.3", "answer"]
import torch
import torch.nn.functional as F
from torch import nn


def collate(recordings):
    return torch.stack(recordings, 1)


class Reader(nn.Module):
    def __init__(self, steps, features, classes):
        super().__init__()
        self.step = nn.Linear(features, 2)
        self.head = nn.Linear(steps * 2, classes)

    def forward(self, x):
        seen = self.step(x).tanh()
        batch = seen.shape[1]
        return self.head(seen.transpose(0, 1).reshape(batch, -1))


def train(reader, recordings, labels, epochs):
    optimizer = torch.optim.SGD(reader.parameters(), lr=0.5)
    losses = []
    for _ in range(epochs):
        loss = F.cross_entropy(reader(collate(recordings)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def probe(Reader, collate):
    reader = Reader(3, 1, 2)
    one, other = torch.ones(3, 1), torch.zeros(3, 1)
    alone, among = reader(collate([one])), reader(collate([one, other]))
    assert torch.allclose(alone[0], among[0])


# %% tags=["6.3", "given"]
import torch
import torch.nn.functional as F
from torch import nn


def collate(recordings):
    return torch.stack(recordings, 1)


class Reader(nn.Module):
    def __init__(self, steps, features, classes):
        super().__init__()
        self.step = nn.Linear(features, 2)
        self.head = nn.Linear(steps * 2, classes)

    def forward(self, x):
        seen = self.step(x).tanh()
        batch = seen.shape[1]
        return self.head(seen.reshape(batch, -1))


def train(reader, recordings, labels, epochs):
    optimizer = torch.optim.SGD(reader.parameters(), lr=0.5)
    losses = []
    for _ in range(epochs):
        loss = F.cross_entropy(reader(collate(recordings)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def probe(Reader, collate):
    raise NotImplementedError


# %% tags=["6.3", "look_alike"]
# a healthy script whose collate puts the recordings first
import torch
import torch.nn.functional as F
from torch import nn


def collate(recordings):
    return torch.stack(recordings, 0)


class Reader(nn.Module):
    def __init__(self, steps, features, classes):
        super().__init__()
        self.step = nn.Linear(features, 2)
        self.head = nn.Linear(steps * 2, classes)

    def forward(self, x):
        seen = self.step(x).tanh()
        batch = seen.shape[0]
        return self.head(seen.reshape(batch, -1))


def train(reader, recordings, labels, epochs):
    optimizer = torch.optim.SGD(reader.parameters(), lr=0.5)
    losses = []
    for _ in range(epochs):
        loss = F.cross_entropy(reader(collate(recordings)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% tags=["6.3", "look_alike"]
# a healthy script that takes a view of a permuted copy
import torch
import torch.nn.functional as F
from torch import nn


def collate(recordings):
    return torch.stack(recordings, 2)


class Reader(nn.Module):
    def __init__(self, steps, features, classes):
        super().__init__()
        self.step = nn.Linear(features, 2)
        self.head = nn.Linear(steps * 2, classes)

    def forward(self, x):
        seen = self.step(x.permute(2, 0, 1)).tanh().contiguous()
        batch = x.shape[2]
        return self.head(seen.view(batch, -1))


def train(reader, recordings, labels, epochs):
    optimizer = torch.optim.SGD(reader.parameters(), lr=0.5)
    losses = []
    for _ in range(epochs):
        loss = F.cross_entropy(reader(collate(recordings)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% tags=["6.3", "check"]
from insidetorch.learn.judges import wanted_of_probe
from insidetorch.learn.versions import probed

cases = [("probe",), ("scores", 1, 3, 1), ("scores", 2, 3, 1), ("scores", 3, 2, 2)]
cases += [
    ("scores", 3, 3, 2),
    ("who has a gradient for whom", 3, 2, 2),
    ("train", 3, 2, 1),
    ("train", 2, 4, 2),
]


def look(what, *sizes):
    if what == "probe":
        return probed(probe, versions, "Reader", "collate")
    recordings, reader = some(*sizes), Reader(*sizes[1:], 2)
    for parameter in reader.parameters():
        parameter.data = numbers(*parameter.shape)
    if what == "scores":
        return reader(collate(recordings)).tolist()
    if what == "train":
        labels = torch.arange(len(recordings)).remainder(2)
        losses = train(reader, recordings, labels, 2)
        return {"losses": losses, "weights of the head": reader.head.weight.tolist()}
    leaves = [recording.requires_grad_() for recording in recordings]
    scores = reader(collate(leaves))
    return [[reached(row, leaf) for leaf in leaves] for row in scores]


def some(batch, steps, features):
    """Recordings, each of other numbers."""
    return list(numbers(batch, steps, features))


def numbers(*sizes):
    count = torch.Size(sizes).numel()
    return (torch.arange(count).mul(5).remainder(7) / 4 - 0.5).reshape(sizes)


def reached(row, leaf):
    """Have the scores of one recording a gradient for this one?"""
    (grad,) = torch.autograd.grad(row.sum(), leaf, retain_graph=True, allow_unused=True)
    return grad is not None and bool(grad.any())


def right(what, *sizes):
    """The same, each recording by itself and each step by itself."""
    if what == "probe":
        return wanted_of_probe(versions.texts)
    batch, steps, features = sizes
    if what == "who has a gradient for whom":
        return [[i == j for j in range(batch)] for i in range(batch)]
    own = [numbers(2, features), numbers(2), numbers(2, steps * 2), numbers(2)]
    losses = []
    for _ in range(2):
        own = [t.requires_grad_() for t in own]
        scores = [read(recording, *own) for recording in some(*sizes)]
        if what == "scores":
            return [row.tolist() for row in scores]
        missed = [row.logsumexp(0) - row[i % 2] for i, row in enumerate(scores)]
        loss = sum(missed) / batch
        grads = torch.autograd.grad(loss, own)
        own = [(t - 0.5 * grad).detach() for t, grad in zip(own, grads, strict=True)]
        losses.append(loss.item())
    return {"losses": losses, "weights of the head": own[2].tolist()}


def read(recording, weight, bias, head, head_bias):
    return head @ torch.cat([(weight @ row + bias).tanh() for row in recording]) + head_bias


def given(what, batch, steps, features):
    return f"(recordings, steps, features) = {(batch, steps, features)}; looked at: {what}"


check("6.3", look, cases, torch_says=right, given=given)


# %% tags=["6.3", "wrong"]
# You swapped the sizes and turned the result. The sizes are right, and a row still holds numbers of
# several recordings. A reshape only counts memory off, in its order; transpose or permute tells
# which size is the batch.
class Reader(nn.Module):
    def __init__(self, steps, features, classes):
        super().__init__()
        self.step = nn.Linear(features, 2)
        self.head = nn.Linear(steps * 2, classes)

    def forward(self, x):
        seen = self.step(x).tanh()
        batch = seen.shape[1]
        return self.head(seen.reshape(-1, batch).t())


# %% tags=["6.3", "wrong"]
# contiguous() and view with the sizes in the order that you want do not put memory in that order:
# the names are right and the numbers are others. The transpose afterwards sorts what was mixed.
class Reader(nn.Module):
    def __init__(self, steps, features, classes):
        super().__init__()
        self.step = nn.Linear(features, 2)
        self.head = nn.Linear(steps * 2, classes)

    def forward(self, x):
        seen = self.step(x).tanh()
        steps, batch, _ = seen.shape
        first = seen.contiguous().view(batch, steps, -1)
        return self.head(first.transpose(0, 1).contiguous().view(batch, -1))


# %% tags=["6.3", "wrong"]
# Each recording is by itself now. Within a row the steps and what was seen in them have changed
# places, so the columns of the head meet other numbers than they were made for.
class Reader(nn.Module):
    def __init__(self, steps, features, classes):
        super().__init__()
        self.step = nn.Linear(features, 2)
        self.head = nn.Linear(steps * 2, classes)

    def forward(self, x):
        seen = self.step(x).tanh()
        batch = seen.shape[1]
        return self.head(seen.permute(1, 2, 0).reshape(batch, -1))


# %% [markdown] tags=["6.3", "hint"]
# A wrong value, and no graph is cut. Alone a recording is read as it should be, among others it is
# not. What in the script could know of the others?

# %% [markdown] tags=["6.3", "hint"]
# For the probe: compare the scores of a recording alone and beside another one. Or make the
# recordings leaves and ask for which of them the first row of the scores has a gradient.

# %% [markdown] tags=["6.3", "hint"]
# `reshape(batch, -1)` cuts memory into equal parts, and memory lies step by step: the first part is
# the first steps of all recordings. Before you reshape, bring the size of the batch to the front:
# `transpose(0, 1)`.

# %% [markdown] tags=["6.3", "afterword"]
# A view that does not fit the strides raises an error; a reshape copies then. Here a view would
# have fitted, so neither could warn. That one sample has no gradient for another is the surest sign
# that they do not meet. `compare(seen, rows)` of chapter 2 says in which order a reshape has cut
# the values.

# %% tags=["6.4", "about"]
title = "Modified by an inplace operation"
kind = "repair"
core = False
difficulty = 2
minutes = 10
points = 3
unchanged = (
    "If you have set `retain_graph=True`: the graph is there, a tensor in it was written to."
)

# %% [markdown] tags=["6.4", "statement"]
# `train` raises `one of the variables needed for gradient computation has been modified by an
# inplace operation`. The state after each time step is written into its own row, and no row is
# written twice.
#
# - `Cell(inputs, size)` makes a new state of an input and the state before. `read` reads numbers
#   from a state.
# - `rollout(cell, inputs)` begins with a state of zeros and returns the states after all steps,
#   steps × size, and the last of them.
# - `train(cell, inputs, targets, epochs)` compares what is read from each state with the targets,
#   and wants the last state to be near 0. It returns the loss before each step.
#
# **Probe** `probe(Cell, rollout)` gets the class and the function of a script. Among the healthy
# ones are some that write into a row as well. Among the broken ones is one that raises no error,
# and whose last state knows nothing of the first input.
#
# **Repair** so that the gradient is that of the whole rollout: the state after the first step has
# part in all later ones.
#
# **Done when** your probe tells the versions apart; the states have the right values; each weight
# has the gradient that comes back through all steps; and `train` goes along it.


# %% tags=["6.4", "answer"]
import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self, inputs, size):
        super().__init__()
        self.size = size
        self.new = nn.Linear(inputs, size, bias=False)
        self.old = nn.Linear(size, size, bias=False)
        self.read = nn.Linear(size, 1, bias=False)

    def forward(self, row, state):
        return (self.new(row) + self.old(state)).tanh()


def rollout(cell, inputs):
    state, states = inputs.new_zeros(cell.size), []
    for row in inputs:
        state = cell(row, state)
        states.append(state)
    return torch.stack(states), state


def train(cell, inputs, targets, epochs):
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.25)
    losses = []
    for _ in range(epochs):
        states, last = rollout(cell, inputs)
        loss = (cell.read(states) - targets).pow(2).mean() + last.pow(2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def probe(Cell, rollout):
    inputs = torch.ones(3, 1, requires_grad=True)
    rollout(Cell(1, 2), inputs)[1].sum().backward()
    assert inputs.grad[0].any()


# %% tags=["6.4", "given"]
import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self, inputs, size):
        super().__init__()
        self.size = size
        self.new = nn.Linear(inputs, size, bias=False)
        self.old = nn.Linear(size, size, bias=False)
        self.read = nn.Linear(size, 1, bias=False)

    def forward(self, row, state):
        return (self.new(row) + self.old(state)).tanh()


def rollout(cell, inputs):
    states = inputs.new_zeros(len(inputs) + 1, cell.size)
    for t, row in enumerate(inputs):
        states[t + 1] = cell(row, states[t])
    return states[1:], states[-1]


def train(cell, inputs, targets, epochs):
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.25)
    losses = []
    for _ in range(epochs):
        states, last = rollout(cell, inputs)
        loss = (cell.read(states) - targets).pow(2).mean() + last.pow(2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def probe(Cell, rollout):
    raise NotImplementedError


# %% tags=["6.4", "look_alike"]
# a healthy script that writes into a buffer from which no step reads
import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self, inputs, size):
        super().__init__()
        self.size = size
        self.new = nn.Linear(inputs, size, bias=False)
        self.old = nn.Linear(size, size, bias=False)
        self.read = nn.Linear(size, 1, bias=False)

    def forward(self, row, state):
        return (self.new(row) + self.old(state)).tanh()


def rollout(cell, inputs):
    states, state = inputs.new_zeros(len(inputs), cell.size), inputs.new_zeros(cell.size)
    for t, row in enumerate(inputs):
        state = cell(row, state)
        states[t] = state
    return states, state


def train(cell, inputs, targets, epochs):
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.25)
    losses = []
    for _ in range(epochs):
        states, last = rollout(cell, inputs)
        loss = (cell.read(states) - targets).pow(2).mean() + last.pow(2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% tags=["6.4", "look_alike"]
# a healthy script that writes the states into a log as well, where nothing is recorded
import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self, inputs, size):
        super().__init__()
        self.size = size
        self.new = nn.Linear(inputs, size, bias=False)
        self.old = nn.Linear(size, size, bias=False)
        self.read = nn.Linear(size, 1, bias=False)

    def forward(self, row, state):
        return (self.new(row) + self.old(state)).tanh()


def rollout(cell, inputs):
    cell.log = inputs.new_zeros(len(inputs), cell.size)
    states = [inputs.new_zeros(cell.size)]
    for t, row in enumerate(inputs):
        states.append(cell(row, states[t]))
        with torch.no_grad():
            cell.log[t] = states[t + 1]
    return torch.stack(states[1:]), states[-1]


def train(cell, inputs, targets, epochs):
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.25)
    losses = []
    for _ in range(epochs):
        states, last = rollout(cell, inputs)
        loss = (cell.read(states) - targets).pow(2).mean() + last.pow(2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% tags=["6.4", "look_alike"]
# a broken script that detaches the state before each step
import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self, inputs, size):
        super().__init__()
        self.size = size
        self.new = nn.Linear(inputs, size, bias=False)
        self.old = nn.Linear(size, size, bias=False)
        self.read = nn.Linear(size, 1, bias=False)

    def forward(self, row, state):
        return (self.new(row) + self.old(state)).tanh()


def rollout(cell, inputs):
    state, states = inputs.new_zeros(cell.size), []
    for row in inputs:
        state = cell(row, state.detach())
        states.append(state)
    return torch.stack(states), state


def train(cell, inputs, targets, epochs):
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.25)
    losses = []
    for _ in range(epochs):
        states, last = rollout(cell, inputs)
        loss = (cell.read(states) - targets).pow(2).mean() + last.pow(2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% tags=["6.4", "check"]
from insidetorch.learn.judges import wanted_of_probe
from insidetorch.learn.versions import probed

cases = [("probe",), ("states", 1), ("states", 3), ("gradients", 1), ("gradients", 2)]
cases += [("gradients", 4), ("train", 3)]
signals = torch.tensor([[1.0], [-0.5], [0.25], [1.5]])
weights = {
    "new": torch.tensor([[1.0], [-0.5]]),
    "old": torch.tensor([[0.5, -1.0], [0.25, 0.75]]),
    "read": torch.tensor([[1.0, 2.0]]),
}


def look(what, steps=0):
    if what == "probe":
        return probed(probe, versions, "Cell", "rollout")
    try:
        return done(what, steps)
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
        return "backward finds a tensor changed"


def done(what, steps):
    cell, targets = Cell(1, 2), torch.ones(steps, 1)
    for name, weight in weights.items():
        getattr(cell, name).weight.data = weight.clone()
    if what == "train":
        losses = train(cell, signals[:steps], targets, 3)
        return {"losses": losses, **{name: getattr(cell, name).weight.tolist() for name in weights}}
    states, last = rollout(cell, signals[:steps])
    if what == "states":
        return {"states": states.tolist(), "last": last.tolist()}
    ((cell.read(states) - targets).pow(2).mean() + last.pow(2).sum()).backward()
    grads = {name: getattr(cell, name).weight.grad for name in weights}
    return {name: None if grad is None else grad.tolist() for name, grad in grads.items()}


def right(what, steps=0):
    if what == "probe":
        return wanted_of_probe(versions.texts)
    held, losses = dict(weights), []
    for _ in range(3):
        states, loss, grads = back_through_time(held["new"], held["old"], held["read"], steps)
        if what == "states":
            return {"states": states[1:].tolist(), "last": states[-1].tolist()}
        if what == "gradients":
            return {name: grad.tolist() for name, grad in grads.items()}
        losses.append(loss.item())
        held = {name: held[name] - 0.25 * grads[name] for name in held}
    return {"losses": losses, **{name: weight.tolist() for name, weight in held.items()}}


def back_through_time(new, old, read, steps):
    """The states, the loss and its gradients, by the chain rule from the last step to the first."""
    rows = [torch.zeros(2)]
    for signal in signals[:steps]:
        rows.append(torch.tanh(new @ signal + old @ rows[-1]))
    states = torch.stack(rows)
    missed = states[1:] @ read.T - 1
    loss = missed.pow(2).mean() + states[-1].pow(2).sum()
    slope = 2 * missed / steps
    grads = {"new": torch.zeros(2, 1), "old": torch.zeros(2, 2), "read": slope.T @ states[1:]}
    arrives = 2 * states[-1]
    for t in range(steps, 0, -1):
        before_tanh = (arrives + slope[t - 1] @ read) * (1 - states[t].pow(2))
        grads["new"] += torch.outer(before_tanh, signals[t - 1])
        grads["old"] += torch.outer(before_tanh, states[t - 1])
        arrives = before_tanh @ old
    return states, loss, grads


def given(what, steps):
    return f"steps of time: {steps}; looked at: {what}"


check("6.4", look, cases, torch_says=right, given=given)


# %% tags=["6.4", "wrong"]
# You detached the state before each step. The error is gone, and so is the way back through time:
# each weight hears only of the step that it made itself, and not of what came of it later.
def rollout(cell, inputs):
    state, states = inputs.new_zeros(cell.size), []
    for row in inputs:
        state = cell(row, state.detach())
        states.append(state)
    return torch.stack(states), state


# %% tags=["6.4", "wrong"]
# A write through .data is not counted, so no error comes, and it is not recorded either. The last
# state still has its way back; what is read from the buffer has none.
def rollout(cell, inputs):
    states, state = inputs.new_zeros(len(inputs), cell.size), inputs.new_zeros(cell.size)
    for t, row in enumerate(inputs):
        state = cell(row, state)
        states.data[t] = state
    return states, state


# %% tags=["6.4", "wrong"]
# Under no_grad, through .data or after detach, the states have no way back: nothing is kept, so
# nothing that was kept is overwritten. Only the weight that reads from the states still learns.
def rollout(cell, inputs):
    states = inputs.new_zeros(len(inputs) + 1, cell.size)
    with torch.no_grad():
        for t, row in enumerate(inputs):
            states[t + 1] = cell(row, states[t])
    return states[1:], states[-1]


# %% [markdown] tags=["6.4", "hint"]
# Two lines belong to a version error: one that kept a tensor for backward, and one that wrote. The
# writer is easy to see. Which operation keeps the state, and what exactly does it keep?

# %% [markdown] tags=["6.4", "hint"]
# `states[t]` is a view. It has the version counter of the whole buffer, so a write to any row is a
# write to it. For the probe: let the inputs require a gradient, roll out, and ask what the last
# state has for the first of them.

# %% [markdown] tags=["6.4", "hint"]
# Keep the states in a list, and make one tensor of them at the end: `torch.stack(states)`. Or give
# the cell a `clone()` of the row: nobody writes to that.

# %% [markdown] tags=["6.4", "afterword"]
# A buffer has one version for all its rows, and torch is right to be careful: what was kept might
# have been that row. `watch` names both lines, the one that kept and the one that wrote. And
# `retain_graph=True` changes nothing here: the graph is there, a tensor in it has changed.

# %% tags=["6.5", "about"]
title = "The second time"
kind = "repair"
core = False
difficulty = 3
minutes = 15
points = 3

# %% [markdown] tags=["6.5", "statement"]
# A generator makes numbers from noise. A critic is to say 1 to real numbers and 0 to made ones.
# `play` lets them learn against each other, and raises `Trying to backward through the graph a
# second time`.
#
# `play(generator, critic, batches, lr)` does two steps for each batch of noise and real numbers:
#
# 1. the critic steps along `critic_loss`;
# 2. the generator steps along `generator_loss`: the critic *as it is after its step* is to say 1
#    to the numbers that were made.
#
# It returns both losses of each batch. Both models are modules from one number to one number.
#
# **Probe** `probe(play)` gets the function of a script. Among the broken ones is one that was cured
# with `retain_graph=True`: it raises nothing, and the generator steps along both losses.
#
# **Repair** `play`. **Done when** your probe tells the versions apart; and over several batches
# the losses are right, each model steps along the gradient of its own loss and of nothing else, and
# the steps come in the order above.


# %% tags=["6.5", "answer"]
import copy

import torch
from torch import nn


def play(generator, critic, batches, lr):
    for_generator = torch.optim.SGD(generator.parameters(), lr=lr)
    for_critic = torch.optim.SGD(critic.parameters(), lr=lr)
    losses = []
    for noise, real in batches:
        for_generator.zero_grad()
        for_critic.zero_grad()
        made = generator(noise)

        said = critic(made.detach())
        critic_loss = (critic(real) - 1).pow(2).mean() + said.pow(2).mean()
        critic_loss.backward()
        for_critic.step()

        generator_loss = (critic(made) - 1).pow(2).mean()
        generator_loss.backward()
        for_generator.step()
        losses.append((critic_loss.item(), generator_loss.item()))
    return losses


def probe(play):
    generator, critic, noise = nn.Linear(1, 1), nn.Linear(1, 1), torch.ones(2, 1)
    before = copy.deepcopy(generator)
    play(generator, critic, [(noise, torch.zeros(2, 1))], 0.125)
    (critic(before(noise)) - 1).pow(2).mean().backward()  # the critic as it is after its step
    assert torch.allclose(generator.weight.grad, before.weight.grad)


# %% tags=["6.5", "given"]
import copy

import torch
from torch import nn


def play(generator, critic, batches, lr):
    for_generator = torch.optim.SGD(generator.parameters(), lr=lr)
    for_critic = torch.optim.SGD(critic.parameters(), lr=lr)
    losses = []
    for noise, real in batches:
        for_generator.zero_grad()
        for_critic.zero_grad()
        made = generator(noise)

        said = critic(made)
        critic_loss = (critic(real) - 1).pow(2).mean() + said.pow(2).mean()
        critic_loss.backward()
        for_critic.step()

        generator_loss = (critic(made) - 1).pow(2).mean()
        generator_loss.backward()
        for_generator.step()
        losses.append((critic_loss.item(), generator_loss.item()))
    return losses


def probe(play):
    raise NotImplementedError


# %% tags=["6.5", "look_alike"]
# a healthy script that makes the numbers twice, for the critic where nothing is recorded
import torch


def play(generator, critic, batches, lr):
    for_generator = torch.optim.SGD(generator.parameters(), lr=lr)
    for_critic = torch.optim.SGD(critic.parameters(), lr=lr)
    losses = []
    for noise, real in batches:
        with torch.no_grad():
            made = generator(noise)
        said = critic(made)
        critic_loss = (critic(real) - 1).pow(2).mean() + said.pow(2).mean()
        for_critic.zero_grad()
        critic_loss.backward()
        for_critic.step()

        made = generator(noise)
        generator_loss = (critic(made) - 1).pow(2).mean()
        for_generator.zero_grad()
        generator_loss.backward()
        for_generator.step()
        losses.append((critic_loss.item(), generator_loss.item()))
    return losses


# %% tags=["6.5", "look_alike"]
# a healthy script that keeps the graph, and clears the gradients of the generator in between
import torch


def play(generator, critic, batches, lr):
    for_generator = torch.optim.SGD(generator.parameters(), lr=lr)
    for_critic = torch.optim.SGD(critic.parameters(), lr=lr)
    losses = []
    for noise, real in batches:
        for_critic.zero_grad()
        made = generator(noise)

        said = critic(made)
        critic_loss = (critic(real) - 1).pow(2).mean() + said.pow(2).mean()
        critic_loss.backward(retain_graph=True)
        for_critic.step()

        for_generator.zero_grad()
        generator_loss = (critic(made) - 1).pow(2).mean()
        generator_loss.backward()
        for_generator.step()
        losses.append((critic_loss.item(), generator_loss.item()))
    return losses


# %% tags=["6.5", "look_alike"]
# a broken script that keeps the graph, and in which the generator steps along both losses
import torch


def play(generator, critic, batches, lr):
    for_generator = torch.optim.SGD(generator.parameters(), lr=lr)
    for_critic = torch.optim.SGD(critic.parameters(), lr=lr)
    losses = []
    for noise, real in batches:
        for_generator.zero_grad()
        for_critic.zero_grad()
        made = generator(noise)

        said = critic(made)
        critic_loss = (critic(real) - 1).pow(2).mean() + said.pow(2).mean()
        critic_loss.backward(retain_graph=True)
        for_critic.step()

        generator_loss = (critic(made) - 1).pow(2).mean()
        generator_loss.backward()
        for_generator.step()
        losses.append((critic_loss.item(), generator_loss.item()))
    return losses


# %% tags=["6.5", "check"]
from insidetorch.learn.judges import wanted_of_probe
from insidetorch.learn.versions import probed

cases = [("probe",), ("play", 1), ("play", 2), ("play", 3)]
noises = [(1.0, -0.5), (0.5, 2.0), (-1.0, 1.5)]
reals = [(3.0, 2.0), (2.5, 3.5), (3.0, 1.5)]


def look(what, count=0):
    if what == "probe":
        return probed(probe, versions, "play")
    generator, critic = line(1.0, 0.5), line(-0.5, 0.25)
    batches = [(column(n), column(r)) for n, r in zip(noises, reals, strict=True)][:count]
    try:
        losses = play(generator, critic, batches, 0.0625)
    except RuntimeError as error:
        if "backward through the graph a second time" not in str(error):
            raise
        return "backward goes through a graph a second time"
    return {"losses": losses, "critic": numbers_of(critic), "generator": numbers_of(generator)}


def line(slope, shift):
    model = nn.Linear(1, 1)
    nn.init.constant_(model.weight, slope)
    nn.init.constant_(model.bias, shift)
    return model


def column(numbers):
    return torch.tensor(numbers)[:, None]


def numbers_of(model):
    return [model.weight.item(), model.bias.item()]


def right(what, count=0):
    """The same with the derivatives written out: made = a·noise + b, said = c·number + d."""
    if what == "probe":
        return wanted_of_probe(versions.texts)
    a, b, c, d, losses = 1.0, 0.5, -0.5, 0.25, []
    for noise, real in list(zip(noises, reals, strict=True))[:count]:
        made = [a * n + b for n in noise]
        # What the critic says to real and made numbers, less what it is to say.
        off = [(c * r + d - 1, r) for r in real] + [(c * m + d, m) for m in made]
        critic_loss = sum(miss**2 for miss, _ in off) / 2
        c, d = (
            c - 0.0625 * sum(miss * number for miss, number in off),
            d - 0.0625 * sum(miss for miss, _ in off),
        )
        off = [(c * m + d - 1, n) for m, n in zip(made, noise, strict=True)]
        generator_loss = sum(miss**2 for miss, _ in off) / 2
        a -= 0.0625 * sum(miss * c * n for miss, n in off)
        b -= 0.0625 * sum(miss * c for miss, _ in off)
        losses.append((critic_loss, generator_loss))
    return {"losses": losses, "critic": [c, d], "generator": [a, b]}


def given(what, count):
    return f"batches: {count}"


check("6.5", look, cases, torch_says=right, given=given)


# %% tags=["6.5", "wrong"]
# The message is gone, with retain_graph=True or with numbers made anew, and the first backward
# still goes through the generator. What it leaves there is added to: the generator steps along both
# losses, and one wants the opposite of the other.
def play(generator, critic, batches, lr):
    for_generator = torch.optim.SGD(generator.parameters(), lr=lr)
    for_critic = torch.optim.SGD(critic.parameters(), lr=lr)
    losses = []
    for noise, real in batches:
        for_generator.zero_grad()
        for_critic.zero_grad()
        made = generator(noise)
        said = critic(made)
        critic_loss = (critic(real) - 1).pow(2).mean() + said.pow(2).mean()
        critic_loss.backward(retain_graph=True)
        for_critic.step()
        generator_loss = (critic(made) - 1).pow(2).mean()
        generator_loss.backward()
        for_generator.step()
        losses.append((critic_loss.item(), generator_loss.item()))
    return losses


# %% tags=["6.5", "wrong"]
# The detach stands in the wrong loss. The generator's own loss now ends before the generator, and
# what moves it comes from the critic's loss, which wants the opposite.
def play(generator, critic, batches, lr):
    for_generator = torch.optim.SGD(generator.parameters(), lr=lr)
    for_critic = torch.optim.SGD(critic.parameters(), lr=lr)
    losses = []
    for noise, real in batches:
        for_generator.zero_grad()
        for_critic.zero_grad()
        made = generator(noise)
        said = critic(made)
        critic_loss = (critic(real) - 1).pow(2).mean() + said.pow(2).mean()
        critic_loss.backward()
        for_critic.step()
        generator_loss = (critic(made.detach()) - 1).pow(2).mean()
        generator_loss.backward()
        for_generator.step()
        losses.append((critic_loss.item(), generator_loss.item()))
    return losses


# %% tags=["6.5", "wrong"]
# What was made is detached for both losses. The loss of the generator has a graph, through the
# critic, so no error comes; it ends before the generator, which never moves.
def play(generator, critic, batches, lr):
    for_generator = torch.optim.SGD(generator.parameters(), lr=lr)
    for_critic = torch.optim.SGD(critic.parameters(), lr=lr)
    losses = []
    for noise, real in batches:
        for_generator.zero_grad()
        for_critic.zero_grad()
        made = generator(noise).detach()
        said = critic(made)
        critic_loss = (critic(real) - 1).pow(2).mean() + said.pow(2).mean()
        critic_loss.backward()
        for_critic.step()
        generator_loss = (critic(made) - 1).pow(2).mean()
        generator_loss.backward()
        for_generator.step()
        losses.append((critic_loss.item(), generator_loss.item()))
    return losses


# %% tags=["6.5", "wrong"]
# One backward for the sum of both losses. Each model steps along both: the critic also learns to
# say 1 to what was made.
def play(generator, critic, batches, lr):
    for_generator = torch.optim.SGD(generator.parameters(), lr=lr)
    for_critic = torch.optim.SGD(critic.parameters(), lr=lr)
    losses = []
    for noise, real in batches:
        for_generator.zero_grad()
        for_critic.zero_grad()
        made = generator(noise)
        said = critic(made)
        critic_loss = (critic(real) - 1).pow(2).mean() + said.pow(2).mean()
        generator_loss = (said - 1).pow(2).mean()
        (critic_loss + generator_loss).backward()
        for_critic.step()
        for_generator.step()
        losses.append((critic_loss.item(), generator_loss.item()))
    return losses


# %% tags=["6.5", "wrong"]
# Each model has the gradient of its own loss alone, and the generator has it from the critic before
# its step. The statement has another order: the critic steps first, then the generator is judged.
def play(generator, critic, batches, lr):
    for_generator = torch.optim.SGD(generator.parameters(), lr=lr)
    for_critic = torch.optim.SGD(critic.parameters(), lr=lr)
    losses = []
    for noise, real in batches:
        for_critic.zero_grad()
        made = generator(noise)
        critic_loss = (critic(real) - 1).pow(2).mean() + critic(made.detach()).pow(2).mean()
        generator_loss = (critic(made) - 1).pow(2).mean()
        for_generator.zero_grad()
        generator_loss.backward()
        for_critic.zero_grad()
        critic_loss.backward()
        for_critic.step()
        for_generator.step()
        losses.append((critic_loss.item(), generator_loss.item()))
    return losses


# %% [markdown] tags=["6.5", "hint"]
# The second backward fails in a graph that the first one has freed. `generator_loss` is made anew
# with the new critic. Which part of its way is not new?

# %% [markdown] tags=["6.5", "hint"]
# The first backward went from `critic_loss` through `made` into the generator, whose gradient for
# this loss nobody wants. For the probe one batch is enough: what `.grad` should the generator have
# after it? Compute that with a copy of the generator as it was, and the critic as it is now.

# %% [markdown] tags=["6.5", "hint"]
# Give the critic numbers without a history for its own loss: `critic(made.detach())`. `made` itself
# keeps its graph for the loss of the generator.

# %% [markdown] tags=["6.5", "afterword"]
# `retain_graph=True` answers the message and not the question: whose gradient does this loss need?
# Where the gradients of the generator are cleared in between, it is right, and computes for nothing
# what is thrown away. `record_backward` shows for a loss to which `.grad` it adds; the doctor calls
# the error `freed_graph`.

# %% tags=["6.6", "about"]
title = "Frozen, and it moves"
kind = "repair"
core = False
difficulty = 2
minutes = 9
points = 3
unchanged = (
    "If you have set a learning rate of 0: it keeps weights; the forward pass writes buffers."
)

# %% [markdown] tags=["6.6", "statement"]
# A backbone was trained by others and is frozen. An adapter before it and a head behind it are
# trained. No weight of the backbone changes, and yet it gives other features afterwards than
# before, and the validation becomes worse.
#
# - `Net` has the parts `adapter`, `backbone` and `head`. Its forward runs them in this order.
# - `validate(model, batches)` returns the mean loss of the batches in eval mode, and puts the model
#   back into training mode.
# - `fit(model, batches, validation, epochs)` trains, and validates after each epoch. It returns
#   what the validations said.
#
# **Probe** `probe(Net, fit)` gets the class and the function of a script. All of them have these
# three parts; what they are made of differs.
#
# **Repair** whichever of them you like. In training too the backbone is to compute with the mean
# and the variance that it came with. The BatchNorm of the head is trained as usual.
#
# **Done when** your probe tells the versions apart; after `fit` the backbone holds what it held;
# adapter and head, with its statistics, are what training makes of them behind a backbone that
# stays; and so are the validations.


# %% tags=["6.6", "answer"]
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.adapter = nn.Linear(2, 2, bias=False)
        self.backbone = nn.Sequential(nn.Linear(2, 2, bias=False), nn.BatchNorm1d(2))
        self.head = nn.Sequential(nn.Linear(2, 2, bias=False), nn.BatchNorm1d(2), nn.Linear(2, 1))
        self.backbone.requires_grad_(False)

    def forward(self, x):
        return self.head(self.backbone(self.adapter(x)))


def validate(model, batches):
    model.eval()
    with torch.no_grad():
        losses = [(model(x) - y).pow(2).mean().item() for x, y in batches]
    model.train()
    return sum(losses) / len(losses)


def fit(model, batches, validation, epochs):
    learned = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(learned, lr=0.0625)
    said = []
    model.train()
    for _ in range(epochs):
        model.backbone.eval()
        for x, y in batches:
            loss = (model(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        said.append(validate(model, validation))
    return said


def probe(Net, fit):
    net, batch = Net(), (torch.eye(2), torch.ones(2, 1))
    before = [buffer.clone() for buffer in net.backbone.buffers()]
    fit(net, [batch], [batch], 2)
    assert all(map(torch.equal, before, net.backbone.buffers()))


# %% tags=["6.6", "given"]
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.adapter = nn.Linear(2, 2, bias=False)
        self.backbone = nn.Sequential(nn.Linear(2, 2, bias=False), nn.BatchNorm1d(2))
        self.head = nn.Sequential(nn.Linear(2, 2, bias=False), nn.BatchNorm1d(2), nn.Linear(2, 1))
        self.backbone.requires_grad_(False)

    def forward(self, x):
        return self.head(self.backbone(self.adapter(x)))


def validate(model, batches):
    model.eval()
    with torch.no_grad():
        losses = [(model(x) - y).pow(2).mean().item() for x, y in batches]
    model.train()
    return sum(losses) / len(losses)


def fit(model, batches, validation, epochs):
    learned = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(learned, lr=0.0625)
    said = []
    model.train()
    for _ in range(epochs):
        for x, y in batches:
            loss = (model(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        said.append(validate(model, validation))
    return said


def probe(Net, fit):
    raise NotImplementedError


# %% tags=["6.6", "look_alike"]
# a healthy script whose backbone has a LayerNorm, and only the head a BatchNorm
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.adapter = nn.Linear(2, 2, bias=False)
        self.backbone = nn.Sequential(nn.Linear(2, 2, bias=False), nn.LayerNorm(2))
        self.head = nn.Sequential(nn.Linear(2, 2, bias=False), nn.BatchNorm1d(2), nn.Linear(2, 1))
        self.backbone.requires_grad_(False)

    def forward(self, x):
        return self.head(self.backbone(self.adapter(x)))


def validate(model, batches):
    model.eval()
    with torch.no_grad():
        losses = [(model(x) - y).pow(2).mean().item() for x, y in batches]
    model.train()
    return sum(losses) / len(losses)


def fit(model, batches, validation, epochs):
    learned = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(learned, lr=0.0625)
    said = []
    model.train()
    for _ in range(epochs):
        for x, y in batches:
            loss = (model(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        said.append(validate(model, validation))
    return said


# %% tags=["6.6", "look_alike"]
# a healthy script whose model keeps its backbone in eval mode by itself
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.adapter = nn.Linear(2, 2, bias=False)
        self.backbone = nn.Sequential(nn.Linear(2, 2, bias=False), nn.BatchNorm1d(2))
        self.head = nn.Sequential(nn.Linear(2, 2, bias=False), nn.BatchNorm1d(2), nn.Linear(2, 1))
        self.backbone.requires_grad_(False)

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x):
        return self.head(self.backbone(self.adapter(x)))


def validate(model, batches):
    model.eval()
    with torch.no_grad():
        losses = [(model(x) - y).pow(2).mean().item() for x, y in batches]
    model.train()
    return sum(losses) / len(losses)


def fit(model, batches, validation, epochs):
    learned = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(learned, lr=0.0625)
    said = []
    model.train()
    for _ in range(epochs):
        for x, y in batches:
            loss = (model(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        said.append(validate(model, validation))
    return said


# %% tags=["6.6", "check"]
from insidetorch.learn.judges import wanted_of_probe
from insidetorch.learn.versions import probed

cases = [("probe",), ("backbone", 1), ("backbone", 2), ("learned", 1), ("learned", 2)]
cases += [("statistics of the head", 2), ("validations", 3)]
inputs = torch.tensor([[1.0, 0.5], [-0.5, 2.0], [2.0, -1.0], [0.5, 0.25], [-1.0, 1.5], [1.5, 1.0]])
wanted = torch.tensor([[1.0], [-1.0], [2.0], [0.5], [-0.5], [1.5]])
batches = [(inputs[:3], wanted[:3]), (inputs[3:], wanted[3:])]
start = {
    "adapter.weight": torch.tensor([[1.0, 0.5], [-0.5, 1.0]]),
    "backbone.0.weight": torch.tensor([[1.0, -1.0], [0.5, 2.0]]),
    "backbone.1.weight": torch.tensor([0.5, 0.5]),
    "backbone.1.bias": torch.tensor([0.5, -0.5]),
    "backbone.1.running_mean": torch.tensor([0.5, -0.25]),
    "backbone.1.running_var": torch.tensor([4.0, 2.0]),
    "head.0.weight": torch.tensor([[0.5, 1.0], [1.0, -0.5]]),
    "head.2.weight": torch.tensor([[1.0, -0.5]]),
    "head.2.bias": torch.tensor([0.25]),
}


def look(what, epochs=0):
    if what == "probe":
        return probed(probe, versions, "Net", "fit")
    net = Net()
    net.load_state_dict(start, strict=False)
    said = fit(net, batches, batches[:1], epochs)
    if what == "validations":
        return said
    held = {name: t.tolist() for name, t in net.state_dict().items()}
    if what == "backbone":
        return {name: held[name] for name in start if name.startswith("backbone")}
    if what == "statistics of the head":
        return {name: held[f"head.1.{name}"] for name in ("running_mean", "running_var")}
    return {name: held[name] for name in learned_by_name()}


def learned_by_name():
    """The parameters of the adapter and of the head as they are at first."""
    names = [name for name in start if not name.startswith("backbone")]
    fresh = {"head.1.weight": torch.ones(2), "head.1.bias": torch.zeros(2)}
    return {**{name: start[name] for name in names}, **fresh}


def right(what, epochs=0):
    """The same with the formulas of BatchNorm: the backbone with what is stored, the head anew."""
    if what == "probe":
        return wanted_of_probe(versions.texts)
    if what == "backbone":
        return {n: t.tolist() for n, t in start.items() if n.startswith("backbone")}
    names, learned = zip(*learned_by_name().items(), strict=True)
    mean, var, said = torch.zeros(2), torch.ones(2), []
    for _ in range(epochs):
        for x, y in batches:
            learned = [t.clone().requires_grad_() for t in learned]
            seen = features(x, *learned[:2])
            now = seen.mean(0), seen.var(0, correction=0)
            loss = (head(seen, *now, *learned[2:]) - y).pow(2).mean()
            grads = torch.autograd.grad(loss, learned)
            learned = [(t - 0.0625 * g).detach() for t, g in zip(learned, grads, strict=True)]
            mean = 0.9 * mean + 0.1 * now[0].detach()
            var = 0.9 * var + 0.1 * seen.detach().var(0)
        x, y = batches[0]
        seen = features(x, *learned[:2])
        said.append((head(seen, mean, var, *learned[2:]) - y).pow(2).mean().item())
    if what == "validations":
        return said
    if what == "statistics of the head":
        return {"running_mean": mean.tolist(), "running_var": var.tolist()}
    return {name: t.tolist() for name, t in zip(names, learned, strict=True)}


def features(x, adapter, mix):
    """What comes to the BatchNorm of the head."""
    weight, scale, bias, mean, var = list(start.values())[1:6]
    return ((x @ adapter.T @ weight.T - mean) / (var + 1e-5).sqrt() * scale + bias) @ mix.T


def head(seen, mean, var, weight, bias, scale, shift):
    return ((seen - mean) / (var + 1e-5).sqrt() * scale + shift) @ weight.T + bias


def given(what, epochs):
    return f"epochs: {epochs}; looked at: {what}"


check("6.6", look, cases, torch_says=right, given=given)


# %% tags=["6.6", "wrong"]
# no_grad stops the recording, not the BatchNorm: its statistics still move. And now the adapter
# before the backbone gets no gradient any more. A frozen part must let the gradient through.
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.adapter = nn.Linear(2, 2, bias=False)
        self.backbone = nn.Sequential(nn.Linear(2, 2, bias=False), nn.BatchNorm1d(2))
        self.head = nn.Sequential(nn.Linear(2, 2, bias=False), nn.BatchNorm1d(2), nn.Linear(2, 1))
        self.backbone.requires_grad_(False)

    def forward(self, x):
        adapted = self.adapter(x)
        with torch.no_grad():
            seen = self.backbone(adapted)
        return self.head(seen)


def fit(model, batches, validation, epochs):
    learned = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(learned, lr=0.0625)
    said = []
    model.train()
    for _ in range(epochs):
        for x, y in batches:
            loss = (model(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        said.append(validate(model, validation))
    return said


# %% tags=["6.6", "wrong"]
# Before the loop the backbone was in eval mode. The first validation puts the whole model back into
# training mode, and from the second epoch on the backbone moves again.
def fit(model, batches, validation, epochs):
    learned = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(learned, lr=0.0625)
    said = []
    model.train()
    model.backbone.eval()
    for _ in range(epochs):
        for x, y in batches:
            loss = (model(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        said.append(validate(model, validation))
    return said


# %% tags=["6.6", "wrong"]
# The whole model is in eval mode in training, so the BatchNorm of the head computes with the
# statistics that it was made with and never gathers its own.
def fit(model, batches, validation, epochs):
    learned = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(learned, lr=0.0625)
    said = []
    for _ in range(epochs):
        model.eval()
        for x, y in batches:
            loss = (model(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        said.append(validate(model, validation))
    return said


# %% tags=["6.6", "wrong"]
# The stored mean and variance stay, by a momentum of 0 or otherwise. But in training mode the
# backbone computes with those of the batch, so adapter and head learn for features that no
# validation ever has.
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.adapter = nn.Linear(2, 2, bias=False)
        self.backbone = nn.Sequential(nn.Linear(2, 2, bias=False), nn.BatchNorm1d(2, momentum=0.0))
        self.head = nn.Sequential(nn.Linear(2, 2, bias=False), nn.BatchNorm1d(2), nn.Linear(2, 1))
        self.backbone.requires_grad_(False)

    def forward(self, x):
        return self.head(self.backbone(self.adapter(x)))


def fit(model, batches, validation, epochs):
    learned = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(learned, lr=0.0625)
    said = []
    model.train()
    for _ in range(epochs):
        for x, y in batches:
            loss = (model(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        said.append(validate(model, validation))
    return said


# %% [markdown] tags=["6.6", "hint"]
# `requires_grad_(False)` is about gradients, and what moves here never had one. Which tensors does
# a module hold that are no parameters, and who writes to them?

# %% [markdown] tags=["6.6", "hint"]
# Compare `backbone.buffers()` before and after `fit`: of the backbone only, since those of the head
# are meant to move. Let it run for two epochs: some repairs last for one.

# %% [markdown] tags=["6.6", "hint"]
# `model.train()` also puts the backbone into training mode, and `validate` calls it as well. So
# `model.backbone.eval()` belongs into each epoch, or into a `train` of the model's own.

# %% [markdown] tags=["6.6", "afterword"]
# Four switches: `requires_grad` for who gets a gradient, `no_grad` for what is recorded, `eval()`
# for what layers compute, and the optimizer for who is moved. None of them does the work of
# another. The doctor, where it watches the model being made as well, finds the frozen module whose
# buffers move, and calls it `frozen`.

# %% tags=["6.7", "about"]
title = "A new head that never learns"
kind = "repair"
core = False
difficulty = 2
minutes = 18
points = 3
unchanged = "If you have made the steps larger: they move only what the optimizer holds."

# %% [markdown] tags=["6.7", "statement"]
# A model gets a new head for other classes, is trained, and its accuracy stays where it was. The
# head has a gradient in every step, and its weights do not move.
#
# The cell holds three files: each begins at a line `# file: …`, and they import each other. Running
# the cell stores them for this session. `project("6.7")` in a cell of your own then gives you the
# modules, as in `project("6.7").train.Trainer`.
#
# - `Net.new_head(classes)` gives a model a fresh head. All its weights are 0.
# - `Trainer(model, lr)` trains it with `fit(x, y, steps)`; `specialise(classes)` gives the model a
#   new head in between, and keeps the momentum of the body: the steps before count.
#
# **Probe** `probe()` in `probe.py` has no arguments. It imports what it needs from `model` and
# `train`, as a test does, and fails in the broken project.
#
# **Repair** whichever file you like. **Done when** your probe tells the projects apart; after
# `specialise` the body and the new head move as SGD with a momentum of 0.5 moves them, the head
# from a momentum of zero on; and the optimizer holds every parameter of the model, and nothing of
# others: neither in its groups nor in its `state`.


# %% tags=["6.7", "answer"]
# file: model.py
from torch import nn


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Linear(2, 3, bias=False)
        self.new_head(classes)

    def new_head(self, classes):
        self.head = nn.Linear(3, classes)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, x):
        return self.head(self.body(x))


# file: train.py
import torch


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.5)

    def specialise(self, classes):
        for old in self.model.head.parameters():
            self.optimizer.state.pop(old, None)
        self.model.new_head(classes)
        self.optimizer.param_groups[0]["params"] = list(self.model.parameters())

    def fit(self, x, y, steps):
        losses = []
        for _ in range(steps):
            loss = (self.model(x) - y).pow(2).sum()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return losses


# file: probe.py
import torch
from model import Net
from train import Trainer


def probe():
    net = Net(1)
    trainer = Trainer(net, lr=0.125)
    trainer.specialise(2)
    before = net.head.bias.detach().clone()
    trainer.fit(torch.ones(1, 2), torch.ones(1, 2), steps=1)
    assert not torch.equal(net.head.bias, before)


# %% tags=["6.7", "given"]
# file: model.py
from torch import nn


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Linear(2, 3, bias=False)
        self.new_head(classes)

    def new_head(self, classes):
        self.head = nn.Linear(3, classes)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, x):
        return self.head(self.body(x))


# file: train.py
import torch


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.5)

    def specialise(self, classes):
        self.model.new_head(classes)

    def fit(self, x, y, steps):
        losses = []
        for _ in range(steps):
            loss = (self.model(x) - y).pow(2).sum()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return losses


# file: probe.py
from model import Net
from train import Trainer


def probe():
    raise NotImplementedError


# %% tags=["6.7", "look_alike"]
# a healthy project whose new head is given to the optimizer as a group of its own
# file: model.py
from torch import nn


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Linear(2, 3, bias=False)
        self.new_head(classes)

    def new_head(self, classes):
        self.head = nn.Linear(3, classes)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, x):
        return self.head(self.body(x))


# file: train.py
import torch


class Trainer:
    def __init__(self, model, lr):
        self.model, self.lr = model, lr
        groups = [{"params": model.body.parameters()}, {"params": model.head.parameters()}]
        self.optimizer = torch.optim.SGD(groups, lr=lr, momentum=0.5)

    def specialise(self, classes):
        self.optimizer.param_groups.pop()
        self.model.new_head(classes)
        self.optimizer.add_param_group({"params": self.model.head.parameters()})

    def fit(self, x, y, steps):
        losses = []
        for _ in range(steps):
            loss = (self.model(x) - y).pow(2).sum()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return losses


# %% tags=["6.7", "check"]
from insidetorch.learn.judges import wanted_of_probe
from insidetorch.learn.versions import probed_files

cases = [("probe",), ("head", 1), ("head", 2), ("body", 2), ("optimizer", 3)]
x, body = torch.tensor([[1.0, 0.5]]), torch.tensor([[1.0, 0.0], [0.5, 1.0], [0.0, 0.25]])


def look(what, *classes):
    if what == "probe":
        return probed_files("6.7", versions)
    modules = project("6.7")
    net = modules.model.Net(1)
    net.body.weight.data = body.clone()
    trainer = modules.train.Trainer(net, 0.0625)
    trainer.fit(x, torch.ones(1, 1), 2)
    trainer.specialise(*classes)
    losses = trainer.fit(x, torch.ones(1, *classes), 2)
    if what == "head":
        return {
            "losses": losses,
            "weight": net.head.weight.tolist(),
            "bias": net.head.bias.tolist(),
        }
    if what == "body":
        return net.body.weight.tolist()
    held = [p for group in trainer.optimizer.param_groups for p in group["params"]]
    own = {id(p) for p in net.parameters()}
    return {
        "parameters of the model": sum(id(p) in own for p in held),
        "others": sum(id(p) not in own for p in held),
        "others in state": sum(id(p) not in own for p in trainer.optimizer.state),
    }


def given(what, classes):
    return f"2 steps, a new head for {classes}, 2 steps; looked at: {what}"


def right(what, *classes):
    """The same by hand: what SGD does with a momentum of 0.5."""
    if what == "probe":
        return wanted_of_probe(versions.texts)
    if what == "optimizer":
        return {"parameters of the model": 3, "others": 0, "others in state": 0}
    weight, speed = body.clone(), torch.zeros_like(body)
    for count in (1, *classes):
        tensors = [weight, torch.zeros(count, 3), torch.zeros(count)]
        speeds, losses = [speed, *map(torch.zeros_like, tensors[1:])], []
        for _ in range(2):
            leaves = [t.requires_grad_() for t in tensors]
            loss = (F.linear(F.linear(x, leaves[0]), *leaves[1:]) - 1).pow(2).sum()
            grads = torch.autograd.grad(loss, leaves)
            speeds = [0.5 * v + grad for v, grad in zip(speeds, grads, strict=True)]
            tensors = [(t - 0.0625 * v).detach() for t, v in zip(leaves, speeds, strict=True)]
            losses.append(loss.item())
        weight, speed = tensors[0], speeds[0]
    if what == "head":
        return {"losses": losses, "weight": tensors[1].tolist(), "bias": tensors[2].tolist()}
    return weight.tolist()


check("6.7", look, cases, torch_says=right, given=given)


# %% tags=["6.7", "wrong"]
# The new head is in the optimizer now, and the old one still is: it and its momentum are never
# freed, and each new head adds another.
# file: train.py
import torch


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.5)

    def specialise(self, classes):
        self.model.new_head(classes)
        self.optimizer.add_param_group({"params": self.model.head.parameters()})

    def fit(self, x, y, steps):
        losses = []
        for _ in range(steps):
            loss = (self.model(x) - y).pow(2).sum()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return losses


# %% tags=["6.7", "wrong"]
# The groups are right, and `optimizer.state` still has the momentum of the old head under its old
# parameters: they are never freed, and each new head adds more.
# file: train.py
import torch


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.5)

    def specialise(self, classes):
        self.model.new_head(classes)
        self.optimizer.param_groups[0]["params"] = list(self.model.parameters())

    def fit(self, x, y, steps):
        losses = []
        for _ in range(steps):
            loss = (self.model(x) - y).pow(2).sum()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return losses


# %% tags=["6.7", "wrong"]
# A new optimizer holds the right parameters, but it knows nothing of the steps before: the body has
# lost its momentum.
# file: train.py
import torch


class Trainer:
    def __init__(self, model, lr):
        self.model, self.lr = model, lr
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.5)

    def specialise(self, classes):
        self.model.new_head(classes)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=self.lr, momentum=0.5)

    def fit(self, x, y, steps):
        losses = []
        for _ in range(steps):
            loss = (self.model(x) - y).pow(2).sum()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return losses


# %% tags=["6.7", "wrong"]
# Through .data the old Parameter has new values, and the optimizer still has the momentum of the
# old head for it. With one class as before the shapes fit, and the first step goes a wrong way.
# file: model.py
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Linear(2, 3, bias=False)
        self.head = nn.Linear(3, classes)
        self.new_head(classes)

    def new_head(self, classes):
        self.head.weight.data = torch.zeros(classes, 3)
        self.head.bias.data = torch.zeros(classes)
        self.head.weight.grad = self.head.bias.grad = None

    def forward(self, x):
        return self.head(self.body(x))


# file: train.py
import torch


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.5)

    def specialise(self, classes):
        self.model.new_head(classes)

    def fit(self, x, y, steps):
        losses = []
        for _ in range(steps):
            loss = (self.model(x) - y).pow(2).sum()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return losses


# %% [markdown] tags=["6.7", "hint"]
# There is a gradient, and the weight does not move. Who moves weights, and how does it know them?

# %% [markdown] tags=["6.7", "hint"]
# An optimizer keeps the Parameter objects that it was given. For the probe: a step after
# `specialise`, and something of the head that must have changed.

# %% [markdown] tags=["6.7", "hint"]
# `optimizer.param_groups[0]["params"]` is a list that you may replace, and `optimizer.state` a dict
# with one entry for each parameter that has been moved: the entries of the old head must go.

# %% [markdown] tags=["6.7", "afterword"]
# `.grad` was there. In the first step it was right; then it grew, since the `zero_grad` of the
# optimizer does not know the new head either. The doctor names this cause `stale_optimizer`.

# %% tags=["6.8", "about"]
title = "A gradient of no weights"
kind = "repair"
core = False
difficulty = 3
minutes = 14
points = 3
unchanged = "If you have moved the exchange: what counts is whose weights `backward` reads."

# %% [markdown] tags=["6.8", "statement"]
# A model is trained, and validated with the moving average of its weights. With a validation in
# every step it learns worse than with one in every tenth. Nothing raises, and no loss is odd.
#
# - `Average(model)` keeps the average. `update(model)` goes half the way to the weights,
#   `use(model)` gives the model the average, `put_back(model)` its own weights.
# - `train(model, average, batches, validation, every)` makes a step for each batch, and in every
#   step whose number is a multiple of `every` takes the error of the average on `validation`, as it
#   is before this step. It returns the list of the losses and that of these scores.
#
# **Probe** `probe()` in `probe.py` imports what it needs. A healthy project may exchange the
# weights wherever it likes, as long as the gradients are those of the weights that made the loss.
#
# **Repair** whichever file you like. **Done when** your probe tells the projects apart; and losses,
# scores, weights and the average are those of a training in which a validation changes nothing.


# %% tags=["6.8", "answer"]
# file: model.py
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, inner, scale):
        super().__init__()
        self.inner = nn.Parameter(torch.tensor(inner))
        self.scale = nn.Parameter(torch.tensor(scale))

    def forward(self, x):
        return self.scale * (self.inner * x).square()


# file: ema.py
class Average:
    def __init__(self, model):
        self.values = [p.detach().clone() for p in model.parameters()]
        self.own = []

    def update(self, model):
        for value, p in zip(self.values, model.parameters(), strict=True):
            value.lerp_(p.detach(), 0.5)

    def use(self, model):
        self.own = [p.data for p in model.parameters()]
        for value, p in zip(self.values, model.parameters(), strict=True):
            p.data = value

    def put_back(self, model):
        for own, p in zip(self.own, model.parameters(), strict=True):
            p.data = own


# file: train.py
import torch


def error(model, batch):
    x, y = batch
    return (model(x) - y).square()


def train(model, average, batches, validation, every):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.125)
    losses, scores = [], []
    for number, batch in enumerate(batches, 1):
        if number % every == 0:
            average.use(model)
            with torch.no_grad():
                scores.append(error(model, validation).item())
            average.put_back(model)
        loss = error(model, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update(model)
        losses.append(loss.item())
    return losses, scores


# file: probe.py
import torch
from ema import Average
from model import Net
from train import train


def probe():
    batch = torch.tensor(1.0), torch.tensor(0.0)
    trained = []
    for every in (1, 100):
        net = Net(0.5, 1.0)
        train(net, Average(net), [batch] * 3, batch, every)
        trained.append(net.inner.item())
    assert trained[0] == trained[1]


# %% tags=["6.8", "given"]
# file: model.py
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, inner, scale):
        super().__init__()
        self.inner = nn.Parameter(torch.tensor(inner))
        self.scale = nn.Parameter(torch.tensor(scale))

    def forward(self, x):
        return self.scale * (self.inner * x).square()


# file: ema.py
class Average:
    def __init__(self, model):
        self.values = [p.detach().clone() for p in model.parameters()]
        self.own = []

    def update(self, model):
        for value, p in zip(self.values, model.parameters(), strict=True):
            value.lerp_(p.detach(), 0.5)

    def use(self, model):
        self.own = [p.data for p in model.parameters()]
        for value, p in zip(self.values, model.parameters(), strict=True):
            p.data = value

    def put_back(self, model):
        for own, p in zip(self.own, model.parameters(), strict=True):
            p.data = own


# file: train.py
import torch


def error(model, batch):
    x, y = batch
    return (model(x) - y).square()


def train(model, average, batches, validation, every):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.125)
    losses, scores = [], []
    for number, batch in enumerate(batches, 1):
        loss = error(model, batch)
        if number % every == 0:
            average.use(model)
            with torch.no_grad():
                scores.append(error(model, validation).item())
        optimizer.zero_grad()
        loss.backward()
        if number % every == 0:
            average.put_back(model)
        optimizer.step()
        average.update(model)
        losses.append(loss.item())
    return losses, scores


# file: probe.py
from ema import Average
from model import Net
from train import train


def probe():
    raise NotImplementedError


# %% tags=["6.8", "look_alike"]
# a healthy project that exchanges weights between forward and backward and puts them back in time
# file: model.py
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, inner, scale):
        super().__init__()
        self.inner = nn.Parameter(torch.tensor(inner))
        self.scale = nn.Parameter(torch.tensor(scale))

    def forward(self, x):
        return self.scale * (self.inner * x).square()


# file: ema.py
class Average:
    def __init__(self, model):
        self.values = [p.detach().clone() for p in model.parameters()]
        self.own = []

    def update(self, model):
        for value, p in zip(self.values, model.parameters(), strict=True):
            value.lerp_(p.detach(), 0.5)

    def use(self, model):
        self.own = [p.data for p in model.parameters()]
        for value, p in zip(self.values, model.parameters(), strict=True):
            p.data = value

    def put_back(self, model):
        for own, p in zip(self.own, model.parameters(), strict=True):
            p.data = own


# file: train.py
import torch


def error(model, batch):
    x, y = batch
    return (model(x) - y).square()


def train(model, average, batches, validation, every):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.125)
    losses, scores = [], []
    for number, batch in enumerate(batches, 1):
        loss = error(model, batch)
        if number % every == 0:
            average.use(model)
            with torch.no_grad():
                scores.append(error(model, validation).item())
            average.put_back(model)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update(model)
        losses.append(loss.item())
    return losses, scores


# %% tags=["6.8", "check"]
from insidetorch.learn.judges import wanted_of_probe
from insidetorch.learn.versions import probed_files

cases = [("probe",), ("training", 1), ("training", 2), ("training", 100)]
numbers = [(1.0, 0.0), (0.5, 1.0), (1.0, 0.5)]


def look(what, *every):
    if what == "probe":
        return probed_files("6.8", versions)
    modules = project("6.8")
    net = modules.model.Net(0.5, 1.0)
    average = modules.ema.Average(net)
    batches = [(torch.tensor(x), torch.tensor(y)) for x, y in numbers]
    losses, scores = modules.train.train(net, average, batches, batches[1], *every)
    own = [net.inner.item(), net.scale.item()]
    average.use(net)
    used = [net.inner.item(), net.scale.item()]
    average.put_back(net)
    back = [net.inner.item(), net.scale.item()]
    seen = {"losses": losses, "scores": scores, "inner, scale": own, "their average": used}
    return {**seen, "put back": back}


def right(what, *every):
    """The same by hand, from the derivatives of (scale (inner x)² - y)²."""
    if what == "probe":
        return wanted_of_probe(versions.texts)
    inner, scale = mean_inner, mean_scale = 0.5, 1.0
    losses, scores = [], []
    for number, (x, y) in enumerate(numbers, 1):
        if number % every[0] == 0:
            scores.append((mean_scale * (mean_inner * numbers[1][0]) ** 2 - numbers[1][1]) ** 2)
        off = scale * (inner * x) ** 2 - y
        losses.append(off**2)
        slopes = 2 * off * scale * 2 * inner * x**2, 2 * off * (inner * x) ** 2
        inner, scale = inner - 0.125 * slopes[0], scale - 0.125 * slopes[1]
        mean_inner, mean_scale = (mean_inner + inner) / 2, (mean_scale + scale) / 2
    own = [inner, scale]
    seen = {"losses": losses, "scores": scores, "inner, scale": own}
    return {**seen, "their average": [mean_inner, mean_scale], "put back": own}


def given(what, every):
    return f"3 batches, a validation in each step that is a multiple of {every}"


check("6.8", look, cases, torch_says=right, given=given)


# %% tags=["6.8", "wrong"]
# Now the loss is made while the model has the average, so the gradient is that of the average. It
# is the model's own weights that are trained.
# file: train.py
import torch


def error(model, batch):
    x, y = batch
    return (model(x) - y).square()


def train(model, average, batches, validation, every):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.125)
    losses, scores = [], []
    for number, batch in enumerate(batches, 1):
        if number % every == 0:
            average.use(model)
            with torch.no_grad():
                scores.append(error(model, validation).item())
        loss = error(model, batch)
        optimizer.zero_grad()
        loss.backward()
        if number % every == 0:
            average.put_back(model)
        optimizer.step()
        average.update(model)
        losses.append(loss.item())
    return losses, scores


# %% tags=["6.8", "wrong"]
# The scores are those of the weights now, not of their average. Training is right, and nobody
# validates what was asked for.
# file: train.py
import torch


def error(model, batch):
    x, y = batch
    return (model(x) - y).square()


def train(model, average, batches, validation, every):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.125)
    losses, scores = [], []
    for number, batch in enumerate(batches, 1):
        if number % every == 0:
            with torch.no_grad():
                scores.append(error(model, validation).item())
        loss = error(model, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update(model)
        losses.append(loss.item())
    return losses, scores


# %% tags=["6.8", "wrong"]
# There is no validation any more, so there are no scores.
# file: train.py
import torch


def error(model, batch):
    x, y = batch
    return (model(x) - y).square()


def train(model, average, batches, validation, every):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.125)
    losses = []
    for batch in batches:
        loss = error(model, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update(model)
        losses.append(loss.item())
    return losses, []


# %% tags=["6.8", "wrong"]
# The weights are put back after the step, so the step was made on the average, and is lost when the
# old weights come back.
# file: train.py
import torch


def error(model, batch):
    x, y = batch
    return (model(x) - y).square()


def train(model, average, batches, validation, every):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.125)
    losses, scores = [], []
    for number, batch in enumerate(batches, 1):
        loss = error(model, batch)
        optimizer.zero_grad()
        loss.backward()
        if number % every == 0:
            average.use(model)
            with torch.no_grad():
                scores.append(error(model, validation).item())
        optimizer.step()
        if number % every == 0:
            average.put_back(model)
        average.update(model)
        losses.append(loss.item())
    return losses, scores


# %% [markdown] tags=["6.8", "hint"]
# A wrong value, and no error: question 8. Which line writes to something that the graph keeps, and
# what does the version counter know of it?

# %% [markdown] tags=["6.8", "hint"]
# A validation must not change the training. So a probe can train two equal models, one that is
# validated in every step and one that never is, for two steps or more: in the first step the
# average is still the weights themselves.

# %% [markdown] tags=["6.8", "hint"]
# Between forward and backward the weights may be exchanged only if they are put back before
# `backward()` reads them. Safer: validate before the forward pass.

# %% [markdown] tags=["6.8", "afterword"]
# The product kept the Parameter, not its numbers, and `.data` moved no version. Two of the versions
# exchange the weights at the same place, and only one of them is wrong: what counts is what
# `backward` reads. `watch` tells `p.data.copy_(…)` at that place; it does not see `p.data = …`.

# %% tags=["6.9", "about"]
title = "Tied weights come apart"
kind = "repair"
core = False
difficulty = 2
minutes = 11
points = 3
unchanged = "If you have copied values: both tables have the same already."

# %% [markdown] tags=["6.9", "statement"]
# A small language model is to use one table twice: to look tokens up, and to score them. `model.py`
# says so, yet the checkpoint has two tables, which are equal at first and drift apart.
#
# - `LM(vocab, dim)` is the model. `logits(ids)` scores all tokens for each id.
# - `build(vocab, dim)` makes it without memory on the device `meta`, then gives it memory, and
#   fills it: entry k of a table is k / 8.
# - `train(model, ids, steps)` makes steps of SGD on the mean square of the logits, and returns the
#   losses before each.
#
# **Probe** `probe()` in `probe.py` imports what it needs. A healthy version has no `head` at all,
# so ask what every version has: `parameters()`, `logits`, or what training does.
#
# **Repair** whichever file you like. **Done when** your probe tells the projects apart; the model
# has one parameter, whose gradient is the sum of both uses; and it has the right values after
# `build` and after `train`.


# %% tags=["6.9", "answer"]
# file: model.py
from torch import nn


class LM(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.table = nn.Embedding(vocab, dim)
        self.head = nn.Linear(dim, vocab, bias=False)
        self.tie()

    def tie(self):
        self.head.weight = self.table.weight

    def logits(self, ids):
        return self.head(self.table(ids))


# file: build.py
import torch
from model import LM


def build(vocab, dim):
    with torch.device("meta"):
        model = LM(vocab, dim)
    model.to_empty(device="cpu")
    model.tie()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.arange(p.numel()).view_as(p) / 8)
    return model


# file: train.py
import torch


def train(model, ids, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.125)
    losses = []
    for _ in range(steps):
        loss = model.logits(ids).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# file: probe.py
from build import build


def probe():
    assert len(list(build(4, 2).parameters())) == 1


# %% tags=["6.9", "given"]
# file: model.py
from torch import nn


class LM(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.table = nn.Embedding(vocab, dim)
        self.head = nn.Linear(dim, vocab, bias=False)
        self.tie()

    def tie(self):
        self.head.weight = self.table.weight

    def logits(self, ids):
        return self.head(self.table(ids))


# file: build.py
import torch
from model import LM


def build(vocab, dim):
    with torch.device("meta"):
        model = LM(vocab, dim)
    model.to_empty(device="cpu")
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.arange(p.numel()).view_as(p) / 8)
    return model


# file: train.py
import torch


def train(model, ids, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.125)
    losses = []
    for _ in range(steps):
        loss = model.logits(ids).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# file: probe.py
from build import build


def probe():
    raise NotImplementedError


# %% tags=["6.9", "look_alike"]
# a healthy project whose model has no head, and multiplies with the table itself
# file: model.py
import torch.nn.functional as F
from torch import nn


class LM(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.table = nn.Embedding(vocab, dim)

    def logits(self, ids):
        return F.linear(self.table(ids), self.table.weight)


# file: build.py
import torch
from model import LM


def build(vocab, dim):
    with torch.device("meta"):
        model = LM(vocab, dim)
    model.to_empty(device="cpu")
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.arange(p.numel()).view_as(p) / 8)
    return model


# file: train.py
import torch


def train(model, ids, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.125)
    losses = []
    for _ in range(steps):
        loss = model.logits(ids).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% tags=["6.9", "check"]
from insidetorch.learn.judges import wanted_of_probe
from insidetorch.learn.versions import probed_files

cases = [("probe",), ("build", 4, 2), ("build", 3, 1), ("gradient",), ("train", 1), ("train", 3)]
ids = torch.tensor([0, 2, 2])


def look(what, *how):
    if what == "probe":
        return probed_files("6.9", versions)
    modules = project("6.9")
    if what == "build":
        parameters = list(modules.build.build(*how).parameters())
        return {"parameters": len(parameters), "values": parameters[0].detach()}
    model = modules.build.build(4, 2)
    table = next(iter(model.parameters()))
    if what == "gradient":
        model.logits(ids).square().mean().backward()
        return table.grad
    losses = modules.train.train(model, ids, *how)
    return {"losses": losses, "parameters": len(list(model.parameters())), "table": table.detach()}


def right(what, *how):
    """The same with one plain tensor."""
    if what == "probe":
        return wanted_of_probe(versions.texts)
    vocab, dim = how if what == "build" else (4, 2)
    table = (torch.arange(vocab * dim) / 8).view(vocab, dim)
    if what == "build":
        return {"parameters": 1, "values": table}
    losses = []
    for _ in range(*how if what == "train" else (1,)):
        table.requires_grad_()
        loss = (table[ids] @ table.t()).square().mean()
        (grad,) = torch.autograd.grad(loss, table)
        losses.append(loss.item())
        table = table.detach() - 0.125 * grad
    if what == "gradient":
        return grad
    return {"losses": losses, "parameters": 1, "table": table}


check("6.9", look, cases, torch_says=right)


# %% tags=["6.9", "wrong"]
# The values are copied once. They were equal before, and each table still gets its own gradient and
# its own step.
# file: build.py
import torch
from model import LM


def build(vocab, dim):
    with torch.device("meta"):
        model = LM(vocab, dim)
    model.to_empty(device="cpu")
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.arange(p.numel()).view_as(p) / 8)
    model.head.weight.data.copy_(model.table.weight.data + 0)
    model.head.weight.requires_grad_()
    return model


def again(model):
    model.head.weight.data.copy_(model.table.weight.data)


# file: train.py
import torch
from build import again


def train(model, ids, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.125)
    losses = []
    for _ in range(steps):
        loss = model.logits(ids).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        again(model)
        losses.append(loss.item())
    return losses


# %% tags=["6.9", "wrong"]
# Through .data both Parameters read one memory, and each still gets its own part of the gradient.
# Plain SGD happens to add up both; whatever looks at a whole gradient, such as Adam or clipping,
# sees two halves.
# file: build.py
import torch
from model import LM


def build(vocab, dim):
    with torch.device("meta"):
        model = LM(vocab, dim)
    model.to_empty(device="cpu")
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.arange(p.numel()).view_as(p) / 8)
    model.head.weight.data = model.table.weight.data
    return model


# %% tags=["6.9", "wrong"]
# A head that is frozen is one parameter less to train, not one table: the gradient of its use is
# lost, and it keeps its first values.
# file: build.py
import torch
from model import LM


def build(vocab, dim):
    with torch.device("meta"):
        model = LM(vocab, dim)
    model.to_empty(device="cpu")
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.arange(p.numel()).view_as(p) / 8)
    model.head.weight.requires_grad_(False)
    return model


# %% [markdown] tags=["6.9", "hint"]
# `LM` ties the weights. Which line runs after it, and makes new memory for each parameter?

# %% [markdown] tags=["6.9", "hint"]
# Equal values prove nothing: both tables are filled alike. Count the parameters that `build` gives:
# `parameters()` names a shared one once.

# %% [markdown] tags=["6.9", "hint"]
# From `meta`, `to_empty` makes a new Parameter for each name. Tie again behind it, before the
# values are filled.

# %% [markdown] tags=["6.9", "afterword"]
# A tie is an identity, not an equality: one object under two names. Whatever makes parameters anew
# ends it: `to_empty` from `meta`, `load_state_dict(assign=True)`, an initialisation that binds a
# new Parameter.
# `AliasMap()` shows which names share a memory, and the doctor names the line that ended a tie,
# where it watches `build` as well.

# %% tags=["6.10", "about"]
title = "All zero"
kind = "repair"
core = False
difficulty = 2
minutes = 11
points = 3
unchanged = "If you have made the steps larger: zero times anything is zero."

# %% [markdown] tags=["6.10", "statement"]
# A model sends what its encoder computes through `quantise`, to whole numbers from -4 to 4, and
# decodes it. The decoder learns. The encoder has a gradient in every step, and it is 0.
#
# - `quantise(x)` gives the whole numbers.
# - `make()` returns an encoder and a decoder, two layers.
# - `train(encoder, decoder, x, y, steps)` makes steps of SGD and returns the losses before each.
#
# **Probe** `probe(quantise, make, train)` gets the three functions. Mind that a gradient may be
# zero for a good reason: among the healthy scripts is one whose decoder begins with zeros, so that
# the encoder's *first* gradient is zero.
#
# **Repair** so that the values stay what they are, and the gradient of `quantise` is that of the
# clamp: 1 from -4 to 4, and 0 outside. That is how such models are trained: the *straight-through*
# estimator. **Done when** your probe tells the scripts apart, and values, gradients, losses and
# weights are right.


# %% tags=["6.10", "answer"]
import torch
from torch import nn


def quantise(x):
    ### BEGIN SOLUTION
    x = x.clamp(-4, 4)
    return x + (x.round() - x).detach()
    ### END SOLUTION


def make():
    encoder, decoder = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    nn.init.constant_(encoder.weight, 1.5)
    nn.init.constant_(decoder.weight, 0.5)
    return encoder, decoder


def train(encoder, decoder, x, y, steps):
    both = [*encoder.parameters(), *decoder.parameters()]
    optimizer = torch.optim.SGD(both, lr=0.0625)
    losses = []
    for _ in range(steps):
        loss = (decoder(quantise(encoder(x))) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def probe(quantise, make, train):
    ### BEGIN SOLUTION
    encoder, decoder = make()
    before = encoder.weight.item()
    train(encoder, decoder, torch.ones(1, 1), torch.full((1, 1), 2.0), steps=3)
    assert encoder.weight.item() != before
    ### END SOLUTION


# %% tags=["6.10", "given"]
import torch
from torch import nn


def quantise(x):
    return x.clamp(-4, 4).round()


def make():
    encoder, decoder = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    nn.init.constant_(encoder.weight, 1.5)
    nn.init.constant_(decoder.weight, 0.5)
    return encoder, decoder


def train(encoder, decoder, x, y, steps):
    both = [*encoder.parameters(), *decoder.parameters()]
    optimizer = torch.optim.SGD(both, lr=0.0625)
    losses = []
    for _ in range(steps):
        loss = (decoder(quantise(encoder(x))) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def probe(quantise, make, train):
    raise NotImplementedError


# %% tags=["6.10", "look_alike"]
# a healthy script whose decoder begins with zeros, so that the encoder waits for the second step
import torch
from torch import nn


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.round()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad


def quantise(x):
    return Rounded.apply(x.clamp(-4, 4))


def make():
    encoder, decoder = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    nn.init.constant_(encoder.weight, 1.5)
    nn.init.zeros_(decoder.weight)
    return encoder, decoder


def train(encoder, decoder, x, y, steps):
    both = [*encoder.parameters(), *decoder.parameters()]
    optimizer = torch.optim.SGD(both, lr=0.0625)
    losses = []
    for _ in range(steps):
        loss = (decoder(quantise(encoder(x))) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% tags=["6.10", "check"]
from insidetorch.learn.judges import wanted_of_probe
from insidetorch.learn.versions import probed

cases = [("probe",), ("values",), ("slopes",), ("training", 1), ("training", 4)]
points = [-9.0, -4.25, -4.0, -3.3, -1.5, -0.4, 0.0, 0.5, 0.6, 1.7, 3.9, 4.0, 4.5, 100.0]
x, y = torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([[1.0], [2.0], [2.0]])


def look(what, *steps):
    if what == "probe":
        return probed(probe, versions, "quantise", "make", "train")
    if what == "training":
        encoder, decoder = make()
        losses = train(encoder, decoder, x, y, *steps)
        weights = [encoder.weight.item(), decoder.weight.item()]
        return {"losses": losses, "encoder, decoder": weights}
    at = torch.tensor(points, requires_grad=True)
    values = quantise(at)
    if what == "values":
        return values.tolist()
    values.sum().backward()
    return None if at.grad is None else at.grad.tolist()


def right(what, *steps):
    """The same by hand."""
    if what == "probe":
        return wanted_of_probe(versions.texts)
    if what == "values":
        return [float(round(min(max(point, -4.0), 4.0))) for point in points]
    if what == "slopes":
        return [1.0 if -4 <= point <= 4 else 0.0 for point in points]
    encoder, decoder, losses = 1.5, 0.5, []
    for _ in range(*steps):
        terms = []
        for a, b in zip(x.flatten().tolist(), y.flatten().tolist(), strict=True):
            inner = encoder * a
            level = round(min(max(inner, -4.0), 4.0))
            off = decoder * level - b
            slope = decoder * a if -4 <= inner <= 4 else 0.0
            terms.append((off**2, 2 * off * slope, 2 * off * level))
        loss, by_encoder, by_decoder = (sum(column) / 3 for column in zip(*terms, strict=True))
        losses.append(loss)
        encoder, decoder = encoder - 0.0625 * by_encoder, decoder - 0.0625 * by_decoder
    return {"losses": losses, "encoder, decoder": [encoder, decoder]}


def given(what, steps=0):
    points_told = ", ".join(f"{point:g}" for point in points)
    return f"{steps} steps of training" if steps else f"{what} at {points_told}"


check("6.10", look, cases, torch_says=right, given=given)


# %% tags=["6.10", "wrong"]
# Without round the gradient flows, and the values are no whole numbers any more: it is another
# model.
def quantise(x):
    return x.clamp(-4, 4)


# %% tags=["6.10", "wrong"]
# The gradient of the round is mended, and that of the clamp is lost: outside of -4 to 4 a step
# cannot change the value, and still it gets the gradient 1.
def quantise(x):
    return x + (x.clamp(-4, 4).round() - x).detach()


# %% tags=["6.10", "wrong"]
# A tensor made of the rounded numbers, with requires_grad=True, is a new leaf. Nothing leads from
# it to the encoder, whose gradient is now None.
def quantise(x):
    return x.clamp(-4, 4).round().detach().requires_grad_()


def train(encoder, decoder, x, y, steps):
    both = [*encoder.parameters(), *decoder.parameters()]
    optimizer = torch.optim.SGD(both, lr=0.0625)
    losses = []
    for _ in range(steps):
        loss = (decoder(quantise(encoder(x))) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% tags=["6.10", "wrong"]
# A larger learning rate makes larger steps of the decoder. Zero times anything is zero: the encoder
# stands.
def quantise(x):
    return x.clamp(-4, 4).round()


def train(encoder, decoder, x, y, steps):
    both = [*encoder.parameters(), *decoder.parameters()]
    optimizer = torch.optim.SGD(both, lr=0.125)
    losses = []
    for _ in range(steps):
        loss = (decoder(quantise(encoder(x))) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% [markdown] tags=["6.10", "hint"]
# A zero says that a path is there, and that a factor on it is 0. Which operator between encoder and
# loss has a derivative that is 0 almost everywhere?

# %% [markdown] tags=["6.10", "hint"]
# A single gradient of zero proves nothing. Train for a few steps, and ask whether the encoder's
# weight has moved.

# %% [markdown] tags=["6.10", "hint"]
# Add what rounding changes as a constant: `x + (x.round() - x).detach()`, with `x` clamped before.
# Here a detach is the repair.

# %% [markdown] tags=["6.10", "afterword"]
# The values are bit for bit those of `round`: for these numbers the difference is exact, and so is
# the sum. `explain_backward` names the node at which a gradient arrives and zero leaves.

# %% tags=["6.11", "about"]
title = "Three NaNs, and not a bit of the output changed"
kind = "repair"
core = True
difficulty = 2
minutes = 10
points = 3

# %% [markdown] tags=["6.11", "statement"]
# Three functions from three reports. Their outputs are right, and each of them has inputs for which
# its gradient is NaN. Each for another reason.
#
# - `transmitted(sine, eta)`: the cosine of the angle at which a ray of light goes on behind a
#   surface, 0 where it does not go through. `eta` is a number.
# - `soft_rectifier(x)`: a rectifier with a smooth bend at 0, also for `x` as large as 1000.
# - `distance(a, b)`: of the vectors along the last dimension. Some pairs are equal.
#
# All tensors are float64. Mend the functions:
#
# - The outputs stay what they are, bit for bit, for all inputs.
# - The gradients are the derivatives. Two points have none: where the ray just does not go through,
#   the gradient is 0, and so it is for the distance of two equal vectors.
# - No node gives a NaN in backward, so anomaly mode finds nothing, and there is no hook.
# - A NaN that comes from elsewhere is not hidden: where one arrives in backward, one goes on.
#
# **Done when** all this holds on a grid of inputs, bad and good ones. There are many right repairs.


# %% tags=["6.11", "answer"]
def transmitted(sine, eta):
    ### BEGIN SOLUTION
    inside = 1 - (eta * sine) ** 2
    through = inside > 0
    harmless = torch.where(through, inside, torch.ones_like(inside))
    return torch.where(through, harmless.sqrt(), torch.zeros_like(inside))
    ### END SOLUTION


def soft_rectifier(x):
    ### BEGIN SOLUTION
    return torch.where(x > 0, x, x.clamp(max=0).exp() - 1)
    ### END SOLUTION


def distance(a, b):
    ### BEGIN SOLUTION
    squared = (a - b).pow(2).sum(-1)
    apart = squared > 0
    harmless = torch.where(apart, squared, torch.ones_like(squared))
    return torch.where(apart, harmless.sqrt(), torch.zeros_like(squared))
    ### END SOLUTION


# %% tags=["6.11", "given"]
def transmitted(sine, eta):
    inside = 1 - (eta * sine) ** 2
    return torch.where(inside > 0, inside.sqrt(), torch.zeros_like(inside))


def soft_rectifier(x):
    return torch.where(x > 0, x, x.exp() - 1)


def distance(a, b):
    return (a - b).pow(2).sum(-1).sqrt()


# %% tags=["6.11", "check"]
mended = {
    "transmitted": transmitted,
    "soft_rectifier": soft_rectifier,
    "distance": distance,
}
as_given = {
    "transmitted": lambda sine, eta: torch.where(
        1 - (eta * sine) ** 2 > 0, (1 - (eta * sine) ** 2).sqrt(), torch.zeros_like(sine)
    ),
    "soft_rectifier": lambda x: torch.where(x > 0, x, x.exp() - 1),
    "distance": lambda a, b: (a - b).pow(2).sum(-1).sqrt(),
}


def tensors_of(values):
    """Lists become leaves, a number stays a number."""
    lists = [isinstance(value, list) for value in values]
    pairs = zip(values, lists, strict=True)
    return [torch.tensor(v).double().requires_grad_() if is_list else v for v, is_list in pairs]


def leaves_of(inputs):
    return [t for t in inputs if isinstance(t, torch.Tensor)]


def from_behind(out, nan_at=None):
    """The gradient that arrives: 1, 2, 3 …, or a NaN in one place."""
    grad = (torch.arange(out.numel()) + 1.0).double().view(out.shape)
    if nan_at is not None:
        grad[nan_at] = float("nan")
    return grad


def gradients_of(out, leaves, grad):
    if not out.requires_grad:
        return None
    found = torch.autograd.grad(out, leaves, grad, allow_unused=True)
    return [None if g is None else g.round(decimals=6) for g in found]


def same_bits(name, values):
    """Is each output the given one, bit for bit? One by one, since places may matter for exp."""
    with torch.no_grad():
        inputs = [t.detach() if isinstance(t, torch.Tensor) else t for t in tensors_of(values)]
        for i in range(len(leaves_of(inputs)[0])):
            one = [t[i : i + 1] if isinstance(t, torch.Tensor) else t for t in inputs]
            if mended[name](*one).tolist() != as_given[name](*one).tolist():
                return False
    return True


def node_with_nan(name, values):
    """Does anomaly mode find a node that gives a NaN?"""
    inputs = tensors_of(values)
    out = mended[name](*inputs)
    with torch.autograd.set_detect_anomaly(True):
        try:
            gradients_of(out, leaves_of(inputs), from_behind(out))
        except RuntimeError as error:
            return "returned nan values" in str(error)
    return False


def names_hook(name):
    """Does its code name a hook? On a node it could hide a NaN from anomaly mode."""
    code = getattr(getattr(mended[name], "__wrapped__", mended[name]), "__code__", None)
    return any("hook" in word for word in getattr(code, "co_names", ()))


def nan_goes_on(name, values, healthy):
    """In which gradients does a NaN come out that arrives at a healthy place?"""
    inputs = tensors_of(values)
    out = mended[name](*inputs)
    grads = gradients_of(out, leaves_of(inputs), from_behind(out, nan_at=healthy))
    return (
        None if grads is None else [g is not None and bool(g[healthy].isnan().any()) for g in grads]
    )


def watch_repair(name, values, healthy):
    inputs = tensors_of(values)
    out = mended[name](*inputs)
    return {
        "output": out.detach(),
        "bit for bit as given": same_bits(name, values),
        "gradients": gradients_of(out, leaves_of(inputs), from_behind(out)),
        "a node gives NaN": node_with_nan(name, values),
        "a hook": names_hook(name),
        "a NaN from elsewhere goes on": nan_goes_on(name, values, healthy),
    }


def derivatives(name, out, inputs):
    """By formulas of the textbook; what is divided by 0 is replaced by 0."""
    if name == "transmitted":
        sine, eta = inputs
        return [torch.where(out > 0, -(eta**2) * sine / out, 0 * sine)]
    if name == "soft_rectifier":
        return [torch.where(inputs[0] > 0, 1.0, out + 1)]
    a, b = inputs
    slope = torch.where(out[:, None] > 0, (a - b) / out[:, None], 0 * a)
    return [slope, -slope]


def by_textbook(name, values, healthy):
    inputs = [t.detach() if isinstance(t, torch.Tensor) else t for t in tensors_of(values)]
    out = as_given[name](*inputs)
    grad, found = from_behind(out), derivatives(name, out, inputs)
    found = [(grad.view(-1, *[1] * (d.dim() - 1)) * d).round(decimals=6) for d in found]
    return {
        "output": out,
        "bit for bit as given": True,
        "gradients": found,
        "a node gives NaN": False,
        "a hook": False,
        "a NaN from elsewhere goes on": [True] * len(found),
    }


near = 1 - 2**-21
grid = [
    ("transmitted", ([0.25, 0.5, -0.25], 1.0), 1),
    ("transmitted", ([0.25, 0.75, -0.75, 0.4], 1.5), 0),
    ("transmitted", ([0.5, 0.25, -0.5], 2.0), 1),
    ("transmitted", ([near, -near, 1.0, 0.0], 1.0), 0),
    ("soft_rectifier", ([1.0, -1.0, 0.5, -0.0001],), 0),
    ("soft_rectifier", ([0.0, 2.0, -2.0],), 1),
    ("soft_rectifier", ([800.0, -800.0, 1000.0, 80.0, -3.0],), 4),
    ("distance", ([[3.0, 4.0], [1.0, 1.0]], [[0.0, 0.0], [7.0, 9.0]]), 1),
    ("distance", ([[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [0.0, 0.0]]), 1),
    ("distance", ([[3 * 2**-30, 4 * 2**-30], [2.0, 2.0]], [[0.0, 0.0], [2.0, 2.0]]), 0),
]
check("6.11", watch_repair, grid, torch_says=by_textbook)


# %% tags=["6.11", "wrong"]
# You make each NaN of the gradient a 0, behind the damage. The numbers look right, but a node still
# gives NaN, and one that comes from another mistake is hidden as well. Mend what is computed.
def transmitted(sine, eta):
    if sine.requires_grad:
        sine = sine.clone()
        sine.register_hook(torch.nan_to_num)
    inside = 1 - (eta * sine) ** 2
    return torch.where(inside > 0, inside.sqrt(), torch.zeros_like(inside))


def soft_rectifier(x):
    if x.requires_grad:
        x = x.clone()
        x.register_hook(torch.nan_to_num)
    return torch.where(x > 0, x, x.exp() - 1)


def distance(a, b):
    difference = a - b
    if difference.requires_grad:
        difference.register_hook(torch.nan_to_num)
    return difference.pow(2).sum(-1).sqrt()


# %% tags=["6.11", "wrong"]
# You cut the gradient to a range, in a hook. That leaves a NaN a NaN, and makes large gradients,
# which are right, smaller.
def transmitted(sine, eta):
    if sine.requires_grad:
        sine = sine.clone()
        sine.register_hook(lambda grad: grad.clamp(-10, 10))
    inside = 1 - (eta * sine) ** 2
    return torch.where(inside > 0, inside.sqrt(), torch.zeros_like(inside))


# %% tags=["6.11", "wrong"]
# transmitted has a smallest number under its root now, and so its output is not 0 any more where no
# light goes through. That changes the model.
def transmitted(sine, eta):
    inside = 1 - (eta * sine) ** 2
    return inside.clamp(min=1e-12).sqrt()


# %% tags=["6.11", "wrong"]
# In transmitted the argument is never negative now. But it may be 0, and there the root has an
# infinite derivative: clamp lets the gradient through at its own border.
def transmitted(sine, eta):
    inside = 1 - (eta * sine) ** 2
    return inside.clamp(min=0).sqrt()


# %% tags=["6.11", "wrong"]
# You multiply by 0 where no light goes through. 0 times NaN is NaN, in the output and in the
# gradient. where chooses; a product does not.
def transmitted(sine, eta):
    inside = 1 - (eta * sine) ** 2
    return inside.sqrt() * (inside > 0)


# %% tags=["6.11", "wrong"]
# You clean the root's result. Its NaN is gone, but in backward the root gets a 0 and divides it by
# its own result, which is still NaN. Clean the argument.
def transmitted(sine, eta):
    inside = 1 - (eta * sine) ** 2
    root = inside.sqrt().nan_to_num()
    return torch.where(inside > 0, root, torch.zeros_like(inside))


# %% tags=["6.11", "wrong"]
# The branch with the root is detached. No NaN, and no gradient either.
def transmitted(sine, eta):
    inside = 1 - (eta * sine) ** 2
    return torch.where(inside > 0, inside.sqrt().detach(), torch.zeros_like(inside))


# %% tags=["6.11", "wrong"]
# soft_rectifier is F.elu for you. It uses expm1, which is more exact near 0: other bits, so another
# model than the one that was trained.
def soft_rectifier(x):
    return F.elu(x)


# %% tags=["6.11", "wrong"]
# At 0 the gradient of soft_rectifier is a half: minimum divides it between two equal numbers. The
# derivative is 1 there.
def soft_rectifier(x):
    return torch.where(x > 0, x, torch.minimum(x, torch.zeros_like(x)).exp() - 1)


# %% tags=["6.11", "wrong"]
# soft_rectifier gets the largest number that there is instead of infinity. But that comes after
# exp, and in backward exp multiplies by its own result, which is infinite. Limit the argument.
def soft_rectifier(x):
    return torch.where(x > 0, x, x.exp().clamp(max=1e300) - 1)


# %% tags=["6.11", "wrong"]
# There is a small number under the root of distance. Two equal vectors are no longer at distance 0,
# and the distance of two that are close is wrong.
def distance(a, b):
    return ((a - b).pow(2).sum(-1) + 1e-12).sqrt()


# %% tags=["6.11", "wrong"]
# F.pairwise_distance adds a small number to each difference. So its output is another one, for all
# pairs.
def distance(a, b):
    return F.pairwise_distance(a, b)


# %% tags=["6.11", "wrong"]
# In distance you take vectors that are close for equal ones. They are apart, and their gradient has
# length 1.
def distance(a, b):
    squared = (a - b).pow(2).sum(-1)
    apart = squared > 1e-12
    harmless = torch.where(apart, squared, torch.ones_like(squared))
    return torch.where(apart, harmless.sqrt(), squared.sqrt().detach())


# %% tags=["6.11", "wrong"]
# distance chooses 0 where the vectors are equal, but the root is still computed there, and where
# sends it a 0. Make the argument harmless, not the result.
def distance(a, b):
    squared = (a - b).pow(2).sum(-1)
    return torch.where(squared > 0, squared.sqrt(), torch.zeros_like(squared))


# %% [markdown] tags=["6.11", "hint"]
# Look at each function in its bad point with `explain_backward`. Which node is given a finite
# number and gives a NaN? What does its formula divide by, or multiply with?

# %% [markdown] tags=["6.11", "hint"]
# `where` computes both branches and sends a 0 to the one not taken. So no branch may be computed at
# an argument at which its derivative is not finite: choose another argument there first, one that
# cannot hurt, and choose the result afterwards.

# %% [markdown] tags=["6.11", "hint"]
# `harmless = torch.where(through, inside, torch.ones_like(inside))` before the root, and the same
# `where` as before behind it. exp overflows only for positive numbers, and these are not needed:
# `x.clamp(max=0)`. For the distance do as for the root.

# %% [markdown] tags=["6.11", "afterword"]
# One NaN came from a root of a negative number, one from an infinity in the branch that nobody
# took, one from 0 times infinity in a single branch, with a perfect output. One remedy for all:
# choose before you compute. `torch.linalg.vector_norm` does it for you; its gradient at 0 is 0.

# %% tags=["6.12", "about"]
title = "Three holders of one graph"
kind = "repair"
core = True
difficulty = 2
minutes = 10
points = 3

# %% [markdown] tags=["6.12", "statement"]
# `fit` trains a model and returns two lists, with an entry for each batch: the loss, and the mean
# of what the first layer gives (`model[0]`). Both are plotted at the end. `batches` gives each
# batch once, as a generator does. The loss uses an exponential of somebody's own, `Exp`. The
# numbers are right, and the memory grows with every batch: the graphs of all steps stay alive, and
# three things hold them. Mend `Exp` and `fit`.
#
# **Done when**
#
# - the weights, the two lists and their numbers are what they were; the entries are plain numbers,
#   or tensors without a history;
# - from the second batch on, no step leaves more graphs alive than the step before, and when `fit`
#   has returned none is; nor does `Exp` keep a graph where no backward runs. Python's garbage
#   collector, which would find a cycle some time, is switched off while the check counts, and you
#   do not call it;
# - afterwards nothing is written to the lists any more when the model runs, and hooks that others
#   have registered still run.


# %% tags=["6.12", "answer"]
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        y = x.exp()
        ctx.save_for_backward(y)
        return y
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad):
        ### BEGIN SOLUTION
        (y,) = ctx.saved_tensors
        return grad * y
        ### END SOLUTION


def fit(model, optimizer, batches):
    ### BEGIN SOLUTION
    losses, means = [], []

    def look(module, inputs, output):
        means.append(output.mean().item())

    handle = model[0].register_forward_hook(look)
    for x in batches:
        optimizer.zero_grad()
        loss = Exp.apply(model(x)).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    handle.remove()
    return losses, means
    ### END SOLUTION


# %% tags=["6.12", "given"]
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.y


def fit(model, optimizer, batches):
    losses, means = [], []

    def look(module, inputs, output):
        means.append(output.mean())

    model[0].register_forward_hook(look)
    for x in batches:
        optimizer.zero_grad()
        loss = Exp.apply(model(x)).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return losses, means


# %% tags=["6.12", "check"]
import gc
from itertools import pairwise
from weakref import ref


class Sign:
    """Lies in a node of the graph, and lives as long as the node does."""


class Marked(nn.Linear):
    """A layer that leaves a sign in the node of its output."""

    def __init__(self, *sizes, signs):
        super().__init__(*sizes, bias=False, dtype=torch.float64)
        n = self.weight.numel()
        self.weight.data = ((torch.arange(n) * 5 % 7 - 3) / 16).double().view(self.weight.shape)
        self.signs = signs

    def forward(self, x):
        out = super().forward(x)
        if out.grad_fn is not None:
            sign = Sign()
            out.grad_fn.metadata["a sign of the check"] = sign
            self.signs.append(ref(sign))
        return out


def evaluate(signs):
    """A forward pass of Exp with a graph, through which nobody goes back."""
    layer = Marked(2, 2, signs=signs)
    Exp.apply(layer(torch.ones(1, 2).double()))


def numbers_in(logged):
    """The numbers of a list, and whether one of its tensors has a history."""
    with_history = any(isinstance(one, torch.Tensor) and one.requires_grad for one in logged)
    return [float(one) for one in logged], with_history


def watch_fit(batches, lr):
    """Train a small model, and count before each batch which graphs are alive."""
    signs, alive, ran, collected = [], [], [], []
    model = nn.Sequential(Marked(2, 3, signs=signs), nn.Tanh(), Marked(3, 2, signs=signs))
    model[0].register_forward_hook(lambda *_: ran.append("a hook of somebody else"))
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)

    def count_alive():
        return sum(sign() is not None for sign in signs)

    def stream():
        for batch in batches:
            alive.append(count_alive())
            yield torch.tensor(batch).double()
        alive.append(count_alive())

    def note(phase, _):
        collected.append(phase)

    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    gc.callbacks.append(note)
    try:
        losses, means = fit(model, optimizer, stream())
        left = count_alive()
        (loss_numbers, of_losses), (mean_numbers, of_means) = numbers_in(losses), numbers_in(means)
        trained = [w.detach().clone() for w in model.parameters()]
        steps_seen, lengths = len(ran), (len(losses), len(means))
        model(torch.ones(1, 2).double())
        grown = (len(losses), len(means)) != lengths
        del losses, means
        in_cycles = count_alive()
        evaluate(signs)
        of_evaluation = count_alive() - in_cycles
    finally:
        gc.callbacks.remove(note)
        if enabled:
            gc.enable()
    return {
        "losses": loss_numbers,
        "means": mean_numbers,
        "weights": trained,
        "history in losses, in means": [of_losses, of_means],
        "alive graphs that each step adds, from the second on": [
            after > before for before, after in pairwise(alive[1:])
        ],
        "alive after fit": left,
        "alive without the lists": in_cycles,
        "alive after a forward pass alone": of_evaluation,
        "garbage collections asked for": len(collected),
        "lists grow afterwards": grown,
        "hooks of others run, in fit and after": [
            steps_seen >= len(batches),
            len(ran) > steps_seen,
        ],
    }


def by_plain_loop(batches, lr):
    """The same numbers from a loop that logs after each step and holds nothing."""
    model = nn.Sequential(Marked(2, 3, signs=[]), nn.Tanh(), Marked(3, 2, signs=[]))
    losses, means = [], []
    for batch in batches:
        x = torch.tensor(batch).double()
        value = model(x).exp().mean()
        slopes = torch.autograd.grad(value, list(model.parameters()))
        losses.append(value.item())
        means.append(model[0](x).mean().item())
        for weight, slope in zip(model.parameters(), slopes, strict=True):
            weight.data -= lr * slope
    return {
        "losses": losses,
        "means": means,
        "weights": [w.detach() for w in model.parameters()],
        "history in losses, in means": [False, False],
        "alive graphs that each step adds, from the second on": [False] * (len(batches) - 1),
        "alive after fit": 0,
        "alive without the lists": 0,
        "alive after a forward pass alone": 0,
        "garbage collections asked for": 0,
        "lists grow afterwards": False,
        "hooks of others run, in fit and after": [True, True],
    }


runs = [
    ([[[1, 2]], [[-1, 0], [2, 1]], [[0, 1]], [[1, 1]]], 0.5),
    ([[[2, -1]], [[1, 3]], [[0, -2]], [[1, 0]], [[-1, 1]], [[2, 2]]], 0.25),
]


def given(batches, lr):
    return f"{len(batches)} batches"


check("6.12", watch_fit, runs, torch_says=by_plain_loop, given=given)


# %% tags=["6.12", "wrong"]
# Only the list of losses is mended. The hook still appends a tensor with a history, and Exp still
# holds its own node.
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.y


def fit(model, optimizer, batches):
    losses, means = [], []

    def look(module, inputs, output):
        means.append(output.mean())

    model[0].register_forward_hook(look)
    for x in batches:
        optimizer.zero_grad()
        loss = Exp.apply(model(x)).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, means


# %% tags=["6.12", "wrong"]
# Both lists are mended. Two things are left: Exp still holds its own node, and your hook stays on
# the model.
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.y


def fit(model, optimizer, batches):
    losses, means = [], []

    def look(module, inputs, output):
        means.append(output.mean().item())

    model[0].register_forward_hook(look)
    for x in batches:
        optimizer.zero_grad()
        loss = Exp.apply(model(x)).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, means


# %% tags=["6.12", "wrong"]
# Both lists are mended and the hook is gone, but Exp writes its own output to ctx. The output holds
# its node, the node holds ctx, and ctx the output: a cycle, which only the garbage collector ends.
# save_for_backward knows of it.
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.y


# %% tags=["6.12", "wrong"]
# You call the garbage collector for the cycle in Exp. It walks over all objects of the program, in
# each step. Do not make the cycle.
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        import gc

        gc.collect()
        y = x.exp()
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.y


# %% tags=["6.12", "wrong"]
# del takes a name away, and empty_cache gives back memory that nobody holds. The lists and the
# cycle hold the graphs all the same.
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.y


def fit(model, optimizer, batches):
    losses, means = [], []

    def look(module, inputs, output):
        means.append(output.mean())

    handle = model[0].register_forward_hook(look)
    for x in batches:
        optimizer.zero_grad()
        loss = Exp.apply(model(x)).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss)
        del loss
        torch.cuda.empty_cache()
    handle.remove()
    return losses, means


# %% tags=["6.12", "wrong"]
# clone() copies the values, and its result has a history: the node of clone, and the whole graph
# behind it. Keep numbers, or detach.
def fit(model, optimizer, batches):
    losses, means = [], []

    def look(module, inputs, output):
        means.append(output.mean().clone())

    handle = model[0].register_forward_hook(look)
    for x in batches:
        optimizer.zero_grad()
        loss = Exp.apply(model(x)).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.clone())
    handle.remove()
    return losses, means


# %% tags=["6.12", "wrong"]
# Nothing leaks, since nothing is logged. Somebody wants to plot the numbers.
def fit(model, optimizer, batches):
    for x in batches:
        optimizer.zero_grad()
        loss = Exp.apply(model(x)).mean()
        loss.backward()
        optimizer.step()
    return [], []


# %% tags=["6.12", "wrong"]
# The loss is detached before backward, and requires_grad_ has silenced the error. No gradient
# reaches the model any more: cut what is kept, not what is trained.
def fit(model, optimizer, batches):
    losses, means = [], []

    def look(module, inputs, output):
        means.append(output.mean().item())

    handle = model[0].register_forward_hook(look)
    for x in batches:
        optimizer.zero_grad()
        loss = Exp.apply(model(x)).mean().detach().requires_grad_()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    handle.remove()
    return losses, means


# %% tags=["6.12", "wrong"]
# No graph is kept, but your hook stays on the model. It appends to the list whenever the model runs
# after training. register_forward_hook returns a handle, with remove().
def fit(model, optimizer, batches):
    losses, means = [], []

    def look(module, inputs, output):
        means.append(output.mean().item())

    model[0].register_forward_hook(look)
    for x in batches:
        optimizer.zero_grad()
        loss = Exp.apply(model(x)).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, means


# %% tags=["6.12", "wrong"]
# You take every hook off the layer, also those of others. Keep the handle of your own, and remove
# that.
def fit(model, optimizer, batches):
    losses, means = [], []

    def look(module, inputs, output):
        means.append(output.mean().item())

    model[0].register_forward_hook(look)
    for x in batches:
        optimizer.zero_grad()
        loss = Exp.apply(model(x)).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model[0]._forward_hooks.clear()
    return losses, means


# %% tags=["6.12", "wrong"]
# Your hook's list is mended and the hook is gone, but the losses are still tensors with a history.
# Each of them holds the graph of its step.
def fit(model, optimizer, batches):
    losses, means = [], []

    def look(module, inputs, output):
        means.append(output.mean().item())

    handle = model[0].register_forward_hook(look)
    for x in batches:
        optimizer.zero_grad()
        loss = Exp.apply(model(x)).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    handle.remove()
    return losses, means


# %% tags=["6.12", "wrong"]
# The losses are numbers and the hook is gone, but what it has appended are still tensors with a
# history. Each of them holds the graph of the first layer.
def fit(model, optimizer, batches):
    losses, means = [], []

    def look(module, inputs, output):
        means.append(output.mean())

    handle = model[0].register_forward_hook(look)
    for x in batches:
        optimizer.zero_grad()
        loss = Exp.apply(model(x)).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    handle.remove()
    return losses, means


# %% tags=["6.12", "wrong"]
# The lists are turned into numbers, but after the last batch. Until then all graphs are alive, and
# that is when the memory runs out.
def fit(model, optimizer, batches):
    losses, means = [], []

    def look(module, inputs, output):
        means.append(output.mean())

    handle = model[0].register_forward_hook(look)
    for x in batches:
        optimizer.zero_grad()
        loss = Exp.apply(model(x)).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    handle.remove()
    return [loss.item() for loss in losses], [mean.item() for mean in means]


# %% [markdown] tags=["6.12", "hint"]
# Ask who holds a graph. Two holders are lists: `graph_holders()` names them after a call of `fit`.
# The third is a cycle, which it collects before it looks; `graph_memory(step)` counts it.

# %% [markdown] tags=["6.12", "hint"]
# A tensor that is kept for a plot needs no history: `item()` or `detach()`, at the moment when it
# is appended. And what does `register_forward_hook` return?

# %% [markdown] tags=["6.12", "hint"]
# In `Exp`, the output has a node, that node has `ctx`, and `ctx.y` is the output.
# `ctx.save_for_backward(y)` in forward and `(y,) = ctx.saved_tensors` in backward make no cycle:
# torch keeps an output without its history.

# %% [markdown] tags=["6.12", "afterword"]
# After backward the saved tensors of torch's own nodes are freed, so what grows is not much: a few
# nodes for each step. `ctx.y` is not freed at all, since torch does not know that it is there.

# %% tags=["6.13", "about"]
title = "MiniTorch 6: versions"
kind = "build"
core = True
difficulty = 3
minutes = 20
points = 4

# %% [markdown] tags=["6.13", "statement"]
# The last piece of your small torch counts writes in place, and notices when one has spoiled a
# saved tensor. What is there: `t.version` is the counter of a tensor; every tensor that is made,
# also by `alias(t, sizes, strides)` over the storage of another one, begins with a new
# `VersionCounter()`. `t.requires_grad`, `t.grad_fn` (its node, or None), `t.sizes`, `t.strides` and
# `GradMode.enabled` you know. `redispatch(op, keys, t, *args)` runs the layers below yours.
# `join(out, t, op, args)` makes `out` a view of the base of `t`. From then on `out.base` is that
# base, the one at the root, and `out.steps` are the operators that lead there from it, or None if
# the view was made while nothing was recorded. Of a tensor that is no view, `base` is None.
#
# - `VersionCounter()` has a `value`, 0 at first.
# - `Saved(t, is_output)` is what a node keeps of a tensor, under `tensor`; a backward that retains
#   nothing sets `saved.tensor = None`. `Saved` notes the version at which it was made. An output is
#   kept without its history, as an alias: it would hold the node that holds it.
# - `saved.unpack(node)` gives it back. An input is the tensor itself; an output is an alias that
#   requires a gradient, with `node` as its `grad_fn` and the counter of the tensor that was saved.
#   If the tensor is gone, or its version is no longer the one that was noted, it raises
#   RuntimeError.
# - `track_view(op, keys, t, *args)` is the kernel of ADInplaceOrView for an operator that views: it
#   lets the layers below compute, gives the result the counter of `t`, joins it, and returns it.
# - `bump(op, keys, t, *args)` is the one for an operator that writes to `t`: it lets the layers
#   below write, and the version is one more. If they refuse, nothing moves.
# - `check_write(t)` is asked before a write in which a gradient is involved. While operators are
#   recorded, it raises RuntimeError for a leaf that requires a gradient, for a view of one, and for
#   a view that was made while nothing was recorded. Any other write may go on.
#
# The errors say in a sentence what is wrong. Who calls your pieces, and how a write changes
# histories, is given.
#
# **Done when** random programs of views, writes and backwards have the versions, values and
# gradients of torch, are refused where torch refuses, and leave no node behind.

# %% tags=["6.13", "setup"]
from insidetorch.mini import GradMode, alias, assemble, join, redispatch


# %% tags=["6.13", "answer"]
class VersionCounter:
    def __init__(self):
        ### BEGIN SOLUTION
        self.value = 0
        ### END SOLUTION


class Saved:
    def __init__(self, t, is_output=False):
        ### BEGIN SOLUTION
        self.tensor = alias(t, t.sizes, t.strides) if is_output else t
        self.is_output = is_output
        self.version, self.noted = t.version, t.version.value
        ### END SOLUTION

    def unpack(self, node):
        ### BEGIN SOLUTION
        if self.tensor is None:
            raise RuntimeError("An earlier backward has freed this tensor.")
        if self.version.value != self.noted:
            raise RuntimeError(f"Saved at version {self.noted}, now at {self.version.value}.")
        if not self.is_output:
            return self.tensor
        out = alias(self.tensor, self.tensor.sizes, self.tensor.strides)
        out.version, out.requires_grad, out.grad_fn = self.version, True, node
        return out
        ### END SOLUTION


def track_view(op, keys, t, *args):
    ### BEGIN SOLUTION
    out = redispatch(op, keys, t, *args)
    out.version = t.version
    join(out, t, op, args)
    return out
    ### END SOLUTION


def bump(op, keys, t, *args):
    ### BEGIN SOLUTION
    out = redispatch(op, keys, t, *args)
    t.version.value += 1
    return out
    ### END SOLUTION


def check_write(t):
    ### BEGIN SOLUTION
    if not GradMode.enabled:
        return
    if t.steps is None:
        raise RuntimeError("This view was made while nothing was recorded.")
    root = t if t.base is None else t.base
    if root.requires_grad and root.grad_fn is None:
        raise RuntimeError("A leaf that requires a gradient is not written while recording.")
    ### END SOLUTION


# %% tags=["6.13", "check"]
import gc
from functools import partial
from math import prod
from operator import attrgetter
from random import Random
from weakref import ref

pieces = {
    "VersionCounter": VersionCounter,
    "Saved": Saved,
    "track_view": track_view,
    "bump": bump,
    "check_write": check_write,
}
torch_operators = {
    "add": torch.add,
    "mul": torch.mul,
    "exp": torch.exp,
    "clone": torch.clone,
    "sum": lambda t, dims: t.sum(dims, keepdim=True),
    "detach": torch.Tensor.detach,
    "view": torch.Tensor.view,
    "permute": torch.Tensor.permute,
    "narrow": torch.Tensor.narrow,
    "expand": torch.Tensor.expand,
    "add_": torch.Tensor.add_,
    "mul_": torch.Tensor.mul_,
    "copy_": torch.Tensor.copy_,
}
fresh, views = ("add", "mul", "mul", "exp", "clone", "sum"), ("view", "permute", "narrow", "narrow")
writes = ("add_", "mul_", "copy_")


def values_for(sizes, start=0):
    return [((i * 5 + start) % 7 - 2.5) / 4 for i in range(prod(sizes))]


def torch_tensor(sizes, start, flag):
    t = torch.tensor(values_for(sizes, start)).double().view(sizes)
    return t.clone().requires_grad_(flag)  # a base of its own, no view


# --- random programs, chosen with torch


def overlapping(t):
    return any(n > 1 and s == 0 for n, s in zip(t.shape, t.stride(), strict=True))


def view_arguments(random, name, t):
    sizes = tuple(t.shape)
    if name == "view":
        return (random.choice(((1, *sizes), (*sizes, 1))),)
    if name == "permute":
        return (random.sample(range(len(sizes)), len(sizes)),)
    if name == "expand":
        return ((2, *sizes),)
    dim = random.randrange(len(sizes))
    start = random.randrange(sizes[dim])
    return dim, start, random.randint(1, sizes[dim] - start)


def target_of(random, tensors, aside):
    """What to write to: often a view, and seldom what belongs to a leaf, which is refused."""
    every = range(len(tensors))
    roots = [t if t._base is None else t._base for t in tensors]
    free = [i for i in every if not (roots[i].requires_grad and roots[i].is_leaf)]
    of_views = [i for i in free if tensors[i]._base is not None]
    return random.choice(random.choice((free, of_views, of_views, every, [*aside])) or every)


def random_step(random, tensors, aside):
    """An operator, the places of its tensors, its other arguments, and whether it is recorded."""
    usable = [i for i in range(len(tensors)) if i not in aside]
    at, other, recorded = random.choice(usable), random.choice(usable), random.random() < 0.7
    name = random.choice((random.choice(fresh), random.choice((*views, "expand", "detach"))))
    if random.random() < 0.4:
        at = target_of(random, tensors, aside)
        sizes = [tensors[i].shape for i in usable]
        fitting = [i for i, s in zip(usable, sizes, strict=True) if s in (tensors[at].shape, ())]
        if random.random() < 0.9 and fitting:
            other = random.choice(fitting)
        return random.choice(writes), (at, other), (), recorded
    if name in views and not tensors[at].dim():
        name = "clone"
    if name in ("add", "mul"):
        return name, (at, other), (), recorded
    if name in (*views, "expand"):
        return name, (at,), view_arguments(random, name, tensors[at]), recorded
    return name, (at,), ((0,)[: tensors[at].dim()],) if name == "sum" else (), recorded


def unclear(t, other):
    """Is memory read that is written at the same time, or does a base overlap itself?

    torch refuses some of the first, and a backward through the second; MiniTorch does neither.
    """
    same = t.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
    return same or (t._base is not None and overlapping(t._base) and not overlapping(t))


def too_large(name, of, rest):
    """Has the result too many values, or too large ones, or would there be none?"""
    try:
        out = torch_operators[name.removesuffix("_")](*(t.detach() for t in of), *rest)
    except KeyError:
        out = of[1].detach()  # of copy_
    except RuntimeError:
        return not name.endswith("_")  # a write may be refused
    return out.numel() > 12 or out.dim() > 3 or bool(out.abs().max() > 3)


def torch_step(tensors, name, places, rest, recorded):
    """Run a step in torch; a new tensor is appended."""
    with torch.set_grad_enabled(recorded):
        out = torch_operators[name](*(tensors[i] for i in places), *rest)
    if not name.endswith("_"):
        tensors.append(out)


def attempt(run):
    """Does it run, or is it refused?"""
    try:
        run()
    except NotImplementedError:  # a piece that is still to be written
        raise
    except (RuntimeError, ValueError):
        return "refused"
    return "done"


def random_program(seed):
    """Leaves (sizes, flag), and steps: as of random_step, or ("back", where, retain_graph).

    Views that are made while nothing is recorded are only written to.
    """
    random, steps, aside = Random(seed), [], set()
    leaves = [(random.choice([(2, 2), (2,), (1, 2), ()]), random.random() < 0.4) for _ in range(2)]
    leaves.append(((2,), True))
    tensors = [torch_tensor(sizes, i, flag) for i, (sizes, flag) in enumerate(leaves)]
    while len(steps) < 11:
        if random.random() < 0.15:
            step = ("back", random.choice(roots_of(tensors, aside)[-3:]), random.random() < 0.5)
        else:
            name, places, rest, recorded = step = random_step(random, tensors, aside)
            of = [tensors[i] for i in places]
            if too_large(name, of, rest) or (name in writes and unclear(*of)):
                continue
            if name in (*views, "expand") and not recorded:
                aside.add(len(tensors))
        steps.append(step)
        attempt(lambda step=step: torch_run(tensors, *step))
    roots = roots_of(tensors, aside)
    steps += [("back", roots[-1], True), ("back", random.choice(roots), False)]
    return leaves, steps, aside


def roots_of(tensors, aside):
    return [i for i, t in enumerate(tensors) if i not in aside and t.requires_grad]


def run_program(seed, new_leaf, run_step, described, base_of):
    """What each step does on one of the two sides, and what is there at the end."""
    leaves, steps, aside = random_program(seed)
    tensors = [new_leaf(sizes, i, flag) for i, (sizes, flag) in enumerate(leaves)]
    wanted, seen = [t for t, (_, flag) in zip(tensors, leaves, strict=True) if flag], []
    for step in steps:
        verdict = attempt(lambda step=step: run_step(tensors, *step))
        if step[0] == "back" and verdict == "refused":  # how far it came depends on the ages
            for t in wanted:
                t.grad = None
        versions, values = described(tensors)
        seen.append(f"{step[0]} {verdict}, versions {versions}")
        # After each step: a view of torch learns of its new history when somebody looks.
        histories = [history_of(t, base_of(t)) for i, t in enumerate(tensors) if i not in aside]
    return {
        "steps": seen,
        "values": values,
        "histories": ", ".join(histories),
        "gradients": [None if t.grad is None else described([t.grad])[1] for t in wanted],
    }


def history_of(t, base):
    node = "node" if t.grad_fn is not None else "leaf" if t.requires_grad else "nothing"
    return node if base is None else f"{node} of a view"


# --- in MiniTorch


def mini_step(mini, tensors, name, *step):
    if name == "back":
        at, retain = step
        sizes = tensors[at].sizes
        mini.backward(tensors[at], mini.new(values_for(sizes, 2), sizes), retain)
        return
    places, rest, recorded = step
    of = [tensors[i] for i in places]
    with mini.grad_mode(recorded):
        out = mini.detach(*of) if name == "detach" else mini.call(name, *of, *rest)
    if not name.endswith("_"):
        tensors.append(out)


def mini_described(tensors):
    versions = " ".join(str(t.version.value) for t in tensors)
    values = [[round(value, 3) for value in t] for t in tensors]
    return versions, values


def mini_leaf(mini, sizes, start=0, flag=True):
    t = mini.new(values_for(sizes, start), sizes)
    t.requires_grad = flag
    return t


def mini_program(seed):
    mini = assemble(**pieces)
    of_mini = partial(mini_leaf, mini), partial(mini_step, mini)
    return run_program(seed, *of_mini, mini_described, attrgetter("base"))


def mini_counts(mode):
    """Versions in a family of tensors, while each of them is written, or refuses to be."""
    mini = assemble(**pieces)
    t = mini.new(range(4), (2, 2))
    family = [t, mini.detach(t), mini.call("clone", t), mini.call("permute", t, (1, 0))]
    family += [mini.call("narrow", family[3], 0, 0, 1), mini.detach(family[3])]
    with mini.grad_mode(False):
        family.append(mini.call("view", family[2], (4,)))
    modes = {
        "recording": mini.grad_mode(True),
        "no_grad": mini.grad_mode(False),
        "below autograd": mini.exclude(mini.Key.Autograd),
        "below views": mini.exclude(mini.Key.ADInplaceOrView),
    }
    seen, one, too_long = [], mini.new([1], ()), mini.new(range(5), (5,))
    with modes[mode]:
        for a in family:
            mini.call("mul_", a, one)
            refused = attempt(lambda a=a: mini.call("add_", a, too_long))
            seen.append(f"{refused} {mini_described(family)[0]}")
    return seen


def mini_same_values(op):
    """A write of the values that are there already, to what a node has kept."""
    mini = assemble(**pieces)
    y = mini.call("clone", mini_leaf(mini, (2,)))
    out = mini.call(op, *((y, y) if op == "mul" else (y,)))
    kept = y if op == "mul" else out
    mini.call("copy_", kept, mini.call("clone", mini.detach(kept)))
    return attempt(lambda: mini.backward(out, mini.new([1, 1], (2,))))


def mini_second_derivative(written):
    """An output that a recorded backward saves once more, perhaps written after that."""
    mini = assemble(**pieces)
    x, grad, ones = mini_leaf(mini, (2,)), mini_leaf(mini, (2,), 3), mini.new([1, 1], (2,))
    out = mini.call("exp", x)
    mini.backward(out, grad, create_graph=True)
    first, x.grad, grad.grad = x.grad, None, None
    if written:
        mini.call("add_", out, mini.new([1], ()))
    verdict = attempt(lambda: mini.backward(first, ones))
    described = [None if t.grad is None else mini_described([t.grad])[1] for t in (x, grad)]
    return {"backward": verdict, "gradients": described}


def mini_left():
    """How many nodes are still there once the tensors are gone, without the garbage collector?"""
    mini = assemble(**pieces)
    x, enabled = mini_leaf(mini, (2,)), gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        y = mini.call("exp", x)
        part = mini.call("narrow", y, 0, 0, 1)
        z = mini.call("mul", mini.call("exp", y), y)
        mini.call("mul_", part, mini.call("narrow", x, 0, 1, 1))
        nodes = [ref(t.grad_fn) for t in (y, z, part)]
        del y, z, part
        return sum(node() is not None for node in nodes)
    finally:
        if enabled:
            gc.enable()


# --- in torch


def torch_run(tensors, name, *step):
    if name == "back":
        at, retain = step
        sizes = tuple(tensors[at].shape)
        tensors[at].backward(torch_tensor(sizes, 2, False), retain_graph=retain)
    else:
        torch_step(tensors, name, *step)


def torch_described(tensors):
    versions = " ".join(str(t._version) for t in tensors)
    values = [[round(value, 3) for value in t.detach().flatten().tolist()] for t in tensors]
    return versions, values


def torch_program(seed):
    return run_program(seed, torch_tensor, torch_run, torch_described, attrgetter("_base"))


def torch_counts(mode):
    t = torch.arange(4.0).view(2, 2).clone()
    family = [t, t.detach(), t.clone(), t.permute(1, 0)]
    family += [family[3].narrow(0, 0, 1), family[3].detach()]
    with torch.no_grad():
        family.append(family[2].view(4))
    views_key = torch._C.DispatchKeySet(torch._C.DispatchKey.ADInplaceOrView)
    modes = {
        "recording": torch.enable_grad,
        "no_grad": torch.no_grad,
        "below autograd": torch._C._AutoDispatchBelowAutograd,
        "below views": lambda: torch._C._ExcludeDispatchKeyGuard(views_key),
    }
    seen = []
    with modes[mode]():
        for a in family:
            a.mul_(torch.ones(()))
            refused = attempt(lambda a=a: a.add_(torch.ones(5)))
            seen.append(f"{refused} {torch_described(family)[0]}")
    return seen


def torch_same_values(op):
    y = torch_tensor((2,), 0, True).clone()
    out = torch_operators[op](*((y, y) if op == "mul" else (y,)))
    kept = y if op == "mul" else out
    kept.copy_(kept.detach().clone())
    return attempt(lambda: out.backward(torch.ones(2).double()))


def torch_second_derivative(written):
    x, grad = torch_tensor((2,), 0, True), torch_tensor((2,), 3, True)
    out = x.exp()
    (first,) = torch.autograd.grad(out, x, grad, create_graph=True)
    if written:
        out.add_(1)
    verdict = attempt(lambda: first.backward(torch.ones(2).double()))
    described = [None if t.grad is None else torch_described([t.grad])[1] for t in (x, grad)]
    return {"backward": verdict, "gradients": described}


def torch_left():
    return 0


in_mini = {
    "program": mini_program,
    "counts": mini_counts,
    "same values": mini_same_values,
    "second derivative": mini_second_derivative,
    "nodes left": mini_left,
}


def run_mini(what, *case):
    return in_mini[what](*case)


def run_torch(what, *case):
    in_torch = {"program": torch_program, "counts": torch_counts, "nodes left": torch_left}
    in_torch |= {"same values": torch_same_values, "second derivative": torch_second_derivative}
    return in_torch[what](*case)


def what_is_run(what, *case):
    """In words, with the program whose number alone would say nothing."""
    if what != "program":
        return ", ".join(map(str, (what, *case)))
    leaves, steps, _ = random_program(*case)
    told = [step if step[0] == "back" else (step[0], *step[1], *step[2], step[3]) for step in steps]
    return f"leaves {leaves} and the steps {told}"


cases = [("counts", mode) for mode in ("recording", "no_grad", "below autograd", "below views")]
cases += [("same values", "mul"), ("same values", "exp"), ("nodes left",)]
cases += [("second derivative", False), ("second derivative", True)]
cases += [("program", seed) for seed in range(48)]
check(
    "6.13",
    run_mini,
    cases,
    torch_says=run_torch,
    given=what_is_run,
    by_hand=tuple(pieces.values()),
    allowed=[GradMode, alias, join, redispatch],
)


# %% tags=["6.13", "wrong"]
# A view has a counter of its own. It reads the memory of its base, so a write to either is a write
# to the other.
def track_view(op, keys, t, *args):
    out = redispatch(op, keys, t, *args)
    join(out, t, op, args)
    return out


# %% tags=["6.13", "wrong"]
# A view begins with the number of its base, but counts on alone. What they share is the counter,
# one object, not its value.
def track_view(op, keys, t, *args):
    out = redispatch(op, keys, t, *args)
    out.version.value = t.version.value
    join(out, t, op, args)
    return out


# %% tags=["6.13", "wrong"]
# The view is not joined. So a write to it changes the values of its base, and the base keeps its
# old history.
def track_view(op, keys, t, *args):
    out = redispatch(op, keys, t, *args)
    out.version = t.version
    return out


# %% tags=["6.13", "wrong"]
# A view is joined only while operators are recorded. It reads the memory of a base in any mode;
# what the mode decides, join notes.
def track_view(op, keys, t, *args):
    out = redispatch(op, keys, t, *args)
    out.version = t.version
    if GradMode.enabled:
        join(out, t, op, args)
    return out


# %% tags=["6.13", "wrong"]
# You note the version when the tensor is asked for, and compare it with itself. The one that counts
# is that of the moment of saving.
class Saved:
    def __init__(self, t, is_output=False):
        self.tensor = alias(t, t.sizes, t.strides) if is_output else t
        self.is_output, self.version = is_output, t.version

    def unpack(self, node):
        self.noted = self.version.value
        if self.tensor is None:
            raise RuntimeError("An earlier backward has freed this tensor.")
        if self.version.value != self.noted:
            raise RuntimeError(f"Saved at version {self.noted}, now at {self.version.value}.")
        if not self.is_output:
            return self.tensor
        out = alias(self.tensor, self.tensor.sizes, self.tensor.strides)
        out.version, out.requires_grad, out.grad_fn = self.version, True, node
        return out


# %% tags=["6.13", "wrong"]
# An input is compared with its counter, an output with that of its alias, which is new and never
# moves. The counter of the tensor that was saved counts.
class Saved:
    def __init__(self, t, is_output=False):
        self.tensor = alias(t, t.sizes, t.strides) if is_output else t
        self.is_output = is_output
        self.version, self.noted = self.tensor.version, self.tensor.version.value

    def unpack(self, node):
        if self.tensor is None:
            raise RuntimeError("An earlier backward has freed this tensor.")
        if self.version.value != self.noted:
            raise RuntimeError(f"Saved at version {self.noted}, now at {self.version.value}.")
        if not self.is_output:
            return self.tensor
        out = alias(self.tensor, self.tensor.sizes, self.tensor.strides)
        out.version, out.requires_grad, out.grad_fn = self.version, True, node
        return out


# %% tags=["6.13", "wrong"]
# A saved output is the tensor itself. It holds the node, the node holds it, and nobody ever lets
# them go.
class Saved:
    def __init__(self, t, is_output=False):
        self.tensor, self.is_output = t, is_output
        self.version, self.noted = t.version, t.version.value

    def unpack(self, node):
        if self.tensor is None:
            raise RuntimeError("An earlier backward has freed this tensor.")
        if self.version.value != self.noted:
            raise RuntimeError(f"Saved at version {self.noted}, now at {self.version.value}.")
        return self.tensor


# %% tags=["6.13", "wrong"]
# An output comes back without its history. For a first derivative that is enough; a second one goes
# through the saved output.
class Saved:
    def __init__(self, t, is_output=False):
        self.tensor = alias(t, t.sizes, t.strides) if is_output else t
        self.version, self.noted = t.version, t.version.value

    def unpack(self, node):
        if self.tensor is None:
            raise RuntimeError("An earlier backward has freed this tensor.")
        if self.version.value != self.noted:
            raise RuntimeError(f"Saved at version {self.noted}, now at {self.version.value}.")
        return self.tensor


# %% tags=["6.13", "wrong"]
# An output comes back with a counter of its own. If a recorded backward saves it once more, a later
# write goes unnoticed.
class Saved:
    def __init__(self, t, is_output=False):
        self.tensor = alias(t, t.sizes, t.strides) if is_output else t
        self.is_output = is_output
        self.version, self.noted = t.version, t.version.value

    def unpack(self, node):
        if self.tensor is None:
            raise RuntimeError("An earlier backward has freed this tensor.")
        if self.version.value != self.noted:
            raise RuntimeError(f"Saved at version {self.noted}, now at {self.version.value}.")
        if not self.is_output:
            return self.tensor
        out = alias(self.tensor, self.tensor.sizes, self.tensor.strides)
        out.requires_grad, out.grad_fn = True, node
        return out


# %% tags=["6.13", "wrong"]
# You compare values instead of versions. torch does not: that would cost a copy of each saved
# tensor, and a write of the same values is a write.
class Saved:
    def __init__(self, t, is_output=False):
        self.tensor = alias(t, t.sizes, t.strides) if is_output else t
        self.is_output = is_output
        self.version, self.values = t.version, list(t)

    def unpack(self, node):
        if self.tensor is None:
            raise RuntimeError("An earlier backward has freed this tensor.")
        if list(self.tensor) != self.values:
            raise RuntimeError("A write has changed the values.")
        if not self.is_output:
            return self.tensor
        out = alias(self.tensor, self.tensor.sizes, self.tensor.strides)
        out.version, out.requires_grad, out.grad_fn = self.version, True, node
        return out


# %% tags=["6.13", "wrong"]
# The version moves before the layers below have written. If they refuse, nothing was written, and
# it has moved all the same.
def bump(op, keys, t, *args):
    t.version.value += 1
    return redispatch(op, keys, t, *args)


# %% tags=["6.13", "wrong"]
# You count only writes that are recorded. Under no_grad memory is written just as well, and what
# was saved is spoiled just as much.
def bump(op, keys, t, *args):
    out = redispatch(op, keys, t, *args)
    if GradMode.enabled:
        t.version.value += 1
    return out


# %% tags=["6.13", "wrong"]
# You count only writes to tensors that require a gradient. A node may have saved one that does not,
# such as a factor.
def bump(op, keys, t, *args):
    out = redispatch(op, keys, t, *args)
    if t.requires_grad:
        t.version.value += 1
    return out


# %% tags=["6.13", "wrong"]
# The tensor gets a new counter with a higher number. Its views and what is saved hold the old one,
# which does not move. Count on in the counter that is there.
def bump(op, keys, t, *args):
    out = redispatch(op, keys, t, *args)
    before, t.version = t.version.value, VersionCounter()
    t.version.value = before + 1
    return out


# %% tags=["6.13", "wrong"]
# A leaf that requires a gradient may be written while that is recorded. Then it is the output of
# the write, and no leaf any more: nobody gets its gradient.
def check_write(t):
    if GradMode.enabled and t.steps is None:
        raise RuntimeError("This view was made while nothing was recorded.")


# %% tags=["6.13", "wrong"]
# You refuse a leaf, and not a view of one. The view's memory is the leaf's.
def check_write(t):
    if not GradMode.enabled:
        return
    if t.steps is None:
        raise RuntimeError("This view was made while nothing was recorded.")
    if t.requires_grad and t.grad_fn is None:
        raise RuntimeError("A leaf that requires a gradient is not written while recording.")


# %% tags=["6.13", "wrong"]
# Under no_grad you refuse as well. A leaf is written there in every step of an optimizer.
def check_write(t):
    if t.steps is None:
        raise RuntimeError("This view was made while nothing was recorded.")
    root = t if t.base is None else t.base
    if root.requires_grad and root.grad_fn is None:
        raise RuntimeError("A leaf that requires a gradient is not written while recording.")


# %% tags=["6.13", "wrong"]
# You refuse every tensor that requires a gradient. One that has a node may be written: it becomes
# the output of the write.
def check_write(t):
    if not GradMode.enabled:
        return
    if t.steps is None:
        raise RuntimeError("This view was made while nothing was recorded.")
    root = t if t.base is None else t.base
    if root.requires_grad:
        raise RuntimeError("A tensor that requires a gradient is not written while recording.")


# %% tags=["6.13", "wrong"]
# You refuse views of any leaf. Data that require no gradient are leaves too, and a batch may be
# written through a view.
def check_write(t):
    if not GradMode.enabled:
        return
    if t.steps is None:
        raise RuntimeError("This view was made while nothing was recorded.")
    root = t if t.base is None else t.base
    if root.grad_fn is None and (root.requires_grad or root is not t):
        raise RuntimeError("A leaf is not written while recording.")


# %% tags=["6.13", "wrong"]
# A view that was made while nothing was recorded may be written for you. Its base would not learn
# of the write, and send gradients as if it had not been.
def check_write(t):
    if not GradMode.enabled:
        return
    root = t if t.base is None else t.base
    if root.requires_grad and root.grad_fn is None:
        raise RuntimeError("A leaf that requires a gradient is not written while recording.")


# %% [markdown] tags=["6.13", "hint"]
# Begin with the counter, `bump` and `track_view`: two to four lines each. What two tensors share is
# one object. What is refused raises in `redispatch`, so a line behind it is not reached.

# %% [markdown] tags=["6.13", "hint"]
# `Saved` keeps four things: the tensor (of an output `alias(t, t.sizes, t.strides)`), whether it is
# an output, the counter of `t`, and its value now. `unpack` asks in this order: is it gone, has the
# counter moved, is it an input? An output is one more alias, on which you set three attributes.

# %% [markdown] tags=["6.13", "hint"]
# `check_write`: return at once if nothing is recorded. `t.steps is None` is a view that was made
# while nothing was. The root is `t` or `t.base`, and it is a leaf that requires a gradient if
# `root.requires_grad and root.grad_fn is None`.

# %% [markdown] tags=["6.13", "afterword"]
# Your small torch is whole. It does what torch does with views, writes and gradients, in random
# programs, and you have written its pieces. `.data` of torch is an alias with a counter of its own:
# with `alias` alone you would have it, and now you know why it is dangerous.

# %% tags=["6.14", "about"]
title = "A doctor in 40 lines"
kind = "complete"
core = False
difficulty = 3
minutes = 30
points = 4

# %% [markdown] tags=["6.14", "statement"]
# A step has run forward and backward, and the `.grad` of a parameter is still None. Name the lines
# on which the way of its gradient was cut.
#
# A mode of the class `TorchFunctionMode` sees each call of a function or method of torch, also
# those that a module makes, `loss.backward()` and a read of `t.data`: as `fn`, with `args` and
# `kwargs`. While `__torch_function__` runs, the mode is off. Given are `place()`, the file and line
# of the script that is running now; `tensors_in(value)`, all tensors in nested lists, tuples and
# dicts; and `merged`, which unites dicts of sets.
#
# `find_cuts(step, parameters)` calls `step()` once, and returns a sorted list of places, each once.
# Before the step no parameter has a `.grad`. Two things are to be known of each tensor:
#
# - It is **connected** to some parameters: along an unbroken history. A parameter that requires a
#   gradient is connected to itself.
# - It **carries**, for some parameters, the places at which their history was lost.
#
# A call hands both on, from all its tensors to each tensor that it returns and that requires a
# gradient. A returned tensor that requires none carries what the others carry, and is connected to
# nothing: the call is a **cut**, and the tensor carries its `place()` for each parameter to which
# one of the arguments was connected. That is so for detach and `.data`, for argmax and a
# comparison, and for any operator under no_grad. Two exceptions: `__setitem__` returns None, and
# counts as if it returned its first argument; and nothing is handed on by a call whose
# `fn.__name__` is in `NO_VALUES`.
#
# The lines for a parameter whose `.grad` is None after the step, though it requires one, are the
# places that the tensor carries on which `backward` is called. If there are none for it, its values
# may have come back as plain numbers, which no mode can follow. Then the lines are the places at
# which they left torch before the first backward, by a function in `LEAVES`: what the tensor
# carries for the parameter, and the place of the call if the tensor is connected to it. All other
# parameters have no lines.
#
# For this script, in which `weight` has no gradient, the answer is `[("model.py", 2)]`:
#
# ```
# model.py   1  def features(x):
#            2      return (x @ weight).detach()
# train.py   1  loss = (features(x) * scale).sum()
#            2  loss.backward()
# ```
#
# Note what you know of a tensor by its `id`, and keep the tensor beside it, or another one will get
# the same `id`. 40 lines are enough.
#
# **Done when** you name the right lines of the broken scripts in the check, and none of the healthy
# ones, and the step does what it does without you. The tools of this course are not used.

# %% tags=["6.14", "setup"]
import sys

from torch.overrides import TorchFunctionMode

LEAVES = {"item", "tolist", "numpy", "__float__", "__int__", "__bool__", "__array__"}
NO_VALUES = {"zeros_like", "ones_like", "empty_like", "new_zeros", "new_ones", "size", "dim"}


def place():
    """The file and line of the script that is running now, such as ("model.py", 7)."""
    frame = sys._getframe()
    while not frame.f_code.co_filename.startswith("script/"):
        frame = frame.f_back
    return frame.f_code.co_filename.removeprefix("script/"), frame.f_lineno


def tensors_in(value):
    """All tensors in a value: itself, or inside of lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        return [value]
    values = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list | tuple):
        return []
    return [t for one in values for t in tensors_in(one)]


def merged(*all_places):
    """Several dicts of sets as one, such as {0: {("a.py", 1)}} and {0: {("b.py", 2)}}."""
    keys = {key for places in all_places for key in places}
    return {key: set().union(*(places.get(key, ()) for places in all_places)) for key in keys}


# %% tags=["6.14", "answer"]
class CutWatch(TorchFunctionMode):
    def __init__(self, parameters):
        super().__init__()
        ### BEGIN SOLUTION
        # By id: the tensor, the parameters that it is connected to, by number, and the places that
        # it carries for each.
        self.known = {id(p): (p, {i}, {}) for i, p in enumerate(parameters) if p.requires_grad}
        self.at_backward, self.left, self.went_back = {}, {}, False
        ### END SOLUTION

    def __torch_function__(self, fn, types, args=(), kwargs=None):
        ### BEGIN SOLUTION
        given = [self.known[id(t)] for t in tensors_in([args, kwargs]) if id(t) in self.known]
        connected = {i for _, numbers, _ in given for i in numbers}
        carried = merged(*(places for _, _, places in given))
        out = fn(*args, **(kwargs or {}))
        name = fn.__name__
        if name == "backward":
            self.at_backward, self.went_back = merged(self.at_backward, carried), True
        elif given and name not in NO_VALUES:
            cut = merged(carried, {i: {place()} for i in connected})
            for t in tensors_in(args[0] if name == "__setitem__" else out):
                self.known[id(t)] = (t, connected, carried) if t.requires_grad else (t, set(), cut)
            if name in LEAVES and not self.went_back:
                self.left = merged(self.left, cut)
        return out
        ### END SOLUTION


def find_cuts(step, parameters):
    ### BEGIN SOLUTION
    with CutWatch(parameters) as watch:
        step()
    found = set()
    for i, p in enumerate(parameters):
        if p.requires_grad and p.grad is None:
            found |= watch.at_backward.get(i) or watch.left.get(i, set())
    return sorted(found)
    ### END SOLUTION


# %% tags=["6.14", "check"]
from insidetorch.learn.by_hand import names_used

# The first five lines of each model.py.
head = """\
weight = nn.Parameter(torch.tensor([[1.0, 2.0], [0.5, -1.0]]))
scale = nn.Parameter(torch.tensor([2.0, 1.0]))
parameters = [weight, scale]
x = torch.tensor([[1.0, 2.0], [3.0, -1.0]])

"""
plain_step = """\
def step():
    loss = (features(x) * scale).sum()
    loss.backward()
"""
# What follows in model.py.
models = {
    "detach": """\
def features(x):
    return (x @ weight).detach()
""",
    "data": """\
def features(x):
    h = x @ weight
    h = h.data
    return h.relu() * 2
""",
    "no_grad": """\
@torch.no_grad()
def features(x):
    h = x @ weight
    return h.relu()
""",
    "module": """\
layer = nn.Linear(2, 2)
layer.weight.data = torch.eye(2)
layer.bias.data.zero_()
parameters = [*layer.parameters(), scale]
""",
    "argmax": """\
def features(x):
    return x @ weight
""",
    "comparison": """\
def features(x):
    h = x @ weight
    return (h > 0).float()
""",
    "items": """\
def features(x):
    return torch.tensor([row.sum().item() for row in x @ weight])
""",
    "array": """\
def features(x):
    h = (x @ weight).detach()
    array = h.numpy() * 2
    return torch.from_numpy(array)
""",
    "leaf again": """\
def features(x):
    h = x @ weight
    h = h.detach()
    h.requires_grad_()
    return h.tanh()
""",
    "written": """\
def features(x):
    out = torch.zeros(2, 2)
    row = (x @ weight)[0].detach()
    out[0] = row
    return out
""",
    "stacked": """\
def features(x):
    rows = [(x[0] @ weight).detach(), x[1]]
    return torch.stack(rows)
""",
    "two of them": """\
shift = nn.Parameter(torch.ones(2))
parameters = [weight, scale, shift]


def features(x):
    return (x @ weight).detach() + shift
""",
    "two ways": """\
def features(x):
    h = x @ weight
    gate = h > 0
    return gate * h.detach()
""",
    "beside a healthy one": """\
def features(x):
    return (x @ weight).detach()
""",
    "beside a log": """\
def features(x):
    h = x @ weight
    log.append(h.mean().item())
    best = h.argmax(1)
    log.append(best.sum().item())
    return h.detach()


log = []
""",
    "by name": """\
def features(x):
    h = (x @ weight).detach()
    return torch.mul(x, other=h)
""",
    "two backwards": """\
def features(x):
    return (x @ weight).detach()
""",
    "healthy target": """\
def features(x):
    return x @ weight
""",
    "healthy log": """\
def features(x):
    return x @ weight


log = []
""",
    "healthy teacher": """\
teacher = nn.Parameter(torch.eye(2)).requires_grad_(False)
parameters = [weight, scale, teacher]
""",
    "healthy straight through": """\
def features(x):
    h = x @ weight / 4
    return h + (h.round() - h).detach()
""",
    "healthy, and a tensor is let go": """\
unused = nn.Parameter(torch.ones(2, 2))
parameters = [weight, scale, unused]


def features(x):
    (x @ unused).detach()
    return torch.ones(2, 2) * (x @ weight)
""",
    "healthy, and one is read afterwards": """\
unused = nn.Parameter(torch.ones(2))
parameters = [weight, scale, unused]


def features(x):
    return x @ weight
""",
    "healthy, and one is not used": """\
unused = nn.Parameter(torch.ones(2))
parameters = [weight, scale, unused]


def features(x):
    return x @ weight * torch.ones_like(unused)
""",
}
# What stands in train.py, where that is not the plain step.
steps = {
    "module": """\
def step():
    with torch.no_grad():
        h = layer(x)
    loss = (h * scale).sum()
    loss.backward()
""",
    "argmax": """\
def step():
    best = features(x).argmax(1)
    loss = scale[best].sum()
    loss.backward()
""",
    "two of them": """\
def step():
    h = features(x)
    loss = (h * scale.data).sum()
    loss.backward()
""",
    "beside a healthy one": """\
def step():
    h = features(x) * scale
    target = (0.5 * scale).detach() + 1
    loss = (h - target).square().sum()
    loss.backward()
""",
    "two backwards": """\
def step():
    loss = (features(x) * scale).sum()
    loss.backward()
    scale.square().sum().backward()
""",
    "healthy, and one is read afterwards": """\
def step():
    loss = (features(x) * scale).sum()
    loss.backward()
    unused.norm().item()
""",
    "healthy target": """\
def step():
    h = features(x) * scale
    loss = (h - (0.5 * h).detach()).square().sum()
    loss.backward()
""",
    "healthy log": """\
def step():
    h = features(x)
    loss = (h * scale).sum()
    log.append((h.argmax(1) == 1).float().mean().item())
    loss.backward()
    log.append(loss.item())
    torch.optim.SGD(parameters, lr=0.5).step()
""",
    "healthy teacher": """\
def step():
    with torch.no_grad():
        wanted = x @ teacher
    loss = (x @ weight * scale - wanted).square().sum()
    loss.backward()
""",
}


def loaded(name):
    """A script's own names; its lines are those of script/model.py and script/train.py."""
    names = {"torch": torch, "nn": nn}
    exec(compile(head + models[name], "script/model.py", "exec"), names)
    exec(compile(steps.get(name, plain_step), "script/train.py", "exec"), names)
    return names


def gradients_in(names):
    return [None if p.grad is None else p.grad.tolist() for p in names["parameters"]]


def examine(name):
    names, calls = loaded(name), []

    def step():
        calls.append("called")
        names["step"]()

    answer = getattr(find_cuts, "__wrapped__", find_cuts)  # grading wraps it
    return {
        "cuts": find_cuts(step, names["parameters"]),
        "gradients": gradients_in(names),
        "step": calls,
        "tools of the course": "insidetorch" in names_used(answer),
    }


def by_reading(name):
    names = loaded(name)
    names["step"]()
    lines = {
        **{
            "by name": [7],
            "two backwards": [7],
            "detach": [7],
            "data": [8],
            "no_grad": [8],
            "comparison": [8],
            "items": [7],
        },
        **{"array": [7], "leaf again": [8], "written": [8], "stacked": [7], "two ways": [8, 9]},
        **{"two of them": [11], "beside a healthy one": [7], "beside a log": [11]},
    }
    in_train = {"module": [3], "argmax": [2], "two of them": [3]}
    cuts = [("model.py", line) for line in lines.get(name, [])]
    return {
        "cuts": cuts + [("train.py", line) for line in in_train.get(name, [])],
        "gradients": gradients_in(names),
        "step": ["called"],
        "tools of the course": False,
    }


def script_of(name):
    """The script in words: its lines with their numbers, but for the head."""
    told = ["the script"]
    for file, text in (
        ("model.py", head + models[name]),
        ("train.py", steps.get(name, plain_step)),
    ):
        lines = [f"{number:3} {line}" for number, line in enumerate(text.splitlines(), 1)]
        told += [file, *lines[len(head.splitlines()) if file == "model.py" else 0 :]]
    return "\n".join([*told, ""])


check("6.14", examine, [(name,) for name in models], torch_says=by_reading, given=script_of)


# %% tags=["6.14", "wrong"]
# You name every cut on the way to the loss, also of parameters that have a gradient. A target that
# stands still is cut on purpose, and its parameter learns on another way.
def find_cuts(step, parameters):
    with CutWatch(parameters) as watch:
        step()
    found = set()
    for i, p in enumerate(parameters):
        if p.requires_grad:
            found |= watch.at_backward.get(i) or watch.left.get(i, set())
    return sorted(found)


# %% tags=["6.14", "wrong"]
# You look for detach and .data by name. Whatever returns a tensor without a gradient cuts: a
# comparison, argmax, any operator under no_grad.
class CutWatch(TorchFunctionMode):
    def __init__(self, parameters):
        super().__init__()
        self.known = {id(p): (p, {i}, {}) for i, p in enumerate(parameters) if p.requires_grad}
        self.at_backward, self.left, self.went_back = {}, {}, False

    def __torch_function__(self, fn, types, args=(), kwargs=None):
        given = [self.known[id(t)] for t in tensors_in([args, kwargs]) if id(t) in self.known]
        connected = {i for _, numbers, _ in given for i in numbers}
        carried = merged(*(places for _, _, places in given))
        out = fn(*args, **(kwargs or {}))
        name = fn.__name__
        if name == "backward":
            self.at_backward, self.went_back = merged(self.at_backward, carried), True
        elif given and name not in NO_VALUES:
            by_name = name in ("detach", "__get__")
            cut = merged(carried, {i: {place()} for i in connected if by_name})
            for t in tensors_in(args[0] if name == "__setitem__" else out):
                self.known[id(t)] = (t, connected, carried) if t.requires_grad else (t, set(), cut)
            if name in LEAVES and not self.went_back:
                self.left = merged(self.left, cut)
        return out


# %% tags=["6.14", "wrong"]
# You name each cut of a parameter without a gradient, wherever its result goes. A cut counts if
# its result goes on to the loss; what is only logged does no harm.
class CutWatch(TorchFunctionMode):
    def __init__(self, parameters):
        super().__init__()
        self.known = {id(p): (p, {i}, {}) for i, p in enumerate(parameters) if p.requires_grad}
        self.at_backward, self.left, self.went_back = {}, {}, False

    def __torch_function__(self, fn, types, args=(), kwargs=None):
        given = [self.known[id(t)] for t in tensors_in([args, kwargs]) if id(t) in self.known]
        connected = {i for _, numbers, _ in given for i in numbers}
        carried = merged(*(places for _, _, places in given))
        out = fn(*args, **(kwargs or {}))
        name = fn.__name__
        if name == "backward":
            self.at_backward, self.went_back = merged(self.at_backward, carried), True
        elif given and name not in NO_VALUES:
            cut = merged(carried, {i: {place()} for i in connected})
            if not all(t.requires_grad for t in tensors_in(out)):
                self.at_backward = merged(self.at_backward, cut)
            for t in tensors_in(args[0] if name == "__setitem__" else out):
                self.known[id(t)] = (t, connected, carried) if t.requires_grad else (t, set(), cut)
            if name in LEAVES and not self.went_back:
                self.left = merged(self.left, cut)
        return out


# %% tags=["6.14", "wrong"]
# You look at arguments that are tensors, and not into lists. torch.stack and torch.cat are given a
# list.
class CutWatch(TorchFunctionMode):
    def __init__(self, parameters):
        super().__init__()
        self.known = {id(p): (p, {i}, {}) for i, p in enumerate(parameters) if p.requires_grad}
        self.at_backward, self.left, self.went_back = {}, {}, False

    def __torch_function__(self, fn, types, args=(), kwargs=None):
        given = [self.known[id(t)] for t in args if id(t) in self.known]
        connected = {i for _, numbers, _ in given for i in numbers}
        carried = merged(*(places for _, _, places in given))
        out = fn(*args, **(kwargs or {}))
        name = fn.__name__
        if name == "backward":
            self.at_backward, self.went_back = merged(self.at_backward, carried), True
        elif given and name not in NO_VALUES:
            cut = merged(carried, {i: {place()} for i in connected})
            for t in tensors_in(args[0] if name == "__setitem__" else out):
                self.known[id(t)] = (t, connected, carried) if t.requires_grad else (t, set(), cut)
            if name in LEAVES and not self.went_back:
                self.left = merged(self.left, cut)
        return out


# %% tags=["6.14", "wrong"]
# A write to a part of a tensor is not followed: __setitem__ returns None, and what it has written
# to depends on the value from then on.
class CutWatch(TorchFunctionMode):
    def __init__(self, parameters):
        super().__init__()
        self.known = {id(p): (p, {i}, {}) for i, p in enumerate(parameters) if p.requires_grad}
        self.at_backward, self.left, self.went_back = {}, {}, False

    def __torch_function__(self, fn, types, args=(), kwargs=None):
        given = [self.known[id(t)] for t in tensors_in([args, kwargs]) if id(t) in self.known]
        connected = {i for _, numbers, _ in given for i in numbers}
        carried = merged(*(places for _, _, places in given))
        out = fn(*args, **(kwargs or {}))
        name = fn.__name__
        if name == "backward":
            self.at_backward, self.went_back = merged(self.at_backward, carried), True
        elif given and name not in NO_VALUES:
            cut = merged(carried, {i: {place()} for i in connected})
            for t in tensors_in(out):
                self.known[id(t)] = (t, connected, carried) if t.requires_grad else (t, set(), cut)
            if name in LEAVES and not self.went_back:
                self.left = merged(self.left, cut)
        return out


# %% tags=["6.14", "wrong"]
# The places get lost at the next call. All that is computed from a value that was cut carries them
# along.
class CutWatch(TorchFunctionMode):
    def __init__(self, parameters):
        super().__init__()
        self.known = {id(p): (p, {i}, {}) for i, p in enumerate(parameters) if p.requires_grad}
        self.at_backward, self.left, self.went_back = {}, {}, False

    def __torch_function__(self, fn, types, args=(), kwargs=None):
        given = [self.known[id(t)] for t in tensors_in([args, kwargs]) if id(t) in self.known]
        connected = {i for _, numbers, _ in given for i in numbers}
        carried = merged(*(places for _, _, places in given))
        out = fn(*args, **(kwargs or {}))
        name = fn.__name__
        if name == "backward":
            self.at_backward, self.went_back = merged(self.at_backward, carried), True
        elif given and name not in NO_VALUES:
            cut = merged(carried, {i: {place()} for i in connected})
            for t in tensors_in(args[0] if name == "__setitem__" else out):
                self.known[id(t)] = (t, connected, {}) if t.requires_grad else (t, set(), cut)
            if name in LEAVES and not self.went_back:
                self.left = merged(self.left, cut)
        return out


# %% tags=["6.14", "wrong"]
# You do not keep the parameters apart: if one of them has no gradient, you name the cuts of all of
# them.
def find_cuts(step, parameters):
    with CutWatch(parameters) as watch:
        step()
    found = set()
    for i, p in enumerate(parameters):
        if p.requires_grad and p.grad is None:
            found |= set().union(*watch.at_backward.values()) or watch.left.get(i, set())
    return sorted(found)


# %% tags=["6.14", "wrong"]
# You follow tensors only. Values that leave torch as numbers come back without a history, and the
# places at which they left are all that can be named.
def find_cuts(step, parameters):
    with CutWatch(parameters) as watch:
        step()
    found = set()
    for i, p in enumerate(parameters):
        if p.requires_grad and p.grad is None:
            found |= watch.at_backward.get(i, set())
    return sorted(found)


# %% tags=["6.14", "wrong"]
# You name the places at which numbers left torch in any case. Most of them are logs. They count
# only for a parameter for which you have nothing else.
def find_cuts(step, parameters):
    with CutWatch(parameters) as watch:
        step()
    found = set()
    for i, p in enumerate(parameters):
        if p.requires_grad and p.grad is None:
            found |= watch.at_backward.get(i, set()) | watch.left.get(i, set())
    return sorted(found)


# %% tags=["6.14", "wrong"]
# Values that leave as numbers get the place of that call, also if the tensor was cut before. Then
# the place is that of the cut.
class CutWatch(TorchFunctionMode):
    def __init__(self, parameters):
        super().__init__()
        self.known = {id(p): (p, {i}, {}) for i, p in enumerate(parameters) if p.requires_grad}
        self.at_backward, self.left, self.went_back = {}, {}, False

    def __torch_function__(self, fn, types, args=(), kwargs=None):
        given = [self.known[id(t)] for t in tensors_in([args, kwargs]) if id(t) in self.known]
        connected = {i for _, numbers, _ in given for i in numbers}
        carried = merged(*(places for _, _, places in given))
        out = fn(*args, **(kwargs or {}))
        name = fn.__name__
        if name == "backward":
            self.at_backward, self.went_back = merged(self.at_backward, carried), True
        elif given and name not in NO_VALUES:
            cut = merged(carried, {i: {place()} for i in connected})
            for t in tensors_in(args[0] if name == "__setitem__" else out):
                self.known[id(t)] = (t, connected, carried) if t.requires_grad else (t, set(), cut)
            if name in LEAVES and not self.went_back:
                self.left = merged(self.left, {i: {place()} for i in cut})
        return out


# %% tags=["6.14", "wrong"]
# A tensor of the same sizes is a value of its tensor for you. ones_like reads the sizes alone.
class CutWatch(TorchFunctionMode):
    def __init__(self, parameters):
        super().__init__()
        self.known = {id(p): (p, {i}, {}) for i, p in enumerate(parameters) if p.requires_grad}
        self.at_backward, self.left, self.went_back = {}, {}, False

    def __torch_function__(self, fn, types, args=(), kwargs=None):
        given = [self.known[id(t)] for t in tensors_in([args, kwargs]) if id(t) in self.known]
        connected = {i for _, numbers, _ in given for i in numbers}
        carried = merged(*(places for _, _, places in given))
        out = fn(*args, **(kwargs or {}))
        name = fn.__name__
        if name == "backward":
            self.at_backward, self.went_back = merged(self.at_backward, carried), True
        elif given:
            cut = merged(carried, {i: {place()} for i in connected})
            for t in tensors_in(args[0] if name == "__setitem__" else out):
                self.known[id(t)] = (t, connected, carried) if t.requires_grad else (t, set(), cut)
            if name in LEAVES and not self.went_back:
                self.left = merged(self.left, cut)
        return out


# %% tags=["6.14", "wrong"]
# You name cuts of a parameter that is frozen. Nobody asks for its gradient.
class CutWatch(TorchFunctionMode):
    def __init__(self, parameters):
        super().__init__()
        self.known = {id(p): (p, {i}, {}) for i, p in enumerate(parameters)}
        self.at_backward, self.left, self.went_back = {}, {}, False

    def __torch_function__(self, fn, types, args=(), kwargs=None):
        given = [self.known[id(t)] for t in tensors_in([args, kwargs]) if id(t) in self.known]
        connected = {i for _, numbers, _ in given for i in numbers}
        carried = merged(*(places for _, _, places in given))
        out = fn(*args, **(kwargs or {}))
        name = fn.__name__
        if name == "backward":
            self.at_backward, self.went_back = merged(self.at_backward, carried), True
        elif given and name not in NO_VALUES:
            cut = merged(carried, {i: {place()} for i in connected})
            for t in tensors_in(args[0] if name == "__setitem__" else out):
                self.known[id(t)] = (t, connected, carried) if t.requires_grad else (t, set(), cut)
            if name in LEAVES and not self.went_back:
                self.left = merged(self.left, cut)
        return out


def find_cuts(step, parameters):
    with CutWatch(parameters) as watch:
        step()
    found = set()
    for i, p in enumerate(parameters):
        if p.grad is None:
            found |= watch.at_backward.get(i) or watch.left.get(i, set())
    return sorted(found)


# %% tags=["6.14", "wrong"]
# The step runs twice, once without you. What it does, it does twice: gradients are added up, an
# optimizer steps again.
def find_cuts(step, parameters):
    step()
    for p in parameters:
        p.grad = None
    with CutWatch(parameters) as watch:
        step()
    found = set()
    for i, p in enumerate(parameters):
        if p.requires_grad and p.grad is None:
            found |= watch.at_backward.get(i) or watch.left.get(i, set())
    return sorted(found)


# %% [markdown] tags=["6.14", "hint"]
# Two facts of each tensor are enough: the numbers of the parameters that it is connected to, and a
# dict from such a number to the set of places that it carries. A parameter that requires a gradient
# begins connected to itself.

# %% [markdown] tags=["6.14", "hint"]
# In `__torch_function__`, first collect the two facts from all tensors among the arguments that you
# know. Then call `fn`. A tensor that comes out and requires a gradient inherits both; any other one
# is connected to nothing, and carries `place()` for each parameter that was connected.

# %% [markdown] tags=["6.14", "hint"]
# Keep in the mode: `known`, a dict from `id(t)` to `(t, numbers, places)`; what the tensor of
# `backward` carries; and what has left by `LEAVES` before that. `find_cuts` asks for each parameter
# without a gradient for the first of these two, and if there is nothing, for the second.
# `merged(a, b)` unites dicts of sets.

# %% [markdown] tags=["6.14", "afterword"]
# It does not look for words. Each tensor carries where its history was lost, and the question is
# asked at the end, of the loss. The doctor of this course works in the same way, a few thousand
# lines further on: it also sees writes through views, and functions of one's own.
