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
#    script, and holds on a repaired one and on healthy ones that look like it. A probe looks at
#    what the script does, so it may run it on inputs of its own. The check tries yours on versions
#    of the script that you do not see.
# 2. Then repair the script. Any repair counts that does what the statement says.

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
# `train` makes one step for each batch, and validates after each. Some day it raises `element 0 of
# tensors does not require grad and does not have a grad_fn`, and nobody has touched the model.
#
# - `validate(model, batches, limit)` returns the mean loss of the batches. As soon as the sum of
#   the losses is above `limit` it gives up and returns infinity.
# - `train(model, batches, validation, limit)` returns the list of the losses before each step and
#   the list of what the validations said.
#
# **Probe** `probe(validate, train)` gets the two functions of a script. Among the healthy ones is
# one that gives up in the middle as well.
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
    model = nn.Linear(1, 1)
    validate(model, batches, limit=-1.0)
    assert model(torch.ones(1, 1)).requires_grad
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
    torch.set_grad_enabled(how[0])
    said = validate(model, batches(1.0, 2.0), how[1]) if what == "validate" else stopped(model)
    return {"said": said, "graphs": any(recorded), "gradients on": torch.is_grad_enabled()}


def stopped(model):
    """What an error in the middle of a validation is called."""
    try:
        return validate(model, [*batches(1.0), (torch.ones(1, 2), torch.ones(1, 1))], 100.0)
    except RuntimeError:
        return "RuntimeError"


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
    said = "RuntimeError"
    if what == "validate":
        said = 5.0 if how[1] == 100.0 else float("inf")
    return {"said": said, "graphs": False, "gradients on": how[0]}


check("6.1", look, cases, torch_says=right)


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
# `validate` has two ways out. For the probe: take the way that is rare, then ask a result of the
# model, or `torch.is_grad_enabled()`, whether a graph is recorded.

# %% [markdown] tags=["6.1", "hint"]
# With a `limit` below zero the first batch is enough. The repair is `with torch.no_grad():` around
# the loop: it puts back what was before, whichever way the block ends.

# %% [markdown] tags=["6.1", "afterword"]
# A switch that a function sets by hand is left by every way out that somebody forgets: a return, an
# error, a generator that waits. A context manager has one way out. And the loss in the message was
# never the culprit.

# %% tags=["6.7", "about"]
title = "A new head that never learns"
kind = "repair"
core = False
difficulty = 2
minutes = 12
points = 3

# %% [markdown] tags=["6.7", "statement"]
# A model gets a new head for other classes, is trained, and its accuracy stays where it was. The
# gradients of the head are right in every step.
#
# The cell holds three files: each begins at a line `# file: …`, and they import each other. Running
# the cell keeps them; `project("6.7")` in a cell of your own then gives you the modules, as in
# `project("6.7").train.Trainer`.
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
# from a momentum of zero on; and the optimizer holds every parameter of the model and no other.


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
    }


def right(what, *classes):
    """The same by hand: what SGD does with a momentum of 0.5."""
    if what == "probe":
        return wanted_of_probe(versions.texts)
    if what == "optimizer":
        return {"parameters of the model": 3, "others": 0}
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


check("6.7", look, cases, torch_says=right)


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
# The gradient is right and the weight does not move. Who moves weights, and how does it know them?

# %% [markdown] tags=["6.7", "hint"]
# An optimizer keeps the Parameter objects that it was given. For the probe: a step after
# `specialise`, and something of the head that must have changed.

# %% [markdown] tags=["6.7", "hint"]
# `optimizer.param_groups[0]["params"]` is a list that you may replace, and `optimizer.state` a dict
# with one entry for each parameter.

# %% [markdown] tags=["6.7", "afterword"]
# `.grad` told nothing here: it was right. The bias starts at 0 and is the surest thing to look at,
# since the gradient of the weight could be zero for another reason. The doctor names this cause
# `stale_optimizer`.
