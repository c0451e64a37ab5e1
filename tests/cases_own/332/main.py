import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
CELLS = 9


def positions(count):
    """Boards with some cells taken; the best free cell is the one nearest to the middle."""
    taken = torch.rand(count, CELLS) < 0.4
    taken[:, 0] = False
    owner = torch.where(torch.rand(count, CELLS) < 0.5, 1.0, -1.0)
    board = taken * owner
    distance = (torch.arange(CELLS) - 4).abs() + 100 * taken
    return board, ~taken, distance.argmin(dim=1)


def entropy(probs, legal):
    plogp = torch.where(legal, probs * probs.log(), torch.zeros_like(probs))
    return -plogp.sum(dim=1).mean()


policy = nn.Sequential(nn.Linear(CELLS, 48), nn.ReLU(), nn.Linear(48, CELLS))
optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
losses, skipped = [], 0
for _step in range(20):
    board, legal, best = positions(64)
    logits = policy(board).masked_fill(~legal, float("-inf"))
    probs = logits.softmax(dim=1)
    loss = F.cross_entropy(logits, best) - 0.01 * entropy(probs, legal)
    optimizer.zero_grad()
    loss.backward()
    losses.append(loss.item())
    norm = torch.stack([p.grad.norm() for p in policy.parameters()]).norm()
    if not torch.isfinite(norm):
        skipped += 1
        continue
    optimizer.step()
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}, {skipped} updates skipped")
