"""A graph network on points: edges from pairwise distances, messages summed by scatter_add."""

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)

kind = torch.arange(60) % 3
points = torch.stack([(2.1 * kind).cos(), (2.1 * kind).sin()], dim=1) + 0.35 * torch.randn(60, 2)


def neighbours(points, k=5):
    difference = points.unsqueeze(1) - points.unsqueeze(0)  # n, n, 2
    distance = difference.pow(2).sum(dim=-1)
    distance.fill_diagonal_(float("inf"))
    source = distance.topk(k, largest=False).indices
    return source.flatten(), torch.arange(len(points)).repeat_interleave(k)


class Layer(nn.Module):
    def __init__(self, width_in, width):
        super().__init__()
        self.message = nn.Linear(2 * width_in, width)
        self.score = nn.Linear(width, 1, bias=False)
        self.own = nn.Linear(width_in, width)

    def forward(self, x, source, target):
        message = torch.tanh(self.message(torch.cat([x[source], x[target]], dim=1)))
        score = self.score(message)
        # A softmax over the edges of each node; the maximum is only a shift, so it is detached.
        top = torch.full((len(x), 1), float("-inf"))
        top = top.scatter_reduce(0, target[:, None], score.detach(), reduce="amax")
        weight = (score - top[target]).exp()
        total = torch.zeros(len(x), 1).scatter_add(0, target[:, None], weight)
        out = torch.zeros(len(x), message.shape[1])
        out.scatter_add_(0, target[:, None].expand_as(message), weight * message)
        return self.own(x) + out / total


class GraphNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Layer(2, 16), Layer(16, 3)])

    def forward(self, x, edges):
        for layer in self.layers:
            x = layer(x, *edges)
        return x


edges = neighbours(points)
labelled = torch.arange(60) < 15
model = GraphNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(60):
    logits = model(points, edges)
    loss = F.cross_entropy(logits[labelled], kind[labelled])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

with torch.no_grad():
    accuracy = (model(points, edges).argmax(1) == kind)[~labelled].float().mean().item()

assert all(torch.isfinite(p.grad).all() for p in model.parameters())
assert losses[-1] < 0.3 * losses[0] and accuracy > 0.8, (losses[-1], accuracy)
