# %% [markdown]
# # Exercises 3 · The dynamic graph
#
# Each exercise has a cell for your answer and, folded away below it, a cell that checks it. Run
# both. A check knows three outcomes: not attempted, not yet, right. Where it recognises a mistake,
# it says which.
#
# - `hint("3.2")` in a cell of your own helps in three steps: each run shows one hint more.
# - `progress()` shows how far you are.
# - `python course.py reset 3.2`, typed in a terminal in the course's folder, puts the stub of an
#   exercise back and keeps your old notebook.
#
# *Core* exercises take about an hour together, *extra* ones come on top. In a *complete* exercise
# you write a function, in a *repair* you mend what is given, and in a *build* you write a piece of
# a small torch of your own. Where an exercise asks for a rule, answer in plain Python: no torch, no
# `insidetorch`, no NumPy.

# %%
import torch

from insidetorch import check, hint, progress

# %% tags=["3.1", "about"]
title = "Where the gradient can go"
kind = "complete"
core = False
difficulty = 2
minutes = 14
points = 3

# %% [markdown] tags=["3.1", "statement"]
# Walk the graph behind a tensor. `walk(root, leaf)` starts at the node `root.grad_fn` and returns
# two things:
#
# - the leaves that gradients of `root` reach, as a list of tensors, each once. Nearer ones come
#   first; among equally near ones, in the order of the edges;
# - the shortest way to `leaf`, as a list of node names from that of `root.grad_fn` on to the last
#   one, or None if no way leads there. Of several shortest ways, the one that is found first in the
#   same order.
#
# A node has a name, `node.name()`, and edges: the pairs (node, number) in `node.next_functions`,
# where the node is None if nobody needs that gradient. The node at the end of a way is an
# AccumulateGrad; it has no edges, and it alone has an attribute `variable`, its leaf. A tensor
# without history has the `grad_fn` None: no leaf is reached from there.
#
# **Done when** both are right for shared nodes, for data without gradient, for a leaf that is not
# reached, and for a chain of 10,000 nodes. Use only what nodes and tensors offer.

# %% tags=["3.1", "setup"]
from collections import deque


# %% tags=["3.1", "answer"]
def walk(root, leaf):
    ### BEGIN SOLUTION
    leaves, path = [], None
    came_from, waiting = {root.grad_fn: None}, deque([root.grad_fn] if root.grad_fn else [])
    while waiting:
        node = waiting.popleft()
        if hasattr(node, "variable"):
            leaves.append(node.variable)
            if node.variable is leaf:
                step, path = node, []
                while step is not None:
                    path.insert(0, step.name())
                    step = came_from[step]
        for following, _ in node.next_functions:
            if following is not None and following not in came_from:
                came_from[following] = node
                waiting.append(following)
    return leaves, path

    ### END SOLUTION


# %% tags=["3.1", "check"]
from itertools import groupby


def model_of(name):
    """A root, and its leaves by name."""
    leaves = {key: torch.tensor(2.0, requires_grad=True) for key in "abcd"}
    a, b, c, d = leaves.values()
    data = torch.tensor(3.0)
    chain, middle = a, a.exp()
    for _ in range(10_000 if name == "a chain" else 0):
        chain = chain + 1
    roots = {
        "a skip connection": (a * b + b).sin(),
        "four factors": (a * b) * (c * d),
        "data": ((data * a) * data).exp() * b,
        "a shared node": middle.exp().exp() * middle,
        "twice the same": (a * a) + a.exp(),
        "a cut": (a.detach() * b).exp(),
        "no history": (a * b).detach(),
        "a chain": chain,
    }
    return roots[name], leaves


def seen_of(name, wanted):
    root, leaves = model_of(name)
    reached, path = walk(root, leaves[wanted])
    named = ["".join(key for key in leaves if leaves[key] is leaf) for leaf in reached]
    # A way of 10,000 equal names is told as one name and their number.
    runs = path and [[node, len(list(same))] for node, same in groupby(path)]
    return {"leaves": named, "way": runs}


def torch_has(name, wanted):
    end = ["torch::autograd::AccumulateGrad", 1]
    sin, add, mul, exp = ([f"{op}Backward0", 1] for op in ("Sin", "Add", "Mul", "Exp"))
    leaves, way = {
        ("a skip connection", "a"): ("ba", [sin, add, mul, end]),
        ("a skip connection", "b"): ("ba", [sin, add, end]),
        ("four factors", "a"): ("abcd", [["MulBackward0", 2], end]),
        ("four factors", "d"): ("abcd", [["MulBackward0", 2], end]),
        ("data", "a"): ("ba", [mul, exp, ["MulBackward0", 2], end]),
        ("a shared node", "a"): ("a", [mul, exp, end]),
        ("twice the same", "a"): ("a", [add, mul, end]),
        ("a cut", "a"): ("b", None),
        ("a cut", "b"): ("b", [exp, mul, end]),
        ("no history", "a"): ("", None),
        ("a chain", "a"): ("a", [["AddBackward0", 10_000], end]),
    }[name, wanted]
    return {"leaves": list(leaves), "way": way}


asked = [("a skip connection", "a"), ("a skip connection", "b"), ("four factors", "a")]
asked += [("four factors", "d"), ("data", "a"), ("a shared node", "a"), ("twice the same", "a")]
asked += [("a cut", "a"), ("a cut", "b"), ("no history", "a"), ("a chain", "a")]
check("3.1", seen_of, asked, torch_says=torch_has, by_hand=walk)


# %% tags=["3.1", "wrong"]
# You go to the end of one way before you look at the next one. So leaves that are far away come
# first, and the way found first need not be the shortest. Take the node that has waited longest.
def walk(root, leaf):
    leaves, path = [], None
    came_from, waiting = {root.grad_fn: None}, [root.grad_fn] if root.grad_fn else []
    while waiting:
        node = waiting.pop()
        if hasattr(node, "variable"):
            leaves.append(node.variable)
            if node.variable is leaf:
                step, path = node, []
                while step is not None:
                    path.insert(0, step.name())
                    step = came_from[step]
        for following, _ in reversed(node.next_functions):
            if following is not None and following not in came_from:
                came_from[following] = node
                waiting.append(following)
    return leaves, path


# %% tags=["3.1", "wrong"]
# You take nodes of one name for one node. A graph has many MulBackward0: keep the nodes themselves.
def walk(root, leaf):
    leaves, path, names = [], None, set()
    came_from, waiting = {root.grad_fn: None}, deque([root.grad_fn] if root.grad_fn else [])
    while waiting:
        node = waiting.popleft()
        if hasattr(node, "variable"):
            leaves.append(node.variable)
            if node.variable is leaf:
                step, path = node, []
                while step is not None:
                    path.insert(0, step.name())
                    step = came_from[step]
        for following, _ in node.next_functions:
            if following is not None and following.name() not in names:
                names.add(following.name())
                came_from[following] = node
                waiting.append(following)
    return leaves, path


# %% tags=["3.1", "wrong"]
# A node that several edges lead to is visited once for each of them, so its leaves come several
# times. Remember which nodes you have met.
def walk(root, leaf):
    leaves, path = [], None
    came_from, waiting = {root.grad_fn: None}, deque([root.grad_fn] if root.grad_fn else [])
    while waiting:
        node = waiting.popleft()
        if hasattr(node, "variable"):
            leaves.append(node.variable)
            if node.variable is leaf:
                step, path = node, []
                while step is not None:
                    path.insert(0, step.name())
                    step = came_from[step]
        for following, _ in node.next_functions:
            if following is not None:
                came_from.setdefault(following, node)
                waiting.append(following)
    return leaves, path


# %% tags=["3.1", "wrong"]
# Where a node has been reached already, you let it come from the later one. The first way that
# reached it is the shortest: keep that.
def walk(root, leaf):
    leaves, found = [], None
    came_from, waiting = {root.grad_fn: None}, deque([root.grad_fn] if root.grad_fn else [])
    while waiting:
        node = waiting.popleft()
        if hasattr(node, "variable"):
            leaves.append(node.variable)
            found = node if node.variable is leaf else found
        for following, _ in node.next_functions:
            if following is not None and following not in came_from:
                waiting.append(following)
            if following is not None:
                came_from[following] = node
    path = [] if found else None
    while found is not None:
        path.insert(0, found.name())
        found = came_from[found]
    return leaves, path


# %% tags=["3.1", "wrong"]
# You stop at the leaf that was asked for. The leaves behind it are reached as well.
def walk(root, leaf):
    leaves, path = [], None
    came_from, waiting = {root.grad_fn: None}, deque([root.grad_fn] if root.grad_fn else [])
    while waiting and path is None:
        node = waiting.popleft()
        if hasattr(node, "variable"):
            leaves.append(node.variable)
            if node.variable is leaf:
                step, path = node, []
                while step is not None:
                    path.insert(0, step.name())
                    step = came_from[step]
        for following, _ in node.next_functions:
            if following is not None and following not in came_from:
                came_from[following] = node
                waiting.append(following)
    return leaves, path


