"""The ledger of a step holds what torch saves: each byte once, at the line that keeps it first."""

from __future__ import annotations

import gc
import weakref
from xml.etree import ElementTree

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from insidetorch import ledger, show
from insidetorch.draw.ledger import MOST_BARS
from insidetorch.records import Kept, Ledger, Place
from insidetorch.records.ledger import MOST_ROWS


class Keeper(torch.autograd.Function):
    """Saves one input the right way."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * 2 * ctx.saved_tensors[0]


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        return functional.scaled_dot_product_attention(q, k, v)


def tanh_gelu(x):
    inner = x + 0.044715 * x**3
    t = torch.tanh(0.7978845608 * inner)
    return 0.5 * x * (1 + t)


def conv_net():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten())


def rows(n, width):
    return torch.arange(n * width, dtype=torch.float32).view(n, width) / 7


def leaf(*sizes):
    return torch.linspace(0.1, 1, torch.Size(sizes).numel()).view(sizes).requires_grad_()


def with_model(model, x):
    return lambda: model(x).sum()


def sparse_product():
    matrix = torch.eye(4).to_sparse().requires_grad_()
    return torch.sparse.mm(matrix, leaf(4, 3)).sum()


def packed_twice():
    x = leaf(5)
    return lambda: (checkpoint(lambda t: t.exp().sin(), x * 2, use_reentrant=False) * x).sum()


X, BATCH, IMAGES, LSTM = leaf(128), rows(6, 8), torch.ones(2, 1, 8, 8), nn.LSTM(8, 5)
CASES = {
    "mlp": with_model(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)), BATCH),
    "conv and batch norm": with_model(conv_net(), IMAGES),
    "batch norm in eval": with_model(conv_net().eval(), IMAGES),
    "lstm": lambda: LSTM(BATCH.view(3, 2, 8))[0].sum(),
    "gru cell": with_model(nn.GRUCell(8, 5), BATCH),
    "transformer layer": with_model(nn.TransformerEncoderLayer(8, 2, 16), BATCH.view(3, 2, 8)),
    "attention": with_model(Attention(), BATCH.view(2, 3, 8)),
    "embedding": with_model(nn.Embedding(9, 4), torch.tensor([[1, 2], [3, 3]])),
    "layer norm": with_model(nn.LayerNorm(8), BATCH),
    "gelu": lambda: functional.gelu(X).sum(),
    "tanh gelu by hand": lambda: tanh_gelu(X).sum(),
    "relu in place": lambda: functional.relu(X * 2, inplace=True).sum(),
    "dropout": lambda: functional.dropout(X.exp(), 0.5).sum(),
    "cross entropy": lambda: functional.cross_entropy(leaf(4, 3), torch.tensor([0, 2, 1, 0])),
    "one storage, three nodes": lambda: (X.exp() * X.exp().sin() / X.exp()).sum(),
    "a view keeps its storage": lambda: (X.exp()[:2] * leaf(2)).sum(),
    "indexing": lambda: X[torch.tensor([0, 3])].sum(),
    "power": lambda: (1 / X + X**2 + X**0.5).sum(),
    "several results": lambda: {"a": X.exp(), "rest": [X.sin(), (X.cos(), 3)]},
    "a function of the user's": lambda: Keeper.apply(X * 3).sum(),
    "a gradient of a gradient": lambda: torch.autograd.grad(X.exp().sum(), X, create_graph=True)[0],
    "sparse": sparse_product,
    "checkpoint": packed_twice(),
}


def saved_by_torch(fn) -> int:
    """The oracle: torch hands each tensor that it saves to a hook."""
    seen: list[torch.Tensor] = []

    def pack(t):
        parts = (t._indices(), t._values()) if t.layout == torch.sparse_coo else (t,)
        seen.extend(part.detach() for part in parts)
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        kept = fn()
    found = {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in seen}
    del kept
    return sum(found.values())


def is_number(kept: Kept) -> bool:
    """Is it a number of Python's that became a tensor? torch hands these to no hook."""
    return kept.sizes == () and kept.dtype in ("float64", "int64")


@pytest.mark.parametrize("name", CASES)
def test_the_bytes_are_those_that_torch_saves(name):
    found = ledger(CASES[name])
    assert all(one.made for one in found.kept if is_number(one))
    numbers = sum(one.nbytes for one in found.kept if is_number(one))
    assert found.made_bytes + found.before_bytes - numbers == saved_by_torch(CASES[name]) > 0
    assert sum(line.nbytes for line in found.lines) == found.made_bytes


def test_gelu_keeps_its_input_and_the_formula_by_hand_keeps_four_tensors():
    whole, parts = ledger(lambda: functional.gelu(X)), ledger(lambda: tanh_gelu(X))
    assert (whole.made_bytes, whole.before_bytes) == (0, 512)
    assert (parts.made_bytes, parts.before_bytes) == (3 * 512 + 3 * 8, 512)
    assert [line.place.statement for line in parts.lines] == [
        "return 0.5 * x * (1 + t)",
        "t = torch.tanh(0.7978845608 * inner)",
        "inner = x + 0.044715 * x**3",
    ]
    assert [line.nbytes for line in parts.lines] == [1032, 520, 8]
    assert ledger(lambda: tanh_gelu(X)) == parts


