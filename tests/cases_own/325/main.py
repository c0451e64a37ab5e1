import torch
import torch.nn.functional as F
from mod_325_quantize import QuantLinear
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = QuantLinear(4, 32)
        self.second = QuantLinear(32, 2)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def rings(count):
    x = torch.randn(count, 4)
    return x, (x.pow(2).sum(dim=1) > 3).long()


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
losses = []
for _step in range(40):
    x, y = rings(64)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