# %% [markdown] tags=["3.1", "hint"]
# A function that calls itself for each edge ends with a RecursionError on a long chain. Keep a
# queue of nodes that wait, and a loop that takes the first of them.

# %% [markdown] tags=["3.1", "hint"]
# Keep a dict from each node met to the node that it was first reached from. It tells what has been
# met, and it leads back from a leaf to the root.

# %% [markdown] tags=["3.1", "hint"]
# `deque([root.grad_fn])`, then `popleft()` in a loop. A node with `hasattr(node, "variable")` is
# the end of a way: follow the dict from it back to the root, and turn the names round.

# %% [markdown] tags=["3.1", "afterword"]
# This is the first thing to do when a gradient is None: ask whether a way leads to the leaf at all.
# `show(graph_of(loss))` draws all the ways.

# %% tags=["3.2", "about"]
title = "Does the result require a gradient?"
kind = "complete"
core = True
difficulty = 2
minutes = 9
points = 2

# %% [markdown] tags=["3.2", "statement"]
# One operator runs under some modes. Does its result require a gradient? Return True or False.
#
# - `op` is a key of `operators` below. All inputs are float32 tensors.
# - `flags` says of each input whether it requires a gradient, such as `(True, False)`;
#   `()` is an operator without inputs.
# - `modes` are the contexts around the operator, the outermost first, such as
#   `("no_grad", "enable_grad")`; `()` is none at all. There are `"no_grad"`, `"enable_grad"`,
#   `"inference_mode"` and `"set_grad_enabled(False)"`.
#
# **Done when** you agree with torch for every operator, all flags, and up to two modes.

# %% tags=["3.2", "setup"]
operators = {
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "greater": lambda x, y: x > y,
    "sum": lambda x: x.sum(),
    "argmax": lambda x: x.argmax(),
    "round": lambda x: x.round(),
    "clone": lambda x: x.clone(),
    "detach": lambda x: x.detach(),
    "to int64": lambda x: x.to(torch.int64),
    "to float64": lambda x: x.to(torch.float64),
    "mask as float": lambda x: (x > 0).float(),
    "zeros_like": lambda x: torch.zeros_like(x),
    "Parameter": lambda x: torch.nn.Parameter(x),
    "zeros that require": lambda: torch.zeros(2, requires_grad=True),
}


# %% tags=["3.2", "answer"]
def needs_grad(op, flags, modes):
    ### BEGIN SOLUTION
    if op in ("Parameter", "zeros that require"):
        return True
    if op in ("greater", "argmax", "detach", "to int64", "mask as float", "zeros_like"):
        return False
    if "inference_mode" in modes or (modes and modes[-1] != "enable_grad"):
        return False
    return any(flags)
    ### END SOLUTION


# %% tags=["3.2", "check"]
from contextlib import ExitStack
from itertools import product

contexts = {
    "no_grad": torch.no_grad,
    "enable_grad": torch.enable_grad,
    "inference_mode": torch.inference_mode,
    "set_grad_enabled(False)": lambda: torch.set_grad_enabled(False),
}
around = [modes for length in range(3) for modes in product(contexts, repeat=length)]
inputs = {op: fn.__code__.co_argcount for op, fn in operators.items()}
cases = [
    (op, flags, modes)
    for op in operators
    for flags in product((False, True), repeat=inputs[op])
    for modes in around
]


def torch_requires(op, flags, modes):
    tensors = [torch.tensor([1.0, 2.0], requires_grad=flag) for flag in flags]
    with ExitStack() as stack:
        for mode in modes:
            stack.enter_context(contexts[mode]())
        return operators[op](*tensors).requires_grad


check("3.2", needs_grad, cases, torch_says=torch_requires, by_hand=needs_grad)


# %% tags=["3.2", "wrong"]
# You let every operator hand the flag on. A comparison, an index and an integer have no
# derivative, and so no history, whatever the inputs require.
def needs_grad(op, flags, modes):
    if op in ("Parameter", "zeros that require"):
        return True
    if "inference_mode" in modes or (modes and modes[-1] != "enable_grad"):
        return False
    return op != "detach" and any(flags)


# %% tags=["3.2", "wrong"]
# round() is taken for a cut. It hands a gradient on, which is zero everywhere: the weight gets
# zeros, not None.
def needs_grad(op, flags, modes):
    if op in ("Parameter", "zeros that require"):
        return True
    if op in ("greater", "argmax", "round", "detach", "to int64", "mask as float", "zeros_like"):
        return False
    if "inference_mode" in modes or (modes and modes[-1] != "enable_grad"):
        return False
    return any(flags)


# %% tags=["3.2", "wrong"]
# You let the modes speak for new leaves too. They decide whether an operator is recorded; a
# Parameter, and what is made with requires_grad=True, requires a gradient under any of them.
def needs_grad(op, flags, modes):
    if "inference_mode" in modes or (modes and modes[-1] != "enable_grad"):
        return False
    if op in ("Parameter", "zeros that require"):
        return True
    if op in ("greater", "argmax", "detach", "to int64", "mask as float", "zeros_like"):
        return False
    return any(flags)


# %% tags=["3.2", "wrong"]
# One no_grad anywhere outside is enough for you. The innermost mode decides: enable_grad inside
# no_grad records again.
def needs_grad(op, flags, modes):
    if op in ("Parameter", "zeros that require"):
        return True
    if op in ("greater", "argmax", "detach", "to int64", "mask as float", "zeros_like"):
        return False
    return any(flags) and all(mode == "enable_grad" for mode in modes)


# %% tags=["3.2", "wrong"]
# You let enable_grad switch recording on inside inference_mode. There it stays off: what is made
# in inference_mode is no part of any graph.
def needs_grad(op, flags, modes):
    if op in ("Parameter", "zeros that require"):
        return True
    if op in ("greater", "argmax", "detach", "to int64", "mask as float", "zeros_like"):
        return False
    return any(flags) and (not modes or modes[-1] == "enable_grad")


# %% tags=["3.2", "wrong"]
# You ask for a gradient that all inputs require. One is enough: that of the weight, where the data
# have none.
def needs_grad(op, flags, modes):
    if op in ("Parameter", "zeros that require"):
        return True
    if op in ("greater", "argmax", "detach", "to int64", "mask as float", "zeros_like"):
        return False
    if "inference_mode" in modes or (modes and modes[-1] != "enable_grad"):
        return False
    return all(flags)


# %% tags=["3.2", "wrong"]
# clone() is taken for a cut. It copies the memory and stays in the graph; detach() leaves the
# graph and keeps the memory.
def needs_grad(op, flags, modes):
    if op in ("Parameter", "zeros that require"):
        return True
    never = ("greater", "argmax", "clone", "detach", "to int64", "mask as float", "zeros_like")
    if op in never or "inference_mode" in modes or (modes and modes[-1] != "enable_grad"):
        return False
    return any(flags)


# %% [markdown] tags=["3.2", "hint"]
# Three kinds of operators: those that never give a result with history, those that make a new leaf,
# and the rest. Sort the keys of `operators` first.

# %% [markdown] tags=["3.2", "hint"]
# For the rest the inputs and the modes decide. Which of two nested modes counts, and which mode
# cannot be undone from inside?

# %% [markdown] tags=["3.2", "hint"]
# New leaves: always True. Comparison, argmax, detach, integers, masks, `zeros_like`: False. Else
# `any(flags)`, if no mode is `inference_mode` and the last one, if any, is `enable_grad`.

# %% [markdown] tags=["3.2", "afterword"]
# Two of these are the usual reasons for a gradient of None in a loss: a comparison in a mask that
# should have been a soft weight, and an argmax where a softmax was meant. `RequiresGradTable()`
# shows all rows at once.

# %% tags=["3.3", "about"]
title = "Three cut gradients"
kind = "repair"
core = True
difficulty = 2
minutes = 13
points = 3

# %% [markdown] tags=["3.3", "statement"]
# Three losses have the right value and lose a gradient. In each of them another cut is meant and
# must stay.
#
# - `policy_loss` compares new log-probabilities with old ones, weighted by how much better the
#   returns are than the critic's values. The gradient belongs to `new` alone: `old` and `values`
#   must get none.
# - `weighted_loss` adds up the losses of several tasks, each one weighted by its share. Every loss
#   gets its weight as gradient: the weights count as constants.
# - In the two files of `files`, `step` trains a student to say what a teacher says. The student's
#   encoder gets no gradient. Find the line: `culprit = ("trainer.py", 3)` would be the third line
#   of that file, counted from 1. `repaired_line` is what should stand there instead, with its
#   indentation; `""` leaves the line empty.
#
# **Done when** the gradients are right for `new`, for every loss, and for all of the student; those
# of `old`, `values` and the teacher stay None; and no value changes.

