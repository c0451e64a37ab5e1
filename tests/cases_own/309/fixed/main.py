import torch
from mod_309_ranking import spearman
from torch import nn

torch.manual_seed(0)


def documents(count, features=6):
    x = torch.randn(count, features)
    relevance = x[:, 0] - 0.5 * x[:, 1] + 0.1 * torch.randn(count)
    return x, relevance


model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
losses = []
for _step in range(40):
    x, y = documents(32)
    loss = 1 - spearman(model(x).squeeze(1), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

x, y = documents(200)
with torch.no_grad():
    print(f"rank correlation {spearman(model(x).squeeze(1), y):.3f}")
