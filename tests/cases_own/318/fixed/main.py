import torch
import torch.nn.functional as F
from mod_318_watch import Watch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv1d(1, 8, 5, padding=2), nn.ReLU(), nn.Conv1d(8, 8, 5, padding=2), nn.ReLU()
        )
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.stem(x).amax(dim=2))


def signals(count, length=32):
    kind = torch.randint(0, 2, (count,))
    time = torch.linspace(0, 1, length)
    wave = torch.sin(2 * torch.pi * (3 + 5 * kind[:, None]) * (time + torch.rand(count, 1)))
    return (wave + 0.2 * torch.randn(count, length))[:, None], kind


net = Net()
watch = Watch(net, ["stem.2"])
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
losses = []
for step in range(40):
    x, y = signals(32)
    loss = F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 20 == 0:
        print(step, watch.report())
watch.close()
