# %% [markdown]
# # Exercises 2 · Views
#
# Each exercise has a cell for your answer and, folded away below it, a cell that checks it. Run
# both. A check knows three outcomes: not attempted, not yet, right. Where it recognises a mistake,
# it says which.
#
# - `hint("2.2")` in a cell of your own helps in three steps: each run shows one hint more.
# - `progress()` shows how far you are.
# - `python course.py reset 2.2`, typed in a terminal in the course's folder, puts the stub of an
#   exercise back and keeps your old notebook.
#
# *Core* exercises take about an hour together, *extra* ones come on top. In a *complete* exercise
# you write a function, in a *repair* you mend one that is given, in a *counterexample* you find
# what refutes a common belief, and in a *build* you write a piece of a small torch of your own.
# Where an exercise asks for a rule, answer in plain Python: no torch, no `insidetorch`, no NumPy.

# %%
from itertools import product

import torch

from insidetorch import check, hint, progress

# %% tags=["2.1", "about"]
title = "What two tensors both read"
kind = "complete"
core = False
difficulty = 2
minutes = 12
points = 2

# %% [markdown] tags=["2.1", "statement"]
# Two tensors lie in one storage. Given the sizes, strides and offset of both, how many storage
# elements do *both* read? Two tensors can take turns in one storage and have none in common.
#
# **Done when** you agree with torch for layouts with gaps, with strides of 0, with overlapping
# windows, with an offset, and with a size of 0.


# %% tags=["2.1", "answer"]
def both_read(a, b):
    ### BEGIN SOLUTION
    def elements(sizes, strides, offset):
        indices = product(*(range(size) for size in sizes))
        return {
            offset + sum(i * s for i, s in zip(index, strides, strict=True)) for index in indices
        }

    return len(elements(*a) & elements(*b))
    ### END SOLUTION


# %% tags=["2.1", "check"]
layouts = [((4,), (2,), 0), ((4,), (2,), 1), ((2, 3), (3, 1), 0), ((2, 3), (4, 1), 1)]
layouts += [((3, 3), (1, 1), 2), ((2, 3), (0, 1), 5), ((), (), 3), ((0, 2), (2, 1), 0)]
layouts += [((2, 2, 2), (6, 3, 1), 0), ((3, 2), (1, 4), 2)]


def torch_counts(a, b):
    found = torch.arange(40).as_strided(*a), torch.arange(40).as_strided(*b)
    return len(set(found[0].flatten().tolist()) & set(found[1].flatten().tolist()))


check(
    "2.1", both_read, list(product(layouts, repeat=2)), torch_says=torch_counts, by_hand=both_read
)


# %% tags=["2.1", "wrong"]
# You compare the ranges from the first to the last element. Two tensors that take turns in one
# range have none in common.
def both_read(a, b):
    def ends(sizes, strides, offset):
        if 0 in sizes:
            return 1, 0
        return offset, offset + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))

    (low, high), (other_low, other_high) = ends(*a), ends(*b)
    return max(0, min(high, other_high) - max(low, other_low) + 1)


# %% tags=["2.1", "wrong"]
# You count the values of one tensor whose element the other reads. With a stride of 0, or windows
# that overlap, several values read one element: count elements.
def both_read(a, b):
    def elements(sizes, strides, offset):
        indices = product(*(range(size) for size in sizes))
        return [
            offset + sum(i * s for i, s in zip(index, strides, strict=True)) for index in indices
        ]

    others = elements(*b)
    return sum(element in others for element in elements(*a))


# %% tags=["2.1", "wrong"]
# The offsets are missing: index 0, 0, … reads the element at the storage offset.
def both_read(a, b):
    def elements(sizes, strides, offset):
        indices = product(*(range(size) for size in sizes))
        return {sum(i * s for i, s in zip(index, strides, strict=True)) for index in indices}

    return len(elements(*a) & elements(*b))


# %% [markdown] tags=["2.1", "hint"]
# Which elements does one tensor read? That is an address for each index, as in chapter 1.

# %% [markdown] tags=["2.1", "hint"]
# Python's `set` keeps each element once, and `&` of two sets is what both have.

# %% [markdown] tags=["2.1", "hint"]
# `{offset + sum(i * s for i, s in zip(index, strides, strict=True)) for index in product(...)}` for
# both, and the length of their intersection.

# %% [markdown] tags=["2.1", "afterword"]
# torch itself only looks at the ranges when it has to know whether two tensors overlap, since
# listing elements would cost too much. `relation(a, b)` counts them exactly, and does so without
# listing them.

# %% tags=["2.2", "about"]
title = "Does it still read the same memory?"
kind = "complete"
core = True
difficulty = 2
minutes = 9
points = 2

