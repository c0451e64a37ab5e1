import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
LENGTH, WIDTH = 9, 16


class PositionNet(nn.Module):
    """Only the mixing branch is told where in the sequence a value stands."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.embed = nn.Linear(inputs, WIDTH)
        self.position = nn.Parameter(0.5 * torch.randn(LENGTH, WIDTH))
        self.mix = nn.Linear(WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, outputs)

    def forward(self, x):
        hidden = self.embed(x)
        shortcut = hidden
        hidden = hidden + self.position
        mixed = torch.tanh(self.mix(hidden))
        return self.head(self.norm(shortcut + mixed).mean(dim=1))


def batch(count):
    x = torch.randn(count, LENGTH, 3)
    weight = torch.linspace(-1, 1, LENGTH)
    return x, (x[..., 0] * weight).sum(dim=1, keepdim=True)


net = PositionNet(3, 1)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
losses = []
for _step in range(60):
    x, y = batch(64)
    loss = F.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
