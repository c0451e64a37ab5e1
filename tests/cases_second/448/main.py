"""The pupil of an eye in a small infrared picture."""

import torch
import torch.nn.functional as F
from mod_448_peak import brightness, peak
from torch import nn

torch.manual_seed(0)
SIZE = 9


def eyes(count):
    place = torch.randint(2, SIZE - 2, (count, 2)).float()
    axis = torch.arange(SIZE).float()
    rows = (axis - place[:, :1]).pow(2)
    columns = (axis - place[:, 1:]).pow(2)
    dark = torch.exp(-0.5 * (rows[:, :, None] + columns[:, None, :]))
    return 0.1 * torch.randn(count, SIZE, SIZE) - dark, place


finder = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.Tanh(), nn.Conv2d(6, 1, 3, padding=1))
optimizer = torch.optim.Adam(finder.parameters(), lr=0.02)
pictures, truth = eyes(48)
errors = []
for _step in range(60):
    heat = finder(pictures[:, None]).squeeze(1)
    place = peak(heat)
    miss = F.smooth_l1_loss(place, truth)
    loss = miss + 0.001 * brightness(heat).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    errors.append(miss.item())
print(f"miss {errors[0]:.3f} -> {errors[-1]:.3f}")
