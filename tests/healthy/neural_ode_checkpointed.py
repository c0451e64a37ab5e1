"""A neural ODE by Euler steps; activations are recomputed with checkpoint, in both modes."""

import warnings

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(1)
torch.manual_seed(0)


class Field(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width + 1, 32), nn.Tanh(), nn.Linear(32, width))

    def forward(self, t, h):
        return self.net(torch.cat([h, t.expand(len(h), 1)], dim=1))


class NeuralODE(nn.Module):
    def __init__(self, steps=8):
        super().__init__()
        self.lift = nn.Linear(2, 8)
        self.field = Field()
        self.head = nn.Linear(8, 1)
        self.times = torch.linspace(0, 1, steps + 1)

    def forward(self, x, mode=None):
        h = self.lift(x)
        for t, after in zip(self.times[:-1], self.times[1:], strict=True):
            if mode is None:
                slope = self.field(t, h)
            else:
                # h needs a gradient already, so the re-entrant mode is fine as well.
                slope = checkpoint(self.field, t, h, use_reentrant=mode == "reentrant")
            h = h + (after - t) * slope
        return self.head(h).squeeze(1)


x = torch.randn(128, 2)
y = (x.norm(dim=1) > 1.0).float()
model = NeuralODE()
criterion = nn.BCEWithLogitsLoss()

gradients = {}
for mode in (None, "plain", "reentrant"):
    model.zero_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        criterion(model(x, mode), y).backward()
    gradients[mode] = torch.cat([p.grad.flatten() for p in model.parameters()])

optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
losses = []
for _step in range(40):
    loss = criterion(model(x, "plain"), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

assert gradients[None].abs().sum() > 0
assert torch.allclose(gradients[None], gradients["plain"], atol=1e-6)
assert torch.allclose(gradients[None], gradients["reentrant"], atol=1e-6)
assert losses[-1] < 0.6 * losses[0], (losses[0], losses[-1])
