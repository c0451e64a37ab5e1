import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def contrast(codes, kind, margin=1.0):
    """All pairs: near where the kind is the same, at least a margin apart elsewhere."""
    distance = (codes[:, None] - codes[None, :]).pow(2).sum(dim=2)
    same = kind[:, None] == kind[None, :]
    apart = torch.relu(margin - distance)
    return torch.where(same, distance, apart).mean()


def readings(count):
    kind = torch.randint(0, 3, (count,))
    centres = 2 * torch.eye(3, 6)
    return centres[kind] + 0.5 * torch.randn(count, 6), kind


encoder = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
decoder = nn.Linear(2, 6)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
losses = []
for _step in range(50):
    x, kind = readings(48)
    optimizer.zero_grad()
    codes = encoder(x)
    rebuilt = F.mse_loss(decoder(codes), x)
    rebuilt.backward(retain_graph=True)
    grouped = contrast(codes, kind)
    grouped.backward()
    optimizer.step()
    losses.append(rebuilt.item() + grouped.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