# %% [markdown] tags=["2.2", "statement"]
# `a` is a new 4 × 4 float32 matrix. A chain of up to three steps is applied to it, such as `("t",
# "reshape")`. Does the result read the memory of `a`? Return True or False. The steps are the keys
# of `steps` below; each keeps the sizes 4 × 4.
#
# **Done when** you agree with torch for every chain of up to three steps.

# %% tags=["2.2", "setup"]
steps = {
    "t": lambda x: x.t(),
    "slice": lambda x: x[:, :],
    "list": lambda x: x[[0, 1, 2, 3]],
    "reshape": lambda x: x.reshape(16).view(4, 4),
    "contiguous": lambda x: x.contiguous(),
    "clone": lambda x: x.clone(),
    "detach": lambda x: x.detach(),
    "to float32": lambda x: x.to(torch.float32),
    "numpy": lambda x: torch.from_numpy(x.numpy()),
    "plus 0": lambda x: x + 0,
}


# %% tags=["2.2", "answer"]
def shares_memory(chain):
    ### BEGIN SOLUTION
    turned = False
    for step in chain:
        if step == "t":
            turned = not turned
        elif step in ("list", "clone", "plus 0") or (turned and step in ("reshape", "contiguous")):
            return False
    return True
    ### END SOLUTION


# %% tags=["2.2", "check"]
chains = [chain for length in range(4) for chain in product(steps, repeat=length)]


def torch_shares(chain):
    a = result = torch.zeros(4, 4)
    for step in chain:
        result = steps[step](result)
    return a.data_ptr() == result.data_ptr()


check(
    "2.2",
    shares_memory,
    [(chain,) for chain in chains],
    torch_says=torch_shares,
    by_hand=shares_memory,
)


# %% tags=["2.2", "wrong"]
# You let reshape share always. Of a transposed matrix it cannot make a view, so it copies, and
# nothing says so.
def shares_memory(chain):
    turned = False
    for step in chain:
        if step == "t":
            turned = not turned
        elif step in ("list", "clone", "plus 0") or (turned and step == "contiguous"):
            return False
    return True


# %% tags=["2.2", "wrong"]
# You let contiguous() copy always. Of a contiguous tensor it returns that very tensor.
def shares_memory(chain):
    turned = False
    for step in chain:
        if step == "t":
            turned = not turned
        elif step in ("list", "clone", "plus 0", "contiguous") or (turned and step == "reshape"):
            return False
    return True


# %% tags=["2.2", "wrong"]
# A list of indices is taken for a slice. torch copies for it, even where it names all rows in
# order.
def shares_memory(chain):
    turned = False
    for step in chain:
        if step == "t":
            turned = not turned
        elif step in ("clone", "plus 0") or (turned and step in ("reshape", "contiguous")):
            return False
    return True


# %% tags=["2.2", "wrong"]
# detach() and numpy() are taken for copies. They leave autograd, not the memory.
def shares_memory(chain):
    turned = False
    for step in chain:
        if step == "t":
            turned = not turned
        elif step in ("list", "clone", "plus 0", "detach", "numpy"):
            return False
        if turned and step in ("reshape", "contiguous"):
            return False
    return True


# %% tags=["2.2", "wrong"]
# to() is taken for a copy. With the dtype and device that a tensor has already, it returns the
# tensor itself.
def shares_memory(chain):
    turned = False
    for step in chain:
        if step == "t":
            turned = not turned
        elif step in ("list", "clone", "plus 0", "to float32"):
            return False
        if turned and step in ("reshape", "contiguous"):
            return False
    return True


# %% tags=["2.2", "wrong"]
# Once transposed, always transposed? Two times `t` is the matrix as it was, and reshape is a view
# again.
def shares_memory(chain):
    turned = False
    for step in chain:
        if step == "t":
            turned = True
        elif step in ("list", "clone", "plus 0") or (turned and step in ("reshape", "contiguous")):
            return False
    return True


# %% [markdown] tags=["2.2", "hint"]
# Once a step has copied, no later step leads back to the memory of `a`. Which steps always copy?

# %% [markdown] tags=["2.2", "hint"]
# Two steps copy only if the matrix is transposed at that moment. So keep track of that.

# %% [markdown] tags=["2.2", "hint"]
# `list`, `clone` and `plus 0` always copy. `reshape` and `contiguous` copy if `t` has come an odd
# number of times before.

# %% [markdown] tags=["2.2", "afterword"]
# You need no list of strides for this: a matrix is in order or turned. In your own code, ask:
# `relation(result, a).same_storage`.

# %% tags=["2.3", "about"]
title = "Heads and pixels in the right place"
kind = "repair"
core = True
difficulty = 2
minutes = 10
points = 3

# %% [markdown] tags=["2.3", "statement"]
# Both functions give the right sizes and scrambled values. `merge_heads` takes (batch, heads,
# tokens, features) and must give (batch, tokens, heads · features): the features of one token side
# by side, head by head. `to_tokens` takes images (batch, channels, rows, columns) and must give
# (batch, rows · columns, channels): one token for each pixel, row by row, holding its channels.
#
# **Done when** every value stands where it belongs, for several sizes, and the input is unchanged.


