import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Counter(nn.Module):
    """Reads bits and says how many were set."""

    def __init__(self, width=24):
        super().__init__()
        self.rnn = nn.RNN(1, width, batch_first=True)
        self.out = nn.Linear(width, 1)

    def forward(self, bits):
        states, _ = self.rnn(bits[..., None])
        return self.out(states[:, -1]).squeeze(1)


def update(model, optimizer, loss, max_norm=1.0):
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    optimizer.zero_grad()
    return norm.item()


model = Counter()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
before = model.out.weight.detach().clone()
losses, norms = [], []
for step in range(40):
    bits = torch.randint(0, 2, (32, 10)).float()
    loss = F.mse_loss(model(bits), bits.sum(dim=1))
    norms.append(update(model, optimizer, loss))
    losses.append(loss.item())
    if step % 20 == 0:
        print(step, f"loss {losses[-1]:.2f} norm {norms[-1]:.2f}")
