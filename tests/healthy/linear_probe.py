"""A linear probe on a pretrained backbone, its body left alone in three different ways."""

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)

images = torch.randn(128, 1, 8, 8)
coarse = (images.mean(dim=(1, 2, 3)) > 0).long()
fine = coarse + 2 * (images[:, 0, :4].mean(dim=(1, 2)) > 0).long()


def make_backbone():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
    )


backbone = make_backbone()
head = nn.Linear(64, 2)
optimizer = torch.optim.Adam([*backbone.parameters(), *head.parameters()], lr=1e-2)
for _ in range(20):
    optimizer.zero_grad()
    F.cross_entropy(head(backbone(images)), coarse).backward()
    optimizer.step()
pretrained = {k: v.clone() for k, v in backbone.state_dict().items()}


def probe(way):
    body, head = make_backbone(), nn.Linear(64, 4)
    body.load_state_dict(pretrained)
    body.eval()
    if way == "requires_grad":
        body.requires_grad_(False)
    # In the third way this is all: the body is in evaluation mode and in no optimizer.
    optimizer = torch.optim.Adam(head.parameters(), lr=3e-2)
    losses = []
    for _ in range(40):
        if way == "no_grad":
            with torch.no_grad():
                features = body(images)
        else:
            features = body(images)
        loss = F.cross_entropy(head(features), fine)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in head.parameters())
    assert all(torch.equal(v, pretrained[k]) for k, v in body.state_dict().items())
    return losses


for way in ("requires_grad", "no_grad", "head_only"):
    losses = probe(way)
    assert losses[-1] < 0.7 * losses[0], (way, losses[0], losses[-1])
