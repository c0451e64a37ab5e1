"""Solve u'' = -sin(x) on [0, pi] with u(0) = u(pi) = 0 by a network."""

import torch
from torch import nn

torch.manual_seed(0)


def build(width=32, depth=2):
    layers, inputs = [], 1
    for _ in range(depth):
        layers += [nn.Linear(inputs, width), nn.Tanh()]
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, 1))


def residual(net, x):
    x = x.requires_grad_()
    u = net(x)
    (u_x,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    (u_xx,) = torch.autograd.grad(u_x.sum(), x, create_graph=True)
    return u_xx + torch.sin(x), u_xx


def boundary(net):
    ends = torch.tensor([[0.0], [torch.pi]])
    return net(ends).pow(2).mean()


net = build()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
losses = []
for _step in range(120):
    inside, u_xx = residual(net, torch.pi * torch.rand(64, 1))
    equation = inside.pow(2).mean()
    loss = equation + 10 * boundary(net)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}, equation {equation.item():.3f}")
