# %% [markdown]
# # 2 · Views
#
# Many operators of torch make no new values. They make another tensor over the memory that is
# there. Others copy, and the result looks the same. Many silent errors with tensors come from
# taking one for the other.
#
# **Afterwards you can**
# - say of an operator whether it gives a view or a copy, and let torch prove it;
# - say who sees a write in place, and whose version moves;
# - predict whether `view` succeeds, with which strides, and which dimension stops it;
# - tell a reshape from a permutation by its values;
# - find the hidden copies of your own model, with their lines.
#
# **Time** 55 minutes. **Before this** [chapter 1](01_storage_and_stride.ipynb): storage, sizes,
# strides, offset.

# %%
import torch
from torch import nn

from insidetorch import compare, layout_of, predict, relation, show
from insidetorch.observe.compare import comparison_of

# %% [markdown]
# Two questions about chapter 1 first.

# %%
predict(
    "2.1",
    "`batch` has sizes (8, 3, 32, 32) and was made by `torch.zeros`. What are its strides?",
    {
        (3072, 1024, 32, 1): "Each stride is the product of the sizes to its right.",
        (1, 8, 24, 768): "That order starts with the first dimension. torch starts with the last.",
        (8, 3, 32, 32): "Those are the sizes. A stride says how many elements one step passes.",
    },
    reveal=lambda: torch.zeros(8, 3, 32, 32).stride(),
)

# %%
predict(
    "2.2",
    "`kept = dataset[:10]`, and `dataset` has 400,000 bytes. How many bytes stay in memory after "
    "`del dataset`?",
    {
        4_000: "That is what kept shows. It holds the storage, and a storage is freed whole.",
        400_000: "kept holds the storage of the data set, and a storage is freed as a whole.",
        0: "The name is gone, but kept still holds the storage.",
    },
    reveal=lambda: torch.zeros(1000, 100)[:10].untyped_storage().nbytes(),
)

# %% [markdown]
# ## Right shape, no error, scrambled data
#
# Attention splits the features of each token into heads and merges them again. Here `split` makes
# two heads out of the four features of three tokens, and `merge` puts them back together.