# %% tags=["3.3", "setup"]
files = {
    "trainer.py": """\
from pooling import mean_of_tokens


def step(student, teacher, x, mask):
    pooled = mean_of_tokens(student.encoder(x), mask)
    target = teacher(mean_of_tokens(x, mask)).detach()
    loss = (student.head(pooled) - target).pow(2).mean()
    loss.backward()
    return loss.item()
""",
    "pooling.py": """\
import torch


@torch.no_grad()
def mean_of_tokens(x, mask):
    mask = mask.unsqueeze(-1)
    return (x * mask).sum(1) / mask.sum(1)
""",
}


# %% tags=["3.3", "answer"]
def policy_loss(new, old, returns, values):
    ### BEGIN SOLUTION
    advantages = (returns - values).detach()
    ratio = (new - old.detach()).exp()
    return -torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
    ### END SOLUTION


def weighted_loss(losses):
    ### BEGIN SOLUTION
    losses = torch.stack(losses)
    weights = (losses / losses.sum()).detach()
    return (weights * losses).sum()
    ### END SOLUTION


culprit = ("pooling.py", 4)
repaired_line = ""


# %% tags=["3.3", "given"]
def policy_loss(new, old, returns, values):
    advantages = (returns - values).detach()
    ratio = (new - old).exp().detach()
    return -torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()


def weighted_loss(losses):
    losses = torch.tensor(losses)
    weights = (losses / losses.sum()).detach()
    return (weights * losses).sum()


culprit = None
repaired_line = None

# %% tags=["3.3", "check"]
import importlib
import sys
import tempfile
from pathlib import Path


def told(loss, tensors):
    """A loss, and the gradient of each tensor by name."""
    grads = {f"gradient of {name}": t.grad for name, t in tensors.items()}
    return {"loss": loss, **{name: g if g is None else g.tolist() for name, g in grads.items()}}


def gradients(loss, **tensors):
    if loss.requires_grad:
        loss.backward()
    return told(loss.item(), tensors)


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def look_at_policy(new, old, returns, values):
    new, old, values = leaf(*new), leaf(*old), leaf(*values)
    loss = policy_loss(new, old, torch.tensor(returns), values)
    return gradients(loss, new=new, old=old, values=values)


def look_at_weighted(*losses):
    leaves = [torch.tensor(loss, requires_grad=True) for loss in losses]
    named = dict(zip(("first", "second", "third"), leaves, strict=False))
    return gradients(weighted_loss(leaves), **named)


def repaired(name):
    """The text of a file, with the learner's line in it."""
    lines = files[name].splitlines()
    if culprit is not None and culprit[0] == name and culprit[1] >= 1:
        lines[culprit[1] - 1] = repaired_line or ""
    return "\n".join(lines) + "\n"


def imported(folder):
    """trainer.py from this folder, imported and forgotten again."""
    before = {name: sys.modules.pop(name, None) for name in ("trainer", "pooling")}
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    try:
        return importlib.import_module("trainer")
    finally:
        sys.path.remove(folder)
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


def linear(*rows):
    layer = torch.nn.Linear(2, len(rows), bias=False)
    layer.weight.data = torch.tensor(rows)
    return layer


def look_at_step(tokens, mask):
    with tempfile.TemporaryDirectory() as folder:
        for name in files:
            Path(folder, name).write_text(repaired(name), encoding="utf-8")
        trainer = imported(folder)
    student = torch.nn.Module()
    student.encoder, student.head = linear([1.0, 0.0], [0.0, 2.0]), linear([1.0, -1.0])
    teacher = linear([1.0, 1.0])
    loss = trainer.step(student, teacher, torch.tensor([tokens]), torch.tensor([mask]))
    parts = {"encoder": student.encoder, "head": student.head, "teacher": teacher}
    return told(loss, {name: part.weight for name, part in parts.items()})


looks = {"policy_loss": look_at_policy, "weighted_loss": look_at_weighted, "step": look_at_step}


def look(which, *numbers):
    return looks[which](*numbers)


cases = [
    ("policy_loss", (0.0, 0.5, 0.1), (0.0, 0.0, 0.0), (3.0, 2.0, 2.0), (1.0, 1.0, 5.0)),
    ("policy_loss", (-0.5, 0.0, 0.2), (0.0, 0.5, 0.1), (3.0, 2.0, 2.0), (1.0, 4.0, 0.0)),
    ("weighted_loss", 1.0, 3.0),
    ("weighted_loss", 5.0, 1.0, 2.0),
    ("step", ((1.0, 2.0), (3.0, 0.0), (9.0, 9.0)), (1.0, 1.0, 0.0)),
    ("step", ((0.0, 2.0), (9.0, 9.0)), (1.0, 0.0)),
]


def right_numbers(*case):
    names = {
        "policy_loss": ("new", "old", "values"),
        "weighted_loss": ("first", "second", "third"),
        "step": ("encoder", "head", "teacher"),
    }
    loss, *grads = [
        (0.0385, [-0.6667, 0.0, 1.105], None, None),
        (-0.6078, [-0.4044, 0.0, -0.7368], None, None),
        (2.5, 0.25, 0.75),
        (3.75, 0.625, 0.125, 0.25),
        (9.0, [[-12.0, -6.0], [12.0, 6.0]], [[-12.0, -12.0]], None),
        (36.0, [[0.0, -24.0], [0.0, 24.0]], [[0.0, -48.0]], None),
    ][cases.index(case)]
    pairs = zip(names[case[0]], grads, strict=False)
    return {"loss": loss, **{f"gradient of {name}": grad for name, grad in pairs}}


check("3.3", look, cases, torch_says=right_numbers)


# %% tags=["3.3", "wrong"]
# In policy_loss the detach is gone, and now the old log-probabilities get a gradient as well. It
# was only at the wrong place: it belongs to `old`.
def policy_loss(new, old, returns, values):
    advantages = (returns - values).detach()
    ratio = (new - old).exp()
    return -torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()


# %% tags=["3.3", "wrong"]
# In policy_loss the critic's values now get a gradient from the policy. That detach was meant: the
# critic learns from its own loss.
def policy_loss(new, old, returns, values):
    advantages = returns - values
    ratio = (new - old.detach()).exp()
    return -torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()


# %% tags=["3.3", "wrong"]
# In weighted_loss, requires_grad=True only silences the error of backward. torch.tensor makes a new
# leaf with the values of the losses, and the gradient ends there. Join the losses with torch.stack.
def weighted_loss(losses):
    losses = torch.tensor(losses, requires_grad=True)
    weights = (losses / losses.sum()).detach()
    return (weights * losses).sum()


# %% tags=["3.3", "wrong"]
# In weighted_loss the weights now have history too, so each loss gets more than its weight. That
# detach was meant.
def weighted_loss(losses):
    losses = torch.stack(losses)
    weights = losses / losses.sum()
    return (weights * losses).sum()


# %% tags=["3.3", "wrong"]
# In the files you took away a cut that was meant: the teacher gets a gradient, and the student's
# encoder still gets none.
culprit = ("trainer.py", 6)
repaired_line = "    target = teacher(mean_of_tokens(x, mask))"


# %% tags=["3.3", "wrong"]
# Both functions are right. In the files the student's encoder still gets no gradient: the line that
# cuts it still stands there.
culprit = None
repaired_line = None


# %% [markdown] tags=["3.3", "hint"]
# For each loss, follow the value from the tensor that should get a gradient to the loss. Where on
# that way does `requires_grad` become False?

# %% [markdown] tags=["3.3", "hint"]
# What is detached should be what counts as a constant: `old`, not the whole ratio. And which call
# makes one tensor from several ones and keeps their history?

# %% [markdown] tags=["3.3", "hint"]
# `old.detach()` in the ratio, `torch.stack(losses)`, and a decorator in `pooling.py` that was
# written for evaluation and is used in training.

# %% [markdown] tags=["3.3", "afterword"]
# A cut raises no error as long as another gradient is there, as that of `head`: the loss goes down
# and the encoder never learns. A decorator is the hardest to see, since it stands in another file.

# %% tags=["3.4", "about"]
title = "Gradients of what lies between"
kind = "complete"
core = False
difficulty = 3
minutes = 14
points = 3

