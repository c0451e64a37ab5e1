"""A deep equilibrium layer: the fixed point under no_grad, its gradient by a hook that solves."""

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)


def iterate(f, start, tolerance=1e-6, limit=60):
    z = f(start)
    for _ in range(limit):
        last, z = z, f(z)
        if (z - last).norm() < tolerance * (1 + z.norm()):
            break
    return z


class Cell(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width, bias=False)
        self.outer = nn.Linear(width, width)
        nn.init.orthogonal_(self.inner.weight, gain=0.3)

    def forward(self, z, x):
        return torch.tanh(self.inner(z) + self.outer(x))


class Equilibrium(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def forward(self, x):
        with torch.no_grad():
            z = iterate(lambda z: self.cell(z, x), torch.zeros_like(x))
        # One step with history gives the parameters their gradient ...
        z = self.cell(z, x)
        if not z.requires_grad:
            return z
        # ... once the incoming gradient is multiplied with the inverse of (1 - df/dz).
        z0 = z.detach().requires_grad_()
        f0 = self.cell(z0, x.detach())

        def solve(grad):
            def back(v):
                return torch.autograd.grad(f0, z0, v, retain_graph=True)[0] + grad

            return iterate(back, grad)

        z.register_hook(solve)
        return z


x = torch.randn(128, 4)
y = torch.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2]
model = nn.Sequential(nn.Linear(4, 24), Equilibrium(Cell(24)), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(40):
    loss = F.mse_loss(model(x).squeeze(1), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())
assert losses[-1] < 0.5 * losses[0], (losses[0], losses[-1])