# %%
def split(x, heads):
    batch, tokens, features = x.shape
    return x.reshape(batch, tokens, heads, features // heads).transpose(1, 2)


def merge(x):
    batch, heads, tokens, features = x.shape
    return x.reshape(batch, tokens, heads * features)


tokens = torch.arange(12.0).reshape(1, 3, 4)
merged = merge(split(tokens, heads=2))
print(merged.shape == tokens.shape, "sizes", tuple(merged.shape))

# %%
predict(
    "2.3",
    "`merged` has the sizes of `tokens`. How do its values relate to those of `tokens`? (Moved: "
    "the same values in other places.)",
    {
        "equal": "So it would be if merge undid the transpose. reshape moves no dimension back.",
        "moved": "split moved the heads before the tokens. reshape reads the values in that order "
        "and cuts them into other sizes.",
        "different": "No value is computed. They are only put elsewhere.",
    },
    reveal=lambda: comparison_of(tokens, merged).values.order,
)

# %%
print(int((merged != tokens).sum()), "of", tokens.numel(), "values are elsewhere")
compare(tokens, merged)

# %% [markdown]
# `compare` tells what two tensors share, and how their values relate. Here nothing is lost, and
# two thirds of the values are elsewhere: value [0, 0, 2] of the result, a feature of token 0, is a
# feature of token 1. A model with this bug runs, and no error will ever tell you.
#
# To see why, you need to know three things about every operator that changes a shape: does it copy,
# in which order does it read, and who sees a write. That is this chapter.
#
# ## View or copy?
#
# A **view** is a tensor that reads the storage of another one. A **copy** has a storage of its own.
# `memory_steps` runs a function and tells for each operator what it did with memory.

# %%
from insidetorch import memory_steps

a = torch.arange(12.0).reshape(3, 4).clone()


def effects(fn):
    return ", ".join(f"{step.operator} {step.effect}" for step in memory_steps(fn).found)


print("a[1]        ", effects(lambda: a[1]))
print("a.t()       ", effects(lambda: a.t()))
print("a.clone()   ", effects(lambda: a.clone()))
print("a + 1       ", effects(lambda: a + 1))

# %% [markdown]
# *view*: the result reads the storage of an input. *copy*: values of an input in new memory. *new*:
# computed values in new memory. The name in front is the operator of torch's C++ library that ran.
#
# ### Indexing is two things

# %%
predict(
    "2.4",
    "`a[0:1]` and `a[[0]]` have the same sizes and values. What is "
    "`tuple(relation(x, a).same_storage for x in (a[0:1], a[[0]]))`?",
    {
        (True, True): "A list can name any rows in any order, which no strides can say: it copies.",
        (True, False): "A slice is another offset. A list of indices cannot, in general, be said "
        "with strides, so torch always copies for it.",
        (False, True): "It is the other way round: a list of indices copies.",
    },
    reveal=lambda: tuple(relation(x, a).same_storage for x in (a[0:1], a[[0]])),
)

# %% [markdown]
# **Basic indexing**, with integers, slices, `None` and `...`, gives a view. **Advanced indexing**,
# with a list, a mask or a tensor of integers (of at least one dimension), gives a copy. So a write
# through the first reaches the tensor, and a write into the second reaches nothing.

# %% tags=["claim:14"]
first_row, picked, masked = a[0], a[[0, 2]], a[a > 5]
first_row[0] = 999

assert a[0, 0] == 999
assert picked[0, 0] == 0 and masked.min() == 6  # they were copied before the write
assert relation(first_row, a).same_storage
assert not relation(picked, a).same_storage and not relation(masked, a).same_storage
print("a[0, 0] is", a[0, 0].item(), "and picked[0, 0] is still", picked[0, 0].item())

# %% [markdown]
# With a mask on the left of an assignment, torch does something else again.

# %%
x = torch.zeros(4)
mask = torch.tensor([True, False, True, False])


def add_in_place():
    x[mask].add_(1)


def add_and_assign():
    x[mask] += 1


# %%
predict(
    "2.5",
    "`x` is four zeros and `mask` chooses two of them. What is `x.sum()` after `x[mask].add_(1)`?",
    {
        0: "x[mask] is a copy. The 1 was added to it, and then it was thrown away.",
        2: "That is what x[mask] += 1 gives: Python assigns the result back into x.",
        4: "Only two values are chosen.",
    },
    reveal=lambda: (x.zero_(), add_in_place(), int(x.sum()))[2],
)

# %%
for fn in (add_in_place, add_and_assign):
    x.zero_()
    print(f"{fn.__name__:15} {x.tolist()} → ", end="")
    fn()
    print(x.tolist(), "  ", effects(fn))

# %% [markdown]
# `x[mask] += 1` is three steps in Python: read `x[mask]` (`index`, a copy), add to it (`add_`), and
# assign it back (`index_put_`, a write into `x`). The same three steps make `count[bins] += 1`
# wrong where a bin occurs twice: each time its old value is read, and the same old value plus one
# is written.

# %%
bins = torch.tensor([0, 2, 2, 2])
counted = torch.zeros(4)
counted[bins] += 1

right = torch.zeros(4).index_add_(0, bins, torch.ones(4))
print(counted.tolist(), "and by index_add_:", right.tolist())
assert counted.tolist() == [1, 0, 1, 0] and right.tolist() == [1, 0, 3, 0]

# %% [markdown]
# **Where it lives in PyTorch.** The list of all operators comes with your installation. `Tensor(a)`
# in the result says that it may read the memory of the argument with the same letter. Of `t` and
# `select` it always does; of `reshape`, `contiguous` and `to` it is decided when they run. `!` says
# that the argument is written to.

# %%
from pathlib import Path

import torchgen

listed = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native" / "native_functions.yaml"
signatures = listed.read_text(encoding="utf-8")
for start in ("t(", "select.int(", "reshape(", "index.Tensor(", "clone(", "add_.Tensor("):
    line = next(x for x in signatures.splitlines() if x.startswith(f"- func: {start}"))
    print(line.removeprefix("- func: "))

# %% [markdown]
# ## Who sees a write?
#
# Everything that reads the written bytes. Below are twelve ways to reach the values of one 3 × 4
# tensor. Choose one and write through it. Cells that changed say what they were; a dotted border
# marks memory of its own. Guess before you look:
# 1. Write through `a.t()`. Which of the others do not change?
# 2. Write through `a.detach()`. It is said to be cut off. Is it?
# 3. Write through `a.data`, and watch the versions.
# 4. Write through `a[:1].expand(2, 4)`, first one value, then all.

# %%
from insidetorch import WriteThrough

WriteThrough("a.t()")

# %% [markdown]
# A **version** counts the writes in place. It belongs to the memory as autograd knows it, not to
# one tensor: a view, and the result of `detach()`, share the counter of their base, so that
# autograd (chapter 3) notices a write through any of them. `.data` and NumPy share the memory and
# not the counter. What is written through them, autograd does not see. Chapter 6 shows what that
# costs.

# %%
predict(
    "2.6",
    "`x = torch.ones(3)`, then `x.detach().zero_()`. What are the values of `x`?",
    {
        (1.0, 1.0, 1.0): "detach() cuts the history, not the memory: it gives a view.",
        (0.0, 0.0, 0.0): "detach() gives a tensor without history over the same memory.",
    },
    reveal=lambda: tuple((y := torch.ones(3), y.detach().zero_())[0].tolist()),
)

# %%
x = torch.ones(3)
x.detach().zero_()
print("detach():", x.tolist(), "version", layout_of(x).version)
x.data.fill_(5)
print(".data:   ", x.tolist(), "version", layout_of(x).version)

# %% [markdown]
# A clone has its own memory and its own version. So a write into one does not reach the other.

# %% tags=["claim:15"]
weight = torch.ones(3, requires_grad=True)
kept, cut = weight.clone(), weight.detach().clone()
cut.mul_(2)

assert weight.tolist() == kept.tolist() == [1, 1, 1] and cut.tolist() == [2, 2, 2]
assert layout_of(cut).version == 1 and layout_of(weight).version == layout_of(kept).version == 0
assert kept.requires_grad and not cut.requires_grad  # clone() stays in the graph
print("written clone:", cut.tolist(), " original:", weight.tolist(), " versions 1 and 0")

# %% [markdown]
# `clone()` is an operation like any other: a gradient flows back through it. `detach().clone()` is
# for a value that you only want to keep.
#
# ### Aliases that nobody wrote down
#
# The loop variable over a tensor is a view of each row. `state_dict()` returns the live parameters.
# Both are often taken for copies.

# %%
rows = torch.ones(2, 3)
for row in rows:
    row *= 2

layer = nn.Linear(2, 1)
nn.init.ones_(layer.weight)
best = layer.state_dict()
with torch.no_grad():
    layer.weight += 1

# %%
predict(
    "2.7",
    "`best` was taken before 1 was added to the weight. What is in `best['weight']` now?",
    {
        (1.0, 1.0): "That is what a snapshot would hold. state_dict() returns references.",
        (2.0, 2.0): "state_dict() returns detached views of the live parameters.",
    },
    reveal=lambda: tuple(best["weight"][0].tolist()),
)

# %%
print("rows:", rows.tolist())
compare(best["weight"], layer.weight)

# %% [markdown]
# The cure is `copy.deepcopy(model.state_dict())`, or a `clone()` of each value.
#
# What torch records of a view is its *base*: the tensor at the root, never a view in between.
# `relation` tells what is recorded. A base is needed by autograd only, so `detach()` and `.data`,
# which leave autograd, record none.

# %%
base = torch.zeros(4, 6)
half, turned = base[:2], base[:2].t()
for name, pair in {
    "base, turned": (base, turned),
    "half, turned": (half, turned),
    "base, base.detach()": (base, base.detach()),
}.items():
    found = relation(*pair)
    print(f"{name:20} recorded: {found.recorded or 'nothing':12} one counter: {found.one_counter}")

# %% [markdown]
# ## The view rule
#
# `t.view(sizes)` promises the same memory under other sizes. When can it keep the promise?
#
# > **What is often said.** "`view` needs a contiguous tensor."


# %%
def outcome(make, source):
    try:
        made = make(source)
    except RuntimeError:
        return "an error"
    return "a view" if relation(made, source).same_storage else "a copy"


left = torch.arange(16).reshape(4, 4)[:, :2]
print("contiguous:", left.is_contiguous(), " sizes", tuple(left.shape), " strides", left.stride())

# %%
predict(
    "2.8",
    "`left` is the left half of a 4 × 4 matrix. It is not contiguous: between its rows lie two "
    "values that it does not read. What does `left.view(2, 2, 2)` give?",
    {
        "an error": "It would, if the new sizes had to join two rows. They only cut the four rows "
        "into two times two.",
        "a copy": "view never copies. It makes a view or raises.",
        "a view": "Cutting a dimension in two moves no value: the strides are (8, 4, 1).",
    },
    reveal=lambda: outcome(lambda t: t.view(2, 2, 2), left),
)

# %% tags=["claim:17"]
from insidetorch import expect_error

again = left.view(2, 2, 2)

assert not left.is_contiguous()
assert relation(again, left).same_storage and again.stride() == (8, 4, 1)
with expect_error(RuntimeError, match="view size is not compatible with input tensor's size"):
    left.view(8)
print("not contiguous, and view(2, 2, 2) works with strides", again.stride())

# %% [markdown]
# Cutting a dimension into two is always possible. Joining two dimensions into one is possible where
# one stride can walk through both: where a step along the left one moves as far as walking the
# whole right one. Such dimensions **merge**. So read a tensor from the right, merge what can be
# merged, and you get **chunks**. The rule is: *the wanted sizes, read from the right, must fill
# each chunk exactly.* A dimension of size 1 is never stepped along, so it merges with what stands
# to its right, whatever its stride; and a wanted size of 1 joins the chunk that is being filled.
#
# Try it. *view of* chooses a source; the three rows show its dimensions, the chunks they merge
# into, and how the wanted sizes fill them. Below stands torch's own answer. Try to find
# 1. wanted sizes for `a.transpose(0, 1)` that are a view, and some that are not;
# 2. a source that is one chunk and not contiguous: its elements have gaps between them;
# 3. strides of your own with which (6, 4) is a view, although they are not those of any new tensor.

# %%
from insidetorch import ViewExplorer

ViewExplorer("a.transpose(0, 1)", wanted=(6, 4))

# %% [markdown]
# `explain_view(t, sizes)` says the same for any tensor of yours: use it when `view` raises.

# %%
from insidetorch import explain_view

hits = torch.arange(20).reshape(4, 5).t()[:3]
explain_view(hits, (-1,))

# %% [markdown]
# Is that really the rule? `view_strides` and its helpers are forty lines of Python that know
# nothing but sizes and strides. Compare them with torch on every tensor with up to three dimensions
# of size 0 to 3 and the strides 0, 1, 2, 3 and 6, against all the sizes below.

# %%
from itertools import product

from insidetorch.indexing import view_strides

memory = torch.arange(64)
wanted = [(), (1,), (2,), (3,), (6,), (9,), (2, 3), (3, 2), (6, 3), (3, 3, 2), (1, 9, 2), (0, 2)]


def torch_says(sizes, strides, new_sizes):
    try:
        return memory.as_strided(sizes, strides).view(new_sizes).stride()
    except RuntimeError:
        return None


# %% tags=["claim:16"]
cases = views = 0
for dims in range(4):
    for sizes in product(range(4), repeat=dims):
        for strides in product((0, 1, 2, 3, 6), repeat=dims):
            for new_sizes in wanted:
                answer = torch_says(sizes, strides, new_sizes)
                assert view_strides(sizes, strides, new_sizes) == answer
                cases, views = cases + 1, views + (answer is not None)

assert 0 < views < cases
print(f"{cases:,} cases, {views:,} views: rule and torch agree on all, strides included")

# %% [markdown]
# > **Where the common account is imprecise.** "If a tensor is not contiguous, `view` raises" holds
# > only where the new sizes join dimensions that do not merge. And `contiguous()` before `view` is
# > no cure to reach for at once: it copies.
#
# ## `reshape`: a view if it can, a copy if it must
#
# `reshape` follows the rule. Where it says yes, it runs `view`. Where it says no, it clones first.

# %% tags=["claim:18"]
matrix = torch.arange(12.0).reshape(3, 4).clone()
one = memory_steps(lambda: matrix.reshape(2, 6))
other = memory_steps(lambda: matrix.t().reshape(2, 6))

assert [step.operator for step in one.found] == ["aten.view"]
assert [step.operator for step in other.found] == ["aten.t", "aten.clone", "aten._unsafe_view"]
assert view_strides((3, 4), (4, 1), (2, 6)) and not view_strides((4, 3), (1, 4), (2, 6))
print("matrix.reshape(2, 6):    ", ", ".join(step.operator for step in one.found))
print("matrix.t().reshape(2, 6):", ", ".join(step.operator for step in other.found))

# %%
predict(
    "2.9",
    "What does `matrix.t().reshape(-1)` give? (A write into it would tell you.)",
    {
        "an error": "view would raise here. reshape copies instead.",
        "a view": "matrix.reshape(-1) is one. The transposed matrix cannot be flattened so.",
        "a copy": "The transposed matrix does not merge into one chunk. Without t() it would be a "
        "view, and a write into it would change matrix.",
    },
    reveal=lambda: outcome(lambda t: t.t().reshape(-1), matrix),
)

# %% tags=["claim:19"]
flat, turned = matrix.t().reshape(-1), matrix.t().contiguous().t()

assert not relation(flat, matrix).same_storage and flat.shape == (12,)
assert relation(matrix.reshape(-1), matrix).same_storage
print("of the transposed:", relation(flat, matrix).words)
print("of the matrix:    ", relation(matrix.reshape(-1), matrix).words)

# %% [markdown]
# The same line is a view today and a copy tomorrow, when somebody transposes earlier. If you mean
# to write, use `view`: it raises where it cannot give you the memory. If you only read, `reshape`
# is right. It is not slower: where both can, both run the same one operator.

# %% tags=["claim:6"]
by_view = memory_steps(lambda: matrix.view(2, 6)).found
by_reshape = memory_steps(lambda: matrix.reshape(2, 6)).found

assert [s.operator for s in by_view] == [s.operator for s in by_reshape] == ["aten.view"]
assert [s.operator for s in memory_steps(lambda: matrix.t().reshape(-1)).found] != ["aten.t"]
with expect_error(RuntimeError, match="view size is not compatible"):
    matrix.t().view(-1)
print("view and reshape of a contiguous matrix: both run", by_view[0].operator, "and nothing else")

# %% [markdown]
# > **Where the common account is imprecise.** "`view` is faster than `reshape`" compares a view
# > with a copy. Where `view` is allowed at all, they do the same.
#
# What does the copy cost? It reads and writes every byte. The chart was measured when this page was
# built; run the cell for your machine. Both axes are logarithmic.

# %% tags=["measured"]
from insidetorch import copy_costs

copy_costs()

# %% tags=["claim:20"]
moved = {}
for side in (100, 1000):
    flatten = memory_steps(lambda n=side: torch.ones(n, n).t().reshape(-1)).found
    moved[side] = sum(step.nbytes for step in flatten if step.effect == "copy")
    assert [step.effect for step in flatten if step.operator == "aten.t"] == ["view"]

assert moved[1000] == 100 * moved[100] == 4_000_000
print("bytes that the copy writes:", moved, "and as many read; t() alone moves none")

# %% [markdown]
# ### Same object, same view, same values
#
# Three kinds of "the same" are easily mixed up. `contiguous()` of a contiguous tensor returns that
# very object. `view` with the same sizes returns a new tensor over the same memory. `clone()`
# returns a tensor with the same values elsewhere.

# %%
print("matrix.contiguous() is matrix:", matrix.contiguous() is matrix)
print("matrix.view(3, 4) is matrix:  ", matrix.view(3, 4) is matrix)
print("                  it reads:   ", relation(matrix.view(3, 4), matrix).words)
print("matrix.clone(), equal values: ", torch.equal(matrix.clone(), matrix))
print("                  it reads:   ", relation(matrix.clone(), matrix).words)

# %% [markdown]
# ## `view` cuts, `permute` moves
#
# `view` and `reshape` keep the order in which values are read, row by row, and cut it anew.
# `transpose`, `permute` and `movedim` keep the values at their indices and reorder the dimensions.
# Both can give the sizes you want. Only one gives the values you mean.

# %%
m = torch.arange(6).view(2, 3)

# %%
predict(
    "2.10",
    "`m` is 2 × 3. `m.t()` and `m.view(3, 2)` have the same sizes. What is "
    "`torch.equal(m.t(), m.view(3, 2))`?",
    {
        True: "view reads the values row by row and cuts them into rows of two. t() turns rows "
        "into columns.",
        False: "view only cuts the row of values anew. t() moves a dimension.",
    },
    reveal=lambda: torch.equal(m.t(), m.view(3, 2)),
)

# %%
print("t():       ", m.t().tolist())
print("view(3, 2):", m.view(3, 2).tolist())

# %% [markdown]
# So this is the bug of the beginning. `split` ended with `transpose(1, 2)`: sizes (batch, heads,
# tokens, features). `merge` read that order and cut it. The heads must be moved back first, and
# then two neighbouring dimensions joined.


# %%
def merge_right(x):
    batch, heads, tokens, features = x.shape
    return x.transpose(1, 2).reshape(batch, tokens, heads * features)


assert torch.equal(merge_right(split(tokens, heads=2)), tokens)
print("split, then merge_right:", comparison_of(tokens, merge_right(split(tokens, 2))).values.order)

# %% [markdown]
# The same mistake turns the pixels of an image into tokens that mix pixels. `compare` tells the two
# apart: *cut to other sizes* for a reshape, *permute* for a moved dimension.

# %%
pixels = torch.arange(12.0).reshape(1, 2, 2, 3)  # batch, channels, rows, columns
for made in (pixels.reshape(1, 6, 2), pixels.flatten(2).transpose(1, 2)):
    print(compare(pixels, made).text.splitlines()[-1])

# %% [markdown]
# **A test that finds it.** Change one token of the input and see which tokens of the output change.
# In a right `merge` it is that token alone.

# %%
changed = tokens.clone()
changed[0, 2] += 100
for name, fn in {"merge": merge, "merge_right": merge_right}.items():
    differs = fn(split(changed, 2)) != fn(split(tokens, 2))
    print(
        f"{name:12} token 2 of the input reaches tokens", differs[0].any(1).nonzero()[:, 0].tolist()
    )

# %% [markdown]
# ## When several indices are one element
#
# `expand` gives many indices the same element. What should a write through all of them mean?

# %%
from insidetorch import count

wide = torch.ones(1, 3).expand(4, 3)
with expect_error(RuntimeError, match="more than one element of the written-to tensor"):
    wide.mul_(2)
show(wide)


# %%
def add_one_to_windows():
    signal = torch.arange(5.0)
    signal.unfold(0, 3, 1).add_(1)
    return tuple((signal - torch.arange(5.0)).tolist())


# %%
predict(
    "2.11",
    "`signal.unfold(0, 3, 1)` has 9 values on 5 elements. By how much does each of the 5 grow when "
    "1 is added to the windows in place?",
    {
        "an error": "torch looks for a stride of 0, and there is none here.",
        (1.0, 1.0, 1.0, 1.0, 1.0): "Elements that several windows read are written several times.",
        (1.0, 2.0, 3.0, 2.0, 1.0): "torch looks for a stride of 0 only. This overlap goes "
        "unnoticed, and an element is written once for each window that reads it.",
    },
    reveal=add_one_to_windows,
)

# %%
signal = torch.arange(5.0)
signal.unfold(0, 3, 1).add_(1)
print(signal.tolist(), "where each element plus 1 would be", (torch.arange(5.0) + 1).tolist())
show(signal.unfold(0, 3, 1))

# %% [markdown]
# `show` says both things in words. The cure is the same: `clone()` first, or compute out of place.
# Do not count on the error of the expanded tensor either. It guards most writes, not all of them:

# %%
wide.zero_()
print("after wide.zero_(), without an error:", wide[0].tolist())

# %% [markdown]
# ## Hidden copies
#
# A copy that you asked for is no problem. Look at the ones that you did not ask for. `copies` runs
# a function and names the operators that copy values, with the line of *your* code.


# %%
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x):
        b, t, c = x.shape
        qkv = self.qkv(x.transpose(0, 1))
        q, k, v = qkv.view(t, b, 3, 4, 8).permute(2, 1, 3, 0, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(b, t, c))


