import math

import torch
from torch import nn


class Uncertainty(nn.Module):
    """Weighs tasks by the noise that each of them has."""

    def __init__(self, tasks):
        super().__init__()
        self.log_variance = nn.ParameterDict({task: torch.zeros(()) for task in tasks})

    def forward(self, losses):
        total = 0.0
        for task, loss in losses.items():
            noise = self.log_variance[task]
            weight = math.exp(-noise.item())
            total = total + 0.5 * (weight * loss + noise)
        return total
