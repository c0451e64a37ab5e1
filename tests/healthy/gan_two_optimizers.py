"""A GAN with two optimizers, stepped in both of the usual ways."""

import torch
from torch import nn
from torch.nn import functional as F

target = torch.tensor([2.0, -1.0])


def make_networks():
    generator = nn.Sequential(nn.Linear(4, 32), nn.LeakyReLU(0.2), nn.Linear(32, 2))
    critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2, inplace=True), nn.Linear(32, 1))
    return generator, critic


def sample_real(n):
    return torch.randn(n, 2) * 0.3 + target


def step_detached(generator, critic, opt_g, opt_d, real):
    """One fake batch for both: detached for the critic, fresh through it for the generator."""
    ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
    fake = generator(torch.randn(len(real), 4))

    opt_d.zero_grad()
    loss_d = F.binary_cross_entropy_with_logits(critic(real), ones)
    loss_d = loss_d + F.binary_cross_entropy_with_logits(critic(fake.detach()), zeros)
    loss_d.backward()
    opt_d.step()

    opt_g.zero_grad()
    loss_g = F.binary_cross_entropy_with_logits(critic(fake), ones)
    loss_g.backward()
    opt_g.step()
    return loss_d.item(), loss_g.item()


def step_frozen(generator, critic, opt_g, opt_d, real):
    """The fakes for the critic are made under no_grad; the critic is frozen for the generator."""
    critic.requires_grad_(True)
    with torch.no_grad():
        fake = generator(torch.randn(len(real), 4))
    opt_d.zero_grad()
    loss_d = F.softplus(-critic(real)).mean() + F.softplus(critic(fake)).mean()
    loss_d.backward()
    opt_d.step()

    critic.requires_grad_(False)
    opt_g.zero_grad()
    loss_g = F.softplus(-critic(generator(torch.randn(len(real), 4)))).mean()
    loss_g.backward()
    opt_g.step()
    return loss_d.item(), loss_g.item()


for step in (step_detached, step_frozen):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    generator, critic = make_networks()
    opt_g = torch.optim.Adam(generator.parameters(), lr=5e-3, betas=(0.5, 0.99))
    opt_d = torch.optim.Adam(critic.parameters(), lr=5e-3, betas=(0.5, 0.99))
    with torch.no_grad():
        before = (generator(torch.randn(256, 4)).mean(0) - target).norm().item()
    losses = [step(generator, critic, opt_g, opt_d, sample_real(64)) for _ in range(80)]
    with torch.no_grad():
        after = (generator(torch.randn(256, 4)).mean(0) - target).norm().item()
    assert torch.isfinite(torch.tensor(losses)).all()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in generator.parameters())
    assert all(p.grad is not None for p in critic.parameters())
    assert after < 0.6 * before, (step.__name__, before, after)
