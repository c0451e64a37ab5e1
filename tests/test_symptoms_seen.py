"""The call of a row shows the symptom on a thing that has it, and not on its healthy look-alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy
import pytest
import torch
from test_symptoms import ROWS, scope_of
from torch import nn

pytestmark = pytest.mark.usefixtures("small_heap")
Names = dict[str, object]
# Rows whose call has nothing to look at here.
UNSEEN = {"The GPU's memory stays full although the tensors are gone": "it takes a GPU"}
# Each step looks through all that is alive, which is much where tests run.
TWO_STEPS = ("backward())", "backward(), steps=2)")


@dataclass(frozen=True)
class Seen:
    """What tells a thing with the symptom from a healthy one, and both things.

    `says` gets the values of the row's calls. `swap` replaces the example that a call holds itself,
    in the `ill` thing or in the `well` one.
    """

    says: Callable[..., bool]
    ill: Callable[[], Names] = dict
    well: Callable[[], Names] = dict
    ill_swap: tuple[str, str] = ("", "")
    well_swap: tuple[str, str] = ("", "")


class Model(nn.Module):
    """A linear layer, and what is made of it."""

    def __init__(self, forward: Callable[[Model, torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.layer, self.own, self.state = nn.Linear(4, 1), nn.Parameter(torch.ones(1)), 0
        self.forward = lambda x: forward(self, x)


class Tripled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 3


class Forgetful(torch.autograd.Function):
    """The square, whose slope is kept as a number of the forward pass."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(2 * x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0]


def model(forward: Callable[[Model, torch.Tensor], torch.Tensor]) -> Callable[[], Names]:
    """The model, and its loss on the small batch."""

    def make() -> Names:
        made = Model(forward)
        return {"model": made, "loss": made(torch.arange(12.0).view(3, 4)).sum()}

    return make


def of(**names: Callable[[], object]) -> Callable[[], Names]:
    return lambda: {name: make() for name, make in names.items()}


def exp_then_write(self, x):
    return self.layer(x).exp().mul_(2)


def dead(self, x):
    return (self.layer(x) - 1000).relu()


def carried(self, x):
    self.state = self.state + self.own
    return self.layer(x) + self.state


def after_a_pass() -> Names:
    names = model(lambda self, x: self.layer(x).exp())()
    names["loss"].backward()
    return names


def gradient_is_there() -> Names:
    made = nn.Linear(4, 1)
    made(torch.ones(3, 4)).sum().backward()
    return {"model": made, "loss": made(torch.ones(3, 4)).sum()}


def gradients_cleared() -> Names:
    names = gradient_is_there()
    names["model"].zero_grad()
    return names


def stale() -> Names:
    made = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(made.parameters(), lr=0.1)
    return {"model": nn.Linear(4, 1), "optimizer": optimizer}


def stored_result() -> Names:
    made = nn.Linear(4, 1)
    made.state = made(torch.ones(3, 4))
    return {"model": made}


def heads() -> torch.Tensor:
    return torch.arange(12).view(1, 3, 2, 2).transpose(1, 2)


def released() -> torch.Tensor:
    t = torch.ones(3)
    t.untyped_storage().resize_(0)
    return t


def batch() -> torch.Tensor:
    return torch.arange(12.0).view(3, 4)


def told(value: object) -> str:
    """What a reader of a notebook sees, as text."""
    bundle = getattr(value, "_repr_mimebundle_", None)
    return bundle()["text/plain"] if bundle else repr(value)


def term(of: Callable[[Model, torch.Tensor], torch.Tensor]) -> Callable[[], Names]:
    """A model, and a term of its loss."""

    def made() -> Names:
        net = Model(lambda self, x: self.own.square() + self.layer(x))
        return {"model": net, "term": of(net, torch.arange(12.0).view(3, 4))}

    return made


def leaves(graph) -> set[str]:
    return {node.leaf for node in graph.nodes if node.leaf}


def bytes_for_each_operator(value: object) -> float:
    words = told(value).splitlines()[1].translate({44: "", 59: ""}).split()
    return (int(words[3]) + int(words[7])) / int(words[0])


