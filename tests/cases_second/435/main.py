"""A controller balances a pole, with a loss for every five moments."""

import torch
from torch import nn

torch.manual_seed(0)
WINDOW = 5


class Pole:
    """Angle and speed of an upside-down pendulum."""

    def __init__(self, count):
        self.state = 0.3 * torch.randn(count, 2)

    def push(self, force):
        angle, speed = self.state.unbind(1)
        speed = speed + 0.1 * (torch.sin(angle) + force)
        self.state = torch.stack([angle + 0.1 * speed, speed], dim=1)
        return self.state

    def cut(self):
        self.state.detach_()


controller = nn.Sequential(nn.Linear(2, 12), nn.Tanh(), nn.Linear(12, 1))
optimizer = torch.optim.Adam(controller.parameters(), lr=0.02)
losses, pictures = [], []
for _episode in range(15):
    pole = Pole(16)
    total = 0.0
    for _window in range(4):
        cost = 0.0
        for _moment in range(WINDOW):
            force = controller(pole.state).squeeze(1)
            state = pole.push(force)
            cost = cost + state.pow(2).mean() + 0.001 * force.pow(2).mean()
        optimizer.zero_grad()
        cost.backward()
        optimizer.step()
        pole.cut()
        total += cost.item()
    pictures.append(pole.state.numpy().copy())
    losses.append(total / (4 * WINDOW))
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
