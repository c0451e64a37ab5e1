"""Early stopping: checkpoints to memory while training goes on, the best weights put back."""

import copy
import io
import pickle

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)

x = torch.randn(200, 8)
y = torch.sin(2 * x[:, 0]) + 0.5 * torch.randn(200)
train, held_out = TensorDataset(x[:80], y[:80]), TensorDataset(x[80:], y[80:])
model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1), nn.Flatten(0))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-2)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=4)


def validate():
    model.eval()
    predictions, truths = [], []
    with torch.no_grad():
        for features, labels in DataLoader(held_out, batch_size=20):
            predictions.append(model(features).numpy())
            truths.append(labels.numpy())
    model.train()
    return float(np.mean((np.concatenate(predictions) - np.concatenate(truths)) ** 2))


best, best_state, waited, curve, files = float("inf"), None, 0, [], []
start = validate()
for epoch in range(60):
    total = 0.0
    for features, labels in DataLoader(train, batch_size=20, shuffle=True):
        optimizer.zero_grad()
        loss = F.mse_loss(model(features), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
    score = validate()
    scheduler.step(score)
    curve.append((total / len(train), score))
    if epoch % 3 == 0:
        buffer = io.BytesIO()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, buffer)
        files.append(buffer)
    if score < best - 1e-3:
        best, best_state, waited = score, copy.deepcopy(model.state_dict()), 0
    else:
        waited += 1
        if waited >= 6:
            break

model.load_state_dict(best_state)
twin = pickle.loads(pickle.dumps(model))
for buffer in files:
    buffer.seek(0)
early, *_, late = (torch.load(buffer, weights_only=True)["model"] for buffer in files)

assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in model.parameters())
assert abs(validate() - best) < 1e-6 and best < start
assert curve[-1][0] < 0.5 * curve[0][0] and epoch < 59
assert not torch.equal(early["0.weight"], late["0.weight"])
assert torch.equal(twin(x), model(x))
