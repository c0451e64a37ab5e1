"""Which of three machines hums, recorded by a microphone with an unknown response."""

import torch
import torch.nn.functional as F
from mod_418_spectrum import power_spectrum
from torch import nn

torch.manual_seed(0)
SAMPLES = 64


class Microphone(nn.Module):
    def __init__(self, samples):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(samples))

    def forward(self, waves):
        return waves * self.gain


class Listener(nn.Module):
    def __init__(self, bands=8, machines=3):
        super().__init__()
        self.bands = bands
        self.correction = Microphone(SAMPLES)
        self.classify = nn.Linear(bands, machines)

    def forward(self, waves):
        return self.classify(power_spectrum(self.correction(waves), self.bands))


machine = torch.randint(3, (48,))
angle = torch.arange(SAMPLES) * (3 + 8 * machine[:, None]) * torch.pi * 2 / SAMPLES
waves = torch.sin(angle) + 0.3 * torch.randn(48, SAMPLES)
model = Listener()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
losses = []
for _step in range(40):
    loss = F.cross_entropy(model(waves), machine)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