def test_what_was_there_before_is_told_apart():
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    found = ledger(lambda: model(BATCH).sum(), module=model)
    before = {(one.node, one.sizes) for one in found.kept if not one.made}
    assert before == {("AddmmBackward0", (6, 8)), ("AddmmBackward0", (16, 3))}
    assert found.made_bytes == 6 * 16 * 4  # the result of the ReLU; its input is not kept
    assert [(line.module, line.operators) for line in found.lines] == [("1", ("Relu",))]
    assert found.lines[0].where.endswith("(in 1)")


def test_a_storage_that_is_kept_twice_counts_at_the_line_that_keeps_it_first():
    def step():
        y = X.exp()
        return (y * y[:4].sum()).sum()

    found = ledger(step)
    assert [(one.first, one.nbytes) for one in found.kept if one.node == "MulBackward0"] == [
        (True, 4),
        (False, 512),
    ]
    assert [line.place.statement for line in found.lines] == [
        "y = X.exp()",
        "return (y * y[:4].sum()).sum()",
    ]


def test_a_step_is_run_once_and_as_a_plain_call_would():
    model, runs = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout(0.5)), []

    def step():
        runs.append(1)
        return model(BATCH).square().sum()

    torch.manual_seed(0)
    step()
    expected = torch.get_rng_state(), model[1].running_mean.clone()
    model[1].reset_running_stats()
    torch.manual_seed(0)
    versions = [p._version for p in model.parameters()]
    ledger(step, module=model)
    assert len(runs) == 2
    assert torch.equal(torch.get_rng_state(), expected[0])
    assert torch.equal(model[1].running_mean, expected[1])
    assert [p._version for p in model.parameters()] == versions
    assert all(p.grad is None for p in model.parameters())
    assert not torch.nn.modules.module._global_forward_hooks


def test_a_graph_that_was_looked_at_gives_the_same_gradient_and_still_checks_versions():
    kept = []
    x = leaf(4)

    def step():
        y = x.exp()
        kept.append((y, (y * x).sum()))
        return kept[-1][1]

    ledger(step)
    kept[0][1].backward()
    assert torch.equal(x.grad, x.detach().exp() * (1 + x.detach()))
    ledger(step)
    kept[1][0].detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        kept[1][1].backward()


def test_a_class_of_tensors_is_not_asked_for_what_it_overrides():
    asked = []

    class Watched(torch.Tensor):
        @classmethod
        def __torch_function__(cls, fn, types, args=(), kwargs=None):
            asked.append(fn)
            return super().__torch_function__(fn, types, args, kwargs)

    x = leaf(128).detach().as_subclass(Watched).requires_grad_()

    def step():
        return x.exp().sum()

    asked.clear()
    step()
    alone = len(asked)
    assert ledger(step).made_bytes == 512
    assert len(asked) == 2 * alone


def test_nothing_is_kept_alive():
    alive = []

    def step():
        y = X.exp()
        alive.append(weakref.ref(y))
        return y.sum()

    found = ledger(step)
    gc.collect()
    assert alive[0]() is None and found.made_bytes == 512


@pytest.mark.parametrize(
    ("fn", "reason"),
    [
        (lambda: X.detach().exp(), "does not require a gradient"),
        (lambda: torch.no_grad()(X.exp)(), "does not require a gradient"),
        (lambda: torch.inference_mode()(X.exp)(), "inference mode"),
        (lambda: X.argmax(), "only floating point"),
    ],
)
def test_without_a_graph_the_reason_is_told(fn, reason):
    found = ledger(fn)
    assert reason in str(found) and "So nothing is kept for a backward pass." in str(found)
    assert found.kept == () and show(found).svg == ""


def test_a_backward_pass_inside_is_told():
    def step():
        loss = (X.exp() * X).sum()
        loss.backward()
        return loss

    found = ledger(step)
    X.grad = None
    assert found.made_bytes + found.before_bytes == 0
    assert "freed by a backward pass inside the function: 3." in str(found)

    def with_function():
        loss = Keeper.apply(X * 3).sum()
        loss.backward()
        return loss

    assert "inside the function: 2." in str(ledger(with_function))
    X.grad = None


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_a_checkpointed_part_keeps_its_input_alone(use_reentrant):
    def step():
        return checkpoint(lambda t: t.exp().sin().cos(), X + 1, use_reentrant=use_reentrant).sum()

    found = ledger(step)
    assert found.made_bytes == 512
    assert ledger(lambda: (X + 1).exp().sin().cos().sum()).made_bytes == 1024
    said = "Tensors of checkpointed parts that are not kept: 3." in str(found)
    assert said is not use_reentrant