# %% tags=["2.3", "answer"]
def merge_heads(x):
    ### BEGIN SOLUTION
    batch, heads, tokens, features = x.shape
    return x.transpose(1, 2).reshape(batch, tokens, heads * features)
    ### END SOLUTION


def to_tokens(images):
    ### BEGIN SOLUTION
    return images.flatten(2).transpose(1, 2)
    ### END SOLUTION


# %% tags=["2.3", "given"]
def merge_heads(x):
    batch, heads, tokens, features = x.shape
    return x.reshape(batch, tokens, heads * features)


def to_tokens(images):
    batch, channels, rows, columns = images.shape
    return images.reshape(batch, rows * columns, channels)


# %% tags=["2.3", "check"]
def look(sizes):
    x = torch.arange(torch.Size(sizes).numel()).view(sizes)
    merged, tokens = merge_heads(x), to_tokens(x)
    unchanged = x.flatten().tolist() == list(range(x.numel()))
    return {"merge_heads": merged.tolist(), "to_tokens": tokens.tolist(), "unchanged": unchanged}


def index_by_index(sizes):
    x = torch.arange(torch.Size(sizes).numel()).view(sizes)
    batch, b, c, d = sizes
    merged = [
        [[x[n, h, t, f].item() for h in range(b) for f in range(d)] for t in range(c)]
        for n in range(batch)
    ]
    tokens = [
        [[x[n, k, i, j].item() for k in range(b)] for i in range(c) for j in range(d)]
        for n in range(batch)
    ]
    return {"merge_heads": merged, "to_tokens": tokens, "unchanged": True}


check("2.3", look, [((2, 2, 3, 4),), ((1, 3, 2, 2),), ((2, 4, 1, 3),)], torch_says=index_by_index)


# %% tags=["2.3", "wrong"]
# merge_heads is right. to_tokens still only cuts the values anew: move the channels last first.
def to_tokens(images):
    batch, channels, rows, columns = images.shape
    return images.reshape(batch, rows * columns, channels)


# %% tags=["2.3", "wrong"]
# to_tokens is right. merge_heads still only cuts the values anew: move the heads behind the tokens
# first.
def merge_heads(x):
    batch, heads, tokens, features = x.shape
    return x.reshape(batch, tokens, heads * features)


# %% tags=["2.3", "wrong"]
# The tokens come column by column. permute(0, 3, 2, 1) puts the columns before the rows.
def to_tokens(images):
    batch, channels, rows, columns = images.shape
    return images.permute(0, 3, 2, 1).reshape(batch, rows * columns, channels)


# %% tags=["2.3", "wrong"]
# In merge_heads the features of all heads are interleaved: the heads went behind the features.
# They belong between tokens and features.
def merge_heads(x):
    batch, heads, tokens, features = x.shape
    return x.permute(0, 2, 3, 1).reshape(batch, tokens, heads * features)


# %% [markdown] tags=["2.3", "hint"]
# `reshape` joins or cuts neighbouring dimensions. Which two dimensions must be neighbours here, in
# which order?

# %% [markdown] tags=["2.3", "hint"]
# `transpose(i, j)` swaps two dimensions and moves no value. Do that first, then reshape.

# %% [markdown] tags=["2.3", "hint"]
# Heads: `x.transpose(1, 2)` gives (batch, tokens, heads, features). Pixels: `images.flatten(2)`
# gives (batch, channels, pixels), and its last two dimensions are then swapped.

# %% [markdown] tags=["2.3", "afterword"]
# A test with `torch.arange` finds such a bug in a minute; a training run may never show it. Write
# one for each function that changes a shape.

# %% tags=["2.4", "about"]
title = "The pipeline that edits its input"
kind = "repair"
core = False
difficulty = 1
minutes = 8
points = 2

# %% [markdown] tags=["2.4", "statement"]
# `prepare` takes a NumPy array of pixel values from 0 to 255 and gives a tensor of values from 0 to
# 1, where all below 0.1 are 0. Called twice on the same array, it gives two different results.
# Repair it.
#
# **Done when** the array is unchanged, the result shares no memory with it, and values and dtype
# are those that the first call gives now. The array may be float32 or uint8.


# %% tags=["2.4", "answer"]
def prepare(array):
    ### BEGIN SOLUTION
    x = torch.from_numpy(array) / 255
    x[x < 0.1] = 0
    return x
    ### END SOLUTION


# %% tags=["2.4", "given"]
def prepare(array):
    x = torch.from_numpy(array).float()
    x /= 255
    x[x < 0.1] = 0
    return x


# %% tags=["2.4", "check"]
import numpy

