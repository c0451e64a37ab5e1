"""Find bad solder joints in small images."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class JointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.look = nn.Conv2d(1, 6, 3)
        self.head = nn.Linear(6, 1)

    def forward(self, images):
        seen = F.relu(self.look(images))
        return self.head(seen.amax(dim=(2, 3))).squeeze(1)


def joints(count):
    bad = (torch.rand(count) < 0.5).float()
    images = 0.3 * torch.randn(count, 1, 9, 9)
    images[:, 0, 3:6, 3:6] += 2 * bad[:, None, None]
    return images, bad


images, bad = joints(64)
model = JointNet()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
losses = []
for _step in range(50):
    scores = model(images)
    loss = F.binary_cross_entropy_with_logits(scores, bad)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
