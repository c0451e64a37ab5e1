"""An LSTM reads one long series in chunks; its state is carried over and detached per chunk."""

import math

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)


class Forecaster(nn.Module):
    def __init__(self, hidden: int = 24):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x, state=None):
        out, state = self.lstm(x, state)
        return self.head(out), state


time = torch.arange(401) * 0.2
phase = torch.arange(4).unsqueeze(1) * math.pi / 4
series = torch.sin(time + phase) + 0.05 * torch.randn(4, 401)
inputs, targets = series[:, :-1, None], series[:, 1:, None]

model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
chunk = 25
epoch_losses = []
carried = []

for _epoch in range(4):
    state = None
    running = 0.0
    for start in range(0, inputs.shape[1], chunk):
        if state is not None:
            # The values go on, the history ends here: this is the truncation.
            state = tuple(s.detach() for s in state)
            carried.append(state[0].norm().item())
        x = inputs[:, start : start + chunk]
        y = targets[:, start : start + chunk]
        prediction, state = model(x, state)
        loss = nn.functional.mse_loss(prediction, y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        running += loss.item()
    epoch_losses.append(running / (inputs.shape[1] // chunk))

with torch.no_grad():
    warm, state = model(inputs[:, :50])
    value = warm[:, -1:]
    rollout = []
    for _ in range(10):
        value, state = model(value, state)
        rollout.append(value.squeeze().numpy().copy())

assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())
assert all(math.isfinite(loss) for loss in epoch_losses)
assert epoch_losses[-1] < 0.3 * epoch_losses[0], epoch_losses
assert min(carried) > 0
assert len(rollout) == 10 and rollout[0].shape == (4,)