from insidetorch import relation

values = [[0, 10, 26], [51, 102, 255]]
arrays = {name: numpy.array(values, dtype=name) for name in ("float32", "uint8")}


def twice(name):
    array = arrays[name].copy()
    first = prepare(array)
    shared = relation(first, torch.from_numpy(array)).common_bytes
    return {
        "first call": first.tolist(),
        "second call": prepare(array).tolist(),
        "dtype": first.dtype,
        "shared bytes": shared,
        "array afterwards": array.tolist(),
    }


def expected(name):
    x = torch.tensor(values) / 255
    right = torch.where(x < 0.1, 0, x).tolist()
    return {
        "first call": right,
        "second call": right,
        "dtype": torch.float32,
        "shared bytes": 0,
        "array afterwards": arrays[name].tolist(),
    }


check("2.4", twice, [("float32",), ("uint8",)], torch_says=expected)


# %% tags=["2.4", "wrong"]
# The clone comes too late: the division has written into the array by then.
def prepare(array):
    x = torch.from_numpy(array).float()
    x /= 255
    x = x.clone()
    x[x < 0.1] = 0
    return x


# %% tags=["2.4", "wrong"]
# Now the division is out of place, but the small values are set to 0 in the array itself.
def prepare(array):
    array[array < 25.5] = 0
    return torch.from_numpy(array) / 255


# %% tags=["2.4", "wrong"]
# The values below 0.1 stay: x[x < 0.1] is a copy, and zero_() writes into that copy.
def prepare(array):
    x = torch.from_numpy(array) / 255
    x[x < 0.1].zero_()
    return x


# %% [markdown] tags=["2.4", "hint"]
# Whose memory does `torch.from_numpy(array).float()` read, if the array is float32 already?

# %% [markdown] tags=["2.4", "hint"]
# `x /= 255` writes into the memory that `x` reads; `x / 255` makes new memory.

# %% [markdown] tags=["2.4", "hint"]
# Divide out of place. What comes after that may write, since the memory is your own.

# %% [markdown] tags=["2.4", "afterword"]
# With uint8 arrays the bug never showed: `float()` had to convert, and so it copied. That is why
# such bugs appear when somebody changes a dtype.

# %% tags=["2.5", "about"]
title = "Three counterexamples"
kind = "counterexample"
core = True
difficulty = 2
minutes = 9
points = 3
judge = "insidetorch.learn.judges.counterexamples_of_views"

# %% [markdown] tags=["2.5", "statement"]
# Refute three beliefs, each with a layout of your own over a storage that is large enough.
#
# - "Only contiguous tensors can be viewed": `viewed = (sizes, strides, wanted)`, not contiguous,
#   and yet `view(wanted)` works. `wanted` is not just the same sizes again.
# - "`reshape` gives a view": `copied = (sizes, strides, wanted)`, where it copies.
# - "torch refuses to write where indices share an element": `unnoticed = (sizes, strides)`, where
#   two indices share an element and `add_` raises nothing.
#
# For example, `(2, 3), (3, 1), (6,)` are the sizes and strides of a new 2 × 3 matrix and the sizes
# of its flat view. Sizes and strides are tuples of integers; stay below 1,000 elements.
#
# **Done when** all three hold. There are many right answers.


# %% tags=["2.5", "answer"]
def counterexamples():
    ### BEGIN SOLUTION
    viewed = (4, 2), (4, 1), (2, 2, 2)
    copied = (3, 2), (1, 3), (6,)
    unnoticed = (3, 3), (1, 1)
    return viewed, copied, unnoticed
    ### END SOLUTION


# %% tags=["2.5", "check"]
def try_them():
    names = ("viewed", "copied", "unnoticed")
    given = dict(zip(names, counterexamples(), strict=True))
    memory = torch.zeros(1000)
    # They must be layouts that torch can make.
    for sizes, strides, *_ in given.values():
        memory.as_strided(sizes, strides)
    return given


check("2.5", try_them, [()])


# %% tags=["2.5", "wrong"]
# The first tensor is contiguous: of course it can be viewed. Leave a gap between its rows.
def counterexamples():
    return ((4, 2), (2, 1), (2, 2, 2)), ((3, 2), (1, 3), (6,)), ((3, 3), (1, 1))


# %% tags=["2.5", "wrong"]
# The first wanted sizes are those that the tensor has, but for ones. Cut a dimension in two, or
# join two that merge.
def counterexamples():
    return ((4, 2), (4, 1), (4, 2)), ((3, 2), (1, 3), (6,)), ((3, 3), (1, 1))


# %% tags=["2.5", "wrong"]
# The first view is refused: the wanted sizes join dimensions that do not merge.
def counterexamples():
    return ((4, 2), (4, 1), (8,)), ((3, 2), (1, 3), (6,)), ((3, 3), (1, 1))


