# %% [markdown]
# # 1 · Storage and stride
#
# A tensor is not its values. It is a short description of how to read a block of bytes, and many
# tensors may read the same block.
#
# **Afterwards you can**
# - say, for any ordinary tensor, at which byte each of its values lies;
# - tell by its storage whether an operation copied anything;
# - find the tensors that share memory with yours, and explain why ten rows were saved as a
#   thousand;
# - read sizes, strides and offset of the tensors in your own training step.
#
# **Time** 50 minutes. **Before this** you can run a training script. Nothing else is needed.
#
# Run the cells one after the other, with *Shift+Enter*. Each question marked **Predict** wants
# your answer before you look at what stands below it. A wrong answer costs nothing, and what it
# teaches stays with you longer. The controls work only while the kernel (the Python process behind
# this page) runs. Where you read that a model was not found, choose *Run → Run All Above Selected
# Cell*, and run the cell again.

# %%
import numpy
import torch

from insidetorch import compare_times, layout_of, predict, show

# %% [markdown]
# ## Two tensors that print the same
#
# A recording of 64 channels and 250,000 time steps, and a second tensor that holds the same
# values at the same indices. `torch.equal` compares every value and finds no difference.

# %%
recording = torch.arange(16_000_000, dtype=torch.float32).reshape(64, 250_000)
other = recording.t().contiguous().t()

print(recording.shape == other.shape, torch.equal(recording, other))

# %% [markdown]
# Now add up one channel of each, and then all channels of each. The charts were measured when
# this page was built; run the cells to measure on your machine.

# %% tags=["measured"]
one_channel = {
    "recording[0].sum()": lambda: recording[0].sum(),
    "other[0].sum()": lambda: other[0].sum(),
}
compare_times(one_channel, title="one channel: 250,000 values")

# %% tags=["measured"]
all_channels = {
    "recording.sum()": lambda: recording.sum(),
    "other.sum()": lambda: other.sum(),
}
compare_times(all_channels, title="all channels: 16,000,000 values")

# %% [markdown]
# One channel of `other` takes many times as long as the same channel of `recording`. All channels
# together take about the same time. "The second tensor is slow" would explain the first chart and
# contradict the second. At the end of this chapter you will be able to say in one sentence what
# happens in both. `layout_of` describes how a tensor reads its memory. Sizes, offset and dtype of
# the two agree. Only their strides do not:

# %%
for t in (recording, other):
    layout = layout_of(t)
    print(layout.dtype, "sizes", layout.sizes, "strides", layout.strides, "offset", layout.offset)

# %% [markdown]
# ## A tensor describes a block of bytes
#
# The values of an ordinary tensor lie in a **storage**: a one-dimensional block of bytes on one
# device. A storage knows neither dtype nor shape. The tensor itself is a small record:
#
# | field | meaning |
# |---|---|
# | **sizes** | how many indices each dimension has |
# | **strides** | how many elements to step in the storage when an index grows by 1 |
# | **storage offset** | the storage element that holds the value at index 0, 0, … |
# | **dtype** | how many bytes make one **element**, and how to read them |
# | **storage** | which block |
#
# `show` draws a tensor from inside. Each cell of the upper block is a value; the number below it
# says which storage element it was read from. Below lies the storage. The small line under the
# title holds flags that later chapters explain: *version* belongs to chapter 2, *leaf* to
# chapter 3. (`clone()` gives `weight` a storage of its own.)

# %%
weight = torch.arange(15, dtype=torch.float32).reshape(3, 5).clone()
show(weight)

# %% [markdown]
# These five facts are all that torch needs to find the values. (Two flags of lazy operators,
# conjugate and negative, change how they are read; a picture names them where they are set.) Give
# the five to an empty tensor (`set_` takes them), and you have built the same tensor a second time,
# without touching one of its values.

# %% tags=["claim:8"]
twin = torch.empty(0, dtype=weight.dtype)
twin.set_(weight.untyped_storage(), weight.storage_offset(), weight.size(), weight.stride())