# %% [markdown] tags=["3.4", "statement"]
# `activation_gradients(model, x, loss_fn)` runs `loss_fn(model(x))` and returns, for each layer of
# `model.named_children()` that has run, the gradient of the loss with respect to what this layer
# returned, as a dict from its name to a tensor. In an output that a later layer overwrites in
# place, the gradient is that of the values which the layer itself returned.
#
# Nothing of it is left behind: no `.grad` of the model's parameters is changed, and no hook stays,
# not even if `loss_fn` raises an error.
#
# **Done when** this holds for a model with an in-place ReLU, for one with a skip connection, after
# an error, and where a parameter has a gradient already. Each layer runs once, and each output
# reaches the loss.


# %% tags=["3.4", "answer"]
def activation_gradients(model, x, loss_fn):
    ### BEGIN SOLUTION
    edges, hooks = {}, []

    def remember(name):
        def hook(layer, inputs, output):
            edges[name] = torch.autograd.graph.get_gradient_edge(output)

        return hook

    try:
        for name, layer in model.named_children():
            hooks.append(layer.register_forward_hook(remember(name)))
        loss = loss_fn(model(x))
    finally:
        for hook in hooks:
            hook.remove()
    return dict(zip(edges, torch.autograd.grad(loss, list(edges.values())), strict=True))
    ### END SOLUTION


# %% tags=["3.4", "check"]
class WithSkip(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)

    def forward(self, x):
        h = self.first(x)
        return self.second(h) * h


models = {
    "in place": lambda: torch.nn.Sequential(
        torch.nn.Linear(2, 2), torch.nn.ReLU(inplace=True), torch.nn.Linear(2, 2)
    ),
    "a skip connection": WithSkip,
}


def squares(y):
    return (y * y).sum()


def breaks(y):
    raise ValueError("no loss today")


def build(which):
    model = models[which]()
    for number, parameter in enumerate(model.parameters()):
        values = torch.arange(parameter.numel()).view_as(parameter) - 1.0 - number % 2
        parameter.data = values
    return model


def look_at_gradients(which):
    model, x = build(which), torch.tensor([[1.0, 2.0], [-1.0, 1.0]])
    first, *others = model.parameters()
    first.grad = torch.ones_like(first)
    before = {key for tables in hook_tables(model).values() for table in tables for key in table}
    try:
        after_error = hooks_after_error(model, x, before)
        found = activation_gradients(model, x, squares)
    finally:
        left = take_hooks(model, before)
    kept = first.grad.eq(1).all().item() and all(p.grad is None for p in others)
    return {
        "gradients": {name: found[name].tolist() for name in sorted(found)},
        "the parameters' .grad are as before": kept,
        "hooks left": left,
        "hooks left after an error": after_error,
    }


def hook_tables(model):
    """The tables of the hooks of each layer of a model, and of those that all modules have."""
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    shared = vars(torch.nn.modules.module)
    return {
        "of the model": [getattr(layer, kind) for layer in model.modules() for kind in kinds],
        "of all modules": [shared[f"_global{kind}"] for kind in kinds],
    }


def take_hooks(model, before):
    """How many hooks stand there that did not before? They are taken away."""
    taken = dict.fromkeys(hook_tables(model), 0)
    for where, tables in hook_tables(model).items():
        for table in tables:
            for key in set(table) - before:
                del table[key]
                taken[where] += 1
    return taken


def hooks_after_error(model, x, before):
    try:
        activation_gradients(model, x, breaks)
    except ValueError:
        return take_hooks(model, before)
    return "the error was not handed on"


def gradient_by_gradient(which):
    """Each output as a leaf of its own, from which the rest of the model is computed again."""
    model, x = build(which), torch.tensor([[1.0, 2.0], [-1.0, 1.0]])
    if which == "in place":
        a, _, b = model
        h = a(x).detach().requires_grad_()
        active = h.relu()
        y = b(active)
        names = {"0": h, "1": active, "2": y}
    else:
        h = model.first(x).detach().requires_grad_()
        second = model.second(h)
        y = second * h
        names = {"first": h, "second": second}
    wanted = torch.autograd.grad(squares(y), list(names.values()))
    return {
        "gradients": {name: g.tolist() for name, g in zip(names, wanted, strict=True)},
        "the parameters' .grad are as before": True,
        "hooks left": {"of the model": 0, "of all modules": 0},
        "hooks left after an error": {"of the model": 0, "of all modules": 0},
    }


check("3.4", look_at_gradients, [(which,) for which in models], torch_says=gradient_by_gradient)


# %% tags=["3.4", "wrong"]
# retain_grad() follows the tensor, and the ReLU overwrites that tensor in place: what you read is
# the gradient of the new values. Take hold of the node, or set a hook, before that happens.
def activation_gradients(model, x, loss_fn):
    outputs, hooks = {}, []

    def remember(name):
        def hook(layer, inputs, output):
            output.retain_grad()
            outputs[name] = output

        return hook

    try:
        for name, layer in model.named_children():
            hooks.append(layer.register_forward_hook(remember(name)))
        loss_fn(model(x)).backward(inputs=list(outputs.values()))
    finally:
        for hook in hooks:
            hook.remove()
    return {name: output.grad for name, output in outputs.items()}


# %% tags=["3.4", "wrong"]
# backward() has added to the .grad of the parameters. Ask torch.autograd.grad for the gradients
# that you want, or name them with backward(inputs=…).
def activation_gradients(model, x, loss_fn):
    gradients, hooks = {}, []

    def remember(name):
        def hook(layer, inputs, output):
            output.register_hook(lambda gradient: gradients.update({name: gradient}))

        return hook

    try:
        for name, layer in model.named_children():
            hooks.append(layer.register_forward_hook(remember(name)))
        loss_fn(model(x)).backward()
    finally:
        for hook in hooks:
            hook.remove()
    return gradients


# %% tags=["3.4", "wrong"]
# The hooks are still there afterwards, and every later forward runs them. register_forward_hook
# returns a handle: call its remove().
def activation_gradients(model, x, loss_fn):
    edges = {}

    def remember(name):
        def hook(layer, inputs, output):
            edges[name] = torch.autograd.graph.get_gradient_edge(output)

        return hook

    for name, layer in model.named_children():
        layer.register_forward_hook(remember(name))
    loss = loss_fn(model(x))
    return dict(zip(edges, torch.autograd.grad(loss, list(edges.values())), strict=True))


# %% tags=["3.4", "wrong"]
# After an error the hooks stay: the lines that remove them were not reached. Put them into a
# `finally`.
def activation_gradients(model, x, loss_fn):
    edges, hooks = {}, []

    def remember(name):
        def hook(layer, inputs, output):
            edges[name] = torch.autograd.graph.get_gradient_edge(output)

        return hook

    for name, layer in model.named_children():
        hooks.append(layer.register_forward_hook(remember(name)))
    loss = loss_fn(model(x))
    for hook in hooks:
        hook.remove()
    return dict(zip(edges, torch.autograd.grad(loss, list(edges.values())), strict=True))


# %% tags=["3.4", "wrong"]
# You set one hook for all modules there are, and it stays: it runs in every forward of every model
# from now on. A hook for all modules has a handle too, but a hook on each layer is all you need.
def activation_gradients(model, x, loss_fn):
    edges, names = {}, {layer: name for name, layer in model.named_children()}

    def hook(layer, inputs, output):
        if layer in names:
            edges[names[layer]] = torch.autograd.graph.get_gradient_edge(output)

    torch.nn.modules.module.register_module_forward_hook(hook)
    loss = loss_fn(model(x))
    return dict(zip(edges, torch.autograd.grad(loss, list(edges.values())), strict=True))


# %% [markdown] tags=["3.4", "hint"]
# `layer.register_forward_hook(hook)` calls `hook(layer, inputs, output)` after the layer has run,
# and before the next one does. That is the moment to take hold of the output.

# %% [markdown] tags=["3.4", "hint"]
# The output tensor itself will not do: a write in place gives it another node. Its node at that
# moment is `torch.autograd.graph.get_gradient_edge(output)`. `output.register_hook` is set for the
# values of that moment, too.

# %% [markdown] tags=["3.4", "hint"]
# Keep an edge for each name, compute the loss in a `try` whose `finally` removes the hooks, and
# hand the edges to `torch.autograd.grad(loss, edges)`: it takes them in the place of tensors, and
# writes to no `.grad`.

# %% [markdown] tags=["3.4", "afterword"]
# Two ways with two meanings: `retain_grad()` belongs to the tensor and follows it through every
# write, a tensor hook belongs to the values at the moment it is set. Without writes in place, both
# give the same.

# %% tags=["3.5", "about"]
title = "The validation that keeps its graphs"
kind = "repair"
core = False
difficulty = 2
minutes = 10
points = 3

