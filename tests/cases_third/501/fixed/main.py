"""Which of three kinds of whale is calling?"""

import torch
import torch.nn.functional as F
from mod_501_encoded import Encoded
from torch import nn

torch.manual_seed(0)
KINDS = 3


class CallModel(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.encoder = nn.Conv1d(1, width, 7, padding=3)
        self.head = nn.Linear(width, KINDS)

    def forward(self, sound, lengths):
        frames = F.relu(self.encoder(sound[:, None])).transpose(1, 2)
        encoded = Encoded(frames, lengths).cropped()
        return self.head(encoded.mean())


def calls(count, samples=60):
    kinds = torch.arange(count) % KINDS
    time = torch.arange(samples) * 0.4
    pitch = 0.5 + kinds[:, None]
    return torch.sin(pitch * time) + 0.2 * torch.randn(count, samples), kinds


sound, kinds = calls(48)
lengths = torch.randint(20, 41, (48,))
model = CallModel()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
losses = []
for _step in range(60):
    loss = F.cross_entropy(model(sound, lengths), kinds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
