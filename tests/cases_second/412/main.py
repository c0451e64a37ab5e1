import torch
import torch.nn.functional as F
from mod_412_atoms import masses, molecules
from torch import nn

torch.manual_seed(0)


class MoleculeModel(nn.Module):
    def __init__(self, kinds=4, width=8):
        super().__init__()
        self.atom = nn.Embedding(kinds, width)
        self.read = nn.Sequential(nn.Tanh(), nn.Linear(width, 1))

    def pool(self, feature, weight, owner, count):
        pooled = torch.zeros(count, feature.shape[1])
        return pooled.index_add(0, owner, feature * weight[:, None] / 10)

    def forward(self, kinds, weight, owner, count):
        return self.read(self.pool(self.atom(kinds), weight, owner, count)).squeeze(1)


COUNT = 30
kinds, owner = molecules(COUNT, atoms=6)
weight = masses(kinds)
target = torch.zeros(COUNT).index_add(0, owner, (kinds == 1).float())
model = MoleculeModel()
optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
losses = []
for _epoch in range(40):
    loss = F.mse_loss(model(kinds, weight, owner, COUNT), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
