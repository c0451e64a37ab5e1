"""Age and height of a tree from its rings, two losses of very different size."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class TreeNet(nn.Module):
    def __init__(self, rings, width=20):
        super().__init__()
        self.shared = nn.Linear(rings, width)
        self.age = nn.Linear(width, 1)
        self.height = nn.Linear(width, 1)

    def forward(self, rings):
        x = torch.tanh(self.shared(rings))
        return self.age(x).squeeze(1), self.height(x).squeeze(1)


def even(terms):
    """The terms, each scaled to one; a term that is nearly zero stays small."""
    return sum(term / term.detach().clamp(min=1e-6) for term in terms)


rings = torch.rand(64, 8)
age = 10 * rings.sum(1)
height = rings[:, :3].sum(1)

model = TreeNet(8)
optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
losses, totals = [], []
for step in range(200):
    guess = model(rings)
    terms = [F.mse_loss(guess[0], age), F.mse_loss(guess[1], height)]
    total = even(terms)
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
    totals.append(total.item())
    losses.append(sum(term.item() for term in terms))
    if step % 50 == 0:
        print(f"step {step:3d}: total {totals[-1]:.2f}, errors {losses[-1]:.3f}")