assert torch.equal(twin, weight)
assert twin.data_ptr() == weight.data_ptr()
print("sizes", tuple(twin.size()), "strides", twin.stride(), "values", twin.tolist()[0], "…")

# %% [markdown]
# A tensor that reads the storage of another one is called a **view** of it: `twin` is a view of
# `weight`, and most tensors of this chapter are views. (The flag *view* in a picture says more:
# that torch has recorded of which tensor. `set_` records nothing. That is chapter 2.)
#
# `untyped_storage()` is the call to ask for the block. Older texts write `a.storage()`. It still
# answers, but it returns a storage that pretends to have a dtype, and torch warns of it the first
# time that a process asks.

# %% tags=["claim:11"]
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    old = weight.storage()

assert isinstance(old, torch.TypedStorage)
assert old.data_ptr() == weight.untyped_storage().data_ptr()
assert all("TypedStorage is deprecated" in str(warning.message) for warning in caught)
print(type(old).__name__, "over the same bytes as", type(weight.untyped_storage()).__name__)

# %% [markdown]
# ### Not one unbroken row of values
#
# It is often said that the values of a tensor lie in one contiguous storage. The *storage* is one
# unbroken block. The *values of the tensor* need not be next to each other in it, need not fill
# it, and need not even have a place each.

# %%
predict(
    "1.1",
    "`channel_mean` has 3 float32 values. `wide = channel_mean.expand(1000, 3)` has 3,000. "
    "How many bytes does the storage of `wide` have?",
    {
        12: "expand repeats the row with a stride of 0. Every row is read from the same elements.",
        12_000: "That is wide.nbytes, number of values times element size. expand makes no "
        "elements, so nothing was allocated for them.",
        4_000: "A thousand rows do not need a number each. Nothing is stored for a row at all.",
    },
    reveal=lambda: torch.zeros(3).expand(1000, 3).untyped_storage().nbytes(),
)

# %% tags=["claim:9"]
from insidetorch import xray_of

channel_mean = torch.tensor([0.485, 0.456, 0.406])
wide = channel_mean.expand(1000, 3)
every_other = weight[:, ::2]

assert wide.untyped_storage().nbytes() == 12 and wide.nbytes == 12_000
assert every_other.untyped_storage().nbytes() > every_other.nbytes
print("expand:", wide.nbytes, "bytes of values on", wide.untyped_storage().nbytes())
print("[:, ::2] reads storage elements", [c.element for c in xray_of(every_other).cells])

# %%
show(every_other)

# %% [markdown]
# > **Where the common account is imprecise.** A storage is one block of bytes. A tensor is a rule
# > for reading it. "Contiguous" is a property of the rule, not of the block: it means that the
# > values, read in the order of their indices, lie side by side.
#
# **Where it lives in PyTorch.** The C++ headers come with your installation. The record is the
# class `TensorImpl`, the block is `StorageImpl`.

# %%
from pathlib import Path

headers = Path(torch.__file__).parent / "include" / "c10" / "core"
members = {
    "TensorImpl.h": ["Storage storage_;", "SizesAndStrides sizes_and_strides_;", "storage_offset_"],
    "StorageImpl.h": ["DataPtr data_ptr_;", "SymInt size_bytes_;"],
}
for name, lines in members.items():
    text = (headers / name).read_text(encoding="utf-8")
    assert all(line in text for line in lines)
    print(name, lines)

# %% [markdown]
# ## Strides: from an index to an address
#
# The element that an index reads is the storage offset plus each index times its stride:
#
# $$\text{element}(i, j) = \text{offset} + i \cdot \text{stride}_0 + j \cdot \text{stride}_1$$
#
# and the byte is that number times the size of one element. That is the whole arithmetic of
# tensors in memory. Let torch confirm it on the tensor `other` of the beginning. Change the index
# and run the cell again.

# %%
channel, step = 12, 34_567
element = other.storage_offset() + channel * other.stride(0) + step * other.stride(1)
byte = element * other.element_size()
in_order = torch.empty(0).set_(other.untyped_storage())

