"""Weight and age of a fish from its outline."""

import torch
import torch.nn.functional as F
from mod_442_uncertainty import Uncertainty
from torch import nn

torch.manual_seed(0)


class FishNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.Tanh())
        self.weight = nn.Linear(16, 1)
        self.age = nn.Linear(16, 1)

    def forward(self, outline):
        h = self.body(outline)
        return {"weight": self.weight(h), "age": self.age(h)}


outlines = torch.randn(80, 8)
truth = {
    "weight": outlines[:, :1] + 0.1 * torch.randn(80, 1),
    "age": outlines[:, 1:2] + 2.0 * torch.randn(80, 1),
}
net, balance = FishNet(), Uncertainty(truth)
optimizer = torch.optim.SGD([*net.parameters(), *balance.parameters()], lr=0.05)
history = []
for _step in range(60):
    guess = net(outlines)
    losses = {task: F.mse_loss(guess[task], truth[task]) for task in truth}
    total = balance(losses)
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
    history.append(losses["weight"].item())
print({task: round(value.item(), 2) for task, value in balance.log_variance.items()})
