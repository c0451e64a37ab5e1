# %% [markdown]
# # Exercises 5 · Dispatch and fusion
#
# Each exercise has a cell for your answer and, folded away below it, a cell that checks it. Run
# both. A check knows three outcomes: not attempted, not yet, right. Where it recognises a mistake,
# it says which.
#
# - `hint("5.2")` in a cell of your own helps in three steps: each run shows one hint more.
# - `progress()` shows how far you are.
# - `python course.py reset 5.2`, typed in a terminal in the course's folder, puts the stub of an
#   exercise back and keeps your old notebook.
#
# *Core* exercises take about an hour together, *extra* ones come on top. In a *complete* exercise
# you write a function or a class, in a *repair* you mend one that is given, and in a *build* you
# write a piece of a small torch of your own, in plain Python. No check measures a time, and none
# needs a compiler.

# %%
import torch
import torch.nn.functional as F

from insidetorch import check, hint, progress

# %% tags=["5.1", "about"]
title = "The way of a call"
kind = "complete"
core = True
difficulty = 1
minutes = 9
points = 3

# %% [markdown] tags=["5.1", "statement"]
# Which kernels does a call run? Write the rule, on names of dispatch keys alone.
#
# `path(keys, included, excluded, order, table)` gets three sets of names: `keys`, those of the
# arguments; `included` and `excluded`, what modes have made of this thread. A key is tried if an
# argument has it or the thread includes it, but never if the thread excludes it. `order` lists all
# names, the one that is tried first at the beginning. `table` is a dict: what the operator has at a
# key.
#
# - `"fallthrough"`: nothing runs, and the next key is tried.
# - `"layer"`: something runs, does its part, and calls the operator again with the keys that come
#   later. Autograd is one.
# - `"kernel"`: something runs that computes the result, or hands the call to a mode. The call is
#   over.
# - `"composite"`: something runs that calls other operators instead. The call is over as well.
# - A name that is not in `table`: torch refuses the call.
#
# When no key is left, the last one that is tried is `"Undefined"`, by the same table. Return the
# list of the keys at which something runs, in order, with the word `"refused"` at the end if torch
# refuses the call.
#
# For example, with `order = ["AutogradCPU", "ADInplaceOrView", "CPU", "Undefined"]` and
# `table = {"AutogradCPU": "layer", "ADInplaceOrView": "fallthrough", "CPU": "kernel"}`,
# `path({"CPU", "AutogradCPU"}, {"ADInplaceOrView"}, set(), order, table)` is
# `["AutogradCPU", "CPU"]`.
#
# **Done when** you agree with torch on ten operators, tensors of six kinds and six modes. Plain
# Python, no torch.


# %% tags=["5.1", "answer"]
def path(keys, included, excluded, order, table):
    ### BEGIN SOLUTION
    tried, ran = (keys | included) - excluded, []
    for key in order:
        if key not in tried and key != "Undefined":
            continue
        found = table.get(key)
        if found is None:
            return [*ran, "refused"]
        if found != "fallthrough":
            ran.append(key)
        if found in ("kernel", "composite"):
            return ran
    ### END SOLUTION


# %% tags=["5.1", "check"]
from contextlib import nullcontext
from functools import cache
from itertools import product

from torch.utils._python_dispatch import TorchDispatchMode

from insidetorch import path_of

order = ["PythonTLSSnapshot", "AutocastCPU", "AutogradCPU", "AutogradMeta", "ADInplaceOrView"]
order += ["Conjugate", "Python", "BackendSelect", "SparseCPU", "Meta", "CPU", "Undefined"]

operators = {
    "add": lambda x: path_of(torch.add, x, x),
    "add_": lambda x: path_of(torch.Tensor.add_, x, x),
    "mm": lambda x: path_of(torch.mm, x, x),
    "matmul": lambda x: path_of(torch.matmul, x, x),
    "linear": lambda x: path_of(F.linear, x, x),
    "view": lambda x: path_of(torch.Tensor.view, x, 4),
    "t": lambda x: path_of(torch.t, x),
    "atan2 with a plain tensor": lambda x: path_of(torch.atan2, x, torch.ones(2, 2)),
    "cat": lambda x: path_of(torch.cat, [x, x]),
    "cat of no tensor": lambda x: path_of(torch.cat, []),
}


def inference_tensor():
    with torch.inference_mode():
        return torch.ones(2, 2)


tensors = {
    "plain": lambda: torch.ones(2, 2),
    "requires grad": lambda: torch.ones(2, 2, requires_grad=True),
    "conjugated": lambda: torch.ones(2, 2, dtype=torch.complex64).conj(),
    "sparse": lambda: torch.ones(2, 2).to_sparse(),
    "meta": lambda: torch.ones(2, 2, device="meta"),
    "inference tensor": inference_tensor,
}


class Seeing(TorchDispatchMode):
    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        return op(*args, **(kwargs or {}))


def without_layer():
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.ADInplaceOrView)
    return torch._C._ExcludeDispatchKeyGuard(keys)


modes = {
    "no mode": nullcontext,
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "a TorchDispatchMode": Seeing,
    "ADInplaceOrView excluded": without_layer,
}


@cache
def asked(operator, tensor, mode):
    x = tensors[tensor]()
    with modes[mode]():
        return operators[operator](x)


def word(step):
    if step.holds == "fallthrough":
        return "fallthrough"
    if step.holds == "composite kernel":
        return "composite"
    return "kernel" if step.ends else "layer"


@cache
def table_of(operator):
    """What torch has at every key to which some tensor and mode lead."""
    found = [asked(operator, *case) for case in product(tensors, modes)]
    steps = [step for one in found for step in one.steps]
    return {step.key: word(step) for step in steps if step.holds != "missing"}


def sets_of(operator, tensor, mode):
    found = asked(operator, tensor, mode)
    return [set(names) for names in (found.argument_keys, found.included, found.excluded)]


def run_path(operator, tensor, mode):
    return path(*sets_of(operator, tensor, mode), list(order), dict(table_of(operator)))


def torch_goes(operator, tensor, mode):
    found = asked(operator, tensor, mode)
    return [*found.ran, *(["refused"] if found.refusal else [])]


def in_words(operator, tensor, mode):
    keys, included, excluded = map(sorted, sets_of(operator, tensor, mode))
    return (
        f"{operator}, {tensor}, {mode} (keys {keys}, included {included}, excluded {excluded}, "
        f"table {table_of(operator)})"
    )


cases = list(product(operators, tensors, modes))
check("5.1", run_path, cases, torch_says=torch_goes, given=in_words, by_hand=path)


# %% tags=["5.1", "wrong"]
# A fallthrough ends your path. Nothing runs there, but the next key is tried.
def path(keys, included, excluded, order, table):
    ran = []
    for key in order:
        if key in (keys | included) - excluded or key == "Undefined":
            if key not in table:
                return [*ran, "refused"]
            if table[key] == "fallthrough":
                return ran
            ran.append(key)
            if table[key] in ("kernel", "composite"):
                return ran


# %% tags=["5.1", "wrong"]
# You list every key that is tried. At a fallthrough nothing runs.
def path(keys, included, excluded, order, table):
    tried, ran = (keys | included) - excluded, []
    for key in order:
        if key in tried or key == "Undefined":
            if key not in table:
                return [*ran, "refused"]
            ran.append(key)
            if table[key] in ("kernel", "composite"):
                return ran


# %% tags=["5.1", "wrong"]
# Your path begins at the wrong end. The layers come first, and the kernel that computes is the
# last one.
def path(keys, included, excluded, order, table):
    tried, ran = (keys | included) - excluded, []
    for key in reversed(order):
        if key in tried or key == "Undefined":
            if key not in table:
                continue
            if table[key] != "fallthrough":
                ran.append(key)
            if table[key] in ("kernel", "composite"):
                return ran
    return ran


# %% tags=["5.1", "wrong"]
# What a mode includes is not in your path. A TorchDispatchMode, for one, reaches a call through the
# keys that the thread includes.
def path(keys, included, excluded, order, table):
    tried, ran = keys - excluded, []
    for key in order:
        if key in tried or key == "Undefined":
            if key not in table:
                return [*ran, "refused"]
            if table[key] != "fallthrough":
                ran.append(key)
            if table[key] in ("kernel", "composite"):
                return ran


# %% tags=["5.1", "wrong"]
# A key that the thread both includes and excludes is tried in your path. Exclusion wins.
def path(keys, included, excluded, order, table):
    tried, ran = (keys - excluded) | included, []
    for key in order:
        if key in tried or key == "Undefined":
            if key not in table:
                return [*ran, "refused"]
            if table[key] != "fallthrough":
                ran.append(key)
            if table[key] in ("kernel", "composite"):
                return ran


# %% tags=["5.1", "wrong"]
# Nothing is excluded in your path. So autocast, which is in the keys of every tensor, always runs,
# and inference_mode has no effect.
def path(keys, included, excluded, order, table):
    tried, ran = keys | included, []
    for key in order:
        if key in tried or key == "Undefined":
            if key not in table:
                return [*ran, "refused"]
            if table[key] != "fallthrough":
                ran.append(key)
            if table[key] in ("kernel", "composite"):
                return ran


# %% tags=["5.1", "wrong"]
# Your path goes on after a composite. It calls other operators, each with a path of its own; this
# call is over.
def path(keys, included, excluded, order, table):
    tried, ran = (keys | included) - excluded, []
    for key in order:
        if key in tried or key == "Undefined":
            if key not in table:
                return [*ran, "refused"]
            if table[key] != "fallthrough":
                ran.append(key)
            if table[key] == "kernel":
                return ran


# %% tags=["5.1", "wrong"]
# A composite is no fallthrough: something runs there, and the call ends with it.
def path(keys, included, excluded, order, table):
    tried, ran = (keys | included) - excluded, []
    for key in order:
        if key in tried or key == "Undefined":
            if key not in table:
                return [*ran, "refused"]
            if table[key] in ("layer", "kernel"):
                ran.append(key)
            if table[key] in ("kernel",):
                return ran


# %% tags=["5.1", "wrong"]
# You take the first key alone. A layer does its part and calls the operator again, with the keys
# that come later.
def path(keys, included, excluded, order, table):
    tried, ran = (keys | included) - excluded, []
    for key in order:
        if key in tried or key == "Undefined":
            if key not in table:
                return [*ran, "refused"]
            if table[key] != "fallthrough":
                ran.append(key)
            if table[key] != "fallthrough":
                return ran


# %% tags=["5.1", "wrong"]
# A name that is not in the table is skipped. No entry is not a fallthrough: torch refuses the call.
def path(keys, included, excluded, order, table):
    tried, ran = (keys | included) - excluded, []
    for key in order:
        if key in tried or key == "Undefined":
            if table.get(key, "fallthrough") != "fallthrough":
                ran.append(key)
            if table.get(key) in ("kernel", "composite"):
                return ran
    return [*ran, "refused"]


# %% tags=["5.1", "wrong"]
# A name that is not in the table is passed over at every key of your path, and the call is never
# refused. No entry is not a fallthrough: there the path ends with "refused".
def path(keys, included, excluded, order, table):
    tried, ran = (keys | included) - excluded, []
    for key in order:
        if key in tried or key == "Undefined":
            if table.get(key, "fallthrough") != "fallthrough":
                ran.append(key)
            if table.get(key) in ("kernel", "composite"):
                return ran
    return ran


# %% tags=["5.1", "wrong"]
# Only what the thread includes has lost what it excludes: in Python - binds tighter than |. Write
# (keys | included) - excluded.
def path(keys, included, excluded, order, table):
    tried, ran = keys | included - excluded, []
    for key in order:
        if key in tried or key == "Undefined":
            if key not in table:
                return [*ran, "refused"]
            if table[key] != "fallthrough":
                ran.append(key)
            if table[key] in ("kernel", "composite"):
                return ran


# %% tags=["5.1", "wrong"]
# With no tensor among the arguments no key is left, and you give up. The last key that is tried is
# Undefined: cat has a kernel there.
def path(keys, included, excluded, order, table):
    tried, ran = (keys | included) - excluded, []
    for key in order:
        if key in tried:
            if key not in table:
                return [*ran, "refused"]
            if table[key] != "fallthrough":
                ran.append(key)
            if table[key] in ("kernel", "composite"):
                return ran
    return [*ran, "refused"]


# %% tags=["5.1", "wrong"]
# Undefined is never tried in your path, so it ends without a word where no other key is left. It is
# tried last, whether or not it is in a set, and has an entry in the table like any other.
def path(keys, included, excluded, order, table):
    tried, ran = (keys | included) - excluded, []
    for key in order:
        if key in tried:
            if key not in table:
                return [*ran, "refused"]
            if table[key] != "fallthrough":
                ran.append(key)
            if table[key] in ("kernel", "composite"):
                return ran
    return ran


# %% tags=["5.1", "wrong"]
# Undefined is never tried in your path, and the function ends without a return, which is None. It
# is tried last, whether or not it is in a set, and has an entry in the table like any other.
def path(keys, included, excluded, order, table):
    tried, ran = (keys | included) - excluded, []
    for key in order:
        if key in tried:
            if key not in table:
                return [*ran, "refused"]
            if table[key] != "fallthrough":
                ran.append(key)
            if table[key] in ("kernel", "composite"):
                return ran


# %% tags=["5.1", "wrong"]
# Two things are missing. Nothing is excluded in your path, so autocast always runs. And Undefined,
# which is tried last whether or not it is in a set, is never tried.
def path(keys, included, excluded, order, table):
    tried, ran = keys | included, []
    for key in order:
        if key in tried:
            if key not in table:
                return [*ran, "refused"]
            if table[key] != "fallthrough":
                ran.append(key)
            if table[key] in ("kernel", "composite"):
                return ran
    return ran


# %% tags=["5.1", "wrong"]
# You go on after a kernel: all of them run. The first one that computes ends the call.
def path(keys, included, excluded, order, table):
    tried = (keys | included) - excluded
    ran = [key for key in order if key in tried and table.get(key, "fallthrough") != "fallthrough"]
    return ran or (["Undefined"] if "Undefined" in table else ["refused"])


