"""Self-supervision with a stopped gradient: SimSiam on one network, BYOL with a slow target."""

import copy
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)


def mlp(sizes, norm=True):
    layers = []
    for a, b in pairwise(sizes[:-1]):
        layers += [nn.Linear(a, b, bias=not norm)]
        layers += [nn.BatchNorm1d(b)] if norm else []
        layers += [nn.ReLU(inplace=True)]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


def negative_cosine(prediction, target):
    return -F.cosine_similarity(prediction, target.detach(), dim=-1).mean()


def simsiam_loss(encoder, predictor, one, two):
    z1, z2 = encoder(one), encoder(two)
    return 0.5 * (negative_cosine(predictor(z1), z2) + negative_cosine(predictor(z2), z1))


def byol_loss(encoder, target, predictor, one, two):
    with torch.no_grad():
        goal1, goal2 = target(one), target(two)
    first = negative_cosine(predictor(encoder(one)), goal2)
    return 0.5 * (first + negative_cosine(predictor(encoder(two)), goal1))


def train(method):
    torch.manual_seed(0)
    centers = torch.randn(4, 16) * 2
    encoder, predictor = mlp([16, 64, 32]), mlp([32, 16, 32])
    target = copy.deepcopy(encoder).requires_grad_(False) if method == "byol" else None
    params = [*encoder.parameters(), *predictor.parameters()]
    optimizer = torch.optim.SGD(params, lr=0.1, momentum=0.9)
    losses = []
    for _ in range(40):
        x = centers[torch.randint(0, 4, (128,))]
        one, two = x + 0.3 * torch.randn_like(x), x + 0.3 * torch.randn_like(x)
        if target is None:
            loss = simsiam_loss(encoder, predictor, one, two)
        else:
            loss = byol_loss(encoder, target, predictor, one, two)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if target is not None:
            for old, new in zip(target.parameters(), encoder.parameters(), strict=True):
                old.data.mul_(0.95).add_(new.data, alpha=0.05)
    spread = F.normalize(encoder(centers).detach(), dim=1).std(dim=0).mean().item()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in params)
    return losses, spread


for method in ("simsiam", "byol"):
    losses, spread = train(method)
    assert losses[-1] < losses[0] - 0.5, (method, losses[0], losses[-1])
    assert spread > 0.02, (method, spread)
