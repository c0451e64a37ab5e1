import torch
import torch.nn.functional as F
from torch import nn


class Scorer(nn.Module):
    """Cosine between a phrase of a melody and its accompaniment."""

    def __init__(self, width):
        super().__init__()
        self.melody = nn.Linear(width, 8)
        self.chords = nn.Linear(width, 8)
        self.temperature = torch.ones((), requires_grad=True)

    def forward(self, melody, chords):
        left = F.normalize(self.melody(melody), dim=1)
        right = F.normalize(self.chords(chords), dim=1)
        return left @ right.T * self.temperature.exp()
