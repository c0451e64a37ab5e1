# %% [markdown]
# # Exercises 1 · Storage and stride
#
# Each exercise has a cell for your answer and, folded away below it, a cell that checks it. Run
# both. A check knows three outcomes: not attempted, not yet, right. Where it recognises a mistake,
# it says which.
#
# - `hint("1.2")` in a cell of your own helps in three steps: each run shows one hint more.
# - `progress()` shows how far you are.
# - `python course.py reset 1.2`, typed in a terminal in the course's folder, puts the stub of an
#   exercise back (a *stub* is what stands in the answer cell at first) and keeps your old notebook.
#
# *Core* exercises take about an hour together, *extra* ones come on top. In a *complete* exercise
# you write a function, in a *repair* you mend one that is given, and in a *build* you write a piece
# of a small torch of your own. Where an exercise asks for a rule, answer in plain Python: no torch,
# no `insidetorch`, no NumPy. The checks run your rule on many small cases, and torch is the judge.

# %%
from itertools import product

import torch

from insidetorch import check, hint, progress

# %% tags=["1.1", "about"]
title = "The strides of a new tensor"
kind = "complete"
core = False
difficulty = 1
minutes = 8
points = 1

# %% [markdown] tags=["1.1", "statement"]
# `torch.empty(sizes)` lays its values out row by row. Write the rule for its strides: a tuple with
# one stride for each size. Sizes of 0 and 1 occur.
#
# **Done when** your rule agrees with torch for all sizes from 0 to 3 in up to three dimensions.


# %% tags=["1.1", "answer"]
def new_strides(sizes):
    ### BEGIN SOLUTION
    strides, step = [], 1
    for size in reversed(sizes):
        strides.insert(0, step)
        step *= max(size, 1)
    return tuple(strides)
    ### END SOLUTION


# %% tags=["1.1", "check"]
small_sizes = [sizes for dims in range(4) for sizes in product(range(4), repeat=dims)]

check(
    "1.1",
    new_strides,
    [(sizes,) for sizes in small_sizes],
    torch_says=lambda sizes: torch.empty(sizes).stride(),
    by_hand=new_strides,
)


# %% tags=["1.1", "wrong"]
# A size of 0 makes every stride to its left 0 here. torch lets it count as 1: sizes (2, 0, 3) have
# strides (3, 3, 1).
def new_strides(sizes):
    strides, step = [], 1
    for size in reversed(sizes):
        strides.insert(0, step)
        step *= size
    return tuple(strides)


# %% tags=["1.1", "wrong"]
# These are the strides of a tensor laid out column by column: the first dimension has stride 1.
# torch steps by 1 along the last.
def new_strides(sizes):
    strides, step = [], 1
    for size in sizes:
        strides.append(step)
        step *= max(size, 1)
    return tuple(strides)


# %% tags=["1.1", "wrong"]
# Each stride holds the product of the sizes from its own on. A step along a dimension passes over
# what lies to its right: leave the dimension's own size out.
def new_strides(sizes):
    strides, step = [], 1
    for size in reversed(sizes):
        step *= max(size, 1)
        strides.insert(0, step)
    return tuple(strides)


# %% tags=["1.1", "wrong"]
# Your answer uses torch. The point is the rule: plain Python gets the strides from the sizes alone.
def new_strides(sizes):
    return torch.empty(sizes).stride()


# %% [markdown] tags=["1.1", "hint"]
# Walk through the sizes from the right.

# %% [markdown] tags=["1.1", "hint"]
# Keep the number of elements that one step has to pass over. It is 1 for the last dimension.

# %% [markdown] tags=["1.1", "hint"]
# After each dimension multiply that number by the dimension's size, or by 1 where the size is 0.

# %% [markdown] tags=["1.1", "afterword"]
# That is `empty_tensor_restride` of torch's C++ source. `is_contiguous()` compares with these
# strides, but it ignores those of dimensions of size 1, and says True of every tensor without
# values.

# %% tags=["1.2", "about"]
title = "The readers of an element"
kind = "complete"
core = True
difficulty = 2
minutes = 12
points = 2

