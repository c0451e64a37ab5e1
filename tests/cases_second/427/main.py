"""Paths of cyclones: where will the eye be in six hours?"""

import torch
import torch.nn.functional as F
from mod_427_diary import Diary
from torch import nn

torch.manual_seed(0)


class TrackModel(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.gru = nn.GRU(2, width, batch_first=True)
        self.move = nn.Linear(width, 2)

    def forward(self, track):
        out, _ = self.gru(track)
        return track[:, -1] + self.move(out[:, -1])


def tracks(count, hours=8):
    heading = torch.randn(count, 1, 2)
    time = torch.arange(hours + 1.0).view(1, -1, 1)
    path = 0.1 * heading * time + 0.01 * torch.randn(count, hours + 1, 2)
    return path[:, :-1], path[:, -1]


model = TrackModel()
diary = Diary()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _step in range(40):
    track, eye = tracks(16)
    guess = model(track)
    miss = F.mse_loss(guess, eye)
    size = sum(p.pow(2).sum() for p in model.parameters())
    optimizer.zero_grad()
    (miss + 1e-4 * size).backward()
    optimizer.step()
    diary.write(miss=miss, size=size)
print(f"mean miss of the last steps {diary.mean('miss'):.4f}")
