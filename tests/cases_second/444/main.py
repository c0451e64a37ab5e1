"""A menu is put together: one of five dishes for each guest."""

import torch
import torch.nn.functional as F
from mod_444_choose import choose, spread
from torch import nn

torch.manual_seed(0)


class Waiter(nn.Module):
    def __init__(self, tastes, dishes):
        super().__init__()
        self.chooser = nn.Linear(tastes, dishes)
        self.register_buffer("menu", torch.eye(dishes)[:, :tastes])

    def forward(self, guest):
        logits = self.chooser(guest)
        chosen = choose(logits)
        return chosen, chosen @ self.menu, logits


guests = torch.eye(5)[torch.randint(5, (64,))][:, :4] + 0.1 * torch.randn(64, 4)
waiter = Waiter(4, 5)
optimizer = torch.optim.Adam(waiter.parameters(), lr=0.03)
tastes = []
for _evening in range(60):
    chosen, dish, logits = waiter(guests)
    taste = F.mse_loss(dish, guests)
    loss = taste + 0.01 * spread(logits)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    tastes.append(taste.item())
print(f"distance to the guests' taste {tastes[0]:.3f} -> {tastes[-1]:.3f}")