assert in_order[element] == other[channel, step]
assert other[channel, step].data_ptr() == other.untyped_storage().data_ptr() + byte
print(f"other[{channel}, {step}] is element {element:,}, byte {byte:,}")

# %% [markdown]
# The explorer below owns a small tensor `a = torch.arange(24).view(4, 6)`, so that each value is
# also the number of its storage element. Choose an operator under *read as*: the sliders jump to
# the sizes, strides and offset that torch gave the result. Then move the sliders yourself. Put the
# pointer on a cell, or walk the cells with the arrow keys, to see its address worked out and its
# place in the storage.
#
# Try four things:
# 1. Choose `a.t()`, the transpose. Which numbers changed places?
# 2. Set a stride to 0. What happens to the values in that dimension?
# 3. Raise the offset to 1 with everything else as in `a`. torch refuses, and says so in its own
#    words.
# 4. Choose `channels_last`, then another dtype. Which numbers stay, and which move?

# %%
from insidetorch import StrideExplorer

StrideExplorer("a")

# %% [markdown]
# ### The strides of a new tensor
#
# A tensor made from sizes alone, by `zeros`, `empty` or `rand`, is laid out row by row: the last
# dimension has stride 1, and each other stride is the product of the sizes to its right. (A size
# of 0 counts as 1 there.) Such strides are called **contiguous**.

# %%
from insidetorch.indexing import contiguous_strides

images, empty_batch = torch.zeros(8, 3, 32, 32), torch.zeros(2, 0, 3)
print(images.stride(), empty_batch.stride())
assert images.stride() == contiguous_strides((8, 3, 32, 32)) == (3 * 32 * 32, 32 * 32, 32, 1)
assert empty_batch.stride() == contiguous_strides((2, 0, 3)) == (3, 3, 1)

# %%
predict(
    "1.2",
    "`row = torch.ones(1, 5)`. What is `row.t().is_contiguous()`?",
    {
        True: "The sizes are (5, 1). The only dimension that is ever stepped along is the first, "
        "its stride is 1, and so the values lie side by side.",
        False: "A transposed matrix usually is not. Here nothing ever steps along the dimension "
        "of size 1, so its stride does not matter, and the other one is 1.",
        "an error": "Every tensor with strides answers the question.",
    },
    reveal=lambda: torch.ones(1, 5).t().is_contiguous(),
)

# %%
column = torch.ones(1, 5).t()
print(column.size(), column.stride(), column.is_contiguous())

# %% [markdown]
# ## Most reshaping is another description of the same bytes
#
# Transposing moves nothing. It swaps the sizes and the strides of two dimensions. `count` runs a
# function and tells which **operators** ran: the functions of torch's C++ library, here named
# `aten.…`. Transposing runs one, and none that copies.

# %% tags=["claim:10"]
from insidetorch import count

turned = weight.t()

assert turned.untyped_storage().data_ptr() == weight.untyped_storage().data_ptr()
assert turned.stride() == weight.stride()[::-1] == (1, 5)
assert turned.size() == weight.size()[::-1] and turned.storage_offset() == 0
print(weight.stride(), "→", turned.stride())
print("operators:", count(lambda: weight.t()))

# %% [markdown]
# Slicing, stepping, `expand`, `diagonal` and the method `unfold` do the same. (`repeat` and
# `nn.functional.unfold` copy.) Read the table as what torch answered: sizes, strides and offset.
# `relation` says of two tensors what they share; the storage is the same in all rows. Not one
# value was copied.

# %%
from insidetorch import relation

views = {
    "weight[1:]": weight[1:],
    "weight[:, 1]": weight[:, 1],
    "weight[:, ::2]": weight[:, ::2],
    "weight[:1].expand(3, 5)": weight[:1].expand(3, 5),
    "weight.diagonal()": weight.diagonal(),
    "weight.unfold(1, 2, 1)": weight.unfold(1, 2, 1),
}
for name, view in views.items():
    print(f"{name:24} {tuple(view.size())!s:10} {view.stride()!s:10} {view.storage_offset()}")
    assert relation(view, weight).same_storage

