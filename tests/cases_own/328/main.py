import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
SIZE = 16


def grid():
    axis = torch.linspace(-1, 1, SIZE)
    return torch.cartesian_prod(axis, axis)


class Splats(nn.Module):
    """An image as a sum of round blobs, each with a centre and a height."""

    def __init__(self, count, width=0.25):
        super().__init__()
        self.width = width
        self.centres = nn.Parameter(torch.rand(count, 2) - 0.5)
        self.heights = nn.Parameter(torch.full((count,), 0.5))

    def forward(self, pixels):
        distance = (pixels[:, None] - self.centres[None]).pow(2).sum(dim=-1)
        return torch.exp(-distance / (2 * self.width**2)) @ self.heights

    def split(self, count):
        centres, heights = self.centres.detach(), self.heights.detach() / 2
        chosen = self.centres.grad.norm(dim=1).topk(count).indices
        jitter = 0.05 * torch.randn(count, 2)
        self.centres = nn.Parameter(torch.cat([centres, centres[chosen] + jitter]))
        self.heights = nn.Parameter(torch.cat([heights, heights[chosen]]))


pixels = grid()
picture = (pixels.norm(dim=1) - 0.6).abs().lt(0.2).float()
model = Splats(6)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
losses = []
for step in range(60):
    if step == 15:
        model.split(3)
        placed = model.centres.detach().clone()
    loss = F.mse_loss(model(pixels), picture)
    model.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.4f} -> {losses[14]:.4f} -> {losses[-1]:.4f}")
