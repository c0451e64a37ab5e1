import torch
import torch.nn.functional as F
from mod_320_average import WeightAverage
from torch import nn

torch.manual_seed(0)


def noisy_parabola(count):
    x = 4 * torch.rand(count, 1) - 2
    return x, x.pow(2) + 0.3 * torch.randn(count, 1)


@torch.no_grad()
def evaluate(model, x, y):
    return F.mse_loss(model(x), y).item()


net = nn.Sequential(nn.Linear(1, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 1))
ema = WeightAverage(net)
optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
held_out = noisy_parabola(100)
losses = []
for _step in range(60):
    x, y = noisy_parabola(32)
    loss = F.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update(net)
    losses.append(loss.item())
print(f"averaged model: {evaluate(ema.model, *held_out):.3f}")