# %% [markdown] tags=["1.2", "statement"]
# An index leads to one storage element. Go the other way: given a storage element, return the list
# of all indices (tuples, in ascending order) that read it. There may be none, one, or several.
#
# **Done when** your rule finds what torch finds, for tensors with strides of 0, overlaps, an
# offset, no dimension at all, and a size of 0.


# %% tags=["1.2", "answer"]
def readers(element, sizes, strides, offset):
    ### BEGIN SOLUTION
    found = []
    for index in product(*(range(size) for size in sizes)):
        if offset + sum(i * s for i, s in zip(index, strides, strict=True)) == element:
            found.append(index)
    return found
    ### END SOLUTION


# %% tags=["1.2", "check"]
layouts = [((2, 3), (3, 1), 0), ((3, 2), (1, 3), 0), ((3, 3), (1, 1), 2), ((2, 3), (0, 1), 1)]
layouts += [((2, 2, 2), (4, 0, 1), 0), ((), (), 5), ((2, 0), (1, 1), 0), ((4,), (2,), 1)]
questions = [(element, *layout) for layout in layouts for element in range(9)]


def torch_finds(element, sizes, strides, offset):
    read = torch.arange(20).as_strided(sizes, strides, offset)
    return [tuple(index) for index in (read == element).nonzero().tolist()]


check("1.2", readers, questions, torch_says=torch_finds, by_hand=readers)


# %% tags=["1.2", "wrong"]
# You find one index and stop. With a stride of 0, or windows that overlap, several indices read
# the same element.
def readers(element, sizes, strides, offset):
    for index in product(*(range(size) for size in sizes)):
        if offset + sum(i * s for i, s in zip(index, strides, strict=True)) == element:
            return [index]
    return []


# %% tags=["1.2", "wrong"]
# The offset is missing: index 0, 0, … reads the element at the storage offset, not element 0.
def readers(element, sizes, strides, offset):
    found = []
    for index in product(*(range(size) for size in sizes)):
        if sum(i * s for i, s in zip(index, strides, strict=True)) == element:
            found.append(index)
    return found