# %% tags=["2.5", "wrong"]
# In the second, reshape gives a view: the dimensions merge. Transpose, then flatten.
def counterexamples():
    return ((4, 2), (4, 1), (2, 2, 2)), ((3, 2), (2, 1), (6,)), ((3, 3), (1, 1))


# %% tags=["2.5", "wrong"]
# The third write is refused: torch does notice a stride of 0. Overlap without one.
def counterexamples():
    return ((4, 2), (4, 1), (2, 2, 2)), ((3, 2), (1, 3), (6,)), ((3, 3), (0, 1))


# %% tags=["2.5", "wrong"]
# In the third, no two indices share an element, so there is nothing to notice.
def counterexamples():
    return ((4, 2), (4, 1), (2, 2, 2)), ((3, 2), (1, 3), (6,)), ((3, 3), (3, 1))


# %% [markdown] tags=["2.5", "hint"]
# Viewed: cutting one dimension in two is always possible, gap or no gap.

# %% [markdown] tags=["2.5", "hint"]
# Copied: the layout of a transposed matrix, flattened. Unnoticed: windows, as `unfold` makes them.

# %% [markdown] tags=["2.5", "hint"]
# A left half of a matrix has sizes (4, 2) and strides (4, 1). A transposed one has sizes (3, 2) and
# strides (1, 3). Windows have twice the same stride.

# %% [markdown] tags=["2.5", "afterword"]
# What all three have in common: sizes say nothing. Only strides decide, and `explain_view` and
# `show` read them for you.

# %% tags=["2.6", "about"]
title = "The best weights that went on training"
kind = "repair"
core = False
difficulty = 1
minutes = 8
points = 2

# %% [markdown] tags=["2.6", "statement"]
# `train` keeps the weights of the step with the lowest loss. What it returns are always the last
# weights. Repair it, and let the training itself go on as it does.
#
# **Done when** the returned weights are those of the best step, they share no memory with the
# model, and the model ends with the same weights as before.


# %% tags=["2.6", "answer"]
def train(model, inputs, targets, rates):
    ### BEGIN SOLUTION
    best, lowest = None, float("inf")
    for rate in rates:
        loss = (model(inputs) - targets).pow(2).mean()
        if loss.item() < lowest:
            lowest = loss.item()
            best = {name: value.clone() for name, value in model.state_dict().items()}
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= rate * parameter.grad
    return best
    ### END SOLUTION


# %% tags=["2.6", "given"]
def train(model, inputs, targets, rates):
    best, lowest = None, float("inf")
    for rate in rates:
        loss = (model(inputs) - targets).pow(2).mean()
        if loss.item() < lowest:
            lowest, best = loss.item(), model.state_dict()
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= rate * parameter.grad
    return best


# %% tags=["2.6", "check"]
def best_of(rates):
    model = torch.nn.Linear(1, 1)
    torch.nn.init.constant_(model.weight, 4.0)
    torch.nn.init.zeros_(model.bias)
    inputs = torch.tensor([[1.0], [2.0]])
    best = train(model, inputs, 2 * inputs, rates)
    alive = {t.untyped_storage().data_ptr() for t in model.parameters()}
    return {
        "best": {name: value.tolist() for name, value in sorted(best.items())},
        "shares memory": any(v.untyped_storage().data_ptr() in alive for v in best.values()),
        "model afterwards": [p.tolist() for p in model.parameters()],
    }


check("2.6", best_of, [((0.125, 0.125, 0.5, 0.5),), ((0.125, 0.0, 1.0),), ((0.25, 0.0625),)])


# %% tags=["2.6", "wrong"]
# The copy is made at the end. By then the live weights have gone on: copy at the best step.
def train(model, inputs, targets, rates):
    best, lowest = None, float("inf")
    for rate in rates:
        loss = (model(inputs) - targets).pow(2).mean()
        if loss.item() < lowest:
            lowest, best = loss.item(), model.state_dict()
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= rate * parameter.grad
    return {name: value.clone() for name, value in best.items()}


# %% tags=["2.6", "wrong"]
# The copy is made after the step, so it holds the weights that come after the best ones.
def train(model, inputs, targets, rates):
    best, lowest = None, float("inf")
    for rate in rates:
        loss = (model(inputs) - targets).pow(2).mean()
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= rate * parameter.grad
        if loss.item() < lowest:
            lowest = loss.item()
            best = {name: value.clone() for name, value in model.state_dict().items()}
    return best


# %% tags=["2.6", "wrong"]
# The first weights are kept, whatever the loss. Keep those with the lowest loss so far.
def train(model, inputs, targets, rates):
    best = {name: value.clone() for name, value in model.state_dict().items()}
    for rate in rates:
        loss = (model(inputs) - targets).pow(2).mean()
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= rate * parameter.grad
    return best


