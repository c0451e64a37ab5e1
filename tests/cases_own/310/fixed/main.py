import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self, inputs=8, width=32, classes=3):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(inputs, width), nn.GELU(), nn.Linear(width, width), nn.GELU()
        )
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.body(x))


class LoRALinear(nn.Module):
    def __init__(self, base, rank, scale=2.0):
        super().__init__()
        self.base, self.scale = base, scale
        self.down = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features**0.5)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + self.scale * F.linear(F.linear(x, self.down), self.up)


def inject(model, rank):
    adapters = []
    for index, layer in enumerate(model.body):
        if isinstance(layer, nn.Linear):
            model.body[index] = LoRALinear(layer, rank)
            adapters += [model.body[index].down, model.body[index].up]
    return adapters


model = Classifier()
model.body.requires_grad_(False)
adapters = inject(model, rank=2)
optimizer = torch.optim.AdamW([*adapters, *model.head.parameters()], lr=0.01)
x = torch.randn(96, 8)
y = (x[:, 0] * x[:, 1] > 0).long() + (x[:, 2] > 0.5).long()
losses = []
for _epoch in range(40):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{sum(p.numel() for p in adapters)} adapter values, loss {losses[-1]:.3f}")