# %% tags=["5.1", "wrong"]
# That is the way of an ordinary call alone. The keys decide, and other tensors and modes have
# others.
def path(keys, included, excluded, order, table):
    return ["AutogradCPU", "CPU"]


# %% [markdown] tags=["5.1", "hint"]
# First the set: which keys are tried at all? Then walk through `order`, and pass over every name
# that is not in it.

# %% [markdown] tags=["5.1", "hint"]
# At each key that is tried there are three questions. Is anything there? Does something run? Is the
# call over?

# %% [markdown] tags=["5.1", "hint"]
# `tried = (keys | included) - excluded`. In the loop, `table.get(key)` is None where torch refuses;
# append unless it is a fallthrough; return after a kernel or a composite. `"Undefined"` is tried
# whenever you get that far.

# %% [markdown] tags=["5.1", "afterword"]
# No dtype and no `requires_grad` has led the way: the layer of autograd runs for every ordinary
# tensor, and looks at the flag only then; for an inference tensor it does not run. `no_grad` has
# changed no path at all, `inference_mode` has.

# %% tags=["5.2", "about"]
title = "A log of a training step"
kind = "complete"
core = False
difficulty = 2
minutes = 12
points = 3

# %% [markdown] tags=["5.2", "statement"]
# A `TorchDispatchMode` is a context manager. While it is entered, torch calls its method
# `__torch_dispatch__` instead of each operator below autograd: in the forward pass, in the backward
# pass and in the optimizer's step. The method runs the operator itself and returns its result. (The
# `count` of this course works so.) Write a mode that keeps a log. After `with StepLog() as log: …`
#
# - `log.calls` is a dict: how often each operator ran, by its full name, `str(op)`, such as
#   `"aten.add.Tensor"`;
# - `log.made` counts the bytes of new memory, an int. For each tensor that an operator returns they
#   are its number of elements times the bytes of one; but none if it uses the storage of a tensor
#   that the operator was given, as a view does, or a result that was written in place.
#
# `op` is called with `args` and `kwargs` as they come (`kwargs` may be None). Tensors may stand
# among them by themselves or in lists, and results may be one tensor, several, or none.
#
# **Done when** both agree with what torch counts in five steps, each log begins with nothing, and
# the step does what it does without you. The counting is your own: nothing of `insidetorch`.


# %% tags=["5.2", "setup"]
from torch.utils._python_dispatch import TorchDispatchMode


# %% tags=["5.2", "answer"]
class StepLog(TorchDispatchMode):
    def __init__(self):
        ### BEGIN SOLUTION
        super().__init__()
        self.calls, self.made = {}, 0
        ### END SOLUTION

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        ### BEGIN SOLUTION
        kwargs = kwargs or {}
        given = {t.untyped_storage().data_ptr() for t in tensors_in([*args, *kwargs.values()])}
        result = op(*args, **kwargs)
        self.calls[str(op)] = self.calls.get(str(op), 0) + 1
        for t in tensors_in([result]):
            if t.untyped_storage().data_ptr() not in given:
                self.made += t.numel() * t.element_size()
        return result
        ### END SOLUTION


def tensors_in(values):
    ### BEGIN SOLUTION
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from tensors_in(value)
    ### END SOLUTION


# %% tags=["5.2", "check"]
from functools import partial

from insidetorch import count, trace
from insidetorch.learn.by_hand import names_used


def batch(sizes, dtype=torch.float32):
    n = torch.Size(sizes).numel()
    return ((torch.arange(n) * 5) % 7 - 3).to(dtype).view(sizes)


def linear_step(weight, inputs):
    optimizer = torch.optim.SGD([weight.requires_grad_()], lr=0.5, foreach=False)
    loss = F.linear(inputs, weight).relu().square().mean()
    loss.backward()
    optimizer.step()
    return loss, weight


def foreach_step(*weights):
    optimizer = torch.optim.SGD([w.requires_grad_() for w in weights], lr=0.25, foreach=True)
    loss = sum((w * w).sum() for w in weights)
    loss.backward()
    optimizer.step()
    return loss, *weights


def norm_step(inputs):
    largest, at = F.layer_norm(inputs.requires_grad_(), (6,)).max(dim=1)
    largest.sum().backward()
    return largest, at, inputs.grad


def views_step(x):
    halves = x.t().split(3)
    joined = torch.cat([halves[0].reshape(-1), halves[1].contiguous().view(-1)])
    joined[2:].mul_(2)
    return joined.add(joined, alpha=2), x.expand(3, 4, 6)[1]


def keywords_step(a, total):
    torch.add(a, a, alpha=3, out=total)
    return total, torch.sum(total, dim=1, dtype=torch.float64), a.to(dtype=torch.bool).any().item()


steps = {
    "linear": (linear_step, lambda: (batch((3, 4)), batch((5, 4)))),
    "foreach": (foreach_step, lambda: (batch((2, 2)), batch((3,)))),
    "layer norm": (norm_step, lambda: (batch((4, 6), torch.float64),)),
    "views": (views_step, lambda: (batch((4, 6)),)),
    "keywords": (keywords_step, lambda: (batch((2, 3)), batch((2, 3)))),
}


def numbers_of(results):
    return [t.tolist() if isinstance(t, torch.Tensor) else t for t in results]


def run_log(name):
    step, inputs_of = steps[name]
    inputs = inputs_of()
    with StepLog() as log:
        results = step(*inputs)
    return {
        "results": numbers_of(results),
        "calls": dict(log.calls),
        "made": log.made,
        "uses insidetorch": "insidetorch" in names_used(StepLog),
    }


def torch_counts(name):
    step, inputs_of = steps[name]
    calls = count(partial(step, *inputs_of())).calls
    found, highest, made = trace(partial(step, *inputs_of())).found, 0, 0
    for one in found:
        made += sum(t.nbytes for t in one.returned if t.storage > highest)
        highest = max([highest, *(t.storage for t in one.returned)])
    results = numbers_of(step(*inputs_of()))
    return {"results": results, "calls": dict(calls), "made": made, "uses insidetorch": False}


check("5.2", run_log, [(name,) for name in steps], torch_says=torch_counts)