# %% [markdown] tags=["3.5", "statement"]
# `validate` returns the mean and the largest of the losses of some batches, and it is right. But
# each call records a graph for every batch and keeps all of them alive through what it returns; and
# it leaves the model in training, whatever it was in before.
#
# **Done when** no node is recorded, neither in the model nor in the loss, both values are the same,
# and afterwards everything is as it was: the caller's grad mode, which weights require a gradient,
# and the mode of every module of the model, where some modules may be in training and others not.
# This also holds if a batch raises an error, which goes on to the
# caller. During validation the whole model is in evaluation mode.


# %% tags=["3.5", "answer"]
def validate(model, batches, loss_fn):
    ### BEGIN SOLUTION
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            losses = torch.stack([loss_fn(model(x), y) for x, y in batches])
    finally:
        for module, training in modes.items():
            module.training = training
    return losses.mean(), losses.max()
    ### END SOLUTION


# %% tags=["3.5", "given"]
def validate(model, batches, loss_fn):
    model.eval()
    losses = []
    for x, y in batches:
        losses.append(loss_fn(model(x), y))
    losses = torch.stack(losses)
    model.train()
    return losses.mean(), losses.max()


# %% tags=["3.5", "check"]
import gc
import weakref


class Mark:
    """Lies in a node and lives as long as the node does."""


def look_at_validation(grad_on, training, broken):
    model = torch.nn.Sequential(
        torch.nn.Linear(1, 1, bias=False), torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(1)
    )
    torch.nn.init.constant_(model[0].weight, 2.0)
    model.train(training)
    model[2].eval()  # frozen, as is usual in fine-tuning
    marks = []

    def put_mark(t):
        if t.grad_fn is not None:
            mark = t.grad_fn.metadata["mark"] = Mark()
            marks.append(weakref.ref(mark))

    def loss_fn(output, target):
        loss = (output - target).pow(2).mean()
        put_mark(loss)
        if target.numel() == 0:
            raise ValueError("an empty batch")
        return loss

    for layer in model:
        layer.register_forward_hook(lambda _layer, _inputs, output: put_mark(output))
    numbers = [[1.0, 2.0], [3.0], [], [5.0]] if broken else [[1.0, 2.0], [3.0], [5.0]]
    batches = [(torch.tensor(ns).view(-1, 1), torch.zeros(len(ns), 1)) for ns in numbers]
    with torch.set_grad_enabled(grad_on):
        try:
            kept = validate(model, batches, loss_fn)
            values = [float(value) for value in kept]
        except ValueError as error:
            values = f"refused: {error}"
        grad_mode = torch.is_grad_enabled()
    gc.collect()
    return {
        "mean and largest": values,
        "results with a history": len(marks),
        "of these alive": sum(mark() is not None for mark in marks),
        "grad mode afterwards": grad_mode,
        "training afterwards": [module.training for module in model.modules()],
        "weights that require grad": sum(weight.requires_grad for weight in model.parameters()),
    }


def as_it_should_be(grad_on, training, broken):
    return {
        "mean and largest": "refused: an empty batch" if broken else [48.6662, 99.999],
        "results with a history": 0,
        "of these alive": 0,
        "grad mode afterwards": grad_on,
        "training afterwards": [training, training, training, False],
        "weights that require grad": 3,
    }


states = [(True, True), (False, True), (True, False)]
situations = [(*state, broken) for broken in (False, True) for state in states]
check("3.5", look_at_validation, situations, torch_says=as_it_should_be)


# %% tags=["3.5", "wrong"]
# What you return has no history any more, so no graph stays. But for every batch one is still
# recorded, with all its saved tensors: no_grad spares that.
def validate(model, batches, loss_fn):
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        losses = torch.tensor([loss_fn(model(x), y).item() for x, y in batches])
    finally:
        for module, training in modes.items():
            module.training = training
    return losses.mean(), losses.max()


# %% tags=["3.5", "wrong"]
# The losses have no history, since you detach what the model returns. But then the model has been
# recorded already, and it is where nearly all saved tensors are: no_grad has to be there before.
def validate(model, batches, loss_fn):
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        losses = torch.stack([loss_fn(model(x).detach(), y) for x, y in batches])
    finally:
        for module, training in modes.items():
            module.training = training
    return losses.mean(), losses.max()


# %% tags=["3.5", "wrong"]
# Nothing is recorded, since no weight requires a gradient. But none does afterwards either: the
# next training changes nothing.
def validate(model, batches, loss_fn):
    modes = {module: module.training for module in model.modules()}
    model.eval().requires_grad_(False)
    try:
        losses = torch.stack([loss_fn(model(x), y) for x, y in batches])
    finally:
        for module, training in modes.items():
            module.training = training
    return losses.mean(), losses.max()


# %% tags=["3.5", "wrong"]
# The mean has no history any more, but the largest loss still has, and that is enough to keep the
# graphs of all batches.
def validate(model, batches, loss_fn):
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        losses = torch.stack([loss_fn(model(x), y) for x, y in batches])
    finally:
        for module, training in modes.items():
            module.training = training
    return losses.mean().detach(), losses.max()


# %% tags=["3.5", "wrong"]
# You switch recording on at the end, also for a caller who had it off. A `with torch.no_grad():`
# puts back what was there before.
def validate(model, batches, loss_fn):
    modes = {module: module.training for module in model.modules()}
    model.eval()
    torch.set_grad_enabled(False)
    try:
        losses = torch.stack([loss_fn(model(x), y) for x, y in batches])
    finally:
        torch.set_grad_enabled(True)
        for module, training in modes.items():
            module.training = training
    return losses.mean(), losses.max()


# %% tags=["3.5", "wrong"]
# After an error the model stays in evaluation mode: the line that sets it back is not reached. It
# belongs into a `finally`.
def validate(model, batches, loss_fn):
    modes = {module: module.training for module in model.modules()}
    model.eval()
    with torch.no_grad():
        losses = torch.stack([loss_fn(model(x), y) for x, y in batches])
    for module, training in modes.items():
        module.training = training
    return losses.mean(), losses.max()


# %% tags=["3.5", "wrong"]
# The mode of the whole model is as before, but train() sets that of all its modules: a frozen
# BatchNorm is in training now. Keep the mode of each module.
def validate(model, batches, loss_fn):
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            losses = torch.stack([loss_fn(model(x), y) for x, y in batches])
    finally:
        model.train(training)
    return losses.mean(), losses.max()


# %% [markdown] tags=["3.5", "hint"]
# Three things are to be put back: the grad mode, the mode of each module, and both of them after an
# error as well. What does Python offer for "whatever happens"?

# %% [markdown] tags=["3.5", "hint"]
# A `with` puts its mode back even after an error. For the modules, note `module.training` of each
# of `model.modules()` before `eval()`, and set it again in a `finally`.

# %% [markdown] tags=["3.5", "hint"]
# `modes = {module: module.training for module in model.modules()}`, then `model.eval()`, then `try`
# with `torch.no_grad()` around the loop, then `finally` with a loop over `modes.items()`.

# %% [markdown] tags=["3.5", "afterword"]
# Without no_grad, memory grows only as long as something that has history is kept. With no_grad
# nothing has, so it also peaks lower: no node saves what the model computes.

# %% tags=["3.6", "about"]
title = "Will this write raise?"
kind = "complete"
core = True
difficulty = 2
minutes = 9
points = 2

# %% [markdown] tags=["3.6", "statement"]
# A tensor is written in place after an operator has used it or made it. Will `backward` raise an
# error? Decide it from the rule book that torch itself was built from, `derivatives.yaml`.
#
# `raises(formula, written)` returns True or False. `formula` is the text of the operator's formula
# for the gradient of its input: for exp it is `"grad * result.conj()"`. There, `self` is the input
# and `result` the output. `written` says which of the two was written: `"self"` or `"result"`.
#
# A node saves the tensors that its formula names, and a write into a saved tensor raises. But some
# names only ask for facts that are noted at once, without the values: `self.scalar_type()`,
# `self.sym_sizes()` and `self.sym_numel()`.
#
# `formulas` holds the formulas of all the operators in question: print it.
#
# **Done when** you agree with torch for each of them and both tensors.

# %% tags=["3.6", "setup"]
import re
from pathlib import Path

import torchgen

elementwise = (
    "abs acos asin asinh atan atanh celu cos cosh deg2rad digamma elu erf erfc exp exp2 expm1 "
    "floor frac gelu hardswish log log10 log1p log2 neg reciprocal relu round rsqrt sgn sigmoid "
    "sign silu sin sinh sqrt tan tanh"
)
home = {**vars(torch.nn.functional), **vars(torch)}
functions = {
    **{name: home[name] for name in elementwise.split()},
    "sum": torch.sum,
    "mean": torch.mean,
    "_softmax": lambda x: x.softmax(0),
    "_log_softmax": lambda x: x.log_softmax(0),
    "cumsum": lambda x: x.cumsum(0),
    "cumprod": lambda x: x.cumprod(0),
    "special_ndtri": torch.special.ndtri,
    "special_i1": torch.special.i1,
}