def test_what_a_hook_packs_is_counted_where_it_is_a_tensor():
    def step(pack):
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed):
            return X.exp().sum()

    assert ledger(lambda: step(lambda t: ("half", t.half()))).made_bytes == 256
    found = ledger(lambda: step(lambda t: t.numpy(force=True)))
    assert found.made_bytes == 0 and "a hook packed into a ndarray, not counted: 1." in str(found)
    assert ledger(lambda: step(lambda t: t)).made_bytes == 512


def test_casts_of_autocast_are_told():
    batch, weight = leaf(6, 8), leaf(8, 4)

    def step():
        hidden = batch.exp()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return (hidden @ weight).sum()

    found = ledger(step)
    assert found.made_bytes == 6 * 8 * 4 + 96 + 64
    assert "Of these, 160 bytes are copies in another dtype" in str(found)
    assert "another dtype" not in str(ledger(lambda: (BATCH @ weight).sum()))


def test_what_hangs_on_the_context_of_a_function_counts():
    class Hoarder(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.extra = x * 3
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * ctx.extra

    found = ledger(lambda: Hoarder.apply(X).sum())
    assert [(one.name, one.nbytes, one.made) for one in found.kept] == [("ctx.extra", 512, True)]


def test_a_write_into_a_view_says_what_is_not_seen():
    def step():
        y = X * 1
        y[:4].mul_(leaf(4))
        return y.sum()

    assert "CopySlices" in str(ledger(step))
    assert saved_by_torch(step) > ledger(step).made_bytes + ledger(step).before_bytes


def test_a_sparse_tensor_counts_its_indices_and_values():
    found = ledger(sparse_product)
    [indices, values] = [one.nbytes for one in found.kept if one.name == "mat1"]
    assert (indices, values) == (2 * 4 * 8, 4 * 4)


def test_numbers_and_tensors_from_lists_are_made_by_the_step():
    found = ledger(lambda: (X * 3.0 * torch.tensor([2.0]) * torch.ones(1)).sum())
    assert {(one.sizes, one.made) for one in found.kept} >= {((), True), ((1,), True)}
    assert found.before_bytes == 0


def test_memory_that_comes_where_a_freed_input_was_is_made_by_the_step():
    inputs = [torch.ones(1000) for _ in range(20)]

    def step():
        total = X.sum()
        while inputs:
            total = total + (inputs.pop() + 1)[0]
        return sum((X.exp() * k).sum() for k in range(20)) + total

    found = ledger(step)
    assert found.before_bytes == 0 and found.made_bytes == 20 * (512 + 8)


def test_a_deep_graph_is_read_in_part():
    def step():
        y = X[:1]
        for _ in range(10_050):
            y = y.sin()
        return y

    assert "Only the last 10,000 nodes were read." in str(ledger(step))


def test_a_function_that_returns_no_tensor_is_refused():
    with pytest.raises(
        TypeError, match=r"returned a float was asked\. What it keeps .* Return the loss\."
    ):
        ledger(lambda: X.sum().item())


def test_what_the_function_raises_passes_through():
    def fails():
        X.exp()
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ledger(fails)


def long_ledger(n):
    def one(k):
        place = Place("train.py", k + 1, f"h{k} = relu(h)")
        return Kept("ReluBackward0", "result", (k,), "float32", 4 * k, k, True, True, place)

    return Ledger(tuple(map(one, range(n))))


def test_the_text_has_one_row_for_each_line_largest_first_and_sums_the_rest():
    text = str(long_ledger(60)).splitlines()
    assert text[0].startswith("The backward pass needs 7,080 bytes that this step made")
    assert text[1].split() == ["bytes", "made", "and", "kept", "by"]
    assert text[2].strip() == "236  train.py, line 60: h59 = relu(h)  [Relu]"
    assert len(text) == 2 + MOST_ROWS + 1
    assert text[-1].strip() == f"{4 * sum(range(20))}  20 more lines"
    assert repr(long_ledger(2)) == str(long_ledger(2))


def test_the_picture_has_a_bar_for_each_line_and_is_the_same_each_time():
    found = ledger(lambda: tanh_gelu(X))
    picture = show(found)
    words = " ".join(ElementTree.fromstring(picture.svg).itertext())
    for line in found.lines:
        assert f"test_ledger.py {line.place.line}" in words and f"{line.nbytes:,}" in words
    assert picture.svg == show(ledger(lambda: tanh_gelu(X))).svg
    assert picture.text == str(found) and picture.text.splitlines()[2] in picture._repr_html_()
    many = " ".join(ElementTree.fromstring(show(long_ledger(60)).svg).itertext())
    assert f"{60 - MOST_BARS} more" in many and len(show(long_ledger(60)).svg) < 150_000


def test_letters_that_a_chart_has_not_are_replaced_there_and_stay_in_the_text():
    place = Place("", 3, "損失 = x.exp()", "x = 1")
    kept = Kept("ExpBackward0", "result", (1,), "float32", 4, 0, True, True, place)
    picture = show(Ledger((kept,)))
    assert "line 3: ?? = x.exp()" in " ".join(ElementTree.fromstring(picture.svg).itertext())
    assert "損失" in picture.text