# %%
from insidetorch import copies

block, batch = Block(), torch.ones(2, 16, 32)
found = copies(lambda: block(batch).sum().backward())
assert sum(not step.node for step in found.found) == 2
print(found)

# %% [markdown]
# Two copies forward, and some in the backward pass, where the node of the graph that ran is named
# (chapter 3). The first one is the price of `transpose(0, 1)` in front of a linear layer. Its
# layer joins all dimensions but the last into one, for a single matrix product, and after the
# transpose those do not merge:

# %%
layer, straight = nn.Linear(32, 96), torch.ones(2, 16, 32)
print("as it is:  ", count(lambda: layer(straight)))
print("transposed:", count(lambda: layer(straight.transpose(0, 1))))

# %% [markdown]
# ### When a copy is right
#
# - **Before you write** into something that others read.
# - **To let go of memory**: ten rows of a large batch (chapter 1).
# - **Before many reads** in another order: one copy, and then every pass reads side by side.
# - **Before handing memory away**, to NumPy, to another thread, to a list that outlives the loop.
#
# ## When it bites
#
# **Every stored state is the last one.** A list of views of a buffer that is written again and
# again holds one memory many times.

# %%
state, path = torch.zeros(1, 3), []
for _ in range(3):
    state += 1
    path.append(state[0])