SEEN = {
    "A file of a few rows": Seen(lambda v: v[0] > v[1], of(t=lambda: torch.ones(1000, 4)[:10])),
    "Memory stays full although": Seen(
        lambda _, v: v[0] > v[1], of(t=lambda: torch.ones(1000, 4)[5])
    ),
    "The same operation on": Seen(lambda v: v[-1] != 1, of(t=lambda: batch().t())),
    "A value changes": Seen(
        lambda v, _: "bytes in common" in v, well=of(other=lambda: batch().clone())
    ),
    "torch.from_numpy refuses": Seen(
        lambda v: min(v) < 0, well=of(array=lambda: numpy.arange(4)[::-1].copy())
    ),
    "Printing or reading": Seen(lambda v: "storage is too small" in told(v), of(t=released)),
    "The shape is right": Seen(
        lambda v: "as if no dimension was moved" in told(v),
        of(t=heads, other=lambda: heads().reshape(1, 3, 4)),
        of(t=heads, other=lambda: heads().transpose(1, 2).reshape(1, 3, 4)),
    ),
    "view size is not": Seen(
        lambda v: "Dimension 0 stops it" in told(v), of(t=lambda: batch().t())
    ),
    "A stored or saved": Seen(
        lambda v, _: "one version counter" in told(v), well=of(other=lambda: batch().clone())
    ),
    "A write in place has": Seen(
        lambda v: "aten.index: copy" in told(v), well_swap=("t[t > 0]", "t[0]")
    ),
    "more than one element": Seen(
        lambda v: "Several indices read one element" in told(v),
        of(t=lambda: torch.ones(1, 3).expand(4, 3)),
    ),
    "A forward pass is slower": Seen(
        lambda v: len(v.found) == 1, well=of(t=lambda: torch.ones(1, 3))
    ),
    "A parameter takes part": Seen(
        lambda v, drawn: not {"layer.weight"} & leaves(v) and "layer.weight" not in told(drawn),
        model(lambda self, x: self.layer(x).detach() * self.own),
        model(lambda self, x: self.layer(x) * self.own),
    ),
    "element 0 of tensors": Seen(
        lambda v, _: "does not require a gradient" in v, well=of(t=lambda: batch().requires_grad_())
    ),
    "detach() was called": Seen(
        lambda v: "layer.weight" in leaves(v),
        model(lambda self, x: (h := self.layer(x), h.detach())[0] + self.own),
        model(lambda self, x: self.layer(x).detach() + self.own),
    ),
    "The .grad attribute": Seen(
        lambda leaf, graph: not leaf and len(graph.nodes) > 1,
        of(weight=lambda: nn.Linear(4, 1).weight * 2),
    ),
    "Memory grows": Seen(lambda _, cost: cost.nodes > 0, well=of(loss=lambda: torch.tensor(1.0))),
    "Only Tensors created": Seen(lambda v: "].state`" in told(v), stored_result),
    "A training step needs": Seen(
        lambda v: v.made_bytes > 20, model(lambda self, x: self.layer(x).exp().mul(2).sin().cos())
    ),
    "The same step gives": Seen(
        lambda v: ".grad held [" in told(v), gradient_is_there, gradients_cleared
    ),
    "The weights stay as": Seen(
        lambda v: v == ["weight", "bias"], gradients_cleared, gradient_is_there
    ),
    "Trying to backward": Seen(
        lambda _, v: "freed by a backward pass" in told(v),
        after_a_pass,
        model(lambda self, x: self.layer(x).exp()),
    ),
    "grad can be implicitly": Seen(
        lambda v: v.numel() > 1, of(loss=lambda: nn.Linear(4, 1)(batch()))
    ),
    "Accumulated training": Seen(
        lambda v: "not that of the whole batch" in told(v), well_swap=("(4)", "(5)")
    ),
    "A gradient penalty": Seen(
        lambda v: "3 nodes were added for it" in told(v), well_swap=("x**2", "x * 3")
    ),
    "A gradient is NaN": Seen(
        lambda v, _: "Here NaN or infinity begins: SqrtBackward0" in told(v),
        of(loss=lambda: torch.zeros(3, requires_grad=True).sqrt().sum()),
    ),
    "Could not run": Seen(
        lambda v: "nothing is registered there" in told(v), well_swap=(".to_sparse()", "")
    ),
    '"…" not implemented': Seen(
        lambda v: "It runs with x1 and x2 as float32" in told(v), well_swap=(".half()", "")
    ),
    "A step of a small": Seen(
        lambda v: bytes_for_each_operator(v) < 100, well=of(t=lambda: torch.ones(10_000, 4))
    ),
    "An elementwise expression": Seen(
        lambda v: "1 intermediate result of" in told(v), well_swap=("a * b + c", "a + c")
    ),
    "torch.compile brings": Seen(
        lambda v: "2 graphs, 1 graph break" in told(v),
        ill_swap=("(x * 2).sin()", "x.sin() if x.sum() > 0 else x"),
    ),
    "The second derivative": Seen(
        lambda v: isinstance(v, Exception),
        of(square=lambda: Forgetful.apply),
        ill_swap=("torch.nn.functional.silu", "square"),
    ),
    "Repeated indices": Seen(
        lambda v: "2 indices name 1 place" in told(v), well_swap=("[0, 0]", "[0, 1]")
    ),
    "one of the variables": Seen(
        lambda panel, v: "problem (" in told(panel) and "now at version 1" in told(v),
        model(exp_then_write),
    ),
    "The gradient is there": Seen(
        lambda v: isinstance(v, Exception),
        of(double=lambda: Tripled.apply),
        ill_swap=("torch.sin", "double"),
    ),
    "Samples of a batch": Seen(
        lambda v: v.count_nonzero() > 1, model(lambda self, x: self.layer(x.t().reshape(3, 4)))
    ),
    "A gradient is all zero": Seen(
        lambda panel, v: "zero everywhere" in told(panel) and "It sends [0, 0, 0] to" in told(v),
        model(dead),
    ),
    "One term of": Seen(
        lambda v: "layer.weight" not in leaves(v),
        term(lambda model, x: model.layer(x).detach().sum()),
        term(lambda model, x: model.layer(x).sum()),
    ),
    "There is a detach()": Seen(
        lambda v: "problem (detach)" in told(v),
        model(lambda self, x: self.layer(x).detach() * self.own),
        model(lambda self, x: self.own * (self.layer(x) - (0.9 * self.layer(x)).detach())),
    ),
    "A layer has a gradient": Seen(
        lambda v: any("optimizer" not in str(member.names) for f in v for member in f.members),
        stale,
    ),
    "retain_graph=True has": Seen(
        lambda v: "the graphs of 2 steps are alive" in told(v),
        model(carried),
        ill_swap=TWO_STEPS,
        well_swap=TWO_STEPS,
    ),
    "A validation loop": Seen(
        lambda v: v,
        of(model=lambda: nn.Linear(4, 1).eval()),
        of(model=lambda: nn.Linear(4, 1).requires_grad_(False)),
    ),
    "A frozen or evaluated": Seen(
        lambda v: v[0] and "running_mean" in v[2],
        of(model=lambda: nn.BatchNorm1d(4).requires_grad_(False)),
        of(model=lambda: nn.BatchNorm1d(4).requires_grad_(False).eval()),
    ),
    "An error comes": Seen(
        lambda graph, _: len(graph.nodes) > 0, of(t=lambda: nn.Linear(4, 1)(batch()))
    ),
    "An old answer": Seen(
        lambda v: not v[1][0].any() and bool((v[2][0] == 1).all()),
        of(x=lambda: torch.zeros(3, requires_grad=True)),
    ),
}


def row_of(start: str) -> dict:
    """The one row whose symptom begins so."""
    (row,) = (row for row in ROWS if row["symptom"].startswith(start))
    return row


def says(seen: Seen, row: dict, names: Names, swap: tuple[str, str]) -> bool:
    assert swap[0] in row["tool"]
    scope, values = scope_of(**names), []
    for call in row["tool"].replace(*swap).split("; "):
        try:
            values.append(eval(call, scope))
        except RuntimeError as error:
            values.append(error)
    return bool(seen.says(*values))


@pytest.mark.parametrize("start", SEEN)
def test_the_call_tells_a_thing_with_the_symptom_from_a_healthy_one(start):
    seen, row = SEEN[start], row_of(start)
    # Outside of the assert: pytest would print what is in it, and one tensor has no memory.
    told_of_ill = says(seen, row, seen.ill(), seen.ill_swap)
    told_of_well = says(seen, row, seen.well(), seen.well_swap)
    assert (told_of_ill, told_of_well) == (True, False)


def test_every_row_is_seen_or_it_is_told_why_not():
    assert {row_of(start)["symptom"] for start in SEEN} | set(UNSEEN) == {
        row["symptom"] for row in ROWS
    }