# %% tags=["5.2", "wrong"]
# Every result counts in your log, views too. A view reads the storage of a tensor that was given:
# no memory is made for it.
class StepLog(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls, self.made = {}, 0

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        result = op(*args, **(kwargs or {}))
        self.calls[str(op)] = self.calls.get(str(op), 0) + 1
        self.made += sum(t.numel() * t.element_size() for t in tensors_in([result]))
        return result


# %% tags=["5.2", "wrong"]
# A view that begins later in the storage counts as new memory. data_ptr() of the tensor is its
# first element; of untyped_storage() it is where the memory begins.
class StepLog(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls, self.made = {}, 0

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = {t.data_ptr() for t in tensors_in([*args, *kwargs.values()])}
        result = op(*args, **kwargs)
        self.calls[str(op)] = self.calls.get(str(op), 0) + 1
        for t in tensors_in([result]):
            if t.data_ptr() not in given:
                self.made += t.numel() * t.element_size()
        return result


# %% tags=["5.2", "wrong"]
# Results in tuples and lists count for nothing. layer_norm returns three tensors at once, max two.
class StepLog(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls, self.made = {}, 0

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = {t.untyped_storage().data_ptr() for t in tensors_in([*args, *kwargs.values()])}
        result = op(*args, **kwargs)
        self.calls[str(op)] = self.calls.get(str(op), 0) + 1
        if isinstance(result, torch.Tensor) and result.untyped_storage().data_ptr() not in given:
            self.made += result.numel() * result.element_size()
        return result


# %% tags=["5.2", "wrong"]
# What is given by keyword is not looked at, so a result that was written into out= counts as new.
class StepLog(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls, self.made = {}, 0

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        given = {t.untyped_storage().data_ptr() for t in tensors_in(args)}
        result = op(*args, **(kwargs or {}))
        self.calls[str(op)] = self.calls.get(str(op), 0) + 1
        for t in tensors_in([result]):
            if t.untyped_storage().data_ptr() not in given:
                self.made += t.numel() * t.element_size()
        return result


# %% tags=["5.2", "wrong"]
# The keyword arguments are lost, and so the step computes something else. A mode that only looks
# hands on all that it gets.
class StepLog(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls, self.made = {}, 0

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        given = {t.untyped_storage().data_ptr() for t in tensors_in(args)}
        result = op(*args)
        self.calls[str(op)] = self.calls.get(str(op), 0) + 1
        for t in tensors_in([result]):
            if t.untyped_storage().data_ptr() not in given:
                self.made += t.numel() * t.element_size()
        return result


# %% tags=["5.2", "wrong"]
# You take four bytes for every element. An int64 or a float64 has eight, a bool one:
# element_size() says it.
class StepLog(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls, self.made = {}, 0

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = {t.untyped_storage().data_ptr() for t in tensors_in([*args, *kwargs.values()])}
        result = op(*args, **kwargs)
        self.calls[str(op)] = self.calls.get(str(op), 0) + 1
        for t in tensors_in([result]):
            if t.untyped_storage().data_ptr() not in given:
                self.made += 4 * t.numel()
        return result


# %% tags=["5.2", "wrong"]
# The bytes are right, but the names lack the overload. add has several, and what the dispatcher
# knows is one of them: aten.add.Tensor.
class StepLog(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls, self.made = {}, 0

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = {t.untyped_storage().data_ptr() for t in tensors_in([*args, *kwargs.values()])}
        result = op(*args, **kwargs)
        name = str(op.overloadpacket)
        self.calls[name] = self.calls.get(name, 0) + 1
        for t in tensors_in([result]):
            if t.untyped_storage().data_ptr() not in given:
                self.made += t.numel() * t.element_size()
        return result


# %% tags=["5.2", "wrong"]
# The dict belongs to the class, so all logs share it, and the second one begins with what the first
# one saw. Make it in __init__.
class StepLog(TorchDispatchMode):
    calls = {}  # noqa: RUF012

    def __init__(self):
        super().__init__()
        self.made = 0

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = {t.untyped_storage().data_ptr() for t in tensors_in([*args, *kwargs.values()])}
        result = op(*args, **kwargs)
        self.calls[str(op)] = self.calls.get(str(op), 0) + 1
        for t in tensors_in([result]):
            if t.untyped_storage().data_ptr() not in given:
                self.made += t.numel() * t.element_size()
        return result


# %% tags=["5.2", "wrong"]
# An operator is noted only if it returns something. Some return nothing: the optimizer's step on
# lists of tensors writes in place.
class StepLog(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls, self.made = {}, 0

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = {t.untyped_storage().data_ptr() for t in tensors_in([*args, *kwargs.values()])}
        result = op(*args, **kwargs)
        for k, t in enumerate(tensors_in([result])):
            self.calls[str(op)] = self.calls.get(str(op), 0) + (k == 0)
            if t.untyped_storage().data_ptr() not in given:
                self.made += t.numel() * t.element_size()
        return result


# %% [markdown] tags=["5.2", "hint"]
# The frame is always the same: note what was given, `result = op(*args, **(kwargs or {}))`, note
# what came back, and return it.

# %% [markdown] tags=["5.2", "hint"]
# Is it new? Compare storages, not tensors: `t.untyped_storage().data_ptr()`. Write `tensors_in` for
# what may be a tensor, a list or tuple of them, or anything else.

# %% [markdown] tags=["5.2", "hint"]
# In `__init__`: `super().__init__()`, then a dict and a 0. In `__torch_dispatch__`: the set of the
# storages of `tensors_in([*args, *kwargs.values()])`, then each `t` of `tensors_in([result])` that
# is not in it adds `t.numel() * t.element_size()`.

# %% [markdown] tags=["5.2", "afterword"]
# `count` and `trace` of this course are modes of this kind, and so are profilers of memory and of
# floating-point operations. What they cannot see: an operator that is over before it reaches them,
# what a compiled kernel does inside, and other threads.

# %% tags=["5.3", "about"]
title = "Fewer bytes, the same numbers"
kind = "repair"
core = True
difficulty = 2
minutes = 14
points = 4

# %% [markdown] tags=["5.3", "statement"]
# Where memory is the limit, the bytes that operators move decide. Rewrite the three functions so
# that they move fewer.
#
# The rule is that of `trace(fn).moved`: an operator reads each distinct byte of its tensors once,
# however often a tensor is given or a stride of 0 repeats it, and writes each byte of its result. A
# view moves nothing, and neither does a new tensor without values, such as `torch.empty`. So
# `a * b + c` moves 6 · 4 bytes for each float32 element: mul reads two and writes one, and so does
# add. The limit for each function is this number, plus 16 bytes:
#
# - `blend(a, b, t)`: each byte of its tensors once, and each byte of its result once. `t` is a
#   number.
# - `scores(q, k, bias, scale)`, the same. `q` and `k` have three dimensions, `bias` has two or
#   three, `scale` is a number.
# - `energy(x, y, w)`: 20 bytes for each element. Its tensors are contiguous, of the same sizes.
#
# **Done when** no function moves more than that, and values, sizes and dtype stay. All tensors are
# float32. What is given is unchanged. Every number is computed by operators of torch, in this
# thread, which `trace` sees one by one; the functions also run with tensors on the device meta,
# which have no values.


# %% tags=["5.3", "answer"]
def blend(a, b, t):
    ### BEGIN SOLUTION
    return torch.lerp(a, b, t)
    ### END SOLUTION


def scores(q, k, bias, scale):
    ### BEGIN SOLUTION
    return torch.baddbmm(bias, q, k.mT, alpha=scale)
    ### END SOLUTION


def energy(x, y, w):
    ### BEGIN SOLUTION
    squares = F.mse_loss(x, y, reduction="none")
    return 0.5 * torch.dot(w.flatten(), squares.flatten())
    ### END SOLUTION


# %% tags=["5.3", "given"]
def blend(a, b, t):
    return (1 - t) * a + t * b


def scores(q, k, bias, scale):
    return scale * (q @ k.mT) + bias


def energy(x, y, w):
    return 0.5 * (w * (x - y) ** 2).sum()


# %% tags=["5.3", "check"]
import threading

from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from insidetorch import trace


def floats(*sizes, start=0):
    n = torch.Size(sizes).numel()
    return ((torch.arange(n) * 5 + start) % 7 - 3.0).view(sizes)


inputs = {
    "blend": lambda: (floats(3, 4), floats(3, 4, start=2), 0.25),
    "blend of a transposed tensor": lambda: (floats(5, 3).t(), floats(3, 5, start=2), 0.5),
    "blend with a row": lambda: (floats(4, 3), floats(3, start=2).expand(4, 3), 0.75),
    "scores": lambda: (floats(2, 3, 4), floats(2, 5, 4, start=1), floats(2, 3, 5), 0.5),
    "scores with one bias": lambda: (floats(3, 2, 4), floats(3, 6, 4), floats(2, 6), 0.25),
    "energy": lambda: (floats(4, 5), floats(4, 5, start=3), floats(4, 5, start=1)),
    "energy of a batch": lambda: (floats(2, 3, 7), floats(2, 3, 7, start=3), floats(2, 3, 7)),
}


class Known(TorchDispatchMode):
    """Does each tensor of more than one value come from the inputs, through operators?"""

    def __init__(self, given):
        super().__init__()
        self.known = {t.untyped_storage().data_ptr(): t for t in given}
        self.strange = False

    def has(self, t):
        return t.untyped_storage().data_ptr() in self.known

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        operands = [t for t in (*args, *(kwargs or {}).values()) if isinstance(t, torch.Tensor)]
        self.strange |= any(t.numel() > 1 and not self.has(t) for t in operands)
        self.strange |= getattr(op, "namespace", "") != "aten"  # what is inside is not seen
        out = op(*args, **(kwargs or {}))
        for t in out if isinstance(out, tuple | list) else [out]:
            if isinstance(t, torch.Tensor):
                self.known[t.untyped_storage().data_ptr()] = t
        return out


# What takes values out of a tensor, or its memory, past the operators, so that Python can compute.
leaving = ("tolist", "numpy", "item", "data_ptr", "storage", "untyped_storage", "__array__")
leaving += ("__dlpack__", "__float__", "__int__", "__index__")


class Leaving(TorchFunctionMode):
    """Were values taken out of a tensor?"""

    taken = False

    def __torch_function__(self, fn, types, args=(), kwargs=None):
        self.taken |= getattr(fn, "__name__", "") in leaving
        return fn(*args, **(kwargs or {}))


def runs_without_values(fn, given, sizes):
    """On the device meta there is nothing to read a number from."""
    try:
        with torch.device("meta"):
            out = fn(*(t.to("meta") if isinstance(t, torch.Tensor) else t for t in given))
    except (RuntimeError, TypeError):
        return False
    return out.device.type == "meta" and out.shape == sizes


def seen_of(result, moved, limit, *, unchanged=True, recorded=True, without_values=True):
    return {
        "result": result.clone(memory_format=torch.contiguous_format),
        "given tensors unchanged": unchanged,
        "by recorded operators": recorded,
        "runs without values": without_values,
        "bytes moved": moved if moved > limit else f"no more than the {limit} that are allowed",
    }


def limit_of(name, given, result):
    if name.startswith("energy"):
        return 20 * given[0].numel() + 16
    tensors = [t for t in given if isinstance(t, torch.Tensor)]
    return sum(t.untyped_storage().nbytes() for t in tensors) + result.nbytes + 16


def watch_bytes(name):
    fn, given = {"b": blend, "s": scores, "e": energy}[name[0]], inputs[name]()
    tensors = [t for t in given if isinstance(t, torch.Tensor)]
    before, found, threads = [t.tolist() for t in tensors], [], []
    profile = threading.getprofile()
    # What runs in another thread is not seen, so that none may run.
    threading.setprofile(lambda *_: threads.append("started"))
    try:
        with Known(tensors) as known, Leaving() as leaves:
            ran = trace(lambda: found.append(fn(*given)))
    finally:
        threading.setprofile(profile)
    (result,) = found
    strange = known.strange or not known.has(result) or ran.parts_unseen or threads
    # Numbers that were read in another way have come past the operators.
    held = sum(t.untyped_storage().nbytes() for t in tensors)
    strange = strange or leaves.taken or ran.read < held
    return seen_of(
        result,
        ran.moved,
        limit_of(name, given, result),
        unchanged=before == [t.tolist() for t in tensors],
        recorded=not strange,
        without_values=runs_without_values(fn, given, result.shape),
    )


def by_formula(name):
    first, second, third, *scale = given = inputs[name]()
    if name.startswith("blend"):
        result = first + third * (second - first)
    elif name.startswith("scores"):
        result = torch.einsum("bnd,bmd->bnm", first, second) * scale[0] + third
    else:
        result = ((first - second).square() * third / 2).sum()
    return seen_of(result, 0, limit_of(name, given, result))


check("5.3", watch_bytes, [(name,) for name in inputs], torch_says=by_formula)


# %% tags=["5.3", "wrong"]
# In blend you saved a multiplication, but three operators still walk over the memory. One operator
# of torch interpolates between two tensors.
def blend(a, b, t):
    return a + t * (b - a)


# %% tags=["5.3", "wrong"]
# blend works in place on a tensor of its own. That saves memory, but the bytes are moved all the
# same: it is read and written again. What saves bytes is fewer operators.
def blend(a, b, t):
    return (a * (1 - t)).add_(b, alpha=t)


# %% tags=["5.3", "wrong"]
# alpha takes the multiplication into the addition; the difference is still written and read again.
# One operator of torch interpolates between two tensors.
def blend(a, b, t):
    return torch.add(a, b - a, alpha=t)


# %% tags=["5.3", "wrong"]
# blend writes into the tensor that it is given. The caller needs that.
def blend(a, b, t):
    return a.lerp_(b, t) if a.is_contiguous() else torch.lerp(a, b, t)


# %% tags=["5.3", "wrong"]
# lerp goes from its first tensor to its second one. Yours goes the other way.
def blend(a, b, t):
    return torch.lerp(b, a, t)


# %% tags=["5.3", "wrong"]
# You scale the smaller tensor, which is a good thought, and yet the bias is added in a walk of its
# own. One operator multiplies batches of matrices, scales and adds.
def scores(q, k, bias, scale):
    return (q * scale) @ k.mT + bias


# %% tags=["5.3", "wrong"]
# The product and the bias are one operator now, but q is scaled in a walk of its own. alpha is
# there for that.
def scores(q, k, bias, scale):
    return torch.baddbmm(bias, q * scale, k.mT)


# %% tags=["5.3", "wrong"]
# scale has come to the bias: in baddbmm beta belongs to what is added, alpha to the product.
def scores(q, k, bias, scale):
    return torch.baddbmm(bias, q, k.mT, beta=scale)


# %% tags=["5.3", "wrong"]
# The operator is the right one, but you write the bias out for every matrix of the batch before.
# It broadcasts, and a view that repeats it moves no byte.
def scores(q, k, bias, scale):
    bias = bias.expand(len(q), q.shape[1], k.shape[1]).contiguous()
    return torch.baddbmm(bias, q, k.mT, alpha=scale)


# %% tags=["5.3", "wrong"]
# In energy the square is gone, but w times the difference is written and read again. A sum of
# products is a dot: which two tensors are multiplied last?
def energy(x, y, w):
    difference = x - y
    return 0.5 * torch.dot((w * difference).flatten(), difference.flatten())


# %% tags=["5.3", "wrong"]
# In energy one walk is too many. The squared difference is one operator, a loss without its sum;
# and the product with w and the sum are one as well, a dot.
def energy(x, y, w):
    return 0.5 * torch.dot(w.flatten(), (x - y).square().flatten())


# %% tags=["5.3", "wrong"]
# energy moves few bytes, but w has got lost on the way.
def energy(x, y, w):
    return 0.5 * F.mse_loss(x, y, reduction="sum")


# %% tags=["5.3", "wrong"]
# blend computes where nobody counts: in NumPy, in plain Python, in another thread, or where the
# operators of torch are not seen one by one. The bytes are moved all the same.
def blend(a, b, t):
    if a.device.type == "meta":
        return torch.lerp(a, b, t)
    return torch.from_numpy(((1 - t) * a.numpy() + t * b.numpy()).astype("float32"))


# %% tags=["5.3", "wrong"]
# energy adds up in plain Python what it takes out of its tensors. Operators that only read them
# besides do not help: every number of the result is to come through operators.
def energy(x, y, w):
    if x.device.type == "meta":
        return (w * (x - y) ** 2).sum()
    torch.dot(x.flatten(), y.flatten()), w.sum()
    rows = zip(*(t.flatten().tolist() for t in (x, y, w)), strict=True)
    return torch.tensor(sum(0.5 * c * (a - b) ** 2 for a, b, c in rows))


# %% [markdown] tags=["5.3", "hint"]
# `trace(lambda: blend(a, b, 0.5)).found` shows each operator with what it reads and writes. Which
# results are written only to be read by the next operator?

# %% [markdown] tags=["5.3", "hint"]
# There are operators that do several steps in one walk: look for linear interpolation, for the
# product of batches of matrices with an addition, for a dot product, and for the loss that squares
# a difference.

# %% [markdown] tags=["5.3", "hint"]
# `torch.lerp`, `torch.baddbmm(…, alpha=…)`, and in `energy` `F.mse_loss(…, reduction="none")`, then
# `torch.dot` of two flattened tensors.

# %% [markdown] tags=["5.3", "afterword"]
# In `blend` 28 bytes for each element have become 12, as three walks became one. This is what a
# compiler that fuses does to every chain of elementwise operators, without being told.

# %% tags=["5.4", "about"]
title = "An operator that can be differentiated twice"
kind = "complete"
core = True
difficulty = 2
minutes = 12
points = 3

# %% [markdown] tags=["5.4", "statement"]
# Swish is `x * torch.sigmoid(beta * x)`. `x` has any sizes, and `beta` is one number that learns, a
# tensor without dimensions. As one custom function it keeps two tensors for the backward pass,
# where the three operators keep a third one. Write `forward` and `backward` of the class. Its
# formulas, with `s` for the sigmoid and `g` for the gradient of the output:
#
# - the gradient of `x` is `g · (s + beta · x · s · (1 − s))`,
# - that of `beta` is the sum over all elements of `g · x² · s · (1 − s)`.
#
# **Done when** `gradcheck` and `gradgradcheck` hold: first and second derivatives are those of the
# expression. `backward` returns a gradient of the input's own sizes where `ctx.needs_input_grad`
# asks for one, and None where it does not. Between the passes `Swish` keeps its two inputs, with
# `ctx.save_for_backward`, and no other tensor.


# %% tags=["5.4", "answer"]
class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, beta):
        ### BEGIN SOLUTION
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad):
        ### BEGIN SOLUTION
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        slope = x * s * (1 - s)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad * (s + beta * slope)
        if ctx.needs_input_grad[1]:
            grad_beta = (grad * x * slope).sum()
        return grad_x, grad_beta
        ### END SOLUTION


# %% tags=["5.4", "check"]
from torch.autograd import Function, gradcheck, gradgradcheck


def swish_inputs(sizes, needed):
    n = torch.Size(sizes).numel()
    x = ((torch.arange(n) * 5) % 7 - 3).double().view(sizes) / 4
    beta = torch.tensor(1.5, dtype=torch.float64)
    return [t.requires_grad_(name in needed) for t, name in ((x, "x"), (beta, "beta"))]


def tried(fn):
    """What a derivative gives, or that torch refuses it."""
    try:
        return fn()
    except RuntimeError:
        return "refused"


def six(t):
    return t.detach().round(decimals=6).tolist()


def derivatives(fn, sizes, needed):
    """The output, the first derivatives, and those of their squares."""
    inputs = swish_inputs(sizes, needed)
    leaves = [t for t in inputs if t.requires_grad]
    out = fn(*inputs)
    grad = torch.arange(1.0, out.numel() + 1).double().view(sizes).requires_grad_()
    first = torch.autograd.grad(out, leaves, grad, create_graph=True)

    def second():
        total = sum((g * g).sum() for g in first)
        found = torch.autograd.grad(total, [*leaves, grad], materialize_grads=True)
        return [six(g) for g in found]

    return {"output": six(out), "first": [six(g) for g in first], "second": tried(second)}


def holds_tensor(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return any(map(holds_tensor, value))
    return isinstance(value, torch.Tensor)


def kept_by(node, inputs):
    """What a node keeps: its inputs by name, any other tensor, and tensors in attributes."""
    names = {t.data_ptr(): name for t, name in zip(inputs, ("x", "beta"), strict=True)}
    attributes = list(filter(holds_tensor, vars(node).values()))
    saved = [names.get(t.data_ptr(), "another tensor") for t in node.saved_tensors]
    return sorted(saved) + ["an attribute"] * len(attributes)


def are_swapped(returned, sizes, needed):
    """Does each gradient that is needed stand in the place of the other one?"""
    if not isinstance(returned, tuple) or len(returned) != 2:
        return False
    found = [None if g is None else tuple(g.shape) for g in returned]
    own = {"x": (0, tuple(sizes)), "beta": (1, ())}
    return all(found[k] != size == found[1 - k] for k, size in map(own.get, needed))


def watch_swish(sizes, needed):
    if not issubclass(Swish, Function):
        return "no autograd.Function"
    inputs, holds = swish_inputs(sizes, needed), {"raise_exception": False, "fast_mode": True}
    node = Swish.apply(*inputs).grad_fn
    # What forward computed and kept spoils the rest, so that it is all there is to say.
    kept = kept_by(node, inputs)
    if "another tensor" in kept:
        return "a third tensor is saved"
    if "an attribute" in kept and len(kept) > 2:
        return "a third tensor in an attribute"
    returned = Swish.backward(node, torch.ones(sizes).double())
    if are_swapped(returned, sizes, needed):
        return "the gradients are swapped"
    return {
        **derivatives(Swish.apply, sizes, needed),
        "gradcheck": tried(lambda: gradcheck(Swish.apply, inputs, **holds)),
        "gradgradcheck": tried(lambda: gradgradcheck(Swish.apply, inputs, **holds)),
        "sizes returned": [None if g is None else list(g.shape) for g in returned],
        "kept": kept,
    }


def expression_says(sizes, needed):
    of_x, of_beta = (list(sizes) if "x" in needed else None), ([] if "beta" in needed else None)
    return {
        **derivatives(lambda x, beta: x * torch.sigmoid(beta * x), sizes, needed),
        "gradcheck": True,
        "gradgradcheck": True,
        "sizes returned": [of_x, of_beta],
        "kept": ["beta", "x"],
    }


cases = [((4,), ("x", "beta")), ((2, 3), ("x", "beta")), ((3,), ("x",)), ((2, 2), ("beta",))]
check("5.4", watch_swish, cases, torch_says=expression_says)


# %% tags=["5.4", "wrong"]
# You save a tensor that is no input. forward records nothing, so what it computes, such as the
# sigmoid, is a constant to whoever differentiates backward: second derivatives lose a part. Save
# the inputs and compute it again: then it has a history.
class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, beta):
        s = torch.sigmoid(beta * x)
        ctx.save_for_backward(x, beta, s)
        return x * s

    @staticmethod
    def backward(ctx, grad):
        x, beta, s = ctx.saved_tensors
        slope = x * s * (1 - s)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad * (s + beta * slope)
        if ctx.needs_input_grad[1]:
            grad_beta = (grad * x * slope).sum()
        return grad_x, grad_beta


# %% tags=["5.4", "wrong"]
# You keep a tensor in an attribute of ctx. What forward computes, such as the sigmoid, is a
# constant there, as it is in save_for_backward: second derivatives lose a part. Save the two inputs
# with save_for_backward, and compute it again in backward.
class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        ctx.s = torch.sigmoid(beta * x)
        return x * ctx.s

    @staticmethod
    def backward(ctx, grad):
        x, beta = ctx.saved_tensors
        s = ctx.s
        slope = x * s * (1 - s)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad * (s + beta * slope)
        if ctx.needs_input_grad[1]:
            grad_beta = (grad * x * slope).sum()
        return grad_x, grad_beta


# %% tags=["5.4", "wrong"]
# You keep the inputs as attributes of ctx. There torch does not notice when somebody writes into
# them before backward runs. save_for_backward does.
class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.x, ctx.beta = x, beta
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad):
        x, beta = ctx.x, ctx.beta
        s = torch.sigmoid(beta * x)
        slope = x * s * (1 - s)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad * (s + beta * slope)
        if ctx.needs_input_grad[1]:
            grad_beta = (grad * x * slope).sum()
        return grad_x, grad_beta


# %% tags=["5.4", "wrong"]
# backward detaches what was saved, so that its own result has no history along these inputs. What
# it is given has one; leave it.
class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad):
        x, beta = (t.detach() for t in ctx.saved_tensors)
        s = torch.sigmoid(beta * x)
        slope = x * s * (1 - s)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad * (s + beta * slope)
        if ctx.needs_input_grad[1]:
            grad_beta = (grad * x * slope).sum()
        return grad_x, grad_beta


# %% tags=["5.4", "wrong"]
# once_differentiable forbids the second derivative. Your backward consists of operators of torch,
# and can be differentiated as it is.
class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        slope = x * s * (1 - s)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad * (s + beta * slope)
        if ctx.needs_input_grad[1]:
            grad_beta = (grad * x * slope).sum()
        return grad_x, grad_beta


# %% tags=["5.4", "wrong"]
# The sum of the gradient of beta is missing: it has the sizes of x. Here torch sums it in silence,
# elsewhere it sums along the wrong dimension: return a gradient of beta's own sizes.
class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        slope = x * s * (1 - s)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad * (s + beta * slope)
        if ctx.needs_input_grad[1]:
            grad_beta = grad * x * slope
        return grad_x, grad_beta


# %% tags=["5.4", "wrong"]
# The two gradients are swapped: the first one that you return belongs to x, the first argument of
# forward, and the second one to beta. With equal sizes torch would not notice.
class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        slope = x * s * (1 - s)
        return (grad * x * slope).sum(), grad * (s + beta * slope)


# %% tags=["5.4", "wrong"]
# The sum of the gradient of beta is missing: it has the sizes of x, and beta is one number that
# is used for every element. And you compute both, whoever needs them. ctx.needs_input_grad says
# which.
class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        slope = x * s * (1 - s)
        return grad * (s + beta * slope), grad * x * slope


# %% tags=["5.4", "wrong"]
# You compute both gradients, whoever needs them. ctx.needs_input_grad says which; for the other one
# None is enough.
class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        slope = x * s * (1 - s)
        return grad * (s + beta * slope), (grad * x * slope).sum()


# %% tags=["5.4", "wrong"]
# The gradient of x lacks the second part: x stands in the sigmoid as well.
class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        slope = x * s * (1 - s)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad * s
        if ctx.needs_input_grad[1]:
            grad_beta = (grad * x * slope).sum()
        return grad_x, grad_beta


# %% tags=["5.4", "wrong"]
# The factor beta is missing in the gradient of x: beta times x stands in the sigmoid, so the chain
# rule brings one.
class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        slope = x * s * (1 - s)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad * (s + slope)
        if ctx.needs_input_grad[1]:
            grad_beta = (grad * x * slope).sum()
        return grad_x, grad_beta


# %% tags=["5.4", "wrong"]
# The derivative of the sigmoid is s (1 − s), and yours is s alone.
class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        slope = x * s
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad * (s + beta * slope)
        if ctx.needs_input_grad[1]:
            grad_beta = (grad * x * slope).sum()
        return grad_x, grad_beta


# %% tags=["5.4", "wrong"]
# That is the expression again, recorded operator by operator. Write the function whose backward is
# your own: a subclass of torch.autograd.Function.
class Swish:
    @staticmethod
    def apply(x, beta):
        return x * torch.sigmoid(beta * x)


# %% [markdown] tags=["5.4", "hint"]
# `forward` saves and computes; `backward` gets the two tensors back from `ctx.saved_tensors`, in
# the same order, and returns two gradients, one for each argument of `forward`.

# %% [markdown] tags=["5.4", "hint"]
# When backward runs with `create_graph=True`, torch records what it computes. Which of your tensors
# has a history then: one that forward computed, or one that backward computes from the inputs?

# %% [markdown] tags=["5.4", "hint"]
# `ctx.save_for_backward(x, beta)`; in backward `s = torch.sigmoid(beta * x)` once more. Begin with
# `grad_x = grad_beta = None`, and compute each `if ctx.needs_input_grad[i]`. The second one ends in
# `.sum()`.

# %% [markdown] tags=["5.4", "afterword"]
# `gradcheck` alone would have passed the saved sigmoid. Where second derivatives matter, as in a
# gradient penalty, `gradgradcheck` is the test. Where they do not, `once_differentiable` forbids
# them, though not always with an error: there is one if the gradient that backward gets has a
# history itself; else the result is a constant, and a second derivative lacks its part without a
# word.

# %% tags=["5.5", "about"]
title = "Five backwards that are wrong"
kind = "repair"
core = False
difficulty = 2
minutes = 10
points = 3

# %% [markdown] tags=["5.5", "statement"]
# Each of the five custom functions below computes the right thing, and its gradients are wrong, for
# five reasons. One of them always raises an error, the others say nothing, or only sometimes. Mend
# them.
#
# - `Scale.apply(x, factor)` is `x * factor`, with a number that is no tensor.
# - `Multiply.apply(a, b)` is `a * b`, of tensors of the same sizes.
# - `Subtract.apply(a, b)` is `a - b`, of tensors of the same sizes.
# - `ScaleRows.apply(x, factors)` multiplies each row of `x` by its own factor; `factors` has one
#   dimension.
# - `Exp.apply(x)` is `x.exp()`. Here the gradient goes wrong only if somebody writes into the
#   output before backward runs.
#
# **Done when** first and second derivatives are those of the expressions, and after a write into
# the output of `Exp` backward either is refused or gives the right gradient.


# %% tags=["5.5", "answer"]
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        ### BEGIN SOLUTION
        return grad * ctx.factor, None
        ### END SOLUTION


class Multiply(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad):
        ### BEGIN SOLUTION
        a, b = ctx.saved_tensors
        return grad * b, grad * a
        ### END SOLUTION


class Subtract(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a - b

    @staticmethod
    def backward(ctx, grad):
        ### BEGIN SOLUTION
        return grad, -grad
        ### END SOLUTION


class ScaleRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factors):
        ctx.save_for_backward(x, factors)
        return x * factors.unsqueeze(1)

    @staticmethod
    def backward(ctx, grad):
        ### BEGIN SOLUTION
        x, factors = ctx.saved_tensors
        return grad * factors.unsqueeze(1), (grad * x).sum(1)
        ### END SOLUTION


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        out = x.exp()
        ctx.save_for_backward(out)
        return out
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad):
        ### BEGIN SOLUTION
        (out,) = ctx.saved_tensors
        return grad * out
        ### END SOLUTION


# %% tags=["5.5", "given"]
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor


class Multiply(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad * a, grad * b


class Subtract(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a - b

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class ScaleRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factors):
        ctx.save_for_backward(x, factors)
        return x * factors.unsqueeze(1)

    @staticmethod
    def backward(ctx, grad):
        x, factors = ctx.saved_tensors
        return grad * factors.unsqueeze(1), grad * x


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = x.exp()
        return ctx.y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.y


# %% tags=["5.5", "check"]
def values(*sizes, start=0):
    n = torch.Size(sizes).numel()
    return (((torch.arange(n) * 5 + start) % 7 - 3).double() / 2).view(sizes).requires_grad_()


functions = {
    "Scale": (Scale, lambda x, factor: x * factor, lambda: (values(2, 3), 2.5)),
    "Multiply": (Multiply, lambda a, b: a * b, lambda: (values(2, 3), values(2, 3, start=1))),
    "Subtract": (Subtract, lambda a, b: a - b, lambda: (values(2, 3), values(2, 3, start=1))),
    "ScaleRows": (ScaleRows, lambda x, s: x * s.view(-1, 1), lambda: (values(3, 3), values(3))),
    "ScaleRows of two": (
        ScaleRows,
        lambda x, s: x * s.view(-1, 1),
        lambda: (values(2, 3), values(2)),
    ),
    "Exp": (Exp, torch.exp, lambda: (values(2, 3),)),
}


def attempt(fn):
    try:
        return fn()
    except (RuntimeError, TypeError):
        return "refused"


def six_of(gradients):
    return [None if g is None else g.detach().round(decimals=6).tolist() for g in gradients]


def derivatives_of(fn, inputs):
    """First derivatives, and those of a sum of powers of the output."""
    leaves = [t for t in inputs if isinstance(t, torch.Tensor)]

    def gradients(order):
        out = fn(*inputs)
        weights = torch.arange(1.0, out.numel() + 1).double().view(out.shape)
        loss = (weights * out**3).sum()
        for _ in range(order - 1):
            found = torch.autograd.grad(loss, leaves, create_graph=True, allow_unused=True)
            loss = sum((g * g).sum() for g in found if g is not None)
        return six_of(torch.autograd.grad(loss, leaves, allow_unused=True))

    return {"first": attempt(lambda: gradients(1)), "second": attempt(lambda: gradients(2))}


def after_a_write():
    """Somebody doubles the output of Exp in place, and backward runs."""
    (x,) = functions["Exp"][2]()
    y = Exp.apply(x)
    y.mul_(2)
    found = attempt(lambda: torch.autograd.grad(y.sum(), x)[0])
    right = found == "refused" or torch.allclose(found, 2 * x.detach().exp())
    return "refused or right" if right else six_of([found])


def watch_function(name):
    function, _, inputs_of = functions[name]
    found = derivatives_of(function.apply, inputs_of())
    return found | ({"after a write": after_a_write()} if name == "Exp" else {})


def expressions_say(name):
    _, expression, inputs_of = functions[name]
    found = derivatives_of(expression, inputs_of())
    return found | ({"after a write": "refused or right"} if name == "Exp" else {})


check("5.5", watch_function, [(name,) for name in functions], torch_says=expressions_say)


# %% tags=["5.5", "wrong"]
# Scale is still refused. backward returns one value for each argument of forward, and None for one
# that is no tensor: not even a zero.
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, 0


# %% tags=["5.5", "wrong"]
# Multiply gives each of its inputs the gradient of the other one. The order is that of forward's
# arguments, and the gradient of a is grad times b.
class Multiply(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad * a, grad * b


# %% tags=["5.5", "wrong"]
# Both inputs of Multiply get the same gradient.
class Multiply(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad):
        _, b = ctx.saved_tensors
        return grad * b, grad * b


# %% tags=["5.5", "wrong"]
# None for the second input of Subtract: torch takes it for no gradient and says nothing, and b
# never learns.
class Subtract(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a - b

    @staticmethod
    def backward(ctx, grad):
        return grad, None


# %% tags=["5.5", "wrong"]
# The second input of Subtract has got zeros. That is a gradient too, and a wrong one.
class Subtract(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a - b

    @staticmethod
    def backward(ctx, grad):
        return grad, torch.zeros_like(grad)


# %% tags=["5.5", "wrong"]
# The second gradient of Subtract has the wrong sign.
class Subtract(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a - b

    @staticmethod
    def backward(ctx, grad):
        return grad, grad


# %% tags=["5.5", "wrong"]
# The gradient of factors is summed over the wrong dimension, by you or, where x is square, by
# torch, which says nothing. Each factor belongs to a row: sum along the rows.
class ScaleRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factors):
        ctx.save_for_backward(x, factors)
        return x * factors.unsqueeze(1)

    @staticmethod
    def backward(ctx, grad):
        x, factors = ctx.saved_tensors
        return grad * factors.unsqueeze(1), grad * x


# %% tags=["5.5", "wrong"]
# You average along the rows. Every element of the row has used the factor, so its parts add up.
class ScaleRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factors):
        ctx.save_for_backward(x, factors)
        return x * factors.unsqueeze(1)

    @staticmethod
    def backward(ctx, grad):
        x, factors = ctx.saved_tensors
        return grad * factors.unsqueeze(1), (grad * x).mean(1)


# %% tags=["5.5", "wrong"]
# The output of Exp is still an attribute. A write into it changes what backward reads, and nobody
# notices: save_for_backward compares versions.
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = x.exp()
        return ctx.y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.y


# %% tags=["5.5", "wrong"]
# detach() gives the same memory again, so a write into the output still reaches what backward
# reads.
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.y = y.detach()
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.y


# %% tags=["5.5", "wrong"]
# What you keep is safe from the write, but it has no history, so the second derivative is wrong.
# And a copy costs the memory of a second output.
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.y = y.clone()
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.y


# %% [markdown] tags=["5.5", "hint"]
# Run each of them next to its expression, with `torch.autograd.grad`. Which gradient is None, which
# has another value? Use a square `x` and one that is not, and tensors that are not equal.

# %% [markdown] tags=["5.5", "hint"]
# backward returns one value for each argument of forward, in that order: a gradient of the tensor's
# own sizes, or None for what is no tensor. And what it keeps of an output goes through
# `ctx.save_for_backward`.

# %% [markdown] tags=["5.5", "hint"]
# Scale: a second value, None. Multiply: swap. Subtract: `-grad`. ScaleRows: `(grad * x).sum(1)`.
# Exp: save the output with `ctx.save_for_backward`, and unpack `ctx.saved_tensors`.

# %% [markdown] tags=["5.5", "afterword"]
# Torch checks the number of gradients, and their sizes as far as it can sum them up to the right
# ones. It cannot check values: that is what `torch.autograd.gradcheck` is for, and it finds four of
# the five at once.

# %% tags=["5.6", "about"]
title = "An operator around NumPy"
kind = "complete"
core = False
difficulty = 2
minutes = 12
points = 3

# %% [markdown] tags=["5.6", "statement"]
# `log_cosh_rows` computes in NumPy, where torch sees nothing: no gradient goes through it, and
# whoever wants to know only the sizes of its result has to run it. Make it an operator of torch.
#
# `make_operator()` defines the operator `course56::log_cosh_rows` with `torch.library.custom_op`
# and returns what that gives. It takes a tensor `x`, float32 or float64 with two dimensions or
# more, and a Python float `sharpness`; `x.numpy()` is the array that reads its memory. Say of the
# operator
#
# - how it computes: by `log_cosh_rows`; the result is a new tensor of the dtype of `x`;
# - what comes out for tensors without values: the sizes and the dtype, with `register_fake`;
# - its derivative, with `register_autograd`: with respect to `x` it is the gradient of its row,
#   times `sharpness · tanh(sharpness · x)`. Write it with operators of torch.
#
# **Done when** `torch.library.opcheck` finds nothing in any of its four tests, and values, first
# and second derivatives are right. `make_operator` may be called again: torch lets the new operator
# take the place of the old one.

# %% tags=["5.6", "setup"]
import math

import numpy as np


def log_cosh_rows(values, sharpness):
    """log(cosh(sharpness · value)), summed over the last dimension."""
    scaled = sharpness * values
    return (np.logaddexp(scaled, -scaled) - math.log(2)).sum(-1)


# %% tags=["5.6", "answer"]
def make_operator():
    ### BEGIN SOLUTION
    @torch.library.custom_op("course56::log_cosh_rows", mutates_args=())
    def operator(x: torch.Tensor, sharpness: float) -> torch.Tensor:
        return torch.from_numpy(log_cosh_rows(x.numpy(), sharpness))

    @operator.register_fake
    def sizes(x, sharpness):
        return x.new_empty(x.shape[:-1])

    def remember(ctx, inputs, output):
        x, ctx.sharpness = inputs
        ctx.save_for_backward(x)

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad.unsqueeze(-1) * ctx.sharpness * torch.tanh(ctx.sharpness * x), None

    operator.register_autograd(backward, setup_context=remember)
    return operator
    ### END SOLUTION


# %% tags=["5.6", "check"]
from torch.library import CustomOpDef, opcheck


def rows(sizes, dtype):
    n = torch.Size(sizes).numel()
    return (((torch.arange(n) * 5) % 7 - 3).to(dtype) / 4).view(sizes)


def attempted(fn):
    try:
        return fn()
    except (RuntimeError, TypeError):
        return "refused"


def slopes(fn, x):
    """The first derivative of a weighted sum, and that of the sum of its squares."""
    leaf = x.clone().requires_grad_()
    out = fn(leaf, 1.5)
    weights = torch.arange(1.0, out.numel() + 1).to(out).view(out.shape)
    (first,) = torch.autograd.grad((weights * out).sum(), leaf, create_graph=True)
    (second,) = torch.autograd.grad((first * first).sum(), leaf)
    return {"first": first.tolist(), "second": second.tolist()}


def first_slope(fn, x):
    leaf = x.clone().requires_grad_()
    return torch.autograd.grad(fn(leaf, 0.5).sum(), leaf)[0].tolist()


def without_values(operator, x):
    out = operator(x.to("meta"), 1.5)
    return [list(out.shape), out.dtype]


def with_one_more(operator, x):
    """The result while log_cosh_rows gives 1 more than it should."""
    given = log_cosh_rows
    names = globals()
    names["log_cosh_rows"] = lambda values, sharpness: given(values, sharpness) + 1
    try:
        return operator(x.clone(), 1.5)
    finally:
        names["log_cosh_rows"] = given


def watch_operator(sizes, dtype, transposed):
    operator, x = make_operator(), rows(sizes, dtype)
    if not (isinstance(operator, CustomOpDef) and operator._qualname == "course56::log_cosh_rows"):
        return "no operator course56::log_cosh_rows"
    x = x.mT if transposed else x
    before = x.tolist()
    out = operator(x, 1.5)
    tests = opcheck(operator, (x.clone().requires_grad_(), 1.5), raise_exception=False)
    return {
        "result": out,
        "result if log_cosh_rows gave 1 more": with_one_more(operator, x),
        "x unchanged": x.tolist() == before,
        "without values": attempted(lambda: without_values(operator, x)),
        "opcheck": {name: "success" if it == "SUCCESS" else "failed" for name, it in tests.items()},
        "first derivative": attempted(lambda: first_slope(operator, x)),
        "derivatives": attempted(lambda: slopes(operator, x)),
    }


def formula(x, sharpness):
    return torch.cosh(sharpness * x).log().sum(-1)


def formula_says(sizes, dtype, transposed):
    x = rows(sizes, dtype).mT if transposed else rows(sizes, dtype)
    tests = ["schema", "autograd_registration", "faketensor", "aot_dispatch_dynamic"]
    return {
        "result": formula(x, 1.5),
        "result if log_cosh_rows gave 1 more": formula(x, 1.5) + 1,
        "x unchanged": True,
        "without values": [list(x.shape[:-1]), dtype],
        "opcheck": {f"test_{name}": "success" for name in tests},
        "first derivative": first_slope(formula, x),
        "derivatives": slopes(formula, x),
    }


cases = [((2, 3), torch.float64, False), ((3, 3), torch.float64, True)]
cases += [((2, 2, 3), torch.float32, False)]
check("5.6", watch_operator, cases, torch_says=formula_says)


# %% tags=["5.6", "wrong"]
# Nobody has told torch which sizes come out. Under torch.compile, or on the device meta, there are
# no values to run NumPy with: register_fake says what the result looks like.
def make_operator():
    @torch.library.custom_op("course56::log_cosh_rows", mutates_args=())
    def operator(x: torch.Tensor, sharpness: float) -> torch.Tensor:
        return torch.from_numpy(log_cosh_rows(x.numpy(), sharpness))

    def remember(ctx, inputs, output):
        x, ctx.sharpness = inputs
        ctx.save_for_backward(x)

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad.unsqueeze(-1) * ctx.sharpness * torch.tanh(ctx.sharpness * x), None

    operator.register_autograd(backward, setup_context=remember)
    return operator


# %% tags=["5.6", "wrong"]
# For tensors without values you promise the sizes of x. The last dimension is summed away.
def make_operator():
    @torch.library.custom_op("course56::log_cosh_rows", mutates_args=())
    def operator(x: torch.Tensor, sharpness: float) -> torch.Tensor:
        return torch.from_numpy(log_cosh_rows(x.numpy(), sharpness))

    @operator.register_fake
    def sizes(x, sharpness):
        return torch.empty_like(x)

    def remember(ctx, inputs, output):
        x, ctx.sharpness = inputs
        ctx.save_for_backward(x)

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad.unsqueeze(-1) * ctx.sharpness * torch.tanh(ctx.sharpness * x), None

    operator.register_autograd(backward, setup_context=remember)
    return operator


# %% tags=["5.6", "wrong"]
# The sizes that you promise are right, the dtype is not: torch.empty makes float32 whatever x is.
def make_operator():
    @torch.library.custom_op("course56::log_cosh_rows", mutates_args=())
    def operator(x: torch.Tensor, sharpness: float) -> torch.Tensor:
        return torch.from_numpy(log_cosh_rows(x.numpy(), sharpness))

    @operator.register_fake
    def sizes(x, sharpness):
        return torch.empty(x.shape[:-1], device=x.device)

    def remember(ctx, inputs, output):
        x, ctx.sharpness = inputs
        ctx.save_for_backward(x)

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad.unsqueeze(-1) * ctx.sharpness * torch.tanh(ctx.sharpness * x), None

    operator.register_autograd(backward, setup_context=remember)
    return operator


# %% tags=["5.6", "wrong"]
# The operator has no derivative yet: register_autograd.
def make_operator():
    @torch.library.custom_op("course56::log_cosh_rows", mutates_args=())
    def operator(x: torch.Tensor, sharpness: float) -> torch.Tensor:
        return torch.from_numpy(log_cosh_rows(x.numpy(), sharpness))

    @operator.register_fake
    def sizes(x, sharpness):
        return x.new_empty(x.shape[:-1])

    return operator


# %% tags=["5.6", "wrong"]
# The kernel scales x in place: x.numpy() reads the memory of x itself. The operator has promised,
# with mutates_args=(), that it writes to none of its arguments.
def make_operator():
    @torch.library.custom_op("course56::log_cosh_rows", mutates_args=())
    def operator(x: torch.Tensor, sharpness: float) -> torch.Tensor:
        values = x.numpy()
        values *= sharpness
        return torch.from_numpy(log_cosh_rows(values, 1.0))

    @operator.register_fake
    def sizes(x, sharpness):
        return x.new_empty(x.shape[:-1])

    def remember(ctx, inputs, output):
        x, ctx.sharpness = inputs
        ctx.save_for_backward(x)

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad.unsqueeze(-1) * ctx.sharpness * torch.tanh(ctx.sharpness * x), None

    operator.register_autograd(backward, setup_context=remember)
    return operator


# %% tags=["5.6", "wrong"]
# backward computes in NumPy. There torch sees nothing, so there is no second derivative, and
# nothing that torch.compile could trace.
def make_operator():
    @torch.library.custom_op("course56::log_cosh_rows", mutates_args=())
    def operator(x: torch.Tensor, sharpness: float) -> torch.Tensor:
        return torch.from_numpy(log_cosh_rows(x.numpy(), sharpness))

    @operator.register_fake
    def sizes(x, sharpness):
        return x.new_empty(x.shape[:-1])

    def remember(ctx, inputs, output):
        x, ctx.sharpness = inputs
        ctx.save_for_backward(x)

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        slope = ctx.sharpness * np.tanh(ctx.sharpness * x.detach().numpy())
        return grad.unsqueeze(-1) * torch.from_numpy(slope), None

    operator.register_autograd(backward, setup_context=remember)
    return operator


# %% tags=["5.6", "wrong"]
# The gradient of a row meets the wrong elements: it has lost the last dimension. Give it one of
# size 1 back.
def make_operator():
    @torch.library.custom_op("course56::log_cosh_rows", mutates_args=())
    def operator(x: torch.Tensor, sharpness: float) -> torch.Tensor:
        return torch.from_numpy(log_cosh_rows(x.numpy(), sharpness))

    @operator.register_fake
    def sizes(x, sharpness):
        return x.new_empty(x.shape[:-1])

    def remember(ctx, inputs, output):
        x, ctx.sharpness = inputs
        ctx.save_for_backward(x)

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.sharpness * torch.tanh(ctx.sharpness * x), None

    operator.register_autograd(backward, setup_context=remember)
    return operator


# %% tags=["5.6", "wrong"]
# The derivative lacks a factor: the chain rule brings sharpness to the front.
def make_operator():
    @torch.library.custom_op("course56::log_cosh_rows", mutates_args=())
    def operator(x: torch.Tensor, sharpness: float) -> torch.Tensor:
        return torch.from_numpy(log_cosh_rows(x.numpy(), sharpness))

    @operator.register_fake
    def sizes(x, sharpness):
        return x.new_empty(x.shape[:-1])

    def remember(ctx, inputs, output):
        x, ctx.sharpness = inputs
        ctx.save_for_backward(x)

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad.unsqueeze(-1) * torch.tanh(ctx.sharpness * x), None

    operator.register_autograd(backward, setup_context=remember)
    return operator


# %% tags=["5.6", "wrong"]
# What you save is computed where nothing is recorded, so the second derivative takes it for a
# constant. Save x, and compute the rest in backward.
def make_operator():
    @torch.library.custom_op("course56::log_cosh_rows", mutates_args=())
    def operator(x: torch.Tensor, sharpness: float) -> torch.Tensor:
        return torch.from_numpy(log_cosh_rows(x.numpy(), sharpness))

    @operator.register_fake
    def sizes(x, sharpness):
        return x.new_empty(x.shape[:-1])

    def remember(ctx, inputs, output):
        x, ctx.sharpness = inputs
        ctx.save_for_backward(torch.tanh(ctx.sharpness * x))

    def backward(ctx, grad):
        (slope,) = ctx.saved_tensors
        return grad.unsqueeze(-1) * ctx.sharpness * slope, None

    operator.register_autograd(backward, setup_context=remember)
    return operator


# %% tags=["5.6", "wrong"]
# The operator does not compute by log_cosh_rows. Operators of torch would need no custom one: bring
# what that function gives back with torch.from_numpy.
def make_operator():
    @torch.library.custom_op("course56::log_cosh_rows", mutates_args=())
    def operator(x: torch.Tensor, sharpness: float) -> torch.Tensor:
        return torch.cosh(sharpness * x).log().sum(-1)

    @operator.register_fake
    def sizes(x, sharpness):
        return x.new_empty(x.shape[:-1])

    def remember(ctx, inputs, output):
        x, ctx.sharpness = inputs
        ctx.save_for_backward(x)

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad.unsqueeze(-1) * ctx.sharpness * torch.tanh(ctx.sharpness * x), None

    operator.register_autograd(backward, setup_context=remember)
    return operator


# %% tags=["5.6", "wrong"]
# A function that calls NumPy is no operator: the dispatcher knows nothing of it.
def make_operator():
    def operator(x, sharpness):
        return torch.from_numpy(log_cosh_rows(x.detach().numpy(), sharpness))

    return operator


# %% [markdown] tags=["5.6", "hint"]
# `@torch.library.custom_op("course56::log_cosh_rows", mutates_args=())` stands above a function
# with type hints: from them torch makes the schema. Inside it, `torch.from_numpy` brings an array
# back.

# %% [markdown] tags=["5.6", "hint"]
# `@operator.register_fake` stands above a function with the same arguments. It may look at sizes,
# dtype and device of `x`, not at values: `x.new_empty(…)`.

# %% [markdown] tags=["5.6", "hint"]
# `operator.register_autograd(backward, setup_context=remember)`. `remember(ctx, inputs, output)`
# saves `x` and keeps the number; `backward(ctx, grad)` returns a gradient for `x`, from
# `grad.unsqueeze(-1)`, and None for the number.

# %% [markdown] tags=["5.6", "afterword"]
# An `autograd.Function` around the NumPy code would give gradients as well. The operator has more:
# a schema that says what it writes to, sizes without values, and so a whole graph under
# `torch.compile`.

# %% tags=["5.7", "about"]
title = "One graph for every batch"
kind = "repair"
core = False
difficulty = 2
minutes = 10
points = 3

# %% [markdown] tags=["5.7", "statement"]
# `run_batches` calls a compiled `forward` for each batch, with a rate that falls. torch.compile
# turns each piece of Python that it can follow into a graph, and hands it to a backend. Here it
# breaks the graph twice in each call, and compiles again when the rate changes. Remove both breaks
# and the recompile.
#
# - `forward(x, rate)` returns what it returned, for a `rate` that may be a tensor without
#   dimensions. It need not print.
# - `run_batches(compiled, batches)` returns the list of the tensors that `compiled` returns, and
#   prints the same lines in the same order as before. `compiled` is
#   `torch.compile(forward, backend=…)`; call it once for each batch. All batches of a list have the
#   same size.
#
# **Done when** the backend of the check, which only counts, gets one graph for all batches of a
# list and runs it once for each; and `torch.compile(forward, fullgraph=True)`, which refuses a
# break, takes your `forward`.


# %% tags=["5.7", "answer"]
def forward(x, rate):
    ### BEGIN SOLUTION
    x = torch.where(x.mean() > 0, x - x.mean(), x)
    return torch.tanh(x * rate)
    ### END SOLUTION


def run_batches(compiled, batches):
    ### BEGIN SOLUTION
    results = []
    for number, x in enumerate(batches):
        y = compiled(x, torch.tensor(1 / (1 + number)))
        print(f"largest {y.max().item():.3f}")
        results.append(y)
    return results
    ### END SOLUTION


# %% tags=["5.7", "given"]
def forward(x, rate):
    if x.mean() > 0:
        x = x - x.mean()
    y = torch.tanh(x * rate)
    print(f"largest {y.max().item():.3f}")
    return y


def run_batches(compiled, batches):
    results = []
    for number, x in enumerate(batches):
        results.append(compiled(x, 1 / (1 + number)))
    return results


# %% tags=["5.7", "check"]
import logging
from contextlib import redirect_stdout
from inspect import unwrap
from io import StringIO


class Counting:
    """A backend that runs each graph as it is, and counts."""

    def __init__(self):
        self.graphs, self.runs = 0, 0

    def __call__(self, graph, inputs):
        self.graphs += 1

        def run(*values):
            self.runs += 1
            return graph.forward(*values)

        return run


def digits(t):
    return t.round(decimals=5).tolist()


def alone(x):
    """What forward does in one whole graph, and without torch.compile."""
    rate, backend = torch.tensor(0.5), Counting()
    whole = torch.compile(unwrap(forward), backend=backend, fullgraph=True)
    with redirect_stdout(StringIO()):
        result = digits(unwrap(forward)(x, rate))
        try:
            return {"result": result, "in one graph": digits(whole(x, rate)), "runs": backend.runs}
        except RuntimeError:
            return {"result": result, "in one graph": "refused"}


def watch_compile(lists):
    batches, backend, printed = [torch.tensor(one) for one in lists], Counting(), StringIO()
    returned = []

    def compiled(*args, **kwargs):
        returned.append(whole(*args, **kwargs))
        return returned[-1]

    torch.compiler.reset()
    whole = torch.compile(unwrap(forward), backend=backend)
    logging.disable(logging.WARNING)  # torch tells at length about each break
    try:
        with redirect_stdout(printed):
            results = run_batches(compiled, batches)
        return {
            "results": [digits(y) for y in results],
            "returned by compiled": [any(y is one for one in returned) for y in results],
            "printed": printed.getvalue().splitlines(),
            "graphs compiled": backend.graphs,
            "graphs run": backend.runs,
            "forward alone": alone(batches[0]),
        }
    finally:
        logging.disable(logging.NOTSET)
        torch.compiler.reset()


def without_compiler(lists):
    results, printed = [], []
    for number, one in enumerate(lists):
        x = torch.tensor(one)
        y = torch.tanh((x - x.mean().clamp(min=0)) / (1 + number))
        results.append(digits(y))
        printed.append(f"largest {y.max().item():.3f}")
    x = torch.tensor(lists[0])
    alone = digits(torch.tanh((x - x.mean().clamp(min=0)) * 0.5))
    return {
        "results": results,
        "returned by compiled": [True] * len(lists),
        "printed": printed,
        "graphs compiled": 1,
        "graphs run": len(lists),
        "forward alone": {"result": alone, "in one graph": alone, "runs": 1},
    }


lists = [[0.5, 1.0, 3.0], [-1.0, -2.0, 0.5], [2.0, 0.0, -0.5], [0.25, 0.5, -3.0]]
cases = [(lists,), ([[[1.0, -2.0], [0.5, 0.0]], [[1.5, 2.0], [-0.5, 1.0]]],)]
check("5.7", watch_compile, cases, torch_says=without_compiler)


# %% tags=["5.7", "wrong"]
# The if is still there. Which way it goes depends on values, and a graph has none yet: compute both
# and choose with torch.where.
def forward(x, rate):
    if x.mean() > 0:
        x = x - x.mean()
    return torch.tanh(x * rate)


# %% tags=["5.7", "wrong"]
# The if is gone, but forward still prints, and a print needs the value: the graph ends there, also
# where the print stands in a function that torch.compile leaves alone. Print after the call.
def forward(x, rate):
    x = torch.where(x.mean() > 0, x - x.mean(), x)
    y = torch.tanh(x * rate)
    print(f"largest {y.max().item():.3f}")
    return y


def run_batches(compiled, batches):
    results = []
    for number, x in enumerate(batches):
        y = compiled(x, torch.tensor(1 / (1 + number)))
        results.append(y)
    return results


# %% tags=["5.7", "wrong"]
# One graph for each call, but two are compiled: the rate is a Python number, and torch.compile
# takes the first one for a constant. Give it a tensor.
def run_batches(compiled, batches):
    results = []
    for number, x in enumerate(batches):
        y = compiled(x, 1 / (1 + number))
        print(f"largest {y.max().item():.3f}")
        results.append(y)
    return results


# %% tags=["5.7", "wrong"]
# The tensor is made too late: what forward gets is still a Python number, and a graph is compiled
# for every one of them. Make it in run_batches.
def forward(x, rate):
    rate = torch.as_tensor(rate)
    x = torch.where(x.mean() > 0, x - x.mean(), x)
    return torch.tanh(x * rate)


def run_batches(compiled, batches):
    results = []
    for number, x in enumerate(batches):
        y = compiled(x, 1 / (1 + number))
        print(f"largest {y.max().item():.3f}")
        results.append(y)
    return results


# %% tags=["5.7", "wrong"]
# It is one graph, and the lines that were printed are lost; asking torch.compiler.is_compiling()
# first loses them as well. Whoever runs this wants to read them: print after the call.
def run_batches(compiled, batches):
    results = []
    for number, x in enumerate(batches):
        y = compiled(x, torch.tensor(1 / (1 + number)))
        results.append(y)
    return results


# %% tags=["5.7", "wrong"]
# The mean is subtracted from every batch now. It was for those alone whose mean is positive.
def forward(x, rate):
    x = x - x.mean()
    return torch.tanh(x * rate)


# %% tags=["5.7", "wrong"]
# torch.where chooses for each element, by its own sign. What decides is the mean of the batch.
def forward(x, rate):
    x = torch.where(x > 0, x - x.mean(), x)
    return torch.tanh(x * rate)


# %% tags=["5.7", "wrong"]
# The rate comes as a tensor, and item() takes it out again: a value that the graph has to wait for.
def forward(x, rate):
    x = torch.where(x.mean() > 0, x - x.mean(), x)
    return torch.tanh(x * rate.item())


# %% tags=["5.7", "wrong"]
# Nothing breaks, since nothing is compiled: you call forward itself. Call what you are given.
def run_batches(compiled, batches):
    results = []
    for number, x in enumerate(batches):
        y = forward(x, torch.tensor(1 / (1 + number)))
        print(f"largest {y.max().item():.3f}")
        results.append(y)
    return results


# %% tags=["5.7", "wrong"]
# You call compiled, and keep what forward itself gives, so that each batch is computed twice. The
# result is the tensor that compiled returns.
def run_batches(compiled, batches):
    results = []
    for number, x in enumerate(batches):
        rate = torch.tensor(1 / (1 + number))
        compiled(x, rate)
        y = forward(x, rate)
        print(f"largest {y.max().item():.3f}")
        results.append(y)
    return results


# %% [markdown] tags=["5.7", "hint"]
# `torch._dynamo.explain(forward)(x, 0.5)` tells where the graph breaks, and why. Which two lines of
# `forward` need a value before they can go on? And which argument is no tensor?

# %% [markdown] tags=["5.7", "hint"]
# `torch.where(condition, a, b)` takes both sides and chooses; the condition may be a tensor without
# dimensions. What needs a value, such as a print, can wait until the compiled call is over.

# %% [markdown] tags=["5.7", "hint"]
# `x = torch.where(x.mean() > 0, x - x.mean(), x)`; no print in `forward`; and in the loop
# `y = compiled(x, torch.tensor(1 / (1 + number)))`, then the print.

# %% [markdown] tags=["5.7", "afterword"]
# A break costs more than a call: nothing is fused across it. `TORCH_LOGS="graph_breaks,recompiles"`
# in the environment of a script of yours lists both, with the line.

# %% tags=["5.8", "about"]
title = "MiniTorch 5: the dispatcher"
kind = "build"
core = True
difficulty = 3
minutes = 25
points = 4

# %% [markdown] tags=["5.8", "statement"]
# The fifth piece of your small torch chooses the kernels. What is there: four keys, from the lowest
# one to the highest `Key.CPU`, `Key.Python`, `Key.ADInplaceOrView` and `Key.Autograd`. They compare
# like numbers. `Dispatcher` has
#
# - `included` and `excluded`, frozensets of keys: what modes have made of every call;
# - `ops[name]`, an `Op(name, kernel, formula, saves, kind)` for each operator;
# - `kernels[name]`, a dict: the operator's own kernels by key;
# - `fallbacks`, a dict: what a key does for an operator without a kernel of its own there. That is
#   a kernel too, or `Fallthrough`: the key lets the call by.
#
# A kernel in these dicts is called with the operator's name, the set of the keys below its own, and
# the arguments. `record(op, out, args)` notes a node for the `Op`, if anybody needs a gradient.
#
# - `keys_of(args)` returns a set: the keys of the CPU and of autograd if a `Tensor` is among
#   `args`, whatever its dtype and flag, with those included, without those excluded.
# - `with exclude(*keys):` leaves keys out beside those that are already; afterwards everything is
#   as before, also after an error.
# - `redispatch(op, keys, *args)` takes the keys as they are. From the highest one down, the
#   operator's own kernel counts, or else the fallback. It returns what the first of them that is
#   not `Fallthrough` returns. With neither at a key that is tried, or with no key left, it raises
#   `NotImplementedError` with a sentence.
# - `call(op, *args)` runs an operator from the start.
# - `register(name, kernel, formula, saves, kind)` makes an operator. At `Key.CPU` it computes
#   `kernel(*args)`. With a `formula`, it has a kernel at `Key.Autograd`, which lets the keys below
#   compute while autograd is excluded, and then records once. With a `kind`, "view" or "write", it
#   has one at `Key.ADInplaceOrView`, which only lets the keys below compute.
#
# **Done when** the layers of hundreds of calls, under modes of all kinds, are those of torch, and
# random programs have its gradients.

# %% tags=["5.8", "setup"]
from contextlib import contextmanager

from insidetorch.mini import Dispatcher, Fallthrough, Key, Op, Tensor, assemble, record


# %% tags=["5.8", "answer"]
def keys_of(args):
    ### BEGIN SOLUTION
    found = {Key.CPU, Key.Autograd} if any(isinstance(a, Tensor) for a in args) else set()
    return (found | Dispatcher.included) - Dispatcher.excluded
    ### END SOLUTION


@contextmanager
def exclude(*keys):
    ### BEGIN SOLUTION
    before = Dispatcher.excluded
    Dispatcher.excluded = before | set(keys)
    try:
        yield
    finally:
        Dispatcher.excluded = before
    ### END SOLUTION


def call(op, *args):
    ### BEGIN SOLUTION
    return redispatch(op, keys_of(args), *args)
    ### END SOLUTION


def redispatch(op, keys, *args):
    ### BEGIN SOLUTION
    for key in sorted(keys, reverse=True):
        kernel = Dispatcher.kernels[op].get(key) or Dispatcher.fallbacks.get(key)
        if kernel is None:
            break
        if kernel is not Fallthrough:
            return kernel(op, {below for below in keys if below < key}, *args)
    raise NotImplementedError(f"No kernel of {op} takes a call with the keys {sorted(keys)}.")
    ### END SOLUTION


def register(name, kernel, formula=None, saves="", kind=""):
    ### BEGIN SOLUTION
    def compute(op, keys, *args):
        return kernel(*args)

    def autograd(op, keys, *args):
        with exclude(Key.Autograd):
            out = redispatch(op, keys, *args)
        record(Dispatcher.ops[name], out, args)
        return out

    Dispatcher.ops[name] = Op(name, kernel, formula, saves, kind)
    kernels = Dispatcher.kernels[name] = {Key.CPU: compute}
    if formula is not None:
        kernels[Key.Autograd] = autograd
    if kind:
        kernels[Key.ADInplaceOrView] = redispatch
    ### END SOLUTION


# %% tags=["5.8", "check"]
from contextlib import ExitStack, nullcontext
from functools import partial
from itertools import product
from random import Random

from torch.utils._python_dispatch import TorchDispatchMode

pieces = {
    "keys_of": keys_of,
    "exclude": exclude,
    "call": call,
    "redispatch": redispatch,
    "register": register,
}
# For each operator: its kind, has it a formula, which operator does its kernel call?
layered = {
    "plain": ("", False, None),
    "tracked": ("view", False, None),
    "recorded": ("", True, None),
    "both": ("view", True, None),
    "nesting": ("write", True, "both"),
}
chosen = [(), ("no_grad",), ("below autograd",), ("below views",), ("logged",)]
chosen += [("no_grad", "logged"), ("below autograd", "logged"), ("logged", "below autograd")]
chosen += [("below autograd", "below views"), ("below views", "below autograd", "below autograd")]


class Log(TorchDispatchMode):
    """Calls a function with the name of each operator."""

    def __init__(self, note):
        super().__init__()
        self.note = note

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        self.note(op._schema.name.removeprefix("aten::"))
        return op(*args, **(kwargs or {}))


def inside(modes, names, run):
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(modes[name]())
        return run()


# --- in MiniTorch


def noted(seen, kernel, key):
    def run(op, keys, *args):
        seen.append(key)
        return kernel(op, keys, *args)

    return run


def new_mini(seen):
    """A MiniTorch with your pieces, and with operators that note their layers in `seen`."""
    mini = assemble(**pieces)
    clone = mini.pointwise(lambda value: value)
    for name, (kind, has_formula, called) in layered.items():
        kernel = partial(mini.call, called) if called else clone
        formula = (lambda g: (g,)) if has_formula else None
        mini.register(name, kernel, formula, kind=kind)
        kernels = mini.Dispatcher.kernels[name]
        kernels.update({key: noted(seen, it, key.name) for key, it in kernels.items()})
    return mini


def mini_modes(mini, seen):
    def logged():
        stack = ExitStack()
        stack.enter_context(mini.log_mode())
        fallbacks = mini.Dispatcher.fallbacks
        fallbacks[mini.Key.Python] = noted(seen, fallbacks[mini.Key.Python], "Python")
        return stack

    return {
        "no_grad": lambda: mini.grad_mode(False),
        "below autograd": lambda: mini.exclude(mini.Key.Autograd),
        "below views": lambda: mini.exclude(mini.Key.ADInplaceOrView),
        "logged": logged,
    }


def mini_tensor(mini, flag=False, dtype="d"):
    t = mini.new([1, 2], (2,), dtype)
    t.requires_grad = flag
    return t


def mini_layers(name, names, flag):
    seen = []
    mini = new_mini(seen)
    t = mini_tensor(mini, flag)
    try:
        inside(mini_modes(mini, seen), names, lambda: mini.call(name, t))
    except NotImplementedError as refused:
        if not refused.args:  # a piece that is still to be written
            raise
        seen.append("refused")
    return seen


def mini_redispatch(name, names, keys):
    seen = []
    mini = new_mini(seen)
    given = {mini.Key[key] for key in keys}
    run = partial(mini.redispatch, name, given, mini_tensor(mini))
    inside(mini_modes(mini, seen), names, run)
    return {"layers": seen, "keys unchanged": given == {mini.Key[key] for key in keys}}


def key_names(keys):
    return [key.name for key in sorted(keys)] if type(keys) is set else type(keys).__name__


def mini_keys(kind, names):
    mini = new_mini([])
    args = {
        "a float tensor": [mini_tensor(mini)],
        "a leaf": [3, mini_tensor(mini, True)],
        "an int tensor": [mini_tensor(mini, dtype="i"), 2],
        "no tensor": [3, [1]],
    }[kind]
    return inside(mini_modes(mini, []), names, lambda: key_names(mini.keys_of(args)))


def mini_excludes():
    """What is excluded on the way out of three blocks, the innermost of which fails."""
    mini, seen = new_mini([]), []
    autograd, views = mini.Key.Autograd, mini.Key.ADInplaceOrView
    with mini.exclude(autograd):
        with mini.exclude(views, autograd):
            try:
                with mini.exclude(*mini.Key):
                    seen.append(sorted(mini.Dispatcher.excluded))
                    raise ZeroDivisionError
            except ZeroDivisionError:
                seen.append(sorted(mini.Dispatcher.excluded))
        seen.append(sorted(mini.Dispatcher.excluded))
    seen.append(sorted(mini.Dispatcher.excluded))
    return [[key.name for key in keys] for keys in seen]


def mini_refuses(case):
    """Calls for which there is no kernel, or none that may be skipped."""
    mini = new_mini([])
    t, run = mini_tensor(mini), partial(mini.call, "exp")
    if case == "numbers":
        run = partial(mini.call, "add", 1)
        t = 2
    elif case == "no keys":
        run = partial(mini.redispatch, "exp", set())
    elif case == "no backend":
        run = partial(mini.redispatch, "both", {mini.Key.Autograd, mini.Key.ADInplaceOrView})
    elif case == "no kernel":
        del mini.Dispatcher.kernels["exp"][mini.Key.CPU]
    else:  # a layer that neither knows the operator nor lets it by
        del mini.Dispatcher.fallbacks[mini.Key.ADInplaceOrView]
    try:
        return list(run(t))
    except NotImplementedError:
        return "refused, and nothing excluded" if not mini.Dispatcher.excluded else "refused"


def mini_fallbacks(own, *layers):
    """Which kernels run, with which keys, where layers have fallbacks of their own?"""
    mini, seen = new_mini([]), []

    def fallback(op, keys, *args):
        seen.append([op, *key_names(keys)])
        return mini.redispatch(op, keys, *args)

    def kernel(op, keys, *args):
        seen.append(["own", *key_names(keys)])
        return mini.redispatch(op, keys, *args)

    mini.Dispatcher.fallbacks.update({mini.Key[name]: fallback for name in layers})
    if own:
        mini.Dispatcher.kernels["plain"][mini.Key.ADInplaceOrView] = kernel
    mini.call("plain", mini_tensor(mini))
    return seen


def mini_node(name):
    """The node behind a result whose kernel calls other operators, and the mode's log."""
    mini = new_mini([])
    formula = (lambda g: (g,)) if name == "recorded" else None
    mini.register("square_exp", lambda t: mini.call("exp", mini.call("mul", t, t)), formula)
    with mini.log_mode() as log:
        out = mini.call("square_exp", mini_tensor(mini, True))
    edges = [edge.node.name for edge in out.grad_fn.edges] if out.grad_fn else None
    return {"node": out.grad_fn and out.grad_fn.name, "edges": edges, "log": log}


def random_program(seed, start, operator, mode):
    """Operators on tensors of the same sizes, some of them not recorded."""
    random, tensors = Random(seed), [start]
    for _ in range(6):
        name = random.choice(("add", "mul", "mul", "exp"))
        picked = [random.choice(tensors) for _ in range(1 + (name != "exp"))]
        with mode(random.random() < 0.8):
            tensors.append(operator(name, *picked))
    return next(t for t in reversed(tensors) if t.requires_grad), tensors[-1]


def mini_program(seed):
    mini = new_mini([])
    start = mini.new([0.1, 0.2], (2,))
    start.requires_grad = True
    with mini.log_mode() as log:
        root, last = random_program(seed, start, mini.call, mini.grad_mode)
        mini.backward(root, mini.new([1, 1], (2,)))
    grad = [round(value, 5) for value in start.grad]
    return {"last": [round(v, 4) for v in last], "grad": grad, "log": counted(log)}


def counted(log):
    """How often each operator ran; which of them copies a gradient differs."""
    names = [name.removesuffix("_") for name in log]
    return {name: names.count(name) for name in ("add", "mul", "exp")}


# --- in torch


def key_set(*names):
    torchs = {"Autograd": "AutogradCPU"}
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.Undefined)
    for name in names:
        key = getattr(torch._C.DispatchKey, torchs.get(name, name))
        keys = keys | torch._C.DispatchKeySet(key)
    return keys


def torch_modes(seen):
    below = torch._C._ExcludeDispatchKeyGuard
    return {
        "no_grad": torch.no_grad,
        "below autograd": torch._C._AutoDispatchBelowAutograd,
        "below views": lambda: below(key_set("ADInplaceOrView")),
        "logged": lambda: Log(lambda _: seen.append("Python")),
    }


def with_twins(seen, run):
    """Call `run` with operators of torch that have the same layers and note them in `seen`."""
    after = {
        "ADInplaceOrView": torch._C._after_ADInplaceOrView_keyset,
        "Autograd": torch._C._after_autograd_keyset,
    }
    library, twins = torch.library.Library("course58", "DEF"), {}

    def compute(called, x):
        seen.append("CPU")
        return twins[called](x) if called else x.clone()

    def go_on(name, key, keys, x):
        seen.append(key)
        autograd = key == "Autograd"
        with torch._C._AutoDispatchBelowAutograd() if autograd else nullcontext():
            return twins[name].redispatch(keys & after[key], x)

    try:
        for name, (*layers, called) in layered.items():
            library.define(f"{name}(Tensor x) -> Tensor")
            library.impl(name, partial(compute, called), "CPU")
            for key, there in zip(after, layers, strict=True):
                if there:
                    library.impl(name, partial(go_on, name, key), key, with_keyset=True)
            twins[name] = getattr(torch.ops.course58, name).default
        return run(twins)
    finally:
        library._destroy()


def torch_layers(name, names, flag):
    seen, t = [], torch.ones(2, requires_grad=flag)
    with_twins(seen, lambda twins: inside(torch_modes(seen), names, lambda: twins[name](t)))
    return seen


def torch_redispatch(name, names, keys):
    seen, t = [], torch.ones(2)

    def run(twins):
        inside(torch_modes(seen), names, lambda: twins[name].redispatch(key_set(*keys), t))

    with_twins(seen, run)
    return {"layers": seen, "keys unchanged": True}


def torch_keys(kind, names):
    t = {
        "a float tensor": torch.ones(2),
        "a leaf": torch.ones(2, requires_grad=True),
        "an int tensor": torch.ones(2, dtype=torch.int64),
        "no tensor": None,
    }[kind]

    def run():
        keys = key_set() if t is None else torch._C._dispatch_keys(t)
        keys = keys | torch._C._dispatch_tls_local_include_set()
        keys = keys - torch._C._dispatch_tls_local_exclude_set()
        ours = {"CPU": "CPU", "Python": "Python", "ADInplaceOrView": "ADInplaceOrView"}
        ours["Autograd"] = "AutogradCPU"
        return [key for key, it in ours.items() if keys.has(getattr(torch._C.DispatchKey, it))]

    return inside(torch_modes([]), names, run)


def torch_excludes():
    outer, middle = ["Autograd"], ["ADInplaceOrView", "Autograd"]
    return [["CPU", "Python", *middle], middle, outer, []]


def torch_refuses(case):
    return "refused, and nothing excluded"


def torch_fallbacks(own, *layers):
    first = [["plain", "CPU", "ADInplaceOrView"]] if "Autograd" in layers else []
    return [*first, ["own" if own else "plain", "CPU"]]


def torch_node(name):
    recorded = name == "recorded"
    return {
        "node": "square_exp" if recorded else None,
        "edges": ["AccumulateGrad"] if recorded else None,
        "log": ["square_exp"],
    }


def torch_program(seed):
    start, log = torch.tensor([0.1, 0.2], dtype=torch.float64, requires_grad=True), []
    operators = {"add": torch.add, "mul": torch.mul, "exp": torch.exp}
    with Log(log.append):
        root, last = random_program(
            seed, start, lambda name, *args: operators[name](*args), torch.set_grad_enabled
        )
        root.backward(torch.ones(2).double())
    grad = [round(value, 5) for value in start.grad.tolist()]
    return {"last": [round(v, 4) for v in last.tolist()], "grad": grad, "log": counted(log)}


in_mini = {
    "program": mini_program,
    "layers": mini_layers,
    "keys": mini_keys,
    "redispatch": mini_redispatch,
    "exclude": mini_excludes,
    "refusal": mini_refuses,
    "fallback": mini_fallbacks,
    "node": mini_node,
}


def run_mini(what, *case):
    return in_mini[what](*case)


def run_torch(what, *case):
    in_torch = {"program": torch_program, "layers": torch_layers, "keys": torch_keys}
    in_torch |= {"redispatch": torch_redispatch, "exclude": torch_excludes}
    in_torch |= {"refusal": torch_refuses, "fallback": torch_fallbacks, "node": torch_node}
    return in_torch[what](*case)


cases = [
    ("layers", name, names, flag)
    for name, names in product(layered, chosen)
    for flag in (False, True)
]
kinds = ("a float tensor", "a leaf", "an int tensor", "no tensor")
cases += [("keys", kind, names) for kind in kinds for names in [(), ("no_grad",), ("below views",)]]
for name, names in product(("plain", "tracked", "recorded", "both"), chosen):
    if "logged" not in names:
        kind, has_formula, _ = layered[name]
        there = ["ADInplaceOrView"] * bool(kind) + ["Autograd"] * has_formula
        cases += [("redispatch", name, names, ("CPU", *there[:n])) for n in range(len(there) + 1)]
both = ("Autograd", "ADInplaceOrView")
cases += [("fallback", False, *both), ("fallback", True, *both)]
cases += [("fallback", False, "ADInplaceOrView"), ("exclude",)]
cases += [("node", "recorded"), ("node", "not recorded")]
cases += [
    ("refusal", one) for one in ("numbers", "no keys", "no backend", "no kernel", "no way by")
]
cases += [("program", seed) for seed in range(25)]
check(
    "5.8",
    run_mini,
    cases,
    torch_says=run_torch,
    by_hand=tuple(pieces.values()),
    allowed=[Dispatcher, Fallthrough, Key, Op, Tensor, record],
)


# %% tags=["5.8", "wrong"]
# A tensor has the key of autograd for you only if it requires a gradient. It always has it: the
# layer runs, and looks at the flag then.
def keys_of(args):
    tensors = [a for a in args if isinstance(a, Tensor)]
    keys = {Key.CPU} if tensors else set()
    keys |= {Key.Autograd} if any(t.requires_grad for t in tensors) else set()
    return (keys | Dispatcher.included) - Dispatcher.excluded


# %% tags=["5.8", "wrong"]
# For a tensor of integers the layer of autograd is left out. No dtype chooses a key.
def keys_of(args):
    tensors = [a for a in args if isinstance(a, Tensor)]
    keys = {Key.CPU} if tensors else set()
    keys |= {Key.Autograd} if any(t.dtype in "fd" for t in tensors) else set()
    return (keys | Dispatcher.included) - Dispatcher.excluded


# %% tags=["5.8", "wrong"]
# You look at the first argument alone. A tensor may stand anywhere among them.
def keys_of(args):
    found = {Key.CPU, Key.Autograd} if isinstance(args[0], Tensor) else set()
    return (found | Dispatcher.included) - Dispatcher.excluded


# %% tags=["5.8", "wrong"]
# The keys do not depend on the arguments. Without a tensor nobody says that the CPU is meant, and
# torch refuses the call.
def keys_of(args):
    return ({Key.CPU, Key.Autograd} | Dispatcher.included) - Dispatcher.excluded


# %% tags=["5.8", "wrong"]
# The included keys are missing: no layer of views, and no mode that logs.
def keys_of(args):
    found = {Key.CPU, Key.Autograd} if any(isinstance(a, Tensor) for a in args) else set()
    return found - Dispatcher.excluded


# %% tags=["5.8", "wrong"]
# A key that is excluded is tried all the same if it is also included. Exclusion comes last.
def keys_of(args):
    found = {Key.CPU, Key.Autograd} if any(isinstance(a, Tensor) for a in args) else set()
    return (found - Dispatcher.excluded) | Dispatcher.included


# %% tags=["5.8", "wrong"]
# Nothing that is excluded is left out.
def keys_of(args):
    found = {Key.CPU, Key.Autograd} if any(isinstance(a, Tensor) for a in args) else set()
    return found | Dispatcher.included


# %% tags=["5.8", "wrong"]
# After an error the keys stay excluded. What has to happen in any case stands under finally.
@contextmanager
def exclude(*keys):
    before = Dispatcher.excluded
    Dispatcher.excluded = before | set(keys)
    yield
    Dispatcher.excluded = before


# %% tags=["5.8", "wrong"]
# Within your block only these keys are excluded, and those from around it are not any more. Add
# them.
@contextmanager
def exclude(*keys):
    before = Dispatcher.excluded
    Dispatcher.excluded = frozenset(keys)
    try:
        yield
    finally:
        Dispatcher.excluded = before


# %% tags=["5.8", "wrong"]
# After your block the keys are no longer excluded, also those that were excluded before it. Put
# back what was there.
@contextmanager
def exclude(*keys):
    Dispatcher.excluded |= set(keys)
    try:
        yield
    finally:
        Dispatcher.excluded -= set(keys)


# %% tags=["5.8", "wrong"]
# The lowest key comes first in your redispatch: the CPU computes, and nobody else gets a say. The
# highest one comes first.
def redispatch(op, keys, *args):
    for key in sorted(keys):
        kernel = Dispatcher.kernels[op].get(key) or Dispatcher.fallbacks.get(key)
        if kernel is None:
            break
        if kernel is not Fallthrough:
            return kernel(op, {below for below in keys if below < key}, *args)
    raise NotImplementedError(f"No kernel of {op} takes a call with the keys {sorted(keys)}.")


# %% tags=["5.8", "wrong"]
# A layer that lets a call by ends it. After a Fallthrough the next key below is tried.
def redispatch(op, keys, *args):
    for key in sorted(keys, reverse=True):
        kernel = Dispatcher.kernels[op].get(key) or Dispatcher.fallbacks.get(key)
        if kernel is None or kernel is Fallthrough:
            break
        if kernel:
            return kernel(op, {below for below in keys if below < key}, *args)
    raise NotImplementedError(f"No kernel of {op} takes a call with the keys {sorted(keys)}.")


# %% tags=["5.8", "wrong"]
# The fallback comes before the operator's own kernel. It is there for operators that have none.
def redispatch(op, keys, *args):
    for key in sorted(keys, reverse=True):
        kernel = Dispatcher.fallbacks.get(key) or Dispatcher.kernels[op].get(key)
        if kernel is None:
            break
        if kernel is not Fallthrough:
            return kernel(op, {below for below in keys if below < key}, *args)
    raise NotImplementedError(f"No kernel of {op} takes a call with the keys {sorted(keys)}.")


# %% tags=["5.8", "wrong"]
# No fallback is asked. A mode that logs is one: it has a kernel for no operator, and sees all of
# them.
def redispatch(op, keys, *args):
    for key in sorted(keys, reverse=True):
        kernel = Dispatcher.kernels[op].get(key)
        if kernel is None:
            continue
        if kernel is not Fallthrough:
            return kernel(op, {below for below in keys if below < key}, *args)
    raise NotImplementedError(f"No kernel of {op} takes a call with the keys {sorted(keys)}.")


# %% tags=["5.8", "wrong"]
# Where neither a kernel nor a fallback is, you go on. Only a Fallthrough lets a call by: here it is
# refused.
def redispatch(op, keys, *args):
    for key in sorted(keys, reverse=True):
        kernel = Dispatcher.kernels[op].get(key) or Dispatcher.fallbacks.get(key)
        if kernel is None:
            continue
        if kernel is not Fallthrough:
            return kernel(op, {below for below in keys if below < key}, *args)
    raise NotImplementedError(f"No kernel of {op} takes a call with the keys {sorted(keys)}.")


# %% tags=["5.8", "wrong"]
# The kernel is given the keys above its own again, those that let the call by. It gets the ones
# below.
def redispatch(op, keys, *args):
    for key in sorted(keys, reverse=True):
        kernel = Dispatcher.kernels[op].get(key) or Dispatcher.fallbacks.get(key)
        if kernel is None:
            break
        if kernel is not Fallthrough:
            return kernel(op, keys - {key}, *args)
    raise NotImplementedError(f"No kernel of {op} takes a call with the keys {sorted(keys)}.")


# %% tags=["5.8", "wrong"]
# The kernel gets no keys but that of the CPU, so every layer between is passed over.
def redispatch(op, keys, *args):
    for key in sorted(keys, reverse=True):
        kernel = Dispatcher.kernels[op].get(key) or Dispatcher.fallbacks.get(key)
        if kernel is None:
            break
        if kernel is not Fallthrough:
            return kernel(op, {Key.CPU}, *args)
    raise NotImplementedError(f"No kernel of {op} takes a call with the keys {sorted(keys)}.")


# %% tags=["5.8", "wrong"]
# redispatch works the keys out anew, from arguments and modes. So what a layer has taken out may
# come back, and what a caller asks for may be lost. It takes the keys that it is given.
def redispatch(op, keys, *args):
    keys = keys_of(args) & set(keys)
    for key in sorted(keys, reverse=True):
        kernel = Dispatcher.kernels[op].get(key) or Dispatcher.fallbacks.get(key)
        if kernel is None:
            break
        if kernel is not Fallthrough:
            return kernel(op, {below for below in keys if below < key}, *args)
    raise NotImplementedError(f"No kernel of {op} takes a call with the keys {sorted(keys)}.")


# %% tags=["5.8", "wrong"]
# Autograd is not excluded while the keys below compute. A kernel that calls operators has each of
# them recorded as well.
def register(name, kernel, formula=None, saves="", kind=""):
    def compute(op, keys, *args):
        return kernel(*args)

    def autograd(op, keys, *args):
        out = redispatch(op, keys, *args)
        record(Dispatcher.ops[name], out, args)
        return out

    Dispatcher.ops[name] = Op(name, kernel, formula, saves, kind)
    kernels = Dispatcher.kernels[name] = {Key.CPU: compute}
    if formula is not None:
        kernels[Key.Autograd] = autograd
    if kind:
        kernels[Key.ADInplaceOrView] = redispatch


# %% tags=["5.8", "wrong"]
# The layer of autograd computes with the kernel itself, so the layers between are never asked. Let
# the keys below compute.
def register(name, kernel, formula=None, saves="", kind=""):
    def compute(op, keys, *args):
        return kernel(*args)

    def autograd(op, keys, *args):
        with exclude(Key.Autograd):
            out = kernel(*args)
        record(Dispatcher.ops[name], out, args)
        return out

    Dispatcher.ops[name] = Op(name, kernel, formula, saves, kind)
    kernels = Dispatcher.kernels[name] = {Key.CPU: compute}
    if formula is not None:
        kernels[Key.Autograd] = autograd
    if kind:
        kernels[Key.ADInplaceOrView] = redispatch


# %% tags=["5.8", "wrong"]
# Nothing is recorded.
def register(name, kernel, formula=None, saves="", kind=""):
    def compute(op, keys, *args):
        return kernel(*args)

    def autograd(op, keys, *args):
        with exclude(Key.Autograd):
            out = redispatch(op, keys, *args)
        return out

    Dispatcher.ops[name] = Op(name, kernel, formula, saves, kind)
    kernels = Dispatcher.kernels[name] = {Key.CPU: compute}
    if formula is not None:
        kernels[Key.Autograd] = autograd
    if kind:
        kernels[Key.ADInplaceOrView] = redispatch


# %% tags=["5.8", "wrong"]
# An operator without a formula is recorded as well. Autograd lets it by: no kernel there.
def register(name, kernel, formula=None, saves="", kind=""):
    def compute(op, keys, *args):
        return kernel(*args)

    def autograd(op, keys, *args):
        with exclude(Key.Autograd):
            out = redispatch(op, keys, *args)
        record(Dispatcher.ops[name], out, args)
        return out

    Dispatcher.ops[name] = Op(name, kernel, formula, saves, kind)
    kernels = Dispatcher.kernels[name] = {Key.CPU: compute}
    kernels[Key.Autograd] = autograd
    if kind:
        kernels[Key.ADInplaceOrView] = redispatch


# %% tags=["5.8", "wrong"]
# Operators that view or write have no kernel at ADInplaceOrView.
def register(name, kernel, formula=None, saves="", kind=""):
    def compute(op, keys, *args):
        return kernel(*args)

    def autograd(op, keys, *args):
        with exclude(Key.Autograd):
            out = redispatch(op, keys, *args)
        record(Dispatcher.ops[name], out, args)
        return out

    Dispatcher.ops[name] = Op(name, kernel, formula, saves, kind)
    kernels = Dispatcher.kernels[name] = {Key.CPU: compute}
    if formula is not None:
        kernels[Key.Autograd] = autograd


# %% tags=["5.8", "wrong"]
# Every operator has a kernel at ADInplaceOrView. Only those that view or write need one; the
# fallback lets the others by.
def register(name, kernel, formula=None, saves="", kind=""):
    def compute(op, keys, *args):
        return kernel(*args)

    def autograd(op, keys, *args):
        with exclude(Key.Autograd):
            out = redispatch(op, keys, *args)
        record(Dispatcher.ops[name], out, args)
        return out

    Dispatcher.ops[name] = Op(name, kernel, formula, saves, kind)
    kernels = Dispatcher.kernels[name] = {Key.CPU: compute}
    if formula is not None:
        kernels[Key.Autograd] = autograd
    kernels[Key.ADInplaceOrView] = redispatch


# %% tags=["5.8", "wrong"]
# call runs the operator's kernel at once. No layer is asked, so nothing is recorded and no mode
# sees it.
def call(op, *args):
    return Dispatcher.ops[op].kernel(*args)


# %% tags=["5.8", "wrong"]
# call goes through every layer for which the operator has a kernel, whatever arguments and modes
# say.
def call(op, *args):
    return redispatch(op, set(Dispatcher.kernels[op]), *args)


# %% [markdown] tags=["5.8", "hint"]
# Begin with `keys_of`, one set in three steps, and with `exclude`: remember what is excluded, set
# the new frozenset, `yield` in a `try`, and put the old one back under `finally`.

# %% [markdown] tags=["5.8", "hint"]
# In `redispatch`, walk over `sorted(keys, reverse=True)`. At each key there are three outcomes:
# nothing is there, a `Fallthrough`, or a kernel. The kernel gets `{k for k in keys if k < key}`.

# %% [markdown] tags=["5.8", "hint"]
# `register` defines one function for each layer that the operator needs, and puts it into
# `Dispatcher.kernels[name]`. That of autograd redispatches with the keys that it is given, inside
# `exclude(Key.Autograd)`, and calls `record` with the `Op` after that. That of views is
# `redispatch` itself.

# %% [markdown] tags=["5.8", "afterword"]
# Neither `call` nor `redispatch` knows anything of gradients, views or modes: each is a key with
# kernels, and a new one needs no change in either. So autocast, vmap and devices of other makers
# came into torch.
