"""A physics-informed net: second derivatives through an activation written as a Function."""

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)


class SineFunction(torch.autograd.Function):
    """sin(w * x); its backward is made of differentiable operations, so it can be done twice."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x)
        ctx.w = w
        return torch.sin(w * x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.w * torch.cos(ctx.w * x), None


class Sine(nn.Module):
    def forward(self, x):
        return SineFunction.apply(x, 1.5)


net = nn.Sequential(nn.Linear(1, 24), Sine(), nn.Linear(24, 24), Sine(), nn.Linear(24, 1))
probe = torch.randn(5, 1, dtype=torch.double, requires_grad=True)
assert torch.autograd.gradgradcheck(SineFunction.apply, (probe, 1.5))


def derivative(u, x):
    return torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]


def residual(n=64):
    """u'' + u = 0 at random places."""
    x = (3 * torch.rand(n, 1)).requires_grad_(True)
    u = net(x)
    return derivative(derivative(u, x), x) + u


def boundary():
    """u(0) = 0 and u'(0) = 1, so that u = sin."""
    x = torch.zeros(1, 1, requires_grad=True)
    u = net(x)
    return u.pow(2).mean() + (derivative(u, x) - 1).pow(2).mean()


optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=60, gamma=0.5)
losses = []
for _ in range(150):
    loss = residual().pow(2).mean() + 5 * boundary()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    losses.append(loss.item())

grid = torch.linspace(0, 3, 31).unsqueeze(1)
with torch.no_grad():
    error = (net(grid) - torch.sin(grid)).abs().max().item()

assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in net.parameters())
assert losses[-1] < 0.05 * losses[0], (losses[0], losses[-1])
assert error < 0.2, error