# %% [markdown]
# `unfold(dimension, size, step)` is worth a second look: it cuts windows out of a dimension. Here
# are windows of three values out of a sequence of five, one step apart.

# %%
predict(
    "1.3",
    "`windows = torch.arange(5).unfold(0, 3, 1)` has sizes (3, 3). How many different storage "
    "elements do its 9 values read?",
    {
        9: "One element for each value would need a copy. Both strides are 1, so neighbouring "
        "windows read the same elements.",
        5: "Both strides are 1: windows[i, j] reads element i + j, from 0 to 4.",
        3: "That is one window. Each window starts one element later, so three of them reach 5.",
    },
    reveal=lambda: layout_of(torch.arange(5).unfold(0, 3, 1)).distinct,
)

# %% [markdown]
# Two indices may read one element. `TensorXRay` is the live form of `show`, for any tensor of
# yours. Put the pointer on storage element 2 and see who reads it.

# %%
from insidetorch import TensorXRay

TensorXRay(torch.arange(5).unfold(0, 3, 1))

# %% [markdown]
# ### Offsets count elements
#
# A slice that leaves out the first rows starts later in the storage. How much later?

# %%
predict(
    "1.4",
    "`counts` is an int64 tensor of sizes (3, 4). What is `counts[1:].storage_offset()`?",
    {
        32: "That is the distance in bytes: 4 elements of 8 bytes each. torch counts elements.",
        1: "That is the number of rows left out. The offset counts elements.",
        4: "One row of 4 elements is left out. Offsets and strides count elements of the dtype.",
    },
    reveal=lambda: torch.arange(12).reshape(3, 4)[1:].storage_offset(),
)

# %% [markdown]
# > **Where the common account is wrong.** A slice is often said to be shifted by a number of
# > bytes, which `storage_offset` records. The address does move by bytes. `storage_offset` and
# > `stride` count *elements*. NumPy is the one that counts bytes, and the same array tells both.

# %% tags=["claim:13"]
counts = torch.arange(12).reshape(3, 4)
later = counts[1:]
moved = later.data_ptr() - counts.data_ptr()

assert later.storage_offset() == 4
assert moved == 32 != later.storage_offset()
assert counts.numpy().strides == (32, 8) and counts.stride() == (4, 1)
print("offset", later.storage_offset(), "elements; the address moved by", moved, "bytes")
print("strides: torch", counts.stride(), " NumPy", counts.numpy().strides)

# %% [markdown]
# ### Memory formats are strides, too
#
# An image batch has sizes (batch, channels, height, width). `channels_last` keeps these sizes and
# lays the channels of one pixel next to each other: stride 1 goes to dimension 1.

# %%
photos = torch.zeros(2, 3, 4, 4).contiguous(memory_format=torch.channels_last)
print(photos.size(), photos.stride())


def formats(t):
    named = {"usual": torch.contiguous_format, "channels_last": torch.channels_last}
    return [name for name, f in named.items() if t.is_contiguous(memory_format=f)]


print(formats(photos))

# %%
predict(
    "1.5",
    "What is `formats(torch.ones(2, 1, 4, 4))`, a batch of grey images with one channel?",
    {
        "['usual']": "It was made that way, but nothing records it. torch asks the strides, and "
        "for this question the stride of a dimension of size 1 does not count.",
        "['channels_last']": "Its strides fit this format, and the usual one as well.",
        "['usual', 'channels_last']": "With one channel the two orders are the same order. The "
        "format of a tensor is not stored anywhere: it is read off the strides.",
    },
    reveal=lambda: formats(torch.ones(2, 1, 4, 4)),
)

# %% [markdown]
# ## What copies, and what it keeps
#
# `contiguous()` gives a tensor whose values lie in order. If they do already, there is nothing to
# do, and it returns the very same object.

