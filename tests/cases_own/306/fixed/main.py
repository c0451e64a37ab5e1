import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal, kl_divergence

torch.manual_seed(0)
PIXELS, LATENT = 16, 2


class VAE(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.encoder = nn.Linear(PIXELS, width)
        self.mean = nn.Linear(width, LATENT)
        self.log_std = nn.Linear(width, LATENT)
        self.decoder = nn.Sequential(nn.Linear(LATENT, width), nn.ReLU(), nn.Linear(width, PIXELS))

    def encode(self, x):
        h = torch.relu(self.encoder(x))
        return Normal(self.mean(h), self.log_std(h).clamp(-4, 4).exp())

    def forward(self, x):
        posterior = self.encode(x)
        z = posterior.rsample()
        return self.decoder(z), z, posterior


def negative_elbo(logits, x, posterior):
    reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1)
    prior = Normal(torch.zeros(LATENT), torch.ones(LATENT))
    return (reconstruction + kl_divergence(posterior, prior).sum(1)).mean()


def bars(count):
    images = torch.zeros(count, 4, 4)
    images[torch.arange(count), torch.randint(0, 4, (count,))] = 1.0
    return images.flatten(1)


model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
losses = []
for _step in range(60):
    x = bars(64)
    logits, z, posterior = model(x)
    loss = negative_elbo(logits, x, posterior)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.2f} -> {losses[-1]:.2f}")
