"""MAML on sine waves: inner steps with create_graph, weights applied by functional_call."""

import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)

net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
meta = torch.optim.Adam(net.parameters(), lr=5e-3)


def make_task(shots=12):
    amplitude = 0.5 + 2.0 * torch.rand(1)
    phase = torch.rand(1) * torch.pi

    def draw():
        x = torch.rand(shots, 1) * 6 - 3
        return x, amplitude * torch.sin(x + phase)

    return draw(), draw()


def adapt(params, x, y, lr=0.05, steps=2, create_graph=True):
    for _ in range(steps):
        loss = F.mse_loss(functional_call(net, params, (x,)), y)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=create_graph)
        params = {name: p - lr * g for (name, p), g in zip(params.items(), grads, strict=True)}
    return params


history = []
for _iteration in range(50):
    meta.zero_grad()
    outer = 0.0
    for _ in range(4):
        (xs, ys), (xq, yq) = make_task()
        adapted = adapt(dict(net.named_parameters()), xs, ys)
        loss = F.mse_loss(functional_call(net, adapted, (xq,)), yq) / 4
        loss.backward()
        outer += loss.item()
    nn.utils.clip_grad_norm_(net.parameters(), 10.0)
    meta.step()
    history.append(outer)

# At test time the graph of the inner steps is not needed.
gains = []
for _ in range(10):
    (xs, ys), (xq, yq) = make_task()
    start = dict(net.named_parameters())
    tuned = adapt(start, xs, ys, create_graph=False)
    with torch.no_grad():
        gains.append(
            F.mse_loss(functional_call(net, start, (xq,)), yq).item()
            - F.mse_loss(functional_call(net, tuned, (xq,)), yq).item()
        )

assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in net.parameters())
assert all(p.is_leaf for p in net.parameters())
assert sum(history[-10:]) < 0.8 * sum(history[:10]), (history[:3], history[-3:])
assert sum(gains) > 0, gains