def formula_of(name, book):
    """The formula for the gradient of `self`, as it stands in the rule book."""
    entry = re.search(rf"^- name: {name}\(.*?^ +self: (.*?)$", book, re.DOTALL | re.MULTILINE)
    return entry[1]


book = Path(torchgen.__file__).parent / "packaged" / "autograd" / "derivatives.yaml"
text = book.read_text(encoding="utf-8")
formulas = {name: formula_of(name, text) for name in functions}


# %% tags=["3.6", "answer"]
def raises(formula, written):
    ### BEGIN SOLUTION
    for fact in ("self.scalar_type()", "self.sym_sizes()", "self.sym_numel()"):
        formula = formula.replace(fact, "")
    return written in re.findall(r"\w+", formula)
    ### END SOLUTION


# %% tags=["3.6", "check"]
from itertools import product


def look_up(name, formula, written):
    return raises(formula, written)


def torch_raises(name, formula, written):
    x = torch.tensor([0.25, 0.5], requires_grad=True).clone()
    result = functions[name](x)
    {"self": x, "result": result}[written].add_(1)
    try:
        result.sum().backward()
    except RuntimeError:
        return True
    return False


cases = [
    (name, formulas[name], written) for name, written in product(functions, ("self", "result"))
]
check("3.6", look_up, cases, torch_says=torch_raises, by_hand=raises)


# %% tags=["3.6", "wrong"]
# You look for the letters, not for the name: `is_result` is not `result`. Compare whole words.
def raises(formula, written):
    for fact in ("self.scalar_type()", "self.sym_sizes()", "self.sym_numel()"):
        formula = formula.replace(fact, "")
    return written in formula


# %% tags=["3.6", "wrong"]
# `self.sym_sizes()` and its like are taken for the tensor. The sizes are noted when the operator
# runs, so the node of a sum saves no tensor.
def raises(formula, written):
    return written in re.findall(r"\w+", formula)


# %% tags=["3.6", "wrong"]
# You let a write raise whenever an operator has used or made the tensor. Only what the formula
# needs is saved; the rest may be written.
def raises(formula, written):
    return True


# %% tags=["3.6", "wrong"]
# You let only writes to the input raise. exp, tanh and sqrt save what they return, since their
# derivative is a formula of it.
def raises(formula, written):
    for fact in ("self.scalar_type()", "self.sym_sizes()", "self.sym_numel()"):
        formula = formula.replace(fact, "")
    return written == "self" and written in re.findall(r"\w+", formula)


# %% tags=["3.6", "wrong"]
# You let a node save one tensor at most. sgn and cumprod need the input and the output.
def raises(formula, written):
    for fact in ("self.scalar_type()", "self.sym_sizes()", "self.sym_numel()"):
        formula = formula.replace(fact, "")
    words = re.findall(r"\w+", formula)
    return written == ("result" if "result" in words else "self") and written in words


# %% tags=["3.6", "wrong"]
# A method of a tensor is not the end of a name: `result.conj()` and `self.pow(2)` do need its
# values. Only the three facts are noted without them.
def raises(formula, written):
    return re.search(rf"\b{written}\b(?!\.)", formula) is not None


# %% [markdown] tags=["3.6", "hint"]
# Print `formulas`. In which of them does the name stand as a word of its own? And in which does it
# stand only in front of one of the three facts?

# %% [markdown] tags=["3.6", "hint"]
# Take the three facts out of the text first: `formula.replace("self.sym_sizes()", "")`.

# %% [markdown] tags=["3.6", "hint"]
# Then `re.findall(r"\w+", formula)` gives the words. In it, `is_result` is one word.

# %% [markdown] tags=["3.6", "afterword"]
# So relu may be followed by a write to its input, and by none to its output; for an in-place ReLU
# that is all one needs to know. The same rule book says what each node of the activation ledger
# keeps.

# %% tags=["3.7", "about"]
title = "MiniTorch 3: the tape"
kind = "build"
core = True
difficulty = 3
minutes = 29
points = 4

# %% [markdown] tags=["3.7", "statement"]
# The third piece of your small torch writes down what happens, so that gradients can flow back. The
# engine that sends them is the next chapter's; here it is given and runs over what you record.
#
# A tensor has `t.sizes`, `t.requires_grad`, `t.grad_fn` (its node, or None) and `t.accumulator`.
# `alias(t, sizes, strides)` makes another tensor over the storage of `t`, without history.
#
# - `Edge(node, sizes)` is written already: a gradient goes to `node`, and belongs to a tensor of
#   these sizes.
# - `Node(name, formula, edges, saved)` keeps these four, and a `sequence_nr` that is higher in
#   nodes made later: `next(sequence)`. `node(grad)` returns `formula(grad, *saved)`; there,
#   `one.unpack(self)` takes the place of each `Saved`, and everything else is handed on as it is.
#   `node.release()` frees the tensors: it sets `one.tensor = None` in each `Saved` and leaves the
#   rest as it is.
# - `edge_of(t)` is the edge to `t.grad_fn` if there is one. For a leaf that requires a gradient it
#   leads to `AccumulateGrad(t)`, one and the same for as long as anything else holds it: keep it in
#   `t.accumulator` (None at first) as a weak reference, `ref(node)`. Called, that gives the node,
#   or None if it is gone. For any other tensor `edge_of` is None.
# - `grad_mode(on)` sets `GradMode.enabled` inside a `with`. Afterwards it is what it was before,
#   even after an error.
# - `record(op, out, args)` is called when an operator has computed `out` from `args`, some of which
#   are no tensors. If the mode is on and a tensor among them requires a gradient, `out` requires
#   one too, and its `grad_fn` is a Node of `op.name`, `op.formula`, one edge (or None) for each
#   tensor among `args`, and what `op.saves` asks for. In all other cases nothing happens.
#     - `""`: nothing
#     - `"sizes"`: all the arguments, with the sizes in the place of each tensor
#     - `"output"`: one `Saved(out, is_output=True)`
#     - `"partners"`: for each tensor `Saved(t)` if another one requires a gradient, else None
# - `detach(t)` is another tensor with the values of `t`, in the same storage, without history. `t`
#   stays as it is.
#
# **Done when** 120 random programs record what torch records: flags, nodes, edges, what mul saves,
# the order and the gradients of several backwards, which of them are refused, and that no node
# stays once its result is gone.

# %% tags=["3.7", "setup"]
from contextlib import contextmanager
from itertools import count
from typing import NamedTuple
from weakref import ref

from insidetorch.mini import AccumulateGrad, GradMode, Saved, Tensor, alias, assemble

sequence = count()


# %% tags=["3.7", "answer"]
class Edge(NamedTuple):
    node: object
    sizes: tuple


class Node:
    def __init__(self, name, formula, edges, saved):
        ### BEGIN SOLUTION
        self.name, self.formula = name, formula
        self.edges, self.saved = tuple(edges), tuple(saved)
        self.sequence_nr = next(sequence)
        ### END SOLUTION

    def __call__(self, grad):
        ### BEGIN SOLUTION
        unpacked = [one.unpack(self) if isinstance(one, Saved) else one for one in self.saved]
        return self.formula(grad, *unpacked)
        ### END SOLUTION

    def release(self):
        ### BEGIN SOLUTION
        for one in self.saved:
            if isinstance(one, Saved):
                one.tensor = None
        ### END SOLUTION


def edge_of(t):
    ### BEGIN SOLUTION
    if t.grad_fn is not None:
        return Edge(t.grad_fn, t.sizes)
    if not t.requires_grad:
        return None
    node = t.accumulator() if t.accumulator is not None else None
    if node is None:
        node = AccumulateGrad(t)
        t.accumulator = ref(node)
    return Edge(node, t.sizes)
    ### END SOLUTION


@contextmanager
def grad_mode(on):
    ### BEGIN SOLUTION
    before, GradMode.enabled = GradMode.enabled, on
    try:
        yield
    finally:
        GradMode.enabled = before
    ### END SOLUTION


def record(op, out, args):
    ### BEGIN SOLUTION
    tensors = [a for a in args if isinstance(a, Tensor)]
    if not GradMode.enabled or not any(t.requires_grad for t in tensors):
        return
    saved = []
    if op.saves == "sizes":
        saved = [a.sizes if isinstance(a, Tensor) else a for a in args]
    elif op.saves == "output":
        saved = [Saved(out, is_output=True)]
    elif op.saves == "partners":
        for i, t in enumerate(tensors):
            others = tensors[:i] + tensors[i + 1 :]
            saved.append(Saved(t) if any(other.requires_grad for other in others) else None)
    out.requires_grad = True
    out.grad_fn = Node(op.name, op.formula, [edge_of(t) for t in tensors], saved)
    ### END SOLUTION


