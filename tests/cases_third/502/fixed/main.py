"""Find the molecule that belongs to a mass spectrum."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Matcher(nn.Module):
    def __init__(self, peaks, atoms, width=16):
        super().__init__()
        self.spectrum = nn.Linear(peaks, width)
        self.molecule = nn.Linear(atoms, width)
        self.log_scale = nn.Parameter(torch.tensor(0.0))

    @property
    def sharpness(self):
        return self.log_scale.exp().clamp(max=100.0)

    def forward(self, spectra, molecules):
        left = F.normalize(self.spectrum(spectra), dim=1)
        right = F.normalize(self.molecule(molecules), dim=1)
        return self.sharpness * (left @ right.T)


def contrastive(scores):
    own = torch.arange(len(scores))
    return 0.5 * (F.cross_entropy(scores, own) + F.cross_entropy(scores.T, own))


molecules = torch.randn(24, 10)
spectra = torch.tanh(molecules @ torch.randn(10, 30)) + 0.05 * torch.randn(24, 30)

matcher = Matcher(30, 10)
optimizer = torch.optim.Adam(matcher.parameters(), lr=0.03)
losses = []
for step in range(120):
    loss = contrastive(matcher(spectra, molecules))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 40 == 0:
        print(f"{step:3d}  loss {losses[-1]:.3f}  sharpness {matcher.sharpness.item():.2f}")