print([t.tolist() for t in path])
compare(path[0], path[2])

# %% [markdown]
# **A captured activation is overwritten.** A hook stores `output.detach()`; the next layer is
# `ReLU(inplace=True)`. What was stored has no negative values any more, since it is the same
# memory.

# %%
captured = {}
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=True))
nn.init.constant_(net[0].weight, -1.0)
nn.init.zeros_(net[0].bias)
hook = net[0].register_forward_hook(lambda _, given, out: captured.update(out=out.detach()))
net(torch.ones(1, 3))
hook.remove()

assert (captured["out"] == 0).all() and (net[0](torch.ones(1, 3)) == -3).all()
print("captured:", captured["out"].tolist(), " version", layout_of(captured["out"]).version)

# %% [markdown]
# The layer gave -3 four times. Version 1 of a tensor that you have never written to says that
# somebody else has. `out.detach().clone()` keeps what the layer gave.
#
# ## What the common account says, and what holds
#
# The claims of this chapter, each shown by a cell above.

# %% [markdown] tags=["claims"]
# *(claims table)*

# %% [markdown]
# ## Key points
#
# - Basic indexing, `view`, `t`, `permute`, `expand`, `unfold`, `detach`, `.data` read the same
#   memory. Advanced indexing, `clone`, `contiguous` of what is not contiguous, `repeat`, `cat`
#   copy.
# - A write is seen by all who read the bytes. The version counter is shared by base, views and
#   `detach()`; `.data` and NumPy write past it.
# - `view` works where the wanted sizes fill each chunk of merged dimensions exactly.
# - `reshape` is a view where it can be and a copy where it must be. Use `view` if you mean to
#   write.
# - `view` and `reshape` cut; `transpose` and `permute` move. Right sizes do not mean right values.
# - torch refuses most writes to a tensor with stride 0. Other overlaps it does not notice.
#
# ## Symptoms of this chapter

# %% [markdown] tags=["symptoms"]
# *(symptom table)*

# %% [markdown]
# ## Monday card
#
# In your own script, with your own model and one batch of your own:


# %%
def hidden_copies(model, *inputs):
    found = copies(lambda: model(*inputs))
    print(f"{len(found)} copies, {found.nbytes:,} bytes")
    print(found)


hidden_copies(block, batch)

# %% [markdown]
# Then ask for each line: did I mean this copy? And where two tensors surprise you, `compare(a, b)`.
#
# **Next.** The [exercises of this chapter](../exercises/02_views.ipynb), then
# [chapter 3](03_dynamic_graph.ipynb): the graph that autograd builds while your code runs.
