import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
WINDOW = 4

model = nn.Linear(5, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
inputs = torch.randn(80, 5)
labels = inputs[:, :3].argmax(dim=1)
micro = list(zip(inputs.split(8), labels.split(8), strict=True))


def loss_of(x, y):
    return F.cross_entropy(model(x), y)


def window_size(index):
    first = index - index % WINDOW
    return min(WINDOW, len(micro) - first)


losses, steps = [], 0
for _epoch in range(2):
    for index, (x, y) in enumerate(micro):
        size = window_size(index)
        loss = loss_of(x, y)
        (loss / size).backward()
        losses.append(loss.item())
        if index % WINDOW == size - 1:
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            optimizer.zero_grad()
            steps += 1
print(f"{steps} steps, {losses[0]:.3f} -> {losses[-1]:.3f}")