# %% [markdown] tags=["2.6", "hint"]
# `model.state_dict()` holds detached views of the parameters. What does the step do to their
# memory?

# %% [markdown] tags=["2.6", "hint"]
# Each value of the dict needs memory of its own, made at the moment at which it is the best.

# %% [markdown] tags=["2.6", "hint"]
# `{name: value.clone() for name, value in model.state_dict().items()}`, or `copy.deepcopy` of it.

# %% [markdown] tags=["2.6", "afterword"]
# The broken version is no rare mistake: it is what saving "the best model so far" in a variable
# does. Saving to a file at that moment would have been right, since writing a file copies.

# %% tags=["2.7", "about"]
title = "Three hidden copies"
kind = "repair"
core = False
difficulty = 2
minutes = 10
points = 3

# %% [markdown] tags=["2.7", "statement"]
# `project` multiplies the features of each time step of each sample with a matrix. It is right, and
# it copies three times on the way. Find the copies with `copies(lambda: project(x, weight))`, and
# give the same result without any.
#
# **Done when** no operator copies, and values and sizes are the same.


# %% tags=["2.7", "answer"]
def project(x, weight):
    ### BEGIN SOLUTION
    return x @ weight.t()
    ### END SOLUTION


# %% tags=["2.7", "given"]
def project(x, weight):
    batch, time, features = x.shape
    rows = x.transpose(0, 1).reshape(time * batch, features)
    y = rows @ weight.t()
    y = y.view(time, batch, -1).transpose(0, 1).contiguous()
    return y[list(range(batch))]


# %% tags=["2.7", "check"]
from insidetorch import copies


def look_for_copies(batch, time, features, outputs):
    x = torch.arange(batch * time * features).float().view(batch, time, features)
    weight = torch.arange(outputs * features).float().view(outputs, features)
    found = copies(lambda: project(x, weight))
    return {
        "copies": [step.operator for step in found.found],
        "result": project(x, weight).tolist(),
    }


def without_copies(batch, time, features, outputs):
    x = torch.arange(batch * time * features).float().view(batch, time, features)
    weight = torch.arange(outputs * features).float().view(outputs, features)
    return {"copies": [], "result": torch.einsum("btf,of->bto", x, weight).tolist()}


check("2.7", look_for_copies, [(2, 3, 4, 2), (3, 2, 1, 3), (2, 2, 2, 2)], torch_says=without_copies)


# %% tags=["2.7", "wrong"]
# The last line still copies: a list of indices does, even if it names every row in order.
def project(x, weight):
    y = x @ weight.t()
    return y[list(range(len(x)))]


# %% tags=["2.7", "wrong"]
# The rows are still copied: the transposed batch cannot be flattened without it. Keep the batch
# first.
def project(x, weight):
    batch, time, features = x.shape
    rows = x.transpose(0, 1).reshape(time * batch, features)
    return (rows @ weight.t()).view(time, batch, -1).transpose(0, 1)


# %% tags=["2.7", "wrong"]
# There are no copies, but samples and time steps are mixed up: sizes that fit do not make values
# fit.
def project(x, weight):
    batch, time, features = x.shape
    rows = x.view(time * batch, features)
    return (rows @ weight.t()).view(time, batch, -1).transpose(0, 1)


# %% [markdown] tags=["2.7", "hint"]
# `print(copies(lambda: project(x, weight)))` names the three lines. Which of them is needed because
# of another one?

# %% [markdown] tags=["2.7", "hint"]
# The matrix product needs rows of features. They lie in order already: batch, time, features.

# %% [markdown] tags=["2.7", "hint"]
# `x.view(batch * time, features)` is a view. Or let `@` do it: it takes a batch of matrices.

# %% [markdown] tags=["2.7", "afterword"]
# The first copy made the second look necessary, and the third was a plain gather of all rows. Start
# with the first copy, not with the largest.

# %% tags=["2.8", "about"]
title = "MiniTorch 2: views"
kind = "build"
core = True
difficulty = 3
minutes = 32
points = 4

# %% [markdown] tags=["2.8", "statement"]
# The second piece of your small torch. `alias(t, sizes, strides, offset)` makes a tensor over the
# storage of `t` (without an offset, that of `t`), `new(values, sizes, dtype)` one with a storage of
# its own; `list(t)` gives the values of `t` in the order of their indices. A tensor has `t.sizes`,
# `t.strides`, `t.offset`, `t.dtype` and `t.storage`.
#
# - `view_strides(sizes, strides, wanted)` returns the strides of the view, or None if there is
#   none. This is the view rule of the chapter, sizes of 1 included. A tensor without values keeps
#   its strides if the sizes are the same, and has those of a new tensor otherwise.
# - `view_kernel(t, sizes)` returns the view, or raises ValueError.
# - `expand_kernel(t, sizes)` has as many dimensions as `t`, or more on the left. Along a dimension
#   of size 1 that grows, and along a new one, the stride is 0.
# - `narrow_kernel(t, dim, start, length)` keeps `length` indices of one dimension, from `start` on.
# - `contiguous(t)` returns `t` itself if it is contiguous, else a copy. What steps along a
#   dimension of size 1 does not count, and a tensor without values is contiguous.
# - `reshape(t, sizes)` returns a view if there is one, else a view of a copy.
#
# **Done when** 150 random programs of these steps have the sizes, strides, offset, values and
# memory that they have in torch, and are refused where torch refuses.