# %% tags=["claim:12"]
with_copy = count(lambda: turned.contiguous())
without = count(lambda: weight.contiguous())

assert count(lambda: weight.t())["aten.clone"] == 0
assert with_copy["aten.clone"] == 1 and not relation(turned.contiguous(), weight).same_storage
assert without.total == 0 and weight.contiguous() is weight
print("transposed.contiguous():", with_copy)
print("weight.contiguous():", without, "- it returns weight itself")

# %% [markdown]
# > **Where the common account is imprecise.** "Transposing is free and `contiguous()` copies" is
# > true of the transposed tensor. On a tensor that is contiguous, `contiguous()` does nothing.
#
# Other operators make a new storage as well. Which strides does their result get?

# %%
predict(
    "1.6",
    "`weight` has strides (5, 1), so `weight.t()` has (1, 5). What are the strides of "
    "`weight.t().clone()`?",
    {
        (3, 1): "That would be the contiguous order. clone copies the values and keeps the order "
        "in which they lie.",
        (1, 5): "clone keeps the order of the dimensions in memory, as + 1 does.",
        (5, 1): "Those are the strides of weight. clone copies weight.t(), sizes included.",
    },
    reveal=lambda: torch.arange(15.0).reshape(3, 5).t().clone().stride(),
)

# %%
copies = {
    "t().clone()": turned.clone(),
    "t() + 1": turned + 1,
    "[:, ::2].clone()": weight[:, ::2].clone(),
    "t().softmax(0)": turned.softmax(0),
    "t().contiguous()": turned.contiguous(),
}
for name, t in copies.items():
    print(f"{name:18} {t.stride()}  own storage: {not relation(t, weight).same_storage}")

# %% [markdown]
# A clone keeps the order of the dimensions in memory and closes the gaps: `weight[:, ::2]` has
# strides (5, 2), its clone (3, 1). (Where several indices read one element, each gets an element
# of its own.) An **elementwise** operator, one that computes each value of the result from the
# values at the same index, keeps the order of its inputs: of the first, where they disagree (one
# that is broadcast has no say). So a tensor that was transposed
# once stays transposed through a chain of them, until an operator lays its result out anew, such
# as `softmax` or `contiguous()`.
#
# What does a copy cost? It reads and writes every byte, and more if it reads across the strides.
# The second and the third bar move the same 16 MB. The third does so in another order.

# %% tags=["measured"]
large = torch.zeros(2000, 2000)
three = {
    "large.t()": lambda: large.t(),
    "large.clone()": lambda: large.clone(),
    "large.t().contiguous()": lambda: large.t().contiguous(),
}
compare_times(three, title="a view and two copies of 16 MB", rounds=10)

# %% [markdown]
# ## One storage, many readings
#
# The bytes do not know their dtype. A tensor can read the same block as another type.

# %%
predict(
    "1.7",
    "What are the values of `torch.tensor([1., 2.]).view(torch.int32)`?",
    {
        "two large integers": "view(dtype) reads the bit patterns of 1.0 and 2.0 as integers.",
        "1 and 2": "That is .to(torch.int32), which converts each value into new memory.",
        "an error": "view takes a dtype as well as sizes.",
    },
    reveal=lambda: "two large integers" if torch.ones(1).view(torch.int32) > 9 else "1 and 2",
)

# %%
ones_and_twos = torch.tensor([1.0, 2.0])
print(ones_and_twos.view(torch.int32).tolist(), ones_and_twos.to(torch.int32).tolist())
assert relation(ones_and_twos.view(torch.int32), ones_and_twos).common_bytes == 8

# %% [markdown]
# The memory of a NumPy array can be the block, too. `torch.from_numpy` shares it, `torch.tensor`
# copies it.


# %%
def write_to_the_array():
    array = numpy.zeros(2)
    shared, copied = torch.from_numpy(array), torch.tensor(array)
    array[0] = 7
    return int(shared[0]), int(copied[0])


