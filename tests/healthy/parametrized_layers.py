"""Parametrizations: weight_norm, orthogonal and spectral_norm, with one of our own."""

import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize

torch.set_num_threads(1)
torch.manual_seed(0)


class Symmetric(nn.Module):
    def forward(self, raw):
        return raw.triu() + raw.triu(1).transpose(-1, -2)


class Metric(nn.Module):
    """A bounded feature map and a symmetric form on it."""

    def __init__(self, inputs=5, width=16):
        super().__init__()
        self.first = parametrizations.weight_norm(nn.Linear(inputs, width))
        self.turn = parametrizations.orthogonal(nn.Linear(width, width, bias=False))
        self.second = parametrizations.spectral_norm(nn.Linear(width, width))
        self.form = nn.Linear(width, width, bias=False)
        parametrize.register_parametrization(self.form, "weight", Symmetric())
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x):
        hidden = self.turn(torch.tanh(self.first(x)))
        hidden = torch.tanh(self.second(hidden))
        return self.scale * (hidden * self.form(hidden)).sum(dim=1)


x = torch.randn(256, 5)
y = x[:, 0] * x[:, 1] + 0.5 * x[:, 2]
model = Metric()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(60):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

model.eval()
with torch.no_grad(), parametrize.cached():
    turn = model.turn.weight
    largest = torch.linalg.matrix_norm(model.second.weight, ord=2).item()
    form = model.form.weight

# The weights the layers use are results; the parameters are the originals behind them.
assert not model.first.weight.is_leaf
gradients = {name: p.grad for name, p in model.named_parameters()}
assert any("original0" in name for name in gradients)
assert all(g is not None and g.abs().sum() > 0 for g in gradients.values()), gradients
assert torch.allclose(turn @ turn.T, torch.eye(16), atol=1e-4)
assert torch.equal(form, form.T)
assert largest < 1.2, largest
assert losses[-1] < 0.4 * losses[0], (losses[0], losses[-1])