# %% tags=["1.2", "wrong"]
# Dividing by the strides one after the other inverts the strides of a new tensor only. Here they
# may be transposed, 0, or overlapping.
def readers(element, sizes, strides, offset):
    left, index = element - offset, []
    for size, stride in zip(sizes, strides, strict=True):
        step = min(left // stride, size - 1) if stride else 0
        index.append(step)
        left -= step * stride
    return [tuple(index)] if left == 0 and 0 not in sizes else []


# %% [markdown] tags=["1.2", "hint"]
# No clever inverse is needed. How would you find the readers of an element with a pencil?

# %% [markdown] tags=["1.2", "hint"]
# `itertools.product(*(range(size) for size in sizes))` gives every index, in ascending order.

# %% [markdown] tags=["1.2", "hint"]
# For each index compute offset + Σ index · stride, and keep the index if that is the element.

# %% [markdown] tags=["1.2", "afterword"]
# The explorer marks the readers of a storage element in just this way. When several indices read
# one element, a write through one of them changes the others: that is where chapter 2 goes on.

# %% tags=["1.3", "about"]
title = "Dilated patches without a copy"
kind = "complete"
core = True
difficulty = 3
minutes = 15
points = 3

# %% [markdown] tags=["1.3", "statement"]
# A convolution looks at patches of an image. A *dilated* one leaves gaps: a 3 × 3 patch with
# dilation 2 takes every second row and column. Return all patches of an image as one view with four
# dimensions: `result[y, x]` is the patch, of sizes (size, size), whose upper left value is
# `image[y, x]`. There is one for each position at which the whole patch lies inside the image.
#
# **Done when** the values, sizes and strides are right and the only operator that runs is
# `image.as_strided`. The image may itself be a view, so do not assume its strides or its offset.


# %% tags=["1.3", "answer"]
def patches(image, size, dilation):
    ### BEGIN SOLUTION
    reach = dilation * (size - 1)
    rows, columns = (n - reach for n in image.shape)
    down, across = image.stride()
    return image.as_strided(
        (rows, columns, size, size), (down, across, dilation * down, dilation * across)
    )
    ### END SOLUTION


# %% tags=["1.3", "check"]
from insidetorch import count, relation

board = torch.arange(48).reshape(6, 8)
images = [board, board.t(), board[1:, 2:], torch.arange(480).reshape(20, 24)[:6, 1:12:2]]


def look_at_patches(number, size, dilation):
    image, made = images[number], []
    ran = count(lambda: made.append(patches(image, size, dilation)))
    same = relation(made[0], image).same_storage
    return {"patches": made[0], "reads the image": same, "operators": str(ran)}


def by_unfold(number, size, dilation):
    reach, image = dilation * (size - 1) + 1, images[number]
    views = image.unfold(0, reach, 1).unfold(1, reach, 1)[..., ::dilation, ::dilation]
    return {"patches": views, "reads the image": True, "operators": "aten.as_strided.default"}


settings = [(number, *how) for number in range(4) for how in ((2, 1), (3, 1), (2, 3))]
check("1.3", look_at_patches, settings, torch_says=by_unfold)


# %% tags=["1.3", "wrong"]
# You take the strides of a new tensor from the sizes. A transposed or sliced image has others: ask
# it for its own.
def patches(image, size, dilation):
    reach = dilation * (size - 1)
    rows, columns = (n - reach for n in image.shape)
    down, across = image.shape[1], 1
    return image.as_strided(
        (rows, columns, size, size), (down, across, dilation * down, dilation * across)
    )


# %% tags=["1.3", "wrong"]
# You pass an offset of 0, so a slice of a larger image reads from the start of the whole storage.
# Leave it out, or pass the image's own.
def patches(image, size, dilation):
    reach = dilation * (size - 1)
    rows, columns = (n - reach for n in image.shape)
    down, across = image.stride()
    strides = (down, across, dilation * down, dilation * across)
    return image.as_strided((rows, columns, size, size), strides, 0)


# %% tags=["1.3", "wrong"]
# The dilation went into the steps between patches. They stay one value apart; it is inside a patch
# that steps are wider.
def patches(image, size, dilation):
    reach = dilation * (size - 1)
    rows, columns = (n - reach for n in image.shape)
    down, across = image.stride()
    return image.as_strided(
        (rows, columns, size, size), (dilation * down, dilation * across, down, across)
    )


# %% tags=["1.3", "wrong"]
# The values are right, but they were copied: the patches do not read the image's storage. Say the
# same with sizes and strides alone.
def patches(image, size, dilation):
    reach = dilation * (size - 1)
    rows, columns = (n - reach for n in image.shape)
    down, across = image.stride()
    return image.as_strided(
        (rows, columns, size, size), (down, across, dilation * down, dilation * across)
    ).clone()


# %% [markdown] tags=["1.3", "hint"]
# A patch with `size` values and dilation d reaches d · (size - 1) further than its first value. How
# many patches fit?

# %% [markdown] tags=["1.3", "hint"]
# The first two dimensions of the result step from patch to patch: by the image's own strides.

# %% [markdown] tags=["1.3", "hint"]
# The last two dimensions step inside a patch: by the image's strides times the dilation.

# %% [markdown] tags=["1.3", "afterword"]
# The method `unfold` does this for one dimension and without dilation; two of them and a step, as
# in the check, give the same view. Some convolution kernels read memory just so. Others, and
# `nn.functional.unfold`, copy every patch out first.

# %% tags=["1.4", "about"]
title = "The slice that kept the whole data set"
kind = "repair"
core = True
difficulty = 1
minutes = 8
points = 2

# %% [markdown] tags=["1.4", "statement"]
# This function keeps a few rows of a data set for later. The file that they are saved to is as
# large as the data set, and the data set stays in memory as long as the rows do. Repair it.
#
# **Done when** the rows that come back from a file bring only their own bytes along, values and
# dtype are those of the slice, the rows share no memory with the data set, a gradient still flows
# from them into it, and its values are untouched.


# %% tags=["1.4", "answer"]
def keep_rows(dataset, count):
    ### BEGIN SOLUTION
    return dataset[:count].clone()
    ### END SOLUTION


# %% tags=["1.4", "given"]
def keep_rows(dataset, count):
    return dataset[:count]


# %% tags=["1.4", "check"]
import io

from insidetorch import relation

numbers = torch.arange(400).reshape(100, 4)
datasets = [numbers.float(), numbers.int().t(), numbers.double().requires_grad_()]


def save_and_load(number, count):
    dataset, file = datasets[number], io.BytesIO()
    before = dataset.detach().clone()
    kept = keep_rows(dataset, count)
    torch.save(kept.detach(), file)
    file.seek(0)
    loaded = torch.load(file)
    # A gradient arrives where the history of the rows leads back to the data set.
    arrives = kept.requires_grad and torch.autograd.grad(kept.sum(), dataset, allow_unused=True)[0]
    return {
        "values": loaded.tolist(),
        "dtype": loaded.dtype,
        "bytes of the loaded storage": loaded.untyped_storage().nbytes(),
        "bytes shared with the data set": relation(kept, dataset).common_bytes,
        "data set unchanged": torch.equal(dataset, before),
        "gradient": arrives.sum().item() if torch.is_tensor(arrives) else None,
    }


def wanted(number, count):
    rows = datasets[number][:count]
    return {
        "values": rows.tolist(),
        "dtype": rows.dtype,
        "bytes of the loaded storage": rows.nbytes,
        "bytes shared with the data set": 0,
        "data set unchanged": True,
        "gradient": float(rows.numel()) if rows.requires_grad else None,
    }


check("1.4", save_and_load, [(0, 3), (1, 2), (2, 1)], torch_says=wanted)


# %% tags=["1.4", "wrong"]
# A slice of rows of a contiguous data set is contiguous already, so contiguous() returns the slice
# itself. Nothing was copied, and the whole storage is still saved.
def keep_rows(dataset, count):
    return dataset[:count].contiguous()


# %% tags=["1.4", "wrong"]
# detach() cuts the history of a tensor, not its memory: it reads the same storage, and now no
# gradient flows.
def keep_rows(dataset, count):
    return dataset[:count].detach()


# %% tags=["1.4", "wrong"]
# Now the whole data set is copied, and the slice keeps that copy. Copy the slice.
def keep_rows(dataset, count):
    return dataset.clone()[:count]


# %% tags=["1.4", "wrong"]
# torch.tensor on a list makes a tensor of its own, but it chooses the dtype anew: integers become
# int64, whatever they were.
def keep_rows(dataset, count):
    return torch.tensor(dataset[:count].tolist())


# %% tags=["1.4", "wrong"]
# No gradient of the rows arrives in the data set: their history was cut, as .data, detach() and
# torch.tensor do it. Copy them in a way that is recorded.
def keep_rows(dataset, count):
    return dataset.data[:count].clone().requires_grad_(dataset.requires_grad)


# %% [markdown] tags=["1.4", "hint"]
# Look at the slice with `show`: how many elements does its storage have, and how many does it read?

# %% [markdown] tags=["1.4", "hint"]
# You need an operator that always makes a new storage, of just the size that is needed.

# %% [markdown] tags=["1.4", "hint"]
# `clone()` copies what a tensor reads. Call it on the slice, not on the data set.

# %% [markdown] tags=["1.4", "afterword"]
# The same call frees memory: as long as one row of a batch is kept, the batch is kept. `AliasMap()`
# names such a tensor even when its base has no name any more.

# %% tags=["1.5", "about"]
title = "The layout after twelve operators"
kind = "complete"
core = False
difficulty = 3
minutes = 20
points = 3

# %% [markdown] tags=["1.5", "statement"]
# Predict sizes, strides and offset of twelve views of a matrix `a`, from the layout of `a` alone.
# `layout_after(operator, sizes, strides, offset)` returns the three as tuple, tuple and integer.
# The operators are the keys of `operators` below. The matrix has at least 2 rows and 3 columns. A
# new dimension of size 1 gets the stride that one step over everything inside it would need:
# `a[None]` the number of rows times their stride, `a.unsqueeze(-1)` a stride of 1.
#
# **Done when** you agree with torch for each operator on matrices with different layouts.

# %% tags=["1.5", "setup"]
operators = {
    "a.t()": lambda a: a.t(),
    "a[1:]": lambda a: a[1:],
    "a[:, 1]": lambda a: a[:, 1],
    "a[-1]": lambda a: a[-1],
    "a[::2]": lambda a: a[::2],
    "a[:, 1::2]": lambda a: a[:, 1::2],
    "a[1, 2]": lambda a: a[1, 2],
    "a[None]": lambda a: a[None],
    "a.unsqueeze(-1)": lambda a: a.unsqueeze(-1),
    "a[:1].expand(4, -1)": lambda a: a[:1].expand(4, -1),
    "a.diagonal()": lambda a: a.diagonal(),
}
operators["a.unfold(1, 2, 1)"] = lambda a: a.unfold(1, 2, 1)


# %% tags=["1.5", "answer"]
def layout_after(operator, sizes, strides, offset):
    ### BEGIN SOLUTION
    (rows, columns), (down, across) = sizes, strides
    return {
        "a.t()": ((columns, rows), (across, down), offset),
        "a[1:]": ((rows - 1, columns), (down, across), offset + down),
        "a[:, 1]": ((rows,), (down,), offset + across),
        "a[-1]": ((columns,), (across,), offset + (rows - 1) * down),
        "a[::2]": (((rows + 1) // 2, columns), (2 * down, across), offset),
        "a[:, 1::2]": ((rows, columns // 2), (down, 2 * across), offset + across),
        "a[1, 2]": ((), (), offset + down + 2 * across),
        "a[None]": ((1, rows, columns), (rows * down, down, across), offset),
        "a.unsqueeze(-1)": ((rows, columns, 1), (down, across, 1), offset),
        "a[:1].expand(4, -1)": ((4, columns), (0, across), offset),
        "a.diagonal()": ((min(rows, columns),), (down + across,), offset),
        "a.unfold(1, 2, 1)": ((rows, columns - 1, 2), (down, across, across), offset),
    }[operator]
    ### END SOLUTION


# %% tags=["1.5", "check"]
grid = torch.arange(60).reshape(6, 10)
matrices = [grid, grid.t(), grid[1:4, 2:], grid[::2, ::3], grid[:, 3:7].t(), grid[:5, :7]]


def of(a):
    return tuple(a.shape), a.stride(), a.storage_offset()


check(
    "1.5",
    lambda operator, *layout: layout_after(operator, *layout),
    [(operator, *of(a)) for operator in operators for a in matrices],
    torch_says=lambda operator, sizes, strides, offset: of(
        operators[operator](torch.arange(60).as_strided(sizes, strides, offset))
    ),
    by_hand=layout_after,
)


# %% tags=["1.5", "wrong"]
# The results of slices are right for an offset of 0 only. A view of a view starts from the offset
# that is already there.
def layout_after(operator, sizes, strides, offset):
    offset = 0
    (rows, columns), (down, across) = sizes, strides
    return {
        "a.t()": ((columns, rows), (across, down), offset),
        "a[1:]": ((rows - 1, columns), (down, across), offset + down),
        "a[:, 1]": ((rows,), (down,), offset + across),
        "a[-1]": ((columns,), (across,), offset + (rows - 1) * down),
        "a[::2]": (((rows + 1) // 2, columns), (2 * down, across), offset),
        "a[:, 1::2]": ((rows, columns // 2), (down, 2 * across), offset + across),
        "a[1, 2]": ((), (), offset + down + 2 * across),
        "a[None]": ((1, rows, columns), (rows * down, down, across), offset),
        "a.unsqueeze(-1)": ((rows, columns, 1), (down, across, 1), offset),
        "a[:1].expand(4, -1)": ((4, columns), (0, across), offset),
        "a.diagonal()": ((min(rows, columns),), (down + across,), offset),
        "a.unfold(1, 2, 1)": ((rows, columns - 1, 2), (down, across, across), offset),
    }[operator]


# %% tags=["1.5", "wrong"]
# These layouts follow from the sizes alone. The matrix may be transposed or stepped: use the
# strides that are given.
def layout_after(operator, sizes, strides, offset):
    strides = (sizes[1], 1)
    (rows, columns), (down, across) = sizes, strides
    return {
        "a.t()": ((columns, rows), (across, down), offset),
        "a[1:]": ((rows - 1, columns), (down, across), offset + down),
        "a[:, 1]": ((rows,), (down,), offset + across),
        "a[-1]": ((columns,), (across,), offset + (rows - 1) * down),
        "a[::2]": (((rows + 1) // 2, columns), (2 * down, across), offset),
        "a[:, 1::2]": ((rows, columns // 2), (down, 2 * across), offset + across),
        "a[1, 2]": ((), (), offset + down + 2 * across),
        "a[None]": ((1, rows, columns), (rows * down, down, across), offset),
        "a.unsqueeze(-1)": ((rows, columns, 1), (down, across, 1), offset),
        "a[:1].expand(4, -1)": ((4, columns), (0, across), offset),
        "a.diagonal()": ((min(rows, columns),), (down + across,), offset),
        "a.unfold(1, 2, 1)": ((rows, columns - 1, 2), (down, across, across), offset),
    }[operator]


# %% tags=["1.5", "wrong"]
# A start moves the offset, but a step was taken from the first column on: of 7 columns, 1::2 are 3.
# Count from the start.
def layout_after(operator, sizes, strides, offset):
    (rows, columns), (down, across) = sizes, strides
    return {
        "a.t()": ((columns, rows), (across, down), offset),
        "a[1:]": ((rows - 1, columns), (down, across), offset + down),
        "a[:, 1]": ((rows,), (down,), offset + across),
        "a[-1]": ((columns,), (across,), offset + (rows - 1) * down),
        "a[::2]": (((rows + 1) // 2, columns), (2 * down, across), offset),
        "a[:, 1::2]": ((rows, (columns + 1) // 2), (down, 2 * across), offset + across),
        "a[1, 2]": ((), (), offset + down + 2 * across),
        "a[None]": ((1, rows, columns), (rows * down, down, across), offset),
        "a.unsqueeze(-1)": ((rows, columns, 1), (down, across, 1), offset),
        "a[:1].expand(4, -1)": ((4, columns), (0, across), offset),
        "a.diagonal()": ((min(rows, columns),), (down + across,), offset),
        "a.unfold(1, 2, 1)": ((rows, columns - 1, 2), (down, across, across), offset),
    }[operator]


# %% tags=["1.5", "wrong"]
# One step along the diagonal goes one row down and one column across: its stride is their sum.
def layout_after(operator, sizes, strides, offset):
    (rows, columns), (down, across) = sizes, strides
    return {
        "a.t()": ((columns, rows), (across, down), offset),
        "a[1:]": ((rows - 1, columns), (down, across), offset + down),
        "a[:, 1]": ((rows,), (down,), offset + across),
        "a[-1]": ((columns,), (across,), offset + (rows - 1) * down),
        "a[::2]": (((rows + 1) // 2, columns), (2 * down, across), offset),
        "a[:, 1::2]": ((rows, columns // 2), (down, 2 * across), offset + across),
        "a[1, 2]": ((), (), offset + down + 2 * across),
        "a[None]": ((1, rows, columns), (rows * down, down, across), offset),
        "a.unsqueeze(-1)": ((rows, columns, 1), (down, across, 1), offset),
        "a[:1].expand(4, -1)": ((4, columns), (0, across), offset),
        "a.diagonal()": ((min(rows, columns),), (down,), offset),
        "a.unfold(1, 2, 1)": ((rows, columns - 1, 2), (down, across, across), offset),
    }[operator]


# %% tags=["1.5", "wrong"]
# Your answer uses torch. The point is the rule: compute the layout from the numbers that are given.
def layout_after(operator, sizes, strides, offset):
    b = operators[operator](torch.arange(60).as_strided(sizes, strides, offset))
    return tuple(b.shape), b.stride(), b.storage_offset()


# %% [markdown] tags=["1.5", "hint"]
# An index that is fixed (a[:, 1], a[-1]) drops its dimension and adds index · stride to the offset.

# %% [markdown] tags=["1.5", "hint"]
# A start moves the offset and takes from the size; a step multiplies the stride and divides what is
# left from the start on, rounding up.

# %% [markdown] tags=["1.5", "hint"]
# One step along the diagonal is one row down and one column across: its stride is the sum. `unfold`
# adds a dimension inside its windows, with the stride of the dimension that it cuts.

# %% [markdown] tags=["1.5", "afterword"]
# You have written the view operators of torch: each of them is a computation on a handful of
# integers, whatever the size of the tensor.

# %% tags=["1.6", "about"]
title = "MiniTorch 1: storage and strides"
kind = "build"
core = True
difficulty = 2
minutes = 20
points = 4

# %% [markdown] tags=["1.6", "statement"]
# From here on you build a small torch of your own, one piece a chapter. Its first piece is what
# this chapter is about. A `Storage` is a block of bytes. A `Tensor` has `storage`, `dtype` (a
# letter such as `"d"`), `sizes`, `strides` and `offset`. Its constructor is part of what you are
# handed, so write none: `assemble` puts your classes and functions into a MiniTorch of their own.
# To try them, add a cell with `mini = assemble(contiguous_strides=contiguous_strides,
# Storage=Storage, Tensor=Tensor, permute_kernel=permute_kernel)` and look at
# `list(mini.new(range(6), (2, 3)))`.
#
# - `contiguous_strides(sizes)` returns the strides of a new tensor, as in exercise 1.1.
# - `Storage.elements(dtype)` returns its bytes as elements: `memoryview(self.bytes).cast(dtype)`.
# - `Tensor.position(index)` returns the storage element that an index reads.
# - `Tensor.__iter__` gives the values in the order of their indices.
# - `permute_kernel(t, dims)` returns a view with its dimensions in another order; `alias(t, sizes,
#   strides)` of MiniTorch makes one, and keeps the offset of `t`.
#
# **Done when** what the real torch writes into the memory of your tensors is read by them, and what
# is written through your tensors is read by the real torch.

# %% tags=["1.6", "setup"]
from insidetorch.mini import alias, assemble


# %% tags=["1.6", "answer"]
def contiguous_strides(sizes):
    ### BEGIN SOLUTION
    strides, step = [], 1
    for size in reversed(sizes):
        strides.insert(0, step)
        step *= max(size, 1)
    return tuple(strides)
    ### END SOLUTION


class Storage:
    def __init__(self, nbytes):
        self.bytes = bytearray(nbytes)

    def elements(self, dtype):
        ### BEGIN SOLUTION
        return memoryview(self.bytes).cast(dtype)
        ### END SOLUTION


class Tensor:
    def position(self, index):
        ### BEGIN SOLUTION
        return self.offset + sum(i * s for i, s in zip(index, self.strides, strict=True))
        ### END SOLUTION

    def __iter__(self):
        ### BEGIN SOLUTION
        elements = self.storage.elements(self.dtype)
        for index in product(*(range(size) for size in self.sizes)):
            yield elements[self.position(index)]
        ### END SOLUTION


def permute_kernel(t, dims):
    ### BEGIN SOLUTION
    return alias(t, [t.sizes[d] for d in dims], [t.strides[d] for d in dims])
    ### END SOLUTION


# %% tags=["1.6", "check"]
pieces = {
    "contiguous_strides": contiguous_strides,
    "Storage": Storage,
    "Tensor": Tensor,
    "permute_kernel": permute_kernel,
}
programs = [
    ((2, 3), (1, 0)),
    ((2, 3, 2), (2, 0, 1)),
    ((4,), (0,)),
    ((1, 3), (1, 0)),
    ((2, 0), (1, 0)),
]


def run_mini(sizes, dims):
    mini, n = assemble(**pieces), torch.Size(sizes).numel()
    t = mini.new(range(n + 2), (n + 2,), "q")
    turned = mini.permute_kernel(mini.alias(t, sizes, mini.contiguous_strides(sizes), 2), dims)
    memory = torch.frombuffer(t.storage.bytes, dtype=torch.int64)
    memory[-1] = 77
    read = list(turned)
    turned.write(range(100, 100 + n))
    return report(turned.sizes, turned.strides, turned.offset, read, memory.tolist())


def run_torch(sizes, dims):
    n = torch.Size(sizes).numel()
    memory = torch.arange(n + 2)
    turned = memory[2:].view(sizes).permute(dims)
    memory[-1] = 77
    read = turned.flatten().tolist()
    turned.copy_(torch.arange(100, 100 + n).view(turned.shape))
    return report(turned.shape, turned.stride(), turned.storage_offset(), read, memory.tolist())


def report(sizes, strides, offset, read, memory):
    where = {"sizes": sizes, "strides": strides, "offset": offset}
    return where | {"values, after torch wrote": read, "memory, after your write": memory}


check(
    "1.6", run_mini, programs, torch_says=run_torch, by_hand=tuple(pieces.values()), allowed=[alias]
)


# %% tags=["1.6", "wrong"]
# Storage.elements gives a copy: a list of the values at that moment. What is written to it does not
# reach the bytes. Return the memoryview itself.
class Storage:
    def __init__(self, nbytes):
        self.bytes = bytearray(nbytes)

    def elements(self, dtype):
        return list(memoryview(self.bytes).cast(dtype))


# %% tags=["1.6", "wrong"]
# permute_kernel changes the sizes and keeps the strides. A dimension takes its stride along.
def permute_kernel(t, dims):
    return alias(t, [t.sizes[d] for d in dims], t.strides)


# %% tags=["1.6", "wrong"]
# __iter__ walks the storage from its start. The order of the values is that of the indices, which
# is another one after permute.
class Tensor:
    def position(self, index):
        return self.offset + sum(i * s for i, s in zip(index, self.strides, strict=True))

    def __iter__(self):
        return iter(self.storage.elements(self.dtype))


# %% tags=["1.6", "wrong"]
# position leaves the offset out. A tensor need not begin at the first element of its storage.
class Tensor:
    def position(self, index):
        return sum(i * s for i, s in zip(index, self.strides, strict=True))

    def __iter__(self):
        elements = self.storage.elements(self.dtype)
        for index in product(*(range(size) for size in self.sizes)):
            yield elements[self.position(index)]


# %% tags=["1.6", "wrong"]
# permute_kernel puts dimension k at place dims[k], which is the inverse. Dimension k of the result
# is dimension dims[k] of t.
def permute_kernel(t, dims):
    places = [dims.index(d) for d in range(len(dims))]
    return alias(t, [t.sizes[d] for d in places], [t.strides[d] for d in places])


# %% [markdown] tags=["1.6", "hint"]
# Start with `contiguous_strides`. Walk through the sizes from the right and keep their product, in
# which a 0 counts as 1.

# %% [markdown] tags=["1.6", "hint"]
# `position` is one line: offset plus each index times its stride. `__iter__` asks it for every
# index, last dimension fastest, and reads `self.storage.elements(self.dtype)` there.

# %% [markdown] tags=["1.6", "hint"]
# `permute_kernel` picks sizes and strides in the order of `dims` and hands both to `alias`.

# %% [markdown] tags=["1.6", "afterword"]
# The check opened your bytearray with torch.frombuffer, wrote through the real torch, and read the
# value back through your tensor. It is the same memory. Chapter 2 adds views that merge dimensions.
