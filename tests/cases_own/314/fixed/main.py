import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)


class Coupling(nn.Module):
    def __init__(self, dim, width=32):
        super().__init__()
        half = dim // 2
        self.net = nn.Sequential(nn.Linear(half, width), nn.ReLU(), nn.Linear(width, 2 * half))

    def forward(self, x):
        kept, moved = x.chunk(2, dim=1)
        log_scale, shift = self.net(kept).chunk(2, dim=1)
        log_scale = torch.tanh(log_scale)
        moved = moved * torch.exp(log_scale)
        moved = moved + shift
        return torch.cat([moved, kept], dim=1), log_scale.sum(1)


class Flow(nn.Module):
    def __init__(self, dim, depth=4):
        super().__init__()
        self.mix = nn.Parameter(torch.eye(dim))
        self.layers = nn.ModuleList(Coupling(dim) for _ in range(depth))

    def log_prob(self, x):
        x = x @ self.mix
        log_det = torch.linalg.slogdet(self.mix).logabsdet
        for layer in self.layers:
            x, change = layer(x)
            log_det = log_det + change
        return Normal(0.0, 1.0).log_prob(x).sum(1) + log_det


def moons(count):
    angle = torch.pi * torch.rand(count)
    upper = torch.stack([angle.cos(), angle.sin()], dim=1)
    lower = torch.stack([1 - angle.cos(), 0.5 - angle.sin()], dim=1)
    points = torch.where(torch.rand(count, 1) < 0.5, upper, lower)
    return points + 0.05 * torch.randn(count, 2)


flow = Flow(2)
optimizer = torch.optim.Adam(flow.parameters(), lr=5e-3)
losses = []
for _step in range(60):
    loss = -flow.log_prob(moons(128)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
