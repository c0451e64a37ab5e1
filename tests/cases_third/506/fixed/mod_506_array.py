import math

import torch
from torch import nn


class AntennaArray(nn.Module):
    """Elements half a wavelength apart, each with an amplitude and a phase."""

    def __init__(self, elements):
        super().__init__()
        self.amplitude = nn.Parameter(torch.ones(elements))
        self._phase = torch.zeros(elements)
        self._places = math.pi * torch.arange(elements)

    @property
    def phase(self):
        return self._phase

    @phase.setter
    def phase(self, value):
        self._phase = value

    def gain(self, angle):
        """Power towards an angle; 1 when all elements add up."""
        turn = self._places * torch.sin(angle) + self.phase
        east = (self.amplitude * torch.cos(turn)).sum()
        north = (self.amplitude * torch.sin(turn)).sum()
        return (east**2 + north**2) / (len(turn) * self.amplitude.square().sum())
