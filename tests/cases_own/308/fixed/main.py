import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
NODES, FEATURES, CLASSES = 30, 5, 3


class MessagePassing(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.own = nn.Linear(inputs, outputs)
        self.message = nn.Linear(inputs, outputs, bias=False)

    def forward(self, x, edges):
        source, target = edges
        messages = self.message(x)[source]
        received = x.new_zeros(len(x), messages.shape[1])
        received.index_add_(0, target, messages)
        degree = torch.bincount(target, minlength=len(x)).clamp(min=1)
        return self.own(x) + received / degree[:, None]


class GraphNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([MessagePassing(FEATURES, 16), MessagePassing(16, CLASSES)])

    def forward(self, x, edges):
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x, edges))
        return self.layers[-1](x, edges)


def community_graph():
    label = torch.arange(NODES) % CLASSES
    pairs = torch.combinations(torch.arange(NODES))
    same = label[pairs[:, 0]] == label[pairs[:, 1]]
    kept = pairs[torch.rand(len(pairs)) < torch.where(same, 0.4, 0.05)]
    return torch.cat([kept, kept.flip(1)]).T, label


edges, label = community_graph()
x = torch.randn(NODES, FEATURES) + F.one_hot(label, FEATURES)
model = GraphNet()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
losses = []
for _epoch in range(40):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x, edges), label)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