def detach(t):
    ### BEGIN SOLUTION
    return alias(t, t.sizes, t.strides)
    ### END SOLUTION


# %% tags=["3.7", "check"]
import gc
from math import prod
from random import Random

torch_operators = {
    "add": torch.add,
    "mul": torch.mul,
    "exp": torch.exp,
    "clone": torch.clone,
    "sum": lambda t, dims: t.sum(dims, keepdim=True),
    "expand": lambda t, sizes: t.expand(sizes),
    "permute": lambda t, dims: t.permute(dims),
    "view": lambda t, sizes: t.view(sizes),
    "detach": lambda t: t.detach(),
}
names = {
    **{f"{name.capitalize()}Backward{int(name == 'sum')}": name for name in torch_operators},
    "torch::autograd::AccumulateGrad": "AccumulateGrad",
}


def random_step(random, tensors):
    """An operator, the places of its tensors, its other arguments, and whether it is recorded."""
    op = random.choice([*torch_operators, "add", "mul", "mul", "exp"])
    at = max(random.randrange(len(tensors)) for _ in range(2))
    sizes = tuple(tensors[at].shape)
    dims, recorded = range(len(sizes)), random.random() < 0.85
    if op in ("add", "mul"):
        return op, (at, random.randrange(len(tensors))), (), recorded
    if op == "sum":
        return op, (at,), ([random.choice(dims)],) if sizes else ([],), recorded
    if op == "expand":
        return op, (at,), ((2, *sizes),), True
    if op == "permute":
        return op, (at,), (random.sample(dims, len(sizes)),), True
    if op == "view":
        return op, (at,), ((1, *sizes),), True
    return op, (at,), (), recorded


def random_program(seed):
    """Leaves (sizes, flag), steps as of random_step, and backwards (which tensor, retain_graph)."""
    random = Random(seed)
    leaves = [(random.choice([(2,), (2, 1), (1,), ()]), random.random() < 0.7) for _ in range(2)]
    leaves.append(((2,), True))
    tensors, steps = [torch.ones(sizes, requires_grad=flag) for sizes, flag in leaves], []
    while len(steps) < 7:
        op, places, rest, recorded = step = random_step(random, tensors)
        if op == "sum" and rest == ([],):
            continue
        with torch.set_grad_enabled(recorded):
            result = torch_operators[op](*(tensors[i] for i in places), *rest)
        if result.numel() <= 8 and result.dim() < 4 and result.abs().max() < 20:
            steps.append(step)
            tensors.append(result)
    roots = [i for i, t in enumerate(tensors) if t.requires_grad][-2:]
    backwards = [(random.choice(roots), random.random() < 0.3) for _ in range(3)]
    return leaves, steps, backwards


def attempt(run, *arguments):
    try:
        return run(*arguments)
    except (RuntimeError, ValueError):
        return "refused"


def modes_seen(mode, enabled):
    """Is recording on: inside two modes, after the inner one, after an error in it, after both?"""
    seen = []
    with mode(False):
        with mode(True):
            seen.append(enabled())
        seen.append(enabled())
        try:
            with mode(True):
                raise ZeroDivisionError
        except ZeroDivisionError:
            seen.append(enabled())
    return [*seen, enabled()]


def history_of(node, edges):
    """Such as "mul(exp, AccumulateGrad)": a node and where its edges lead."""
    return f"{node}({', '.join(edges)})"


def left_of(program, *arguments):
    """How many of the nodes that a program makes are still there when its tensors are gone?"""
    enabled = gc.isenabled()
    gc.disable()
    try:
        _, nodes = program(*arguments)
        return sum(node() is not None for node in nodes)
    finally:
        if enabled:
            gc.enable()


def mini_leaves(mini, leaves):
    made = []
    for sizes, flag in leaves:
        longer = mini.new(range(prod(sizes) + 1), (prod(sizes) + 1,))
        made.append(mini.alias(longer, sizes, mini.contiguous_strides(sizes), 1))
        made[-1].requires_grad = flag
    return made


def mini_step(mini, tensors, op, places, rest, recorded):
    of = [tensors[i] for i in places]
    with mini.grad_mode(recorded):
        out = mini.detach(*of) if op == "detach" else mini.call(op, *of, *rest)
    if op == "detach":
        return out, ["same storage" if out.storage is of[0].storage else "copied", *out]
    if out.grad_fn is None:
        return out, ["no node"]
    edges = [edge.node.name if edge else "None" for edge in out.grad_fn.edges]
    kept = [one is not None for one in out.grad_fn.saved] if op == "mul" else []
    return out, [history_of(out.grad_fn.name, edges), *kept]


def mini_program(mini, start, steps, backwards):
    tensors, seen = list(start), []
    for step in steps:
        out, told = mini_step(mini, tensors, *step)
        tensors.append(out)
        seen.append([out.requires_grad, *told])
    edges = [mini.edge_of(t) for t in tensors]
    nodes = [ref(edge.node) for edge in edges if edge]

    def go_back(at, retain):
        ones = mini.new([1] * prod(tensors[at].sizes), tensors[at].sizes)
        return mini.backward(tensors[at], ones, retain)

    orders = [attempt(go_back, *one) for one in backwards]
    return {"recorded": seen, "order": orders}, nodes


pieces = {
    "Edge": Edge,
    "Node": Node,
    "edge_of": edge_of,
    "grad_mode": grad_mode,
    "record": record,
    "detach": detach,
}


def run_mini(leaves, steps, backwards):
    mini = assemble(**pieces)
    modes = modes_seen(mini.grad_mode, lambda: mini.GradMode.enabled)
    mini.GradMode.enabled = True
    start = mini_leaves(mini, leaves)
    left = left_of(mini_program, mini, start, steps, [])
    seen, _ = mini_program(mini, start, steps, backwards)
    gradients = [t.grad and list(t.grad) for t in start]
    return {"modes": modes, **seen, "gradients": gradients, "nodes left": left}


class Mark:
    """Lies in a node of torch and lives as long as the node does."""


def torch_step(tensors, op, places, rest, recorded):
    of = [tensors[i] for i in places]
    with torch.set_grad_enabled(recorded):
        out = torch_operators[op](*of, *rest)
    if op == "detach":
        same = out.data_ptr() == of[0].data_ptr()
        return out, ["same storage" if same else "copied", *out.flatten().tolist()]
    if out.grad_fn is None:
        return out, ["no node"]
    node = out.grad_fn
    edges = [names[to.name()] if to else "None" for to, _ in node.next_functions]
    kept = [node._saved_self is not None, node._saved_other is not None] if op == "mul" else []
    return out, [history_of(names[node.name()], edges), *kept]


def order_of(root, retain):
    """In which order do the nodes behind a tensor of torch run?"""
    first = torch.autograd.graph.get_gradient_edge(root).node
    order, found, waiting = [], {first}, [first]
    while waiting:
        for node, _ in waiting.pop().next_functions:
            if node is not None and node not in found:
                found.add(node)
                waiting.append(node)

    def watch(node):
        return node.register_prehook(lambda grads: order.append(names[node.name()]))

    handles = [watch(node) for node in found]
    try:
        root.backward(torch.ones_like(root), retain_graph=retain)
    finally:
        for handle in handles:
            handle.remove()
    return order


def torch_program(start, steps, backwards):
    tensors, seen, marks = list(start), [], []
    for step in steps:
        out, told = torch_step(tensors, *step)
        tensors.append(out)
        seen.append([out.requires_grad, *told])
    for t in tensors:
        if t.requires_grad:
            node = torch.autograd.graph.get_gradient_edge(t).node
            mark = node.metadata["mark"] = Mark()
            marks.append(ref(mark))
    orders = [attempt(order_of, tensors[at], retain) for at, retain in backwards]
    return {"recorded": seen, "order": orders}, marks


def run_torch(leaves, steps, backwards):
    start = []
    for sizes, flag in leaves:
        longer = torch.arange(prod(sizes) + 1, dtype=torch.float64)
        start.append(longer[1:].view(sizes).requires_grad_(flag))
    modes = modes_seen(torch.set_grad_enabled, torch.is_grad_enabled)
    left = left_of(torch_program, start, steps, [])
    seen, _ = torch_program(start, steps, backwards)
    gradients = [None if t.grad is None else t.grad.flatten().tolist() for t in start]
    return {"modes": modes, **seen, "gradients": gradients, "nodes left": left}


programs = [random_program(seed) for seed in range(120)]
given = [AccumulateGrad, GradMode, Saved, Tensor, alias]
check(
    "3.7", run_mini, programs, torch_says=run_torch, by_hand=tuple(pieces.values()), allowed=given
)


