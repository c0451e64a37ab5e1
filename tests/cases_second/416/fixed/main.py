"""Tomorrow's wind power, with a slow copy of the weights for validation."""

import torch
import torch.nn.functional as F
from mod_416_average import AveragedWeights
from torch import nn

torch.manual_seed(0)

model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
average = AveragedWeights(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
wind = torch.randn(80, 4)
power = wind[:, :1].clamp(0, 1.5) ** 3


@torch.no_grad()
def validate():
    return F.mse_loss(model(wind[60:]), power[60:]).item()


def train_step(x, y, look):
    loss = F.mse_loss(model(x), y)
    score = None
    if look:
        average.swap()
        score = validate()
        average.swap()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average.update()
    return loss.item(), score


losses, scores = [], []
for step in range(60):
    loss, score = train_step(wind[:60], power[:60], look=step % 3 == 0)
    losses.append(loss)
    if score is not None:
        scores.append(score)
print(f"train {losses[0]:.3f} -> {losses[-1]:.3f}, validation {scores[-1]:.3f}")