# %% tags=["2.8", "setup"]
from math import prod

from insidetorch import relation
from insidetorch.mini import alias, assemble, contiguous_strides, new, permute_kernel


# %% tags=["2.8", "answer"]
def view_strides(sizes, strides, wanted):
    ### BEGIN SOLUTION
    if prod(sizes) != prod(wanted):
        return None
    if 0 in sizes:
        same = tuple(sizes) == tuple(wanted)
        return tuple(strides) if same else contiguous_strides(wanted)
    chunks, length, step = [], 1, strides[-1] if strides else 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if size == 1 or stride == length * step:
            length *= size
        else:
            chunks.append((length, step))
            length, step = size, stride
    found, left = [], list(wanted)
    for full, stride in [*chunks, (length, step)]:
        filled = 1
        while left and (filled < full or left[-1] == 1):
            found.append(filled * stride)
            filled *= left.pop()
        if filled != full:
            return None
    return tuple(reversed(found))
    ### END SOLUTION


def view_kernel(t, sizes):
    ### BEGIN SOLUTION
    strides = view_strides(t.sizes, t.strides, sizes)
    if strides is None:
        raise ValueError(f"{t.sizes} with strides {t.strides} cannot be viewed as {sizes}")
    return alias(t, sizes, strides)
    ### END SOLUTION


def expand_kernel(t, sizes):
    ### BEGIN SOLUTION
    lead = len(sizes) - len(t.sizes)
    pairs = zip(t.sizes, t.strides, sizes[lead:], strict=True)
    strides = [stride if size == wanted else 0 for size, stride, wanted in pairs]
    return alias(t, sizes, [0] * lead + strides)
    ### END SOLUTION


def narrow_kernel(t, dim, start, length):
    ### BEGIN SOLUTION
    sizes = [length if d == dim else size for d, size in enumerate(t.sizes)]
    return alias(t, sizes, t.strides, t.offset + start * t.strides[dim])
    ### END SOLUTION


def contiguous(t):
    ### BEGIN SOLUTION
    dims = zip(t.sizes, t.strides, contiguous_strides(t.sizes), strict=True)
    if 0 in t.sizes or all(size == 1 or have == want for size, have, want in dims):
        return t
    return new(list(t), t.sizes, t.dtype)
    ### END SOLUTION


def reshape(t, sizes):
    ### BEGIN SOLUTION
    if view_strides(t.sizes, t.strides, sizes) is None:
        t = contiguous(t)
    return view_kernel(t, sizes)
    ### END SOLUTION


# %% tags=["2.8", "check"]
from random import Random

torch_kernels = {
    "permute_kernel": torch.permute,
    "view_kernel": lambda t, sizes: t.view(sizes),
    "expand_kernel": lambda t, sizes: t.expand(sizes),
    "narrow_kernel": torch.narrow,
    "contiguous": lambda t: t.contiguous(),
    "reshape": torch.reshape,
}


