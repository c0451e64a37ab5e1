"""Hard Gumbel-softmax picks a discrete expert; the temperature falls and no gradient is lost."""

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)


class Selector(nn.Module):
    """Finds the features that matter, a one-hot choice for each slot."""

    def __init__(self, features=10, slots=3):
        super().__init__()
        self.logits = nn.Parameter(0.01 * torch.randn(slots, features))
        self.head = nn.Sequential(nn.Linear(slots, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x, tau):
        if self.training:
            choice = F.gumbel_softmax(self.logits.expand(len(x), -1, -1), tau=tau, hard=True)
            picked = torch.einsum("bsf,bf->bs", choice, x)
        else:
            picked = x[:, self.logits.argmax(dim=1)]
        return self.head(picked).squeeze(1)


def make_data(n):
    x = torch.randn(n, 10)
    return x, 1.5 * x[:, 3] - x[:, 7]


model = Selector()
optimizer = torch.optim.Adam(
    [
        {"params": [model.logits], "lr": 6e-2},
        {"params": model.head.parameters(), "lr": 2e-2},
    ]
)
losses = []
for step in range(150):
    tau = max(0.3, 2.0 * 0.98**step)
    x, y = make_data(256)
    loss = F.mse_loss(model(x, tau), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step == 0:
        first_gradient = model.logits.grad.clone()

model.eval()
with torch.inference_mode():
    x, y = make_data(256)
    final = F.mse_loss(model(x, tau), y).item()

assert first_gradient.abs().sum() > 0
assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in model.parameters())
assert {3, 7} <= set(model.logits.argmax(dim=1).tolist()), model.logits
assert final < 0.3 * losses[0], (losses[0], final)