# %%
predict(
    "1.8",
    "What does `write_to_the_array()` return?",
    {
        (0, 0): "from_numpy copies nothing: array and tensor are two readings of one block.",
        (7, 7): "torch.tensor always copies, and the copy was made before the write.",
        (7, 0): "from_numpy reads the array's own memory. torch.tensor copied before the write.",
    },
    reveal=write_to_the_array,
)

# %% [markdown]
# ## Who else reads this memory?
#
# `AliasMap` groups tensors by the memory that they read. What stands in one column of the map is
# the same memory. Here is a training batch with three views of it.

# %%
from insidetorch import AliasMap

batch = torch.arange(24, dtype=torch.float32).reshape(4, 6).clone()
inputs, target = batch[:, :5], batch[:, 5]
first_half = batch[:2]

AliasMap({"batch": batch, "inputs": inputs, "target": target, "first_half": first_half})

# %% [markdown]
# `relation` counts the bytes that two tensors have in common. `inputs` and `target` lie in one
# storage and take turns in it: they share the block and not a single byte.

# %%
print("inputs and target:    ", relation(inputs, target).words)
print("inputs and first_half:", relation(inputs, first_half).words)

# %% [markdown]
# Call `AliasMap()` without names to map what the names of this notebook reach: tensors, modules,
# and lists, tuples and dicts of them. *Read again* looks anew. Even the loop variables of earlier
# cells are there: a name that you forgot still holds memory. A holder "without a name here" is
# often a base: `arange(…).reshape(…)` is a view of a tensor that has no name.

# %%
AliasMap()

# %% [markdown]
# ## Where sizes and strides do not reach
#
# A rule of sizes and strides cannot say everything. A reversed row would need a negative stride,
# and torch has none: `flip` copies, and importing a reversed NumPy array is refused.

# %%
from insidetorch import expect_error

with expect_error(ValueError, match="negative strides are not currently supported"):
    torch.from_numpy(numpy.arange(4)[::-1])

# %%
flipped = weight.flip(0)
assert not relation(flipped, weight).same_storage
print(count(lambda: weight.flip(0)), "-", relation(flipped, weight).words)

# %% [markdown]
# A sparse tensor keeps the indices and the values of its non-zero elements in tensors of their
# own. No formula leads from an index to an address, and there is no storage to ask for.

# %% tags=["claim:8"]
sparse = torch.eye(3).to_sparse()
with expect_error(NotImplementedError, match="Cannot access storage of SparseTensorImpl"):
    sparse.untyped_storage()
show(sparse)

# %% [markdown]
# And a storage can go away under a tensor that still has its sizes. FSDP, the part of torch that
# spreads a large model over many devices, frees memory this way: it keeps the tensor of the full
# parameter and releases its bytes between uses.

# %%
parameter = torch.ones(1000)
parameter.untyped_storage().resize_(0)

print(tuple(parameter.shape), parameter.nbytes, "bytes of values")
show(parameter)

# %% [markdown]
# Do not print or add up such a tensor: reading memory that is gone may end the process. `show`
# compares the length of the storage with what the strides need before it reads a value.
#
# ## When it bites
#
# **Saving ten rows.** You keep the first ten rows of a data set for a test, and save them.

# %%
import copy
import io
import pickle

dataset = torch.zeros(1000, 100)
sample = dataset[:10]


def saved_bytes(t):
    file = io.BytesIO()
    torch.save(t, file)
    return file.tell()


# %%
predict(
    "1.9",
    "`dataset` has 1000 × 100 float32 values, 400,000 bytes. `sample = dataset[:10]` has 4,000 "
    "bytes of values. How large is the file that `torch.save(sample, file)` writes?",
    {
        "about 4 kB": "Only if sample had a storage of its own. A storage is saved whole.",
        "about 400 kB": "torch.save writes the storage, so that tensors that shared it share it "
        "again after loading. A slice carries the whole block.",
        "an error": "torch.save takes views as well. It does not even warn.",
    },
    reveal=lambda: "about 400 kB" if saved_bytes(sample) > 400_000 else "about 4 kB",
)