def random_step(random, t):
    """A step that makes sense for a tensor of these sizes; a view may be refused."""
    sizes, name = list(t.shape), random.choice(list(torch_kernels))
    if name == "permute_kernel":
        return name, tuple(random.sample(range(t.dim()), t.dim()))
    if name == "narrow_kernel":
        dim = random.randrange(t.dim())
        start = random.randint(0, sizes[dim])
        return name, dim, start, random.randint(0, sizes[dim] - start)
    if name == "expand_kernel":
        return name, (2,) * (t.dim() < 3) + tuple(3 if n == 1 else n for n in sizes)
    if name == "contiguous":
        return (name,)
    flat, at = t.numel(), random.randrange(t.dim())
    joined = (*sizes[:at], prod(sizes[at : at + 2]), *sizes[at + 2 :])
    cut = (*sizes[:at], 2, sizes[at] // 2, *sizes[at + 1 :]) if sizes[at] % 2 == 0 else (flat, 1)
    return name, random.choice([(flat,), joined, cut, (1, *sizes), tuple(reversed(sizes))])


def random_program(seed):
    random = Random(seed)
    sizes = random.choice([(6,), (2, 3), (4, 3), (2, 2, 3), (3, 1, 2), (1, 4), (2, 0, 3)])
    t, steps = torch.zeros(sizes), []
    for _ in range(4):
        steps.append(random_step(random, t))
        try:
            t = torch_kernels[steps[-1][0]](t, *steps[-1][1:])
        except RuntimeError:
            continue
    return sizes, steps


def run(kernels, start, steps, look):
    """What each step gives, as `look` sees it, and the tensor at the end."""
    t, seen = start, []
    for name, *arguments in steps:
        try:
            t = kernels[name](t, *arguments)
            seen.append(look(t))
        except NotImplementedError:
            raise
        except (RuntimeError, ValueError):
            seen.append("refused")
    return t, seen


pieces = {
    "view_strides": view_strides,
    "view_kernel": view_kernel,
    "expand_kernel": expand_kernel,
    "narrow_kernel": narrow_kernel,
    "contiguous": contiguous,
    "reshape": reshape,
}


def run_mini(sizes, steps):
    mini = assemble(**pieces)
    start = mini.new(range(prod(sizes)), sizes, "q")

    def look(t):
        return t.sizes, t.strides, t.offset, t.storage is start.storage

    t, seen = run(vars(mini), start, steps, look)
    return {"sizes, strides, offset, same memory": seen, "values": list(t)}


def run_torch(sizes, steps):
    start = torch.arange(prod(sizes)).view(sizes)

    def look(t):
        return t.shape, t.stride(), t.storage_offset(), relation(t, start).same_storage

    t, seen = run(torch_kernels, start, steps, look)
    return {"sizes, strides, offset, same memory": seen, "values": t.flatten().tolist()}


programs = [random_program(seed) for seed in range(150)]
# A dimension of size 1 merges, wherever it stands.
programs.append(
    ((2, 3), [("view_kernel", (1, 2, 3)), ("permute_kernel", (1, 0, 2)), ("view_kernel", (6,))])
)
given = [alias, new, contiguous_strides, permute_kernel]
check(
    "2.8", run_mini, programs, torch_says=run_torch, by_hand=tuple(pieces.values()), allowed=given
)


# %% tags=["2.8", "wrong"]
# Your view rule looks at the sizes alone: it gives the strides of a new tensor, whatever those of
# the source are. Values then come from the wrong elements.
def view_strides(sizes, strides, wanted):
    return contiguous_strides(wanted) if prod(sizes) == prod(wanted) else None


# %% tags=["2.8", "wrong"]
# Your view rule allows contiguous tensors only. A dimension of any tensor can be cut in two, and
# dimensions that merge can be joined.
def view_strides(sizes, strides, wanted):
    if prod(sizes) != prod(wanted) or tuple(strides) != contiguous_strides(sizes):
        return None
    return contiguous_strides(wanted)


# %% tags=["2.8", "wrong"]
# A dimension that is expanded keeps its stride here. All its indices read the same elements: its
# stride is 0.
def expand_kernel(t, sizes):
    lead = len(sizes) - len(t.sizes)
    return alias(t, sizes, [0] * lead + list(t.strides))


# %% tags=["2.8", "wrong"]
# narrow_kernel forgets where the dimension starts: the offset grows by start times its stride.
def narrow_kernel(t, dim, start, length):
    sizes = [length if d == dim else size for d, size in enumerate(t.sizes)]
    return alias(t, sizes, t.strides)


# %% tags=["2.8", "wrong"]
# narrow_kernel sets the offset anew. A view of a view starts from the offset that is already there.
def narrow_kernel(t, dim, start, length):
    sizes = [length if d == dim else size for d, size in enumerate(t.sizes)]
    return alias(t, sizes, t.strides, start * t.strides[dim])


# %% tags=["2.8", "wrong"]
# contiguous copies always. Of a tensor whose values lie in order it returns that very tensor.
def contiguous(t):
    return new(list(t), t.sizes, t.dtype)


# %% tags=["2.8", "wrong"]
# reshape copies always. Where the view rule allows the sizes, it is a view.
def reshape(t, sizes):
    return view_kernel(new(list(t), t.sizes, t.dtype), sizes)


# %% [markdown] tags=["2.8", "hint"]
# Start with the kernels that are one computation on sizes, strides and offset: narrow, expand. Then
# contiguous. The view rule comes last.

# %% [markdown] tags=["2.8", "hint"]
# The view rule in two loops. First from the right over `sizes` and `strides`: collect chunks
# (length, stride). A dimension joins the chunk if its size is 1, or its stride is length · stride
# of the chunk.

# %% [markdown] tags=["2.8", "hint"]
# Then over the chunks, from the right, taking wanted sizes from the right: while the chunk is not
# full, or the next wanted size is 1, that size gets the stride filled · stride. If the chunk is not
# filled exactly, there is no view.

# %% [markdown] tags=["2.8", "afterword"]
# That is `computeStride` of torch's C++ source. Your small torch now has every view that chapter 3
# needs: the next piece records what was done, so that gradients can flow back.
