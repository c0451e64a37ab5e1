import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
TASKS = {"price": 1, "district": 4, "rooms": 1}


class HouseModel(nn.Module):
    def __init__(self, inputs, tasks, width=32):
        super().__init__()
        self.trunk = nn.Linear(inputs, width)
        self.heads = nn.ModuleDict({n: nn.Linear(width, size) for n, size in tasks.items()})

    def forward(self, x):
        shared = torch.relu(self.trunk(x))
        return {name: head(shared) for name, head in self.heads.items()}


def houses(count):
    x = torch.randn(count, 7)
    return x, {
        "price": x[:, :1] * 2 + x[:, 1:2].abs(),
        "district": x[:, 2:6].argmax(dim=1),
        "rooms": x[:, 6:] + 3,
    }


def combined_loss(outputs, targets, weights):
    parts = []
    for name, weight in weights.items():
        output, target = outputs[name], targets[name]
        measure = F.mse_loss if target.is_floating_point() else F.cross_entropy
        parts.append(weight * measure(output, target))
    return torch.stack(parts).sum()


model = HouseModel(7, TASKS)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
before = model.heads["price"].weight.detach().clone()
losses = []
for _step in range(60):
    x, targets = houses(64)
    outputs = model(x)
    model.zero_grad()
    loss = combined_loss(outputs, targets, {"price": 1.0, "district": 0.5, "rooms": 1.0})
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
