"""Animals in a camera trap; half way through, a new species turns up."""

import torch
import torch.nn.functional as F
from mod_511_traps import TrapNet, grow, sightings

torch.manual_seed(0)
KINDS = 3


def train(model, optimizer, images, kinds, steps):
    history = []
    for _ in range(steps):
        loss = F.cross_entropy(model(images), kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    return history


model = TrapNet(KINDS)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
losses = train(model, optimizer, *sightings(60, KINDS), steps=20)

grow(model, KINDS + 1)
grown = model.head.weight.detach().clone()
losses += train(model, optimizer, *sightings(80, KINDS + 1), steps=40)
print(f"{losses[0]:.3f} -> {losses[19]:.3f}, then {losses[20]:.3f} -> {losses[-1]:.3f}")
