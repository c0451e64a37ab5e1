"""VQ-VAE: codebook loss, commitment loss, and a gradient copied straight through the lookup."""

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)


class Quantizer(nn.Module):
    def __init__(self, codes=16, width=4, beta=0.25):
        super().__init__()
        self.codebook = nn.Embedding(codes, width)
        nn.init.uniform_(self.codebook.weight, -0.5, 0.5)
        self.beta = beta

    def forward(self, z):
        flat = z.permute(0, 2, 3, 1).reshape(-1, z.shape[1])
        distance = (
            flat.pow(2).sum(1, keepdim=True)
            - 2 * flat @ self.codebook.weight.t()
            + self.codebook.weight.pow(2).sum(1)
        )
        chosen = distance.argmin(dim=1)
        batch, _, height, width = z.shape
        quantized = self.codebook(chosen).view(batch, height, width, -1).permute(0, 3, 1, 2)
        codebook_loss = F.mse_loss(quantized, z.detach())
        commitment = F.mse_loss(z, quantized.detach())
        quantized = z + (quantized - z).detach()
        return quantized, codebook_loss + self.beta * commitment, chosen


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 4, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, 4, 1)
        )
        self.quantizer = Quantizer()
        self.decoder = nn.Sequential(
            nn.Conv2d(4, 16, 1), nn.ReLU(), nn.ConvTranspose2d(16, 1, 4, stride=2, padding=1)
        )

    def forward(self, x):
        z, penalty, chosen = self.quantizer(self.encoder(x))
        return self.decoder(z), penalty, chosen


ramp = torch.linspace(0, 1, 8)
angle = torch.rand(32, 1, 1) * 6.28
images = torch.cos(4 * (ramp[:, None] * angle.cos() + ramp * angle.sin())).unsqueeze(1)

model = VQVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
history = []
for _ in range(60):
    rebuilt, penalty, chosen = model(images)
    reconstruction = F.mse_loss(rebuilt, images)
    optimizer.zero_grad()
    (reconstruction + penalty).backward()
    optimizer.step()
    history.append(reconstruction.item())

assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())
assert chosen.unique().numel() > 1
assert history[-1] < 0.5 * history[0], (history[0], history[-1])
