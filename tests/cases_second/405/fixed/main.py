"""Yield and ripeness of a vineyard from one spectrum; the louder task is turned down."""

import torch
import torch.nn.functional as F
from mod_405_meter import GradientMeter
from torch import nn

torch.manual_seed(0)

trunk = nn.Sequential(nn.Linear(16, 24), nn.Tanh())
heads = nn.ModuleDict({"yield": nn.Linear(24, 1), "ripeness": nn.Linear(24, 1)})
meter = GradientMeter()
optimizer = torch.optim.Adam([*trunk.parameters(), *heads.parameters()], lr=0.01)

spectra = torch.randn(64, 16)
wanted = {"yield": 50 * spectra[:, :1], "ripeness": spectra[:, 1:2].sigmoid()}
weights = {"yield": 0.5, "ripeness": 0.5}
losses = []
for _step in range(40):
    shared = trunk(spectra)
    total = 0.0
    for name, head in heads.items():
        guess = head(meter.tap(name, shared * 1.0))
        total = total + weights[name] * F.mse_loss(guess, wanted[name])
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
    weights = meter.weights()
    losses.append(total.item())
print({name: round(weight, 4) for name, weight in weights.items()})
