"""bfloat16 autocast, GradScaler switched off, accumulation with its short last window handled."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)

x = torch.randn(208, 10)
y = (x @ torch.randn(10, 3)).argmax(dim=1)
loader = DataLoader(
    TensorDataset(x, y), batch_size=16, shuffle=True, generator=torch.Generator().manual_seed(1)
)

model = nn.Sequential(nn.Linear(10, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", enabled=False)
criterion = nn.CrossEntropyLoss(reduction="sum")

WINDOW = 4
BATCHES = len(loader)


def windows(batches):
    group = []
    for batch in batches:
        group.append(batch)
        if len(group) == WINDOW:
            yield group
            group = []
    if group:
        yield group


epochs, steps, norms = [], 0, []
for _epoch in range(6):
    total = 0.0
    for group in windows(loader):
        samples = sum(len(labels) for _, labels in group)
        for features, labels in group:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                logits = model(features)
                loss = criterion(logits, labels) / samples
            scaler.scale(loss).backward()
            total += loss.item() * samples
        scaler.unscale_(optimizer)
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), 1.0))
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        steps += 1
    epochs.append(total / len(x))

with torch.no_grad():
    accuracy = (model(x).argmax(dim=1) == y).float().mean().item()

assert logits.dtype == torch.bfloat16
assert all(p.dtype == torch.float32 for p in model.parameters())
assert BATCHES % WINDOW == 1 and steps == 6 * (BATCHES // WINDOW + 1)
assert torch.isfinite(torch.stack(norms)).all() and min(norms) > 0
assert epochs[-1] < 0.5 * epochs[0], epochs
assert accuracy > 0.85
