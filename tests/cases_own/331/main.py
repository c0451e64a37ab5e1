import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
TIME, CHANNELS, CLASSES = 12, 3, 3


class GestureModel(nn.Module):
    def __init__(self, width=10):
        super().__init__()
        self.lstm = nn.LSTM(CHANNELS, width)
        self.dropout = nn.Dropout(0.1)
        self.head = nn.Linear(TIME * width, CLASSES)

    def forward(self, x):
        states, _ = self.lstm(x)
        flat = states.reshape(x.shape[1], -1)
        return self.head(self.dropout(flat))


def batch(count):
    kind = torch.randint(0, CLASSES, (count,))
    time = torch.linspace(0, 1, TIME)[:, None]
    curve = torch.sin(2 * torch.pi * (kind + 1) * time)
    x = 0.3 * torch.randn(TIME, count, CHANNELS)
    x[..., 0] += curve
    return x, kind


model = GestureModel()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
losses = []
for step in range(60):
    x, y = batch(32)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 20 == 0:
        print(step, f"{losses[-1]:.3f}")