# %% tags=["3.7", "wrong"]
# mul saves both operands always. An operand is needed for the gradient of the other one: if that
# requires none, nothing is saved.
def record(op, out, args):
    tensors = [a for a in args if isinstance(a, Tensor)]
    if not GradMode.enabled or not any(t.requires_grad for t in tensors):
        return
    saved = {
        "": [],
        "sizes": [a.sizes if isinstance(a, Tensor) else a for a in args],
        "output": [Saved(out, is_output=True)],
        "partners": [Saved(t) for t in tensors],
    }
    out.requires_grad = True
    edges = [edge_of(t) for t in tensors]
    out.grad_fn = Node(op.name, op.formula, edges, saved[op.saves])


# %% tags=["3.7", "wrong"]
# mul saves an operand if that operand requires a gradient. It is the other way round: the gradient
# of x in x * y is the incoming one times y.
def record(op, out, args):
    tensors = [a for a in args if isinstance(a, Tensor)]
    if not GradMode.enabled or not any(t.requires_grad for t in tensors):
        return
    saved = {
        "": [],
        "sizes": [a.sizes if isinstance(a, Tensor) else a for a in args],
        "output": [Saved(out, is_output=True)],
        "partners": [Saved(t) if t.requires_grad else None for t in tensors],
    }
    out.requires_grad = True
    edges = [edge_of(t) for t in tensors]
    out.grad_fn = Node(op.name, op.formula, edges, saved[op.saves])


# %% tags=["3.7", "wrong"]
# The output is saved with its history: its node holds it, and it holds its node, so neither goes
# when the result is gone. is_output=True keeps it without.
def record(op, out, args):
    tensors = [a for a in args if isinstance(a, Tensor)]
    if not GradMode.enabled or not any(t.requires_grad for t in tensors):
        return
    saved = []
    if op.saves == "sizes":
        saved = [a.sizes if isinstance(a, Tensor) else a for a in args]
    elif op.saves == "output":
        saved = [Saved(out)]
    elif op.saves == "partners":
        others = tensors[::-1]
        pairs = zip(tensors, others, strict=True)
        saved = [Saved(t) if other.requires_grad else None for t, other in pairs]
    out.requires_grad = True
    out.grad_fn = Node(op.name, op.formula, [edge_of(t) for t in tensors], saved)


# %% tags=["3.7", "wrong"]
# An operator is recorded only if all its tensors require a gradient. One is enough: the others get
# None for an edge.
def record(op, out, args):
    tensors = [a for a in args if isinstance(a, Tensor)]
    if not GradMode.enabled or not all(t.requires_grad for t in tensors):
        return
    saved = []
    if op.saves == "sizes":
        saved = [a.sizes if isinstance(a, Tensor) else a for a in args]
    elif op.saves == "output":
        saved = [Saved(out, is_output=True)]
    elif op.saves == "partners":
        saved = [Saved(t) for t in tensors]
    out.requires_grad = True
    out.grad_fn = Node(op.name, op.formula, [edge_of(t) for t in tensors], saved)


# %% tags=["3.7", "wrong"]
# record does not ask for the mode: under grad_mode(False) nothing is to be recorded.
def record(op, out, args):
    tensors = [a for a in args if isinstance(a, Tensor)]
    if not any(t.requires_grad for t in tensors):
        return
    saved = []
    if op.saves == "sizes":
        saved = [a.sizes if isinstance(a, Tensor) else a for a in args]
    elif op.saves == "output":
        saved = [Saved(out, is_output=True)]
    elif op.saves == "partners":
        others = tensors[::-1]
        pairs = zip(tensors, others, strict=True)
        saved = [Saved(t) if other.requires_grad else None for t, other in pairs]
    out.requires_grad = True
    out.grad_fn = Node(op.name, op.formula, [edge_of(t) for t in tensors], saved)


# %% tags=["3.7", "wrong"]
# The edges that are None are left out. The formula gives one gradient for each tensor, so there is
# one edge for each, and None where nobody needs the gradient.
def record(op, out, args):
    tensors = [a for a in args if isinstance(a, Tensor)]
    if not GradMode.enabled or not any(t.requires_grad for t in tensors):
        return
    saved = []
    if op.saves == "sizes":
        saved = [a.sizes if isinstance(a, Tensor) else a for a in args]
    elif op.saves == "output":
        saved = [Saved(out, is_output=True)]
    elif op.saves == "partners":
        others = tensors[::-1]
        pairs = zip(tensors, others, strict=True)
        saved = [Saved(t) if other.requires_grad else None for t, other in pairs]
    out.requires_grad = True
    edges = [edge_of(t) for t in tensors if t.requires_grad]
    out.grad_fn = Node(op.name, op.formula, edges, saved)


# %% tags=["3.7", "wrong"]
# A node that has been released refuses to run again, whatever it saved. Only freed tensors are
# missing: a node without any, such as that of an addition, runs twice.
class Node:
    def __init__(self, name, formula, edges, saved):
        self.name, self.formula = name, formula
        self.edges, self.saved = tuple(edges), tuple(saved)
        self.sequence_nr, self.released = next(sequence), False

    def __call__(self, grad):
        if self.released:
            raise RuntimeError("this node has run already")
        unpacked = [one.unpack(self) if isinstance(one, Saved) else one for one in self.saved]
        return self.formula(grad, *unpacked)

    def release(self):
        self.released = True


# %% tags=["3.7", "wrong"]
# Your sequence number says how far a node is from the leaves. It is to say when the node was made:
# the engine takes the youngest ready node first, and nodes of equal depth are not equally old.
class Node:
    def __init__(self, name, formula, edges, saved):
        self.name, self.formula = name, formula
        self.edges, self.saved = tuple(edges), tuple(saved)
        before = [edge.node.sequence_nr for edge in self.edges if edge]
        self.sequence_nr = 1 + max((nr for nr in before if nr < 2**63), default=0)

    def __call__(self, grad):
        unpacked = [one.unpack(self) if isinstance(one, Saved) else one for one in self.saved]
        return self.formula(grad, *unpacked)

    def release(self):
        for one in self.saved:
            if isinstance(one, Saved):
                one.tensor = None


# %% tags=["3.7", "wrong"]
# Every edge to a leaf gets an AccumulateGrad of its own. A leaf has one: all that reaches it in one
# backward is added up before it runs.
def edge_of(t):
    if t.grad_fn is not None:
        return Edge(t.grad_fn, t.sizes)
    return Edge(AccumulateGrad(t), t.sizes) if t.requires_grad else None


# %% tags=["3.7", "wrong"]
# The leaf holds its AccumulateGrad, which holds the leaf: neither goes. The reference from the leaf
# is to be weak.
def edge_of(t):
    if t.grad_fn is not None:
        return Edge(t.grad_fn, t.sizes)
    if not t.requires_grad:
        return None
    t.accumulator = t.accumulator or AccumulateGrad(t)
    return Edge(t.accumulator, t.sizes)


# %% tags=["3.7", "wrong"]
# After an error the mode stays as it was inside. What follows `yield` is only reached if nothing
# was raised: put it into a `finally`.
@contextmanager
def grad_mode(on):
    before, GradMode.enabled = GradMode.enabled, on
    yield
    GradMode.enabled = before


# %% tags=["3.7", "wrong"]
# At the end of a `with` the mode is switched on, whatever it was before. It is to be as before: a
# mode may stand inside another.
@contextmanager
def grad_mode(on):
    GradMode.enabled = on
    try:
        yield
    finally:
        GradMode.enabled = True


# %% tags=["3.7", "wrong"]
# detach takes the history from `t` itself, so it is cut everywhere. It returns another tensor, and
# `t` keeps what it has.
def detach(t):
    t.requires_grad, t.grad_fn = False, None
    return alias(t, t.sizes, t.strides)


# %% [markdown] tags=["3.7", "hint"]
# Begin with what is short: `Node`, `detach`, then `grad_mode` with `try` and `finally` around
# `yield`. `record` needs all the others.

# %% [markdown] tags=["3.7", "hint"]
# `edge_of` for a leaf: `node = t.accumulator() if t.accumulator is not None else None`; if that is
# None, make a new one and set `t.accumulator = ref(node)`.

# %% [markdown] tags=["3.7", "hint"]
# `record`: first `tensors = [a for a in args if isinstance(a, Tensor)]`, return if nothing is to be
# recorded, then `saved` by the four cases of `op.saves`. Of two partners, each is saved if the
# other requires a gradient. At last set `out.requires_grad` and `out.grad_fn`.

# %% [markdown] tags=["3.7", "afterword"]
# No class of it knows a derivative: these stand in the table of operators, as in torch they stand
# in `derivatives.yaml`. What runs over your tape is the engine, and you write it in chapter 4.
