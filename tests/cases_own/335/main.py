"""Fit temperature and bias, so that a classifier's scores become probabilities."""

import torch
import torch.nn.functional as F

torch.manual_seed(0)


def validation_set(count):
    """Scores of an over-confident classifier, and what was right."""
    logits = torch.randn(count, 3)
    label = torch.distributions.Categorical(logits=logits).sample()
    return 4 * logits + torch.tensor([1.0, 0.0, -1.0]), label


scores, label = validation_set(400)
scale = torch.ones((), requires_grad=True)
bias = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.LBFGS([scale, bias], lr=0.5, max_iter=8)


def misfit():
    return F.cross_entropy(scale * scores + bias, label)


def closure():
    loss = misfit()
    loss.backward()
    return loss


losses = [misfit().item()]
for step in range(3):
    optimizer.step(closure)
    losses.append(misfit().item())
    print(step, f"{losses[-1]:.6f}")
