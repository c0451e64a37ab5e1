import torch
import torch.nn.functional as F
from mod_315_experts import Experts
from torch import nn

torch.manual_seed(0)


def tokens(count):
    kind = torch.randint(0, 4, (count,))
    x = torch.randn(count, 8)
    x[:, :4] += 2.0 * F.one_hot(kind, 4)
    rotated = torch.stack([x.roll(shift, dims=1) for shift in range(4)], dim=1)
    return x, rotated[torch.arange(count), kind]


moe = Experts(width=8, count=4, k=1)
head = nn.Linear(8, 8)
optimizer = torch.optim.AdamW([*moe.parameters(), *head.parameters()], lr=5e-3)
losses = []
for _step in range(60):
    x, y = tokens(128)
    loss = F.mse_loss(head(moe(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