# %%
assert saved_bytes(sample) == saved_bytes(dataset)
assert saved_bytes(sample.clone()) < 2 * sample.nbytes
assert len(pickle.dumps(sample)) > dataset.nbytes
assert copy.deepcopy(sample).untyped_storage().nbytes() == dataset.nbytes
print("the file of the slice is as large as that of the data set, the file of its clone is not")

# %% [markdown]
# The cell checks `pickle` and `copy.deepcopy` as well: what travels is the storage. Call
# `sample.clone()` first, and ten rows are ten rows.
#
# **One channel, many times slower.** Back to the beginning. How far apart in memory do the values
# of one channel lie?

# %%
for name, t in {"recording": recording, "other": other}.items():
    row = layout_of(t[0])
    first, last = row.span
    spread = (last - first + 1) * row.itemsize
    print(f"{name}[0]: {row.nbytes:,} bytes, stride {row.strides[0]}, spread over {spread:,}")

# %% [markdown]
# Memory reaches the processor in lines of, usually, 64 bytes. Count the lines that hold one
# channel:


# %%
def lines(t):
    channel = layout_of(t[0])
    return len({channel.byte((step,)) // 64 for step in range(250_000)})


print(f"recording: {lines(recording):,}   other: {lines(other):,}")
assert lines(recording) * 16 == lines(other) == 250_000

# %% [markdown]
# In `other` each value of a channel costs a line of its own. For the sum over *all* values the
# order does not matter (but for rounding), so torch is free to walk the storage in order, in both
# tensors. It sorts the dimensions by stride before it starts; in the C++ source the class that
# does this is called TensorIterator. You can see its decision: an elementwise operator lays its
# result out in the order in which it walked.

# %%
print(other.stride(), "→", (other + 1).stride())
assert (other + 1).stride() == other.stride() and not other.is_contiguous()

# %% [markdown]
# So the sentence is: **what costs time is not whether a tensor is contiguous, but how far apart
# the elements lie that are read one after the other.**

# %% [markdown]
# ## What the common account says, and what holds
#
# The claims of this chapter, each shown by a cell above.

# %% [markdown] tags=["claims"]
# *(claims table)*

# %% [markdown]
# ## Key points
#
# - A storage is a block of bytes. A tensor is sizes, strides, offset and dtype over a storage.
# - element = offset + Σ index · stride. Offsets and strides count elements; NumPy's count bytes.
# - Transpose, slice, step, expand, diagonal, unfold make another description and copy nothing.
# - `contiguous()` copies only if it must. `clone()` and elementwise operators keep the order of
#   the dimensions in memory.
# - Whoever holds a slice holds the whole storage, in memory and in a saved file.
# - Speed follows the distance between the elements that are read one after the other.
#
# ## Symptoms of this chapter

# %% [markdown] tags=["symptoms"]
# *(symptom table)*

# %% [markdown]
# ## Monday card
#
# In your own script, on the first batch of your own loader:


# %%
def describe(batch):
    named = batch.items() if isinstance(batch, dict) else enumerate(batch)
    for name, t in named:
        if isinstance(t, torch.Tensor) and t.layout == torch.strided:
            x = layout_of(t)
            held = f"{x.nbytes:,} bytes of values hold {x.storage_bytes:,}"
            print(f"[{name}] sizes {x.sizes} strides {x.strides} offset {x.offset}: {held}")


describe([inputs, target, sample])
describe(next(iter(torch.utils.data.DataLoader(inputs, batch_size=2))))

# %% [markdown]
# The first three carry more than they show. The rows that came out of the `DataLoader` do not
# hold the data set: the loader copied them into a batch of its own. Then `show(t)` or
# `TensorXRay(t)` for the tensor that surprises you, and `AliasMap()` for who else holds its memory.
#
# **Next.** The [exercises of this chapter](../exercises/01_storage_and_stride.ipynb), then
# [chapter 2](02_views.ipynb): which operators give a view, which copy, and who notices a write.
