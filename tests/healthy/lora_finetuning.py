"""LoRA: a trained base is frozen, low-rank factors learn; one factor starts at zero."""

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, rank: int = 4, alpha: float = 8.0):
        super().__init__()
        self.base = base
        for parameter in self.base.parameters():
            parameter.requires_grad = False
        self.down = nn.Parameter(torch.empty(rank, base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.down, a=5**0.5)
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.down), self.up) * self.scale

    @torch.no_grad()
    def merged(self):
        layer = nn.Linear(self.base.in_features, self.base.out_features)
        layer.weight.copy_(self.base.weight + self.scale * self.up @ self.down)
        layer.bias.copy_(self.base.bias)
        return layer


def fit(model, x, y, steps, lr):
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=lr, weight_decay=0.0)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


x = torch.randn(256, 12)
model = nn.Sequential(nn.Linear(12, 48), nn.Tanh(), nn.Linear(48, 2))
pretrain = fit(model, x, torch.stack([x[:, 0], x[:, 1] * x[:, 2]], 1), steps=60, lr=1e-2)

model[0], model[2] = LoRALinear(model[0]), LoRALinear(model[2])
before = {name: p.detach().clone() for name, p in model.named_parameters()}
finetune = fit(model, x, torch.stack([x[:, 3], x[:, 1].sin()], 1), steps=60, lr=2e-2)
merged = nn.Sequential(model[0].merged(), nn.Tanh(), model[2].merged())

for name, p in model.named_parameters():
    moved = not torch.equal(p, before[name])
    assert moved == p.requires_grad, name
    assert moved == ("base" not in name), name
assert all(p.grad.abs().sum() > 0 for p in model.parameters() if p.requires_grad)
assert pretrain[-1] < pretrain[0]
assert finetune[-1] < 0.3 * finetune[0], (finetune[0], finetune[-1])
with torch.no_grad():
    assert torch.allclose(merged(x), model(x), atol=1e-4)
