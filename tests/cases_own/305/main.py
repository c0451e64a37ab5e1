import torch
from torch import nn

torch.manual_seed(0)
NOISE = 4


def network(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 32), nn.LeakyReLU(0.2), nn.Linear(32, outputs))


def real_points(count):
    angle = torch.rand(count) * 2 * torch.pi
    ring = torch.stack([angle.cos(), angle.sin()], dim=1)
    return ring + 0.05 * torch.randn(count, 2)


def sample(count):
    noise = torch.randn(count, NOISE)
    return generator(noise).detach().requires_grad_()


generator, discriminator = network(NOISE, 2), network(2, 1)
opt_g = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)
before = generator[0].weight.detach().clone()
for _step in range(30):
    real_loss = bce(discriminator(real_points(64)), ones)
    fake_loss = bce(discriminator(sample(64)), zeros)
    d_loss = real_loss + fake_loss
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()

    g_loss = bce(discriminator(sample(64)), ones)
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
print(f"d {d_loss.item():.3f}  g {g_loss.item():.3f}")
