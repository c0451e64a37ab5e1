"""WGAN-GP: the penalty is a gradient of the critic, with history, so its weights learn from it."""

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)

generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
critic = nn.Sequential(
    nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1)
)
opt_g = torch.optim.Adam(generator.parameters(), lr=4e-3, betas=(0.0, 0.9))
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-2, betas=(0.0, 0.9))


def real_batch(n=64):
    angle = torch.rand(n) * 2 * torch.pi
    return torch.stack([angle.cos(), angle.sin()], dim=1) + torch.tensor([1.5, 1.5])


def gradient_penalty(real, fake):
    mix = torch.rand(len(real), 1)
    between = (mix * real + (1 - mix) * fake).requires_grad_(True)
    score = critic(between)
    (slope,) = torch.autograd.grad(
        score, between, grad_outputs=torch.ones_like(score), create_graph=True
    )
    return ((slope.norm(2, dim=1) - 1) ** 2).mean()


def train_critic():
    real = real_batch()
    fake = generator(torch.randn(len(real), 4)).detach()
    penalty = gradient_penalty(real, fake)
    distance = critic(real).mean() - critic(fake).mean()
    loss = -distance + 10.0 * penalty
    opt_c.zero_grad(set_to_none=True)
    loss.backward()
    opt_c.step()
    return distance.item(), penalty.item()


def train_generator():
    loss = -critic(generator(torch.randn(64, 4))).mean()
    opt_g.zero_grad(set_to_none=True)
    loss.backward()
    opt_g.step()


def gap():
    with torch.no_grad():
        return (generator(torch.randn(512, 4)).mean(0) - 1.5).norm().item()


before = gap()
penalties = []
for _ in range(32):
    for _ in range(5):
        distance, penalty = train_critic()
    penalties.append(penalty)
    train_generator()
after = gap()

assert all(p.grad is not None for p in [*generator.parameters(), *critic.parameters()])
assert critic[2].weight.grad.abs().sum() > 0
assert all(torch.isfinite(p.grad).all() for p in critic.parameters())
assert max(penalties) < 0.5 and distance < 3, (max(penalties), distance)
assert after < 0.6 * before, (before, after)
