"""A thermostat whose chip has only sixteenths for weights."""

import torch
import torch.nn.functional as F
from mod_537_layer import SteppedLinear
from torch import nn

torch.manual_seed(0)

rooms = torch.randn(80, 4)
heating = torch.relu(rooms[:, :1] - 0.5 * rooms[:, 1:2])

model = nn.Sequential(SteppedLinear(4, 16), nn.ReLU(), SteppedLinear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
losses = []
for step in range(120):
    loss = F.mse_loss(model(rooms), heating)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 30 == 0:
        print(f"step {step:3d}: {losses[-1]:.4f}")

stored = [(16 * model[0].stepped()).detach().numpy().astype("int8")]
print(stored[0].shape, stored[0].min(), stored[0].max())
