import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class CodebookModel(nn.Module):
    def __init__(self, inputs=12, width=4, count=16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, width))
        self.decoder = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, inputs))
        self.codes = nn.Embedding(count, width)
        self.register_buffer("usage", torch.zeros(count))

    def forward(self, x):
        z = self.encoder(x)
        with torch.no_grad():
            choice = torch.cdist(z, self.codes.weight).argmin(dim=1)
            self.usage.mul_(0.99).add_(torch.bincount(choice, minlength=len(self.usage)))
        code = self.codes(choice)
        commitment = F.mse_loss(z, code.detach())
        movement = F.mse_loss(code, z.detach())
        straight = z + (code - z).detach()
        return self.decoder(straight), movement + 0.25 * commitment


def waves(count):
    time = torch.linspace(0, 1, 12)
    speed = torch.randint(1, 4, (count, 1))
    return torch.sin(2 * torch.pi * speed * time) + 0.05 * torch.randn(count, 12)


model = CodebookModel()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
losses = []
for _step in range(80):
    x = waves(64)
    rebuilt, code_loss = model(x)
    loss = F.mse_loss(rebuilt, x) + code_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}, {int((model.usage > 1).sum())} codes in use")
