import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def spirals(count):
    kind = torch.arange(count) % 2
    radius = torch.rand(count)
    angle = 6 * radius + torch.pi * kind
    points = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)
    return 2 * points, kind


def train_step(model, optimizer, scaler, x, y):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(x)
    loss = F.cross_entropy(logits.float(), y)
    optimizer.zero_grad(set_to_none=True)
    scaler.scale(loss).backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


model = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=65536.0)
before = model[0].weight.detach().clone()
x, y = spirals(128)
losses = [train_step(model, optimizer, scaler, x, y) for _step in range(40)]
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
